package placeholderusers

import (
	"fmt"
	"math"
	"time"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/retention"
)

// Limits of the attempts to delete a placeholder user.
const (
	maxAttempts = 15
	retryDays   = 2 // an attempt is made again when the last one was longer ago
)

// Why details are kept.
const (
	keptNamespace   = "namespace_id is set"
	keptExhausted   = "15 attempts have been made"
	keptRecent      = "the last attempt was not more than 2 days ago"
	keptBadAttempts = "deletion_attempts is not a whole number"
	keptBadTime     = "last_deletion_attempt_at is not a timestamp"
	keptNoUser      = "placeholder_user_id is missing or no id"
	keptLongUser    = "placeholder_user_id is too long to ask what refers to it"
)

// attempt is one attempt to have a placeholder user deleted.
type attempt struct {
	userID string
	number int       // from 1
	last   time.Time // the one before; zero if there was none
}

// judge decides about one document of import_placeholder_user_details: whether another attempt is due.
// If not, reason says why, and doubt whether that is because it cannot be judged.
func judge(detail documents.Document, now time.Time) (a attempt, due bool, reason string, doubt bool) {
	attempts, counted := countOf(detail.Data["deletion_attempts"])
	last, dated := detail.Time("last_deletion_attempt_at")
	userID, named := documents.IDOf(detail.Data["placeholder_user_id"])
	switch {
	case detail.Data["namespace_id"] != nil:
		return a, false, keptNamespace, false
	case !counted:
		return a, false, keptBadAttempts, true
	case attempts >= maxAttempts:
		return a, false, keptExhausted, false
	case !dated && detail.Data["last_deletion_attempt_at"] != nil:
		return a, false, keptBadTime, true
	case dated && !last.Before(retention.DaysBefore(now, retryDays)):
		return a, false, keptRecent, false
	case !named:
		return a, false, keptNoUser, true
	case !documents.Queryable(userID):
		return a, false, keptLongUser, true
	}
	a = attempt{userID: userID, number: attempts + 1, last: last}
	return a, true, a.reason(), false
}

// countOf returns how many attempts were made; a missing number is 0.
func countOf(v any) (n int, ok bool) {
	switch v := v.(type) {
	case nil:
		return 0, true
	case int64:
		return int(v), v >= 0
	case float64:
		return int(v), v >= 0 && v <= math.MaxInt32 && v == math.Trunc(v)
	default:
		return 0, false
	}
}

func (a attempt) reason() string {
	if a.last.IsZero() {
		return fmt.Sprintf("in no namespace, attempt %d of %d", a.number, maxAttempts)
	}
	return fmt.Sprintf("in no namespace, attempt %d of %d, the last on %s", a.number, maxAttempts, a.last.UTC().Format(time.RFC3339))
}

// key names the attempt, so that an attempt made again is the same task.
func (a attempt) key(detailID string) []string {
	return []string{detailID, fmt.Sprint(a.number), a.last.UTC().Format(time.RFC3339Nano)}
}

// isPlaceholder reports whether a document of users is one of a placeholder.
func isPlaceholder(user documents.Document) bool { return user.Data["user_type"] == "placeholder" }
