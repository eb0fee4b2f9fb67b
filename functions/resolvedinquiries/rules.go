package resolvedinquiries

import (
	"fmt"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/retention"
)

// How many days after an inquiry was resolved its deletion is announced, and after how many it is archived and deleted.
const (
	warningDays   = 6
	retentionDays = 7
)

// statusResolved is the only status in which an inquiry is deleted.
const statusResolved = "resolved"

// notifiedAt is the field of an inquiry that says when its user was told of the deletion. This job sets it, so that a
// notification that the user deletes is not sent again. A time before resolvedAt belongs to an earlier resolution.
const notifiedAt = "deletionWarningNotifiedAt"

// warningCutoff returns the time at or before which an inquiry must have been resolved to be due for anything.
func warningCutoff(now time.Time) time.Time { return retention.DaysBefore(now, warningDays) }

// The actions.
const (
	warn    = "warn user"
	archive = "archive and delete inquiry"
)

// judge decides about one inquiry. promise is the time from which a promise counts: now or, if that is later, the wall clock.
func judge(inquiry documents.Document, now, promise time.Time) cleanup.Decision {
	if status, _ := inquiry.Text("status"); status != statusResolved {
		return cleanup.Keep(keptUnresolved)
	}
	resolved, ok := inquiry.Time("resolvedAt")
	if !ok {
		return cleanup.Invalid(keptUndated)
	}
	day := retention.Stamp(resolved)
	told, isTold := inquiry.Time(notifiedAt)
	if !resolved.After(retention.DaysBefore(now, retentionDays)) {
		// A run with an old schedule time told the user when the inquiry was due already: "tomorrow" must still be true.
		if isTold && !told.Before(resolved.Add(retentionDays*retention.Day)) && !told.After(promise) &&
			told.After(retention.DaysBefore(promise, 1)) {
			return cleanup.Keep(keptPromised)
		}
		return cleanup.Do(archive, fmt.Sprintf("resolved %s, %d days ago or more", day, retentionDays))
	}
	if resolved.After(warningCutoff(now)) {
		return cleanup.Keep(keptYoung)
	}
	if isTold && !told.Before(resolved) && !told.After(promise) { // a time in the future is wrong
		return cleanup.Keep(keptTold)
	}
	if _, named := userOf(inquiry); !named {
		return cleanup.Invalid(keptUntold)
	}
	return cleanup.Do(warn, fmt.Sprintf("resolved %s, %d days ago or more: to be deleted tomorrow", day, warningDays))
}

// userOf returns who asked; ok is false if the userId can name nobody.
func userOf(inquiry documents.Document) (user documents.Ref, ok bool) {
	id, ok := inquiry.IDIn("users", inquiry.Value("userId"))
	return documents.Ref{Collection: "users", ID: id}, ok
}

// Reasons to keep an inquiry.
const (
	keptUnresolved = "status is not resolved"
	keptUndated    = "resolvedAt is missing or not a timestamp"
	keptYoung      = "resolved less than 6 days ago"
	keptTold       = "resolved less than 7 days ago, its user has been notified"
	keptPromised   = "resolved 7 days ago or more, but its user was notified less than a day ago"
	keptUntold     = "resolved less than 7 days ago, and no valid userId to notify"
)
