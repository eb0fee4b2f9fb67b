package placeholderusers

import (
	"fmt"
	"slices"
	"time"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine"
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
	engine.Subject
	user    documents.Document
	hasUser bool
}

// judge decides about one document of import_placeholder_user_details: whether another attempt is due.
func judge(detail attempt, run engine.Run) engine.Decision {
	attempts, counted := attemptsOf(detail.Subject)
	last, dated := detail.Time("last_deletion_attempt_at")
	userID, named := detail.IDIn(users, detail.Data["placeholder_user_id"])
	_, typed := detail.user.Text("user_type")
	switch {
	case isNamespace(detail.Data["namespace_id"]):
		return engine.Keep(keptNamespace)
	case detail.Data["namespace_id"] != nil:
		return engine.Invalid(keptBadSpace)
	case !counted:
		return engine.Invalid(keptBadAttempts)
	case attempts >= maxAttempts:
		return engine.Keep(keptExhausted)
	case !dated && detail.Data["last_deletion_attempt_at"] != nil:
		return engine.Invalid(keptBadTime)
	case dated && !last.Before(retention.DaysBefore(run.Now, retryDays)):
		return engine.Keep(keptRecent)
	case !named:
		return engine.Invalid(keptNoUser)
	case !documents.Queryable(userID):
		return engine.Invalid(keptLongUser)
	case detail.hasUser && !typed: // the worker would keep it, whatever the attempt
		return engine.Invalid(keptBadUser)
	}
	reason := fmt.Sprintf("in no namespace, attempt %d of %d", attempts+1, maxAttempts)
	if dated {
		reason += ", the last on " + last.UTC().Format(time.RFC3339)
	}
	return engine.Do(handKind, reason)
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
func attemptsOf(detail engine.Subject) (n int64, ok bool) {
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
	engine.Subject
	long       bool                 // the id is too long for a query
	referredIn engine.Place         // what refers to it
	details    []documents.Document // that name it, one more than maxDetails at most
}

func isPlaceholder(s engine.Subject) bool { return s.Found && s.Data["user_type"] == "placeholder" }

// judgeUser decides about one user.
func judgeUser(u user, _ engine.Run) engine.Decision {
	_, typed := u.Text("user_type")
	switch {
	case !u.Found:
		return engine.Keep(keptGone)
	case !typed:
		return engine.Invalid(keptNoType)
	case !isPlaceholder(u.Subject):
		return engine.Keep(keptNot)
	case u.long:
		return engine.Invalid(keptLong)
	case u.referredIn != engine.Place{}:
		d := engine.Keep(keptReferenced)
		d.Notice = &engine.Notice{
			Message: referencedMessage,
			Fields:  map[string]any{"placeholder_user_id": u.ID(), "referenced_in": u.referredIn.String()},
		}
		return d
	case len(u.details) > maxDetails:
		return engine.Invalid(keptCrowded)
	case len(unclaimed(u)) < len(u.details):
		return engine.Keep(keptClaimed) // an import took it up after the task was made
	}
	return engine.Do(deleteKind, "a placeholder, and nothing refers to it")
}

// judgeLeft decides about the details of a user who is deleted. Those that an import has taken up meanwhile stay.
func judgeLeft(u user, _ engine.Run) engine.Decision {
	if u.Found || len(unclaimed(u)) == 0 {
		return engine.Keep("the user is there again, or no detail is left")
	}
	return engine.Do("delete details", "the user is deleted")
}

// unclaimed returns the details of a user that are in no namespace.
func unclaimed(u user) []documents.Document {
	return slices.DeleteFunc(slices.Clone(u.details), func(d documents.Document) bool { return d.Data["namespace_id"] != nil })
}
