package ghostcircles

import (
	"fmt"
	"time"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/retention"
	"github.com/firesweep/firesweep/shared/sweep"
)

// How long a circle may be idle, and how long its owner is left after a warning, in days.
const (
	ghostDays     = 365 // since the last human post
	abandonedDays = 30  // since its creation, where no human ever posted
	graceDays     = 7   // since the warning
)

const warnedField = "ghostWarningNotifiedAt"

// judged are the fields that a circle is judged by.
var judged = []string{"lastHumanPostAt", "createdAt", warnedField, "isDeleted", "deletedBy", "deletedAt"}

// What is done to circles, as the report counts it.
const (
	toWarn   = "warn owner of circle"
	toClear  = "clear warning of circle" // it was warned and is in use again
	toDelete = "delete circle"           // its owner has been warned and its time is over
	toFinish = "finish deleting circle"  // it is claimed
)

// judge decides about one circle. promise is the instant from which promises count and by which they are kept: now or, where
// that is older, the wall clock's. The owner's week begins and ends by it.
func judge(circle documents.Document, now, promise time.Time) sweep.Decision {
	switch deleted := circle.Data["isDeleted"].(type) {
	case nil:
	case bool:
		if claimed(circle) {
			return sweep.Do(toFinish, "a run that was interrupted began to delete it")
		}
		if deleted {
			return sweep.Keep(keptDeleted)
		}
	default:
		return sweep.Invalid(keptOddDeleted)
	}
	warned, isWarned, ok := instant(circle, warnedField)
	if !ok {
		return sweep.Invalid(keptOddWarning)
	}
	idle, invalid := idleness(circle)
	switch {
	case invalid != "":
		return sweep.Invalid(invalid)
	case idle.since.After(now) && isWarned:
		return sweep.Do(toClear, "in use again; the warning was given "+date(warned))
	case idle.since.After(now):
		return sweep.Keep(keptInUse)
	}
	if circle.Data["deletedBy"] == jobName { // somebody has undone what a run had begun
		if claimedAt, ok := circle.Time("deletedAt"); !ok || claimedAt.After(promise) {
			return sweep.Invalid(keptOddRevival)
		}
	}
	switch {
	case isWarned && warned.After(promise):
		return sweep.Invalid(keptFutureWarning)
	case !isWarned:
		return sweep.Do(toWarn, idle.reason)
	case !warningCounts(circle):
		return sweep.Do(toWarn, idle.reason+"; the warning of "+date(warned)+" no longer counts")
	case warned.After(retention.DaysBefore(promise, graceDays)):
		return sweep.Keep(keptWarned)
	default:
		return sweep.Do(toDelete, idle.reason+"; warned "+date(warned))
	}
}

// idle is since when a circle is, or will be, a ghost or abandoned.
type idle struct {
	since     time.Time
	abandoned bool // nobody ever posted
	reason    string
}

// idleness returns since when a circle is idle, or why that cannot be told.
func idleness(circle documents.Document) (i idle, invalid string) {
	posted, isPosted, ok := instant(circle, "lastHumanPostAt")
	if !ok {
		return i, keptOddPost
	}
	if isPosted {
		return idle{
			since:  posted.Add(ghostDays * retention.Day),
			reason: fmt.Sprintf("ghost: the last human post is of %s, %d days ago or more", date(posted), ghostDays),
		}, ""
	}
	created, ok := circle.Time("createdAt")
	if !ok {
		return i, keptUndated
	}
	return idle{
		since: created.Add(abandonedDays * retention.Day), abandoned: true,
		reason: fmt.Sprintf("abandoned: no human post since its creation %s, %d days ago or more", date(created), abandonedDays),
	}, ""
}

// countsFrom returns the instant from which on a warning counts: since when the circle is idle or, if that is later, the claim
// that somebody has undone.
func countsFrom(circle documents.Document) time.Time {
	i, _ := idleness(circle)
	if claimedAt, ok := circle.Time("deletedAt"); ok && circle.Data["deletedBy"] == jobName && claimedAt.After(i.since) {
		return claimedAt
	}
	return i.since
}

// warningCounts reports whether the owner of an idle circle has been warned since it is.
func warningCounts(circle documents.Document) bool {
	warned, isWarned, _ := instant(circle, warnedField)
	return isWarned && !warned.Before(countsFrom(circle))
}

// claimed reports whether a run has begun to delete a circle and nobody has undone that.
func claimed(circle documents.Document) bool {
	deleted, _ := circle.Data["isDeleted"].(bool)
	return deleted && circle.Data["deletedBy"] == jobName
}

// instant returns a timestamp field. set is false if it is missing or null, ok if it is of another type.
func instant(d documents.Document, field string) (at time.Time, set, ok bool) {
	value := d.Data[field]
	at, isTime := value.(time.Time)
	return at, isTime, isTime || value == nil
}

func date(at time.Time) string { return at.UTC().Format(time.RFC3339) }

// Reasons to keep a circle.
const (
	keptDeleted       = "isDeleted, but not by this job"
	keptInUse         = "in use"
	keptWarned        = "warned less than 7 days ago"
	keptOddDeleted    = "isDeleted is neither true nor false"
	keptOddPost       = "lastHumanPostAt is not a timestamp"
	keptUndated       = "nobody has posted, and createdAt is missing or not a timestamp"
	keptOddWarning    = "ghostWarningNotifiedAt is not a timestamp"
	keptFutureWarning = "ghostWarningNotifiedAt is in the future"
	keptOddRevival    = "its deletion was undone, and deletedAt is missing, not a timestamp or in the future"
)
