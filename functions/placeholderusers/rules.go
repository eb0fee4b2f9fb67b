package placeholderusers

import (
	"fmt"
	"slices"
	"time"

	"github.com/firesweep/firesweep/functions/placeholderusers/places"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/retention"
)

// Limits of the attempts to delete a placeholder user.
const (
	maxAttempts = 15
	retryDays   = 2 // an attempt is made again when the last one was longer ago
)

// Kinds of action.
const (
	handKind   = "have placeholder user deleted"
	deleteKind = "delete placeholder user"
)

// Why details are kept.
const (
	keptNamespace   = "namespace_id is set"
	keptBadSpace    = "namespace_id is neither null nor an id"
	keptExhausted   = "15 attempts have been made"
	keptRecent      = "the last attempt was not more than 2 days ago"
	keptBadAttempts = "deletion_attempts is not a whole number"
	keptBadTime     = "last_deletion_attempt_at is not a timestamp"
	keptNoUser      = "placeholder_user_id is missing or not a valid id"
	keptLongUser    = "placeholder_user_id is too long to query what refers to it"
	keptBadUser     = "the user_type of its user is not a text"
)

// attempt is a detail, with its user if another attempt is due otherwise.
type attempt struct {
	cleanup.Subject
	user    documents.Document
	hasUser bool
}

// judge decides about one document of import_placeholder_user_details: whether another attempt is due.
func judge(detail attempt, run cleanup.Run) cleanup.Decision {
	attempts, counted := attemptsOf(detail.Subject)
	last, dated := detail.Time("last_deletion_attempt_at")
	userID, named := detail.IDIn(users, detail.Data["placeholder_user_id"])
	_, typed := detail.user.Text("user_type")
	switch {
	case isNamespace(detail.Data["namespace_id"]):
		return cleanup.Keep(keptNamespace)
	case detail.Data["namespace_id"] != nil:
		return cleanup.Invalid(keptBadSpace)
	case !counted:
		return cleanup.Invalid(keptBadAttempts)
	case attempts >= maxAttempts:
		return cleanup.Keep(keptExhausted)
	case !dated && detail.Data["last_deletion_attempt_at"] != nil:
		return cleanup.Invalid(keptBadTime)
	case dated && !last.Before(retention.DaysBefore(run.Now, retryDays)):
		return cleanup.Keep(keptRecent)
	case !named:
		return cleanup.Invalid(keptNoUser)
	case !documents.Queryable(userID):
		return cleanup.Invalid(keptLongUser)
	case detail.hasUser && !typed: // the worker would keep it, whatever the attempt
		return cleanup.Invalid(keptBadUser)
	}
	reason := fmt.Sprintf("in no namespace, attempt %d of %d", attempts+1, maxAttempts)
	if dated {
		reason += ", the last on " + last.UTC().Format(time.RFC3339)
	}
	return cleanup.Do(handKind, reason)
}

// isNamespace reports whether a value can name a namespace: not if it is what programs write for none.
func isNamespace(value any) bool {
	switch value.(type) {
	case string, int64, float64, bool:
		_, ok := documents.IDOf(value)
		return ok
	default:
		return value != nil
	}
}

// attemptsOf returns how many attempts were made; a missing number is 0.
func attemptsOf(detail cleanup.Subject) (n int64, ok bool) {
	n, ok = detail.Whole("deletion_attempts")
	return n, n >= 0 && (ok || detail.Data["deletion_attempts"] == nil)
}

// Why users are kept.
const (
	keptGone       = "the user does not exist"
	keptNot        = "user_type is not placeholder"
	keptNoType     = "user_type is not a text"
	keptLong       = "its id is too long to query what refers to it"
	keptReferenced = "still referenced"
	keptCrowded    = "too many details name it"
	keptClaimed    = "its detail has a namespace_id again"
)

// referencedMessage is what is logged of a user that something refers to.
const referencedMessage = "Unable to delete placeholder user because it is still referenced in other tables"

// maxDetails is how many details of one user are looked at; imports make one. A user with more is kept, for one of the others
// may have a namespace.
const maxDetails = 100

// user is what stands at the path of a user, with what speaks against deleting it.
type user struct {
	cleanup.Subject
	long       bool                 // the id is too long for a query
	referredIn places.Place         // what refers to it
	details    []documents.Document // that name it, one more than maxDetails at most
}

func isPlaceholder(s cleanup.Subject) bool { return s.Found && s.Data["user_type"] == "placeholder" }

// judgeUser decides about one user.
func judgeUser(u user, _ cleanup.Run) cleanup.Decision {
	_, typed := u.Text("user_type")
	switch {
	case !u.Found:
		return cleanup.Keep(keptGone)
	case !typed:
		return cleanup.Invalid(keptNoType)
	case !isPlaceholder(u.Subject):
		return cleanup.Keep(keptNot)
	case u.long:
		return cleanup.Invalid(keptLong)
	case u.referredIn != places.Place{}:
		d := cleanup.Keep(keptReferenced)
		d.Notice = &cleanup.Notice{
			Message: referencedMessage,
			Fields:  map[string]any{"placeholder_user_id": u.ID(), "referenced_in": u.referredIn.String()},
		}
		return d
	case len(u.details) > maxDetails:
		return cleanup.Invalid(keptCrowded)
	case len(unclaimed(u)) < len(u.details):
		return cleanup.Keep(keptClaimed) // an import took it up after the task was made
	}
	return cleanup.Do(deleteKind, "a placeholder, and nothing refers to it")
}

// judgeLeft decides about the details of a user who is deleted. Those that an import has taken up meanwhile stay.
func judgeLeft(u user, _ cleanup.Run) cleanup.Decision {
	if u.Found || len(unclaimed(u)) == 0 {
		return cleanup.Keep("the user is there again, or no detail is left")
	}
	return cleanup.Do("delete details", "the user is deleted")
}

// unclaimed returns the details of a user that are in no namespace.
func unclaimed(u user) []documents.Document {
	return slices.DeleteFunc(slices.Clone(u.details), func(d documents.Document) bool { return d.Data["namespace_id"] != nil })
}
