package restore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"firebase.google.com/go/v4/auth"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/undo"
)

// maxAccounts is how many accounts one call looks up. One that imports takes more, but so few are asked for at a time.
const maxAccounts = 100

// accounts takes back the deletion of accounts. They come back with their ids and what the log knows of them; nobody knows their password.
func (u *undoing) accounts(ctx context.Context, all []undo.Account) error {
	all = slices.DeleteFunc(all, func(a undo.Account) bool { return !u.chosen(accountTarget(a.UID)) })
	for chunk := range slices.Chunk(all, maxAccounts) {
		if err := u.someAccounts(ctx, chunk); err != nil {
			return err
		}
	}
	return nil
}

func (u *undoing) someAccounts(ctx context.Context, all []undo.Account) error {
	live, err := u.liveAccounts(ctx, all)
	if err != nil {
		return err
	}
	var due []accounts.Account
	for _, a := range all {
		known, err := accounts.Parse(a.Data)
		if err != nil {
			return fmt.Errorf("%s: its record in the undo log is unusable: %w", accountTarget(a.UID), err)
		}
		outcome := Outcome{Target: accountTarget(a.UID)}
		now, found := live[a.UID]
		switch {
		case u.Accounts == nil:
			outcome.Step, outcome.Why = undo.Conflict, "no access to Authentication"
		case found && now == known.Created: // it was never deleted, or is back
			outcome.Step = undo.Nothing
		case found:
			outcome.Step, outcome.Why = undo.Conflict, "somebody has signed up with that id since"
		default:
			due = append(due, known)
			continue
		}
		if err := u.tell(outcome); err != nil {
			return err
		}
	}
	owners, err := u.owners(ctx, due)
	if err != nil {
		return err
	}
	var missing []*auth.UserToImport
	var outcomes []Outcome
	for _, a := range due {
		outcome := Outcome{Target: accountTarget(a.UID), Step: undo.Recreate, Note: u.powers(a)}
		for _, id := range identifiersOf(a) {
			switch taken := u.taken[id.key()]; {
			case !slices.Contains(owners[id.key()], a.UID) && len(owners[id.key()]) > 0:
				outcome.Step, outcome.Why = undo.Conflict, fmt.Sprintf("somebody has signed up with its %s since: %s", id.what,
					accountTarget(owners[id.key()][0]))
			case taken != "" && taken != a.UID:
				outcome.Step, outcome.Why = undo.Conflict, fmt.Sprintf("%s comes back with the same %s", accountTarget(taken), id.what)
			}
		}
		if outcome.Step == undo.Recreate {
			for _, id := range identifiersOf(a) {
				u.taken[id.key()] = a.UID
			}
			if u.Apply {
				if !u.Claims {
					a.Claims = nil
				}
				missing, outcomes = append(missing, a.Import()), append(outcomes, outcome)
				continue
			}
		}
		if err := u.tell(outcome); err != nil {
			return err
		}
	}
	if len(missing) == 0 {
		return nil
	}
	if err := u.stillOurs(ctx); err != nil {
		return err
	}
	result, err := u.Accounts.ImportUsers(ctx, missing, accounts.Passwords())
	if err != nil {
		return fmt.Errorf("restore %s and %d more: %w", outcomes[0].Target, len(outcomes)-1, err)
	}
	refused := map[int]string{}
	for _, e := range result.Errors {
		refused[e.Index] = e.Reason
	}
	for i, outcome := range outcomes {
		if why, ok := refused[i]; ok {
			outcome.Step, outcome.Why = undo.Conflict, why
		}
		if err := u.tell(outcome); err != nil {
			return err
		}
	}
	return nil
}

// powers says what makes an account more than a name: verified addresses and custom claims.
func (u *undoing) powers(a accounts.Account) string {
	var parts []string
	if a.Email != "" && a.EmailVerified {
		parts = append(parts, "verified address "+a.Email)
	}
	if len(a.Claims) > 0 {
		claims, _ := json.Marshal(a.Claims) // they came as JSON
		left := " left out, for there is no --claims"
		if u.Claims {
			left = ""
		}
		parts = append(parts, "claims "+string(claims)+left)
	}
	return strings.Join(parts, "; ")
}

// identifier is something that at most one account has. Authentication does not check that when it imports accounts.
type identifier struct {
	what     string // in words
	provider string // of an identity there
	value    string
	auth.UserIdentifier
}

func (id identifier) key() string {
	return id.what + "\x00" + id.provider + "\x00" + strings.ToLower(id.value)
}

// identifiersOf returns what identifies an account besides its uid.
func identifiersOf(a accounts.Account) (all []identifier) {
	if a.Email != "" {
		all = append(all, identifier{"address", "", a.Email, auth.EmailIdentifier{Email: a.Email}})
	}
	if a.PhoneNumber != "" {
		all = append(all, identifier{"phone number", "", a.PhoneNumber, auth.PhoneIdentifier{PhoneNumber: a.PhoneNumber}})
	}
	for _, p := range a.Providers {
		if p.ID != "" && p.UID != "" {
			all = append(all, identifier{"identity", p.ID, p.UID, auth.ProviderIdentifier{ProviderID: p.ID, ProviderUID: p.UID}})
		}
	}
	return all
}

// owners returns the accounts that have what identifies others, by [identifier.key].
func (u *undoing) owners(ctx context.Context, due []accounts.Account) (map[string][]string, error) {
	var wanted []auth.UserIdentifier
	for _, a := range due {
		for _, id := range identifiersOf(a) {
			wanted = append(wanted, id.UserIdentifier)
		}
	}
	owners := map[string][]string{}
	for chunk := range slices.Chunk(wanted, maxAccounts) {
		found, err := u.Accounts.GetUsers(ctx, chunk)
		if err != nil {
			return nil, fmt.Errorf("look whether somebody has signed up with an address of %d accounts since: %w", len(due), err)
		}
		for _, user := range found.Users {
			a := accounts.Account{Email: user.Email, PhoneNumber: user.PhoneNumber}
			for _, p := range user.ProviderUserInfo {
				a.Providers = append(a.Providers, accounts.Provider{ID: p.ProviderID, UID: p.UID})
			}
			for _, id := range identifiersOf(a) {
				if !slices.Contains(owners[id.key()], user.UID) {
					owners[id.key()] = append(owners[id.key()], user.UID)
				}
			}
		}
	}
	return owners, nil
}

// liveAccounts returns when those of some accounts that there are were created.
func (u *undoing) liveAccounts(ctx context.Context, all []undo.Account) (map[string]int64, error) {
	created := map[string]int64{}
	if u.Accounts == nil {
		return created, nil
	}
	identifiers := make([]auth.UserIdentifier, len(all))
	for i, a := range all {
		identifiers[i] = auth.UIDIdentifier{UID: a.UID}
	}
	found, err := u.Accounts.GetUsers(ctx, identifiers)
	if err != nil {
		return nil, fmt.Errorf("look for %s and %d more: %w", accountTarget(all[0].UID), len(all)-1, err)
	}
	for _, user := range found.Users {
		created[user.UID] = user.UserMetadata.CreationTimestamp
	}
	return created, nil
}

func accountTarget(uid string) string { return "account " + uid }
