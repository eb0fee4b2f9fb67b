package bannedusers

import (
	"fmt"
	"math"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/harmless"
	"github.com/firesweep/firesweep/shared/logging"
	"github.com/firesweep/firesweep/shared/retention"
)

// The collections of the job, and the fields by which a user is judged.
const (
	users       = "users"
	notes       = "authDeletionRetries" // their ids are uids, see [attemptsOf]
	statusField = "banStatus"
	permanent   = "permanent" // users with any other status are kept, above all those with a temporary ban
	dueField    = "permanentBanScheduledDeletionAt"
)

// judgeUser decides about one user.
func judgeUser(user cleanup.Subject, run cleanup.Run) cleanup.Decision {
	status, _ := user.Text(statusField)
	scheduled, dated := user.Time(dueField)
	switch {
	case !user.Found:
		return cleanup.Invalid(keptGone)
	case status != permanent:
		return cleanup.Keep(keptNotBanned)
	case !dated:
		return cleanup.Invalid(keptUndated)
	case scheduled.After(run.Now):
		return cleanup.Keep(keptNotYet)
	}
	return cleanup.Do("delete user", "permanently banned, deletion scheduled for "+retention.Stamp(scheduled))
}

// judgeNote decides about the account that a note is about. If the user document exists again, the account is kept. If that
// document is due, its own action deletes the account. If it is not, nobody here can tell whether somebody restored it on
// purpose or a banned user came back. So the note stays as well, and every run says so, until a person decides.
func judgeNote(n noted, run cleanup.Run) cleanup.Decision {
	switch {
	case !n.Found:
		return cleanup.Decision{} // somebody deleted it
	case !n.user.Found:
		return cleanup.Do("retry account deletion", reasonFor(n.Document))
	case judgeUser(n.user, run).Kind != "":
		return cleanup.Keep(keptWithUser)
	default:
		return cleanup.Invalid(keptBack)
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
	keptWithUser = "an account whose user document is there again and due: it goes with that"
	keptBack     = "there is a document users/{uid} again, which is not due: if it was restored on purpose, " +
		"delete authDeletionRetries/{uid}, otherwise ban the user again"
	keptByLimit = "due, left for the next run: at most %d users a run"
)

const (
	alertAttempts = 3   // after so many failed attempts to delete an account, a person must look
	maxError      = 300 // characters of an error in a warning
)

// attemptsOf returns how many attempts to delete an account have failed, from its note: a document of authDeletionRetries
// whose user document is gone. Only the note's existence decides; its fields are for people.
func attemptsOf(note documents.Document) int64 {
	n, _ := note.Data["attempts"].(int64)
	return min(max(0, n), math.MaxInt32)
}

// warning says that an account was not deleted. It is one line, whatever the uid and the error contain.
func warning(note documents.Document, err error) cleanup.Notice {
	n := cleanup.Notice{Fields: map[string]any{"attempts": attemptsOf(note)}}
	problem := harmless.Cut(err.Error(), maxError)
	text := fmt.Sprintf("Auth delete failed for %s: %s (%s): every run tries again", note.ID(), problem, reasonFor(note))
	if attemptsOf(note) >= alertAttempts {
		text += "; look up the error, then delete the account in the Firebase console, or fix the service account's role"
		n.Fields["alert"] = logging.AlertAccount
	}
	n.Message = harmless.Line(text, len(text))
	return n
}

// reasonFor says why an account's deletion is tried again.
func reasonFor(note documents.Document) string {
	addedAt, dated := note.Time("addedAt")
	if !dated {
		return "the user document is gone, the account may not be"
	}
	return fmt.Sprintf("user document deleted %s, failed attempts to delete the account since: %d",
		retention.Stamp(addedAt), attemptsOf(note))
}
