package restore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/undo"
)

// accounts takes back the deletion of accounts. They come back with their ids and what the log knows of them; nobody knows
// their password.
func (u *undoing) accounts(ctx context.Context, deleted []besides) error {
	if len(deleted) == 0 {
		return nil
	}
	all := make([]accounts.Account, len(deleted))
	for i, b := range deleted {
		all[i], _ = accounts.Parse(b.Account.Data) // one that cannot be read is not chosen
	}
	live, owners, err := u.owners(ctx, all)
	if err != nil {
		return err
	}
	outcomes := map[string]Outcome{}
	var missing []accounts.Account
	for _, a := range all {
		if outcomes[a.UID] = u.foreseenAccount(a, live, owners); outcomes[a.UID].Step == undo.Recreate {
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

// foreseenAccount says what is to be done about an account, beside those that there are now.
func (u *undoing) foreseenAccount(a accounts.Account, live map[string]accounts.Account, owners map[identifier][]string) Outcome {
	o := Outcome{Target: report.AccountTarget(a.UID)}
	switch now, found := live[a.UID]; {
	case found && now.Created != a.Created:
		o.Step, o.Why = undo.Conflict, "somebody has signed up with that id since"
	case found: // it was never deleted, or is back
		o.Step = undo.Nothing
		if len(a.Claims) == 0 || len(now.Claims) > 0 {
			break
		}
		lacks := "it is back without its claims " + claimsOf(a) + ": set them by hand" // no import replaces an account
		if o.Note = lacks; u.Claims {
			o.Step, o.Why, o.Note = undo.Conflict, lacks, ""
		}
	default:
		if o.Why = taken(a, owners); o.Why != "" {
			o.Step = undo.Conflict
		} else {
			o.Step, o.Note = undo.Recreate, u.powers(a)
		}
	}
	return o
}

// taken says why an account does not come back beside others; empty: nothing stands in its way.
func taken(a accounts.Account, owners map[identifier][]string) string {
	for _, id := range identifiersOf(a) {
		for _, owner := range owners[id] {
			if owner != a.UID {
				return "somebody has signed up with its " + id.what + " since: " + report.AccountTarget(owner)
			}
		}
	}
	return ""
}

// importAccounts brings accounts back, and changes the outcomes of those that do not come back: somebody has signed up since they
// were looked at, or Authentication refuses them. It does not compare phone numbers, so with whom one is shared then is noted.
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
	unclear := slices.DeleteFunc(sent, func(a accounts.Account) bool { return refused[a.UID] == "" && a.PhoneNumber == "" })
	live, owners, err := u.owners(ctx, unclear)
	if err != nil {
		return err
	}
	for _, a := range unclear {
		o, now := outcomes[a.UID], u.foreseenAccount(a, live, owners)
		switch reason := refused[a.UID]; {
		case now.Step == undo.Nothing: // it is back, perhaps by a call whose answer was lost
			if shared := taken(a, owners); shared != "" {
				o.Note += "; " + shared + ": delete one of the two"
			}
		case reason != "" && now.Step == undo.Recreate:
			o.Step, o.Why, o.Note = undo.Conflict, "Authentication refuses it: "+reason, ""
		case reason != "":
			o = now
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
func (u *undoing) owners(ctx context.Context, all []accounts.Account) (
	live map[string]accounts.Account, owners map[identifier][]string, err error,
) {
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
