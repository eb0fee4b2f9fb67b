package inactiveprojects

import (
	"fmt"
	"slices"
	"time"

	"github.com/firesweep/firesweep/shared/documents"
)

// verdict is what is to become of a project.
type verdict int

const (
	keep     verdict = iota
	doubtful         // kept because it cannot be judged
	warn             // nobody has been warned since its last activity
	mark             // warned, and the promised date has come
)

// Why projects are kept.
const (
	keptActive   = "not dormant"
	keptSmall    = "not larger than inactive_projects_min_size_mb"
	keptMarked   = "marked for deletion already"
	keptPending  = "pending_delete is true"
	keptInGrace  = "warned, its time has not come"
	keptUndated  = "last_activity_at is missing or not a timestamp"
	keptUnsized  = "storage_size is missing or not a number"
	keptUnclear  = "pending_delete is neither true nor false"
	keptNoOrg    = "organization_id is missing or no id"
	keptBadID    = "its own id is none that a task can name"
	keptNoPeople = "owner_ids and maintainer_ids hold something, but no id"
	keptNoBot    = "its organization has no admin_bot_user_id in whose name to act"
	keptBadEntry = "its warning has no usable warned_on or deletion_date"
)

// dormant decides about a project by itself: whether nobody has worked on it for so long that it matters whether it was
// warned about. Otherwise v says how it is kept, and reason why.
func dormant(project documents.Document, s settings, now time.Time) (is bool, v verdict, reason string) {
	last, dated := project.Time("last_activity_at")
	size, sized := numberOf(project.Data["storage_size"])
	pending, isBool := project.Data["pending_delete"].(bool)
	_, hasOrg := documents.IDOf(project.Data["organization_id"])
	_, canBeWarned := recipients(project)
	switch {
	case !dated:
		return false, doubtful, keptUndated
	case !last.Before(s.dormantBefore(now)):
		return false, keep, keptActive
	case !sized:
		return false, doubtful, keptUnsized
	case size <= s.minSize*(1<<20):
		return false, keep, keptSmall
	case project.Data["marked_for_deletion_on"] != nil:
		return false, keep, keptMarked
	case pending:
		return false, keep, keptPending
	case !isBool && project.Data["pending_delete"] != nil:
		return false, doubtful, keptUnclear
	case !hasOrg:
		return false, doubtful, keptNoOrg
	case !documents.ValidID(project.ID()):
		return false, doubtful, keptBadID
	case !canBeWarned:
		return false, doubtful, keptNoPeople
	default:
		return true, keep, ""
	}
}

// judge decides about a project and the entry of its warning, which is nil if there is none.
func judge(project documents.Document, entry *documents.Document, s settings, now time.Time) (v verdict, reason string) {
	if is, v, reason := dormant(project, s, now); !is {
		return v, reason
	}
	last, _ := project.Time("last_activity_at")
	since := "no activity since " + last.UTC().Format(time.RFC3339)
	if entry == nil {
		return warn, since
	}
	given, ok := warningOf(*entry)
	switch {
	case !ok:
		return doubtful, keptBadEntry
	case given.from.Before(last):
		return warn, fmt.Sprintf("%s; its warning of %s is older", since, given.from.UTC().Format(time.DateOnly))
	case given.to.After(s.warnedBy(now)) || now.Before(given.promised):
		return keep, keptInGrace
	default:
		return mark, fmt.Sprintf("%s, warned %s with the promise not to delete it before %s", since,
			given.from.UTC().Format(time.DateOnly), given.promised.Format(time.DateOnly))
	}
}

// recipients returns the ids of a project's owners and maintainers, each once. A single id counts as a list of one. ok is
// false if there is something in the lists and none of it is an id: then there are people whom nobody can warn.
func recipients(project documents.Document) (to []string, ok bool) {
	some := false
	for _, field := range []string{"owner_ids", "maintainer_ids"} {
		list, isList := project.Data[field].([]any)
		if v := project.Data[field]; v != nil && !isList {
			list = []any{v}
		}
		some = some || len(list) > 0
		for _, v := range list {
			if id, ok := documents.IDOf(v); ok && !slices.Contains(to, id) {
				to = append(to, id)
			}
		}
	}
	return to, len(to) > 0 || !some
}

// warning is what was announced.
type warning struct {
	from, to time.Time // it was given then; not the same if only the day is known
	promised time.Time // not before then; the start of a promised day in UTC
}

// warningOf reads an entry of inactive_project_deletion_warnings. The worker writes a timestamp for warned_on and a
// date, as text, for deletion_date; either is understood in both places.
func warningOf(entry documents.Document) (w warning, ok bool) {
	from, to, ok := dayOf(entry.Data["warned_on"])
	promised, _, hasDate := dayOf(entry.Data["deletion_date"])
	return warning{from: from, to: to, promised: promised}, ok && hasDate
}

// dayOf returns a timestamp as it is, and of a date its first and its last instant in UTC.
func dayOf(v any) (first, last time.Time, ok bool) {
	switch v := v.(type) {
	case time.Time:
		return v, v, true
	case string:
		day, err := time.Parse(time.DateOnly, v)
		return day, day.Add(24*time.Hour - 1), err == nil
	default:
		return first, last, false
	}
}
