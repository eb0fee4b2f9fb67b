package restore

import (
	"context"
	"fmt"

	"firebase.google.com/go/v4/auth"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/undo"
)

// account takes back the deletion of an account. It comes back with its id and what the log knows of it, without a password.
func (u *undoing) account(ctx context.Context, a undo.Account) error {
	target := "account " + a.UID
	if !u.chosen(target) {
		return nil
	}
	if u.Accounts == nil {
		return u.each(Outcome{Target: target, Step: undo.Conflict, Why: "no access to Authentication"})
	}
	known, err := accounts.Parse(a.Data)
	if err != nil {
		return fmt.Errorf("%s: what the undo log says of it is unusable: %w", target, err)
	}
	now, err := u.Accounts.GetUser(ctx, a.UID)
	switch {
	case err == nil && now.UserMetadata.CreationTimestamp == known.Created: // it was never deleted, or is back
		return u.each(Outcome{Target: target, Step: undo.Nothing})
	case err == nil:
		return u.each(Outcome{Target: target, Step: undo.Conflict, Why: "somebody has signed up with that id since"})
	case !auth.IsUserNotFound(err):
		return fmt.Errorf("look for %s: %w", target, err)
	}
	if !u.Apply {
		return u.each(Outcome{Target: target, Step: undo.Recreate})
	}
	result, err := u.Accounts.ImportUsers(ctx, []*auth.UserToImport{known.Import()})
	if err != nil {
		return fmt.Errorf("restore %s: %w", target, err)
	}
	if len(result.Errors) > 0 {
		return u.each(Outcome{Target: target, Step: undo.Conflict, Why: result.Errors[0].Reason})
	}
	return u.each(Outcome{Target: target, Step: undo.Recreate})
}
