package restore

import (
	"context"
	"fmt"
	"slices"

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
	var missing []*auth.UserToImport
	var uids []string
	for _, a := range all {
		known, err := accounts.Parse(a.Data)
		if err != nil {
			return fmt.Errorf("%s: its record in the undo log is unusable: %w", accountTarget(a.UID), err)
		}
		outcome := Outcome{Target: accountTarget(a.UID), Step: undo.Recreate}
		now, found := live[a.UID]
		switch {
		case u.Accounts == nil:
			outcome.Step, outcome.Why = undo.Conflict, "no access to Authentication"
		case found && now == known.Created: // it was never deleted, or is back
			outcome.Step = undo.Nothing
		case found:
			outcome.Step, outcome.Why = undo.Conflict, "somebody has signed up with that id since"
		case u.Apply:
			missing, uids = append(missing, known.Import()), append(uids, a.UID)
			continue
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
		return fmt.Errorf("restore %s and %d more: %w", accountTarget(uids[0]), len(uids)-1, err)
	}
	refused := map[int]string{}
	for _, e := range result.Errors {
		refused[e.Index] = e.Reason
	}
	for i, uid := range uids {
		outcome := Outcome{Target: accountTarget(uid), Step: undo.Recreate}
		if why, ok := refused[i]; ok {
			outcome.Step, outcome.Why = undo.Conflict, why
		}
		if err := u.tell(outcome); err != nil {
			return err
		}
	}
	return nil
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
