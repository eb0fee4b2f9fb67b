package ghostcircles

import (
	"fmt"
	"time"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/retention"
)

// How long a circle may be idle, and how long its owner is left after a warning, in days.
const (
	ghostDays     = 365 // since the last human post
	abandonedDays = 30  // since its creation, where no human ever posted
	graceDays     = 7   // since the warning
)

// judged are the fields that a circle is judged by.
var judged = []string{"lastHumanPostAt", "createdAt", "ghostWarningNotifiedAt", "isDeleted", "deletedBy", "deletedAt"}

// outcome is what is to become of a circle.
type outcome int

const (
	toKeep   outcome = iota
	toDoubt          // kept, because it cannot be judged
	toWarn           // its owner is to be warned
	toDelete         // its owner has been warned and its time is over
	toFinish         // an interrupted run has begun to delete it
	toClear          // it was warned and is in use again
)

// verdict is what is to become of a circle and why.
type verdict struct {
	outcome outcome
	reason  string
	// For toWarn: whether nobody ever posted, and the instant from which on a warning counts.
	abandoned bool
	since     time.Time
}

// judge decides about one circle. promise is the instant from which promises count and by which they are kept: now or, where
// that is older, the wall clock's. The owner's week begins and ends by it.
func judge(circle documents.Document, now, promise time.Time) verdict {
	by, _ := circle.Text("deletedBy")
	switch deleted := circle.Data["isDeleted"].(type) {
	case nil:
	case bool:
		if deleted && by == jobName {
			return verdict{outcome: toFinish, reason: "a run that was interrupted began to delete it"}
		}
		if deleted {
			return verdict{outcome: toKeep, reason: keptDeleted}
		}
	default:
		return verdict{outcome: toDoubt, reason: keptOddDeleted}
	}
	warned, isWarned, ok := instant(circle, "ghostWarningNotifiedAt")
	if !ok {
		return verdict{outcome: toDoubt, reason: keptOddWarning}
	}
	v, doubt := idleness(circle)
	switch {
	case doubt != "":
		return verdict{outcome: toDoubt, reason: doubt}
	case v.since.After(now) && isWarned:
		return verdict{outcome: toClear, reason: "in use again; the warning was given " + date(warned)}
	case v.since.After(now):
		return verdict{outcome: toKeep, reason: keptInUse}
	}
	if by == jobName {
		// Somebody has undone what a run had begun: that voids the warning from before.
		claimed, ok := circle.Time("deletedAt")
		if !ok || claimed.After(promise) {
			return verdict{outcome: toDoubt, reason: keptOddRevival}
		}
		if claimed.After(v.since) {
			v.since = claimed
		}
	}
	switch {
	case isWarned && warned.After(promise):
		return verdict{outcome: toDoubt, reason: keptFutureWarning}
	case !isWarned:
		v.outcome = toWarn
	case warned.Before(v.since):
		v.outcome = toWarn
		v.reason += "; the warning of " + date(warned) + " no longer counts"
	case warned.After(retention.DaysBefore(promise, graceDays)):
		return verdict{outcome: toKeep, reason: keptWarned}
	default:
		v.outcome = toDelete
		v.reason += "; warned " + date(warned)
	}
	return v
}

// idleness returns since when a circle is or will be a ghost or abandoned, or why that cannot be told.
func idleness(circle documents.Document) (v verdict, doubt string) {
	posted, isPosted, ok := instant(circle, "lastHumanPostAt")
	if !ok {
		return v, keptOddPost
	}
	if isPosted {
		return verdict{
			since:  posted.Add(ghostDays * retention.Day),
			reason: fmt.Sprintf("ghost: the last human post is of %s, %d days ago or more", date(posted), ghostDays),
		}, ""
	}
	created, ok := circle.Time("createdAt")
	if !ok {
		return v, keptUndated
	}
	return verdict{
		since: created.Add(abandonedDays * retention.Day), abandoned: true,
		reason: fmt.Sprintf("abandoned: no human post since its creation %s, %d days ago or more", date(created), abandonedDays),
	}, ""
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
