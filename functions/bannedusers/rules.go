package bannedusers

import (
	"fmt"
	"math"
	"strings"
	"time"
	"unicode"

	"github.com/firesweep/firesweep/shared/documents"
)

// permanent is the banStatus whose users are deleted. Any other, a temporary ban above all, is kept.
const permanent = "permanent"

// The fields of a user that are judged.
const (
	statusField = "banStatus"
	dueField    = "permanentBanScheduledDeletionAt"
)

// judge decides about one user: due for deletion at now or kept, and why.
func judge(user documents.Document, now time.Time) (due bool, reason string) {
	if status, _ := user.Text(statusField); status != permanent {
		return false, keptNotBanned
	}
	scheduled, ok := user.Time(dueField)
	if !ok {
		return false, keptUndated
	}
	if scheduled.After(now) {
		return false, keptNotYet
	}
	return true, "permanently banned, deletion scheduled for " + scheduled.UTC().Format(time.RFC3339)
}

// Reasons to keep a user or, the last one, an account.
const (
	keptNotBanned = "not permanently banned"
	keptUndated   = "permanently banned, but permanentBanScheduledDeletionAt is missing or not a timestamp"
	keptNotYet    = "permanently banned, deletion scheduled for later"
	keptAccount   = "account deletion failed, tried again by the next run"
)

// alertAttempts is how many failed attempts to delete an account make it a person's business.
const alertAttempts = 3

// keptByLimit is the reason to keep a user whose turn comes with a later run.
func keptByLimit(maxUsers int) string {
	return fmt.Sprintf("due, left for the next run: at most %d users a run", maxUsers)
}

// A note is a document of authDeletionRetries: the user document is gone and the account of that uid has yet to be
// deleted. Its existence is what counts; its fields are for people.
type note struct {
	addedAt  time.Time // now of the run that deleted the user document; zero if the note does not say
	attempts int64     // how many attempts have failed
}

func noteOf(d documents.Document) note {
	addedAt, _ := d.Time("addedAt")
	attempts, _ := d.Data["attempts"].(int64)
	return note{addedAt: addedAt, attempts: min(max(0, attempts), math.MaxInt32)}
}

// maxError is how many characters of an error a warning repeats.
const maxError = 300

// warning says that an account was not deleted, in one line whatever the uid and the error hold.
func (n note) warning(uid string, err error) string {
	problem := []rune(err.Error())
	if len(problem) > maxError {
		problem = append(problem[:maxError], '…')
	}
	text := fmt.Sprintf("Auth delete failed for %s: %s (%s): every run tries again", uid, string(problem), n.reason())
	if n.attempts >= alertAttempts {
		text += "; look up the error, then delete the account in the Firebase console, or mend the service account's role"
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, text)
}

// reason says why an account's deletion is tried again.
func (n note) reason() string {
	if n.addedAt.IsZero() {
		return "the user document is gone, the account may not be"
	}
	return fmt.Sprintf("user document deleted %s, failed attempts to delete the account since: %d",
		n.addedAt.UTC().Format(time.RFC3339), n.attempts)
}
