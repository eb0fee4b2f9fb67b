package ghostcircles

import (
	"fmt"
	"time"

	"github.com/firesweep/firesweep/functions/notifications"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/retention"
)

// How long a circle may be idle, and how long its owner is left after a warning, in days.
const (
	ghostDays     = 365 // since the last human post
	abandonedDays = 30  // since its creation, where no human ever posted
	graceDays     = 7   // since the warning
)

const (
	postedField = "lastHumanPostAt"
	warnedField = "ghostWarningNotifiedAt"
)

// judged are the fields that a circle is judged by.
var judged = []string{postedField, "createdAt", warnedField, "isDeleted", "deletedBy", "deletedAt", "ownerId"}

// What is done to circles, as the report counts it.
const (
	toWarn   = "warn owner of circle"
	toClear  = "clear warning of circle" // it was warned and is in use again
	toDelete = "delete circle"           // its owner has been warned and its time is over
	toFinish = "finish deleting circle"  // it is claimed
)

// judge decides about one circle. The owner's week begins by run.Promise, which is the wall clock where the run's now is older,
// and ends by the run's now: so an old schedule time shortens no week.
func judge(c state, run cleanup.Run) cleanup.Decision {
	warned, isWarned, warningOK := c.Instant(warnedField)
	i, invalid := idlenessOf(c.Document)
	claimedAt, isDated := c.Time("deletedAt")
	_, isOwned := c.owner()
	revived := c.Data["deletedBy"] == jobName // somebody has undone what a run had begun
	switch deleted := c.Data["isDeleted"]; {
	case !documents.ValidID(c.ID()), !documents.Queryable(c.ID()): // no post names it, or no query asks for those that do
		return cleanup.Invalid(keptBadID)
	case c.From == begun && !claimed(c.Subject):
		return cleanup.Keep(keptRevived)
	case claimed(c.Subject):
		return cleanup.Do(toFinish, "a run that was interrupted began to delete it")
	case deleted == true:
		return cleanup.Keep(keptDeleted)
	case deleted != nil && deleted != false:
		return cleanup.Invalid(keptOddDeleted)
	case !warningOK:
		return cleanup.Invalid(keptOddWarning)
	case invalid != "":
		return cleanup.Invalid(invalid)
	case i.since.After(run.Now) && isWarned:
		return cleanup.Do(toClear, "in use again; the warning was given "+retention.Stamp(warned))
	case i.since.After(run.Now):
		return cleanup.Keep(keptInUse)
	case !isOwned: // nobody may lose a circle untold
		return cleanup.Invalid(keptOddOwner)
	case revived && (!isDated || claimedAt.After(run.Promise)):
		return cleanup.Invalid(keptOddRevival)
	case warned.After(run.Promise):
		return cleanup.Invalid(keptFutureWarning)
	case !warned.Before(i.countsFrom) && warned.After(retention.DaysBefore(run.Now, graceDays)):
		return cleanup.Keep(keptWarned)
	case !c.hasOwner:
		return cleanup.Invalid(keptNoOwner)
	case !isWarned:
		return cleanup.Do(toWarn, i.reason)
	case warned.Before(i.countsFrom):
		return cleanup.Do(toWarn, i.reason+"; the warning of "+retention.Stamp(warned)+" no longer counts")
	default:
		return cleanup.Do(toDelete, i.reason+"; warned "+retention.Stamp(warned))
	}
}

// claimed reports whether a run has begun to delete a circle and nobody has undone that.
func claimed(circle cleanup.Subject) bool {
	return circle.Data["isDeleted"] == true && circle.Data["deletedBy"] == jobName
}

// idleness says since when a circle is, or will be, a ghost or abandoned.
type idleness struct {
	since      time.Time
	countsFrom time.Time // from which on a warning counts: since or, if that is later, the claim that somebody has undone
	reason     string
	text       func(l notifications.Locale, circle string) notifications.Text // of its warning
}

// idlenessOf returns since when a circle is idle, or why that cannot be told.
func idlenessOf(circle documents.Document) (i idleness, invalid string) {
	posted, isPosted, ok := circle.Instant(postedField)
	created, isCreated := circle.Time("createdAt")
	switch {
	case !ok:
		return i, keptOddPost
	case isPosted:
		i.since, i.text = posted.Add(ghostDays*retention.Day), notifications.Locale.GhostCircleWarning
		i.reason = fmt.Sprintf("ghost: the last human post is of %s, %d days ago or more", retention.Stamp(posted), ghostDays)
	case !isCreated:
		return i, keptUndated
	default:
		i.since, i.text = created.Add(abandonedDays*retention.Day), notifications.Locale.AbandonedCircleWarning
		i.reason = fmt.Sprintf("abandoned: no human post since its creation %s, %d days ago or more",
			retention.Stamp(created), abandonedDays)
	}
	i.countsFrom = i.since
	if claimedAt, ok := circle.Time("deletedAt"); ok && circle.Data["deletedBy"] == jobName && claimedAt.After(i.since) {
		i.countsFrom = claimedAt
	}
	return i, ""
}

// Reasons to keep a circle.
const (
	keptDeleted       = "isDeleted, but not by this job"
	keptRevived       = "somebody has undone its deletion meanwhile"
	keptInUse         = "in use"
	keptWarned        = "warned less than 7 days ago"
	keptOddDeleted    = "isDeleted is neither true nor false"
	keptOddPost       = "lastHumanPostAt is not a timestamp"
	keptUndated       = "nobody has posted, and createdAt is missing or not a timestamp"
	keptOddWarning    = "ghostWarningNotifiedAt is not a timestamp"
	keptOddOwner      = "nobody has posted for long, and ownerId is missing or names nobody"
	keptNoOwner       = "nobody has posted for long, and its owner has no document"
	keptFutureWarning = "ghostWarningNotifiedAt is in the future"
	keptBadID         = "its own id names nothing, or is too long for a query"
	keptOddRevival    = "its deletion was undone, and deletedAt is missing, not a timestamp or in the future"
)
