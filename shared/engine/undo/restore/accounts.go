package restore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/engine/internal/decide"
	"github.com/firesweep/firesweep/shared/engine/undo"
)

// accounts takes back the deletion of accounts. They come back with their ids and what the log knows of them; nobody knows
// their password.
func (u *undoing) accounts(ctx context.Context, deleted []undo.Account) error {
	all := make([]accounts.Account, len(deleted))
	for i, a := range deleted {
		var err error
		if all[i], err = accounts.Parse(a.Data); err != nil {
			return fmt.Errorf("%s: its record in the undo log is unusable: %w", decide.AccountTarget(a.UID), err)
		}
	}
	outcomes, err := u.foreseen(ctx, all)
	if err != nil {
		return err
	}
	var missing []accounts.Account
	for _, a := range all {
		if outcomes[a.UID].Step == undo.Recreate {
			missing = append(missing, a)
		}
	}
	if u.Apply && len(missing) > 0 {
		if err := u.importAccounts(ctx, missing, outcomes); err != nil {
			return err
		}
	}
	for _, a := range all {
		if err := u.tell(outcomes[a.UID]); err != nil {
			return err
		}
	}
	return nil
}

// foreseen returns by uid what taking back the deletion of accounts does.
func (u *undoing) foreseen(ctx context.Context, all []accounts.Account) (map[string]Outcome, error) {
	outcomes := map[string]Outcome{}
	if u.Accounts == nil {
		for _, a := range all {
			outcomes[a.UID] = Outcome{Target: decide.AccountTarget(a.UID), Step: undo.Conflict, Why: "no access to Authentication"}
		}
		return outcomes, nil
	}
	live, owners, err := u.owners(ctx, all)
	if err != nil {
		return nil, err
	}
	for _, a := range all {
		o := Outcome{Target: decide.AccountTarget(a.UID), Step: undo.Recreate, Note: u.powers(a)}
		switch now, found := live[a.UID]; {
		case found && now.Created == a.Created: // it was never deleted, or is back
			o.Step, o.Note = undo.Nothing, ""
			if len(a.Claims) > 0 && len(now.Claims) == 0 { // no import replaces an account, to give it any
				o.Note = "it is back without its claims " + claimsOf(a) + ": set them by hand"
			}
			if o.Note != "" && u.Claims {
				o.Step, o.Why, o.Note = undo.Conflict, o.Note, ""
			}
		case found:
			o.Step, o.Why, o.Note = undo.Conflict, "somebody has signed up with that id since", ""
		default:
			if o.Why = u.taken(a, owners); o.Why != "" {
				o.Step, o.Note = undo.Conflict, ""
			}
		}
		outcomes[a.UID] = o
	}
	return outcomes, nil
}

// taken says why an account does not come back beside others; empty: nothing stands in its way, and others may not come back
// beside it.
func (u *undoing) taken(a accounts.Account, owners map[identifier][]string) string {
	all := identifiersOf(a)
	for _, id := range all {
		for _, owner := range owners[id] {
			if owner != a.UID {
				return fmt.Sprintf("somebody has signed up with its %s since: %s", id.what, decide.AccountTarget(owner))
			}
		}
		if other := u.claimed[id]; other != "" && other != a.UID {
			return fmt.Sprintf("%s comes back with the same %s", decide.AccountTarget(other), id.what)
		}
	}
	for _, id := range all {
		u.claimed[id] = a.UID
	}
	return ""
}

// importAccounts brings accounts back, and changes the outcomes of those that do not come back. These are looked at once more:
// somebody has signed up since they were first, or the answer was lost to the call that made them.
func (u *undoing) importAccounts(ctx context.Context, missing []accounts.Account, outcomes map[string]Outcome) error {
	if err := u.stillOurs(ctx); err != nil {
		return err
	}
	sent := slices.Clone(missing)
	for i := range sent {
		if !u.Claims {
			sent[i].Claims = nil
		}
	}
	refused, err := u.Accounts.Import(ctx, sent)
	if err != nil {
		return fmt.Errorf("restore %s and %d more, of which any may be back: run undo again: %w",
			outcomes[missing[0].UID].Target, len(missing)-1, err)
	}
	var again, numbers []accounts.Account
	for _, a := range missing {
		if _, is := refused[a.UID]; is {
			again = append(again, a)
		}
	}
	if len(again) > 0 {
		now, err := u.foreseen(ctx, again)
		if err != nil {
			return err
		}
		for uid, o := range now {
			if o.Step == undo.Recreate {
				o.Step, o.Why, o.Note = undo.Conflict, "Authentication refuses it: "+refused[uid], ""
			}
			if o.Step != undo.Nothing { // or else a call made it whose answer was lost
				outcomes[uid] = o
			}
		}
	}
	for _, a := range missing {
		if outcomes[a.UID].Step == undo.Recreate && a.PhoneNumber != "" {
			numbers = append(numbers, accounts.Account{UID: a.UID, PhoneNumber: a.PhoneNumber})
		}
	}
	return u.sharedNumbers(ctx, numbers, outcomes)
}

// sharedNumbers notes which of the accounts that came back have a phone number with which somebody has signed up meanwhile: it
// is all that Authentication does not compare.
func (u *undoing) sharedNumbers(ctx context.Context, back []accounts.Account, outcomes map[string]Outcome) error {
	_, owners, err := u.owners(ctx, back)
	if err != nil {
		return err
	}
	for _, a := range back {
		o := outcomes[a.UID]
		if why := u.taken(a, owners); why != "" {
			o.Note = strings.TrimPrefix(o.Note+"; "+why+": delete one of the two", "; ")
		}
		outcomes[a.UID] = o
	}
	return nil
}

// powers says what makes an account more than a name: by what one can sign in to it, and custom claims.
func (u *undoing) powers(a accounts.Account) string {
	var parts []string
	if a.Email != "" {
		parts = append(parts, map[bool]string{true: "verified "}[a.EmailVerified]+"address "+a.Email)
	}
	if a.PhoneNumber != "" {
		parts = append(parts, "phone number "+a.PhoneNumber)
	}
	for _, p := range a.Providers {
		identity := "identity " + p.ID + " " + p.UID
		if p.Email != "" && p.Email != a.Email {
			identity += " with address " + p.Email
		}
		parts = append(parts, identity)
	}
	if len(a.Claims) > 0 {
		left := " left out, for there is no --claims"
		if u.Claims {
			left = ""
		}
		parts = append(parts, "claims "+claimsOf(a)+left)
	}
	return strings.Join(parts, "; ")
}

func claimsOf(a accounts.Account) string {
	claims, _ := json.Marshal(a.Claims) // they came as JSON
	return string(claims)
}

// identifier is something that at most one account has.
type identifier struct {
	what     string // in words
	provider string // of an identity there
	value    string
}

// identifiersOf returns what identifies an account besides its uid.
func identifiersOf(a accounts.Account) (all []identifier) {
	if a.Email != "" {
		all = append(all, identifier{"address", "", strings.ToLower(a.Email)})
	}
	if a.PhoneNumber != "" {
		all = append(all, identifier{"phone number", "", a.PhoneNumber})
	}
	for _, p := range a.Providers {
		if p.ID != "" && p.UID != "" {
			all = append(all, identifier{"identity", p.ID, p.UID})
		}
	}
	return all
}

// owners returns the accounts that have something of these, by uid, and their uids by what they have.
func (u *undoing) owners(ctx context.Context, all []accounts.Account) (live map[string]accounts.Account, owners map[identifier][]string, err error) {
	found, err := u.Accounts.Sharing(ctx, all)
	if err != nil {
		return nil, nil, err
	}
	live, owners = map[string]accounts.Account{}, map[identifier][]string{}
	for _, a := range found {
		live[a.UID] = a
		for _, id := range identifiersOf(a) {
			owners[id] = append(owners[id], a.UID)
		}
	}
	return live, owners, nil
}
