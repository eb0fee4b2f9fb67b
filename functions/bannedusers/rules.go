package bannedusers

import (
	"fmt"
	"math"
	"strings"
	"time"
	"unicode"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/sweep"
)

// The collections of the job, and the fields of a user that are judged.
const (
	users       = "users"
	notes       = "authDeletionRetries" // by uid, see note
	statusField = "banStatus"
	dueField    = "permanentBanScheduledDeletionAt"
)

// permanent is the banStatus whose users are deleted. Any other, a temporary ban above all, is kept.
const permanent = "permanent"

// judgeUser decides about one user.
func judgeUser(user sweep.Subject, run sweep.Run) sweep.Decision {
	if !user.Found {
		return sweep.Invalid(keptGone)
	}
	if status, _ := user.Text(statusField); status != permanent {
		return sweep.Keep(keptNotBanned)
	}
	scheduled, ok := user.Time(dueField)
	if !ok {
		return sweep.Invalid(keptUndated)
	}
	if scheduled.After(run.Now) {
		return sweep.Keep(keptNotYet)
	}
	return sweep.Do("delete user", "permanently banned, deletion scheduled for "+scheduled.UTC().Format(time.RFC3339))
}

// noted is a note with the user document of its uid, if there is one again.
type noted struct {
	sweep.Subject
	user sweep.Subject
}

// judgeNote decides about the account that a note is about. Where the user document is there again, the account is kept: a
// document that is due takes it along when it has its turn, and of any other nobody here can tell whether it was restored on
// purpose or is how somebody banned comes back. So the note stays as well, and every run says so, until a person decides.
func judgeNote(n noted, run sweep.Run) sweep.Decision {
	switch {
	case !n.Found:
		return sweep.Decision{} // somebody deleted it
	case !n.user.Found:
		return sweep.Do("retry account deletion", noteOf(n.Document).reason())
	case judgeUser(n.user, run).Kind != "":
		return sweep.Keep(keptWithUser)
	default:
		return sweep.Invalid(keptBack)
	}
}

// Reasons to keep a user or an account.
const (
	keptNotBanned = "not permanently banned"
	keptUndated   = "permanently banned, but permanentBanScheduledDeletionAt is missing or not a timestamp"
	keptNotYet    = "permanently banned, deletion scheduled for later"
	keptGone      = "somebody else deleted the document since it was judged, so its account was kept: " +
		"delete the account in the Firebase console if it is still there and should not be"
	keptAccount  = "account deletion failed, tried again by the next run"
	keptWithUser = "an account that goes with its user document, which is there again and due"
	keptBack     = "there is a document users/{uid} again, which is not due: if it was restored on purpose, " +
		"delete authDeletionRetries/{uid}, otherwise ban the user again"
)

// keptByLimit is the reason to keep a user whose turn comes with a later run.
func keptByLimit(maxUsers int) string {
	return fmt.Sprintf("due, left for the next run: at most %d users a run", maxUsers)
}

// alertAttempts is how many failed attempts to delete an account make it a person's business.
const alertAttempts = 3

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
