package inactiveprojects

import (
	"fmt"
	"slices"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
)

// What the job does to a project.
const (
	warn = "warn about project"        // nobody has been warned since its last activity
	mark = "mark project for deletion" // warned, and the promised date has come
)

// Why projects are kept.
const (
	keptActive   = "not dormant"
	keptSmall    = "not larger than inactive_projects_min_size_mb"
	keptMarked   = "marked for deletion already"
	keptBadMark  = "marked_for_deletion_on is neither a time nor a date"
	keptPending  = "pending_delete is true"
	keptInGrace  = "warned, and its deletion date has not come"
	keptUndated  = "last_activity_at is missing or not a timestamp"
	keptUnsized  = "storage_size is missing or not a number"
	keptUnclear  = "pending_delete is neither true nor false"
	keptNoOrg    = "organization_id is missing or not a valid id"
	keptBadID    = "its own id cannot be named in a task"
	keptNoPeople = "owner_ids and maintainer_ids hold values, but no valid id"
	keptNobody   = "none of its owner_ids and maintainer_ids is a user who exists"
	keptNoBot    = "its organization has no admin_bot_user_id to act as"
	keptBadEntry = "its warning has no usable warned_on or deletion_date"
)

// project is a project with what decides about it.
type project struct {
	cleanup.Subject
	settings settings
	warning  documents.Document // the entry of its warning
	warned   bool               // there is one
	bot      any                // what its organization says of the user in whose name things are done
	told     bool               // one of its people exists, or it has none
	event    documents.Document // the audit event of its warning, if there is one already
}

// judge decides about a project.
func judge(p project, run cleanup.Run) cleanup.Decision {
	last, dated := p.Time("last_activity_at")
	size, sized := p.Number("storage_size")
	pending, isBool := p.Data["pending_delete"].(bool)
	_, hasOrg := p.IDIn("organizations", p.Data["organization_id"])
	_, _, isMark := dayOf(p.Data["marked_for_deletion_on"])
	_, canBeWarned := recipients(p.Document)
	given, readable := warningOf(p.warning)
	void := given.from.Before(last)
	bot, hasBot := p.IDIn(users, p.bot)
	switch {
	case !p.Found || p.settings == (settings{}):
		return cleanup.Decision{}
	case !dated:
		return cleanup.Invalid(keptUndated)
	case !last.Before(p.settings.dormantBefore(run.Now)):
		return cleanup.Keep(keptActive)
	case !sized && (p.Data["storage_size"] != nil || p.settings.minSize > 0): // if all sizes will do, none need be there
		return cleanup.Invalid(keptUnsized)
	case sized && size <= p.settings.minSize*(1<<20):
		return cleanup.Keep(keptSmall)
	case isMark:
		return cleanup.Keep(keptMarked)
	case p.Data["marked_for_deletion_on"] != nil:
		return cleanup.Invalid(keptBadMark)
	case pending:
		return cleanup.Keep(keptPending)
	case !isBool && p.Data["pending_delete"] != nil:
		return cleanup.Invalid(keptUnclear)
	case !hasOrg:
		return cleanup.Invalid(keptNoOrg)
	case !documents.ValidID(p.ID()):
		return cleanup.Invalid(keptBadID)
	case !canBeWarned:
		return cleanup.Invalid(keptNoPeople)
	case p.warned && !readable:
		return cleanup.Invalid(keptBadEntry)
	case p.warned && !void && (given.to.After(p.settings.warnedBy(run.Now)) || run.Now.Before(given.promised)):
		return cleanup.Keep(keptInGrace)
	case !hasBot:
		return cleanup.Invalid(keptNoBot)
	case !p.told:
		return cleanup.Invalid(keptNobody)
	}
	reason := "no activity since " + last.UTC().Format(time.RFC3339)
	day := given.from.UTC().Format(time.DateOnly)
	inName := "; acting as user " + bot
	if p.warned && !void {
		reason += fmt.Sprintf(", warned %s with the promise not to delete it before %s", day, given.promised.Format(time.DateOnly))
		return cleanup.Do(mark, reason+inName)
	}
	if p.warned {
		reason += fmt.Sprintf("; its warning of %s is older", day)
	}
	return cleanup.Do(warn, reason+"; to be deleted on "+p.settings.promise(run.Promise)+inName)
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
			if id, ok := project.IDIn(users, v); ok && !slices.Contains(to, id) {
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

// dayOf returns a timestamp as it is, and of a date its first and its last instant in UTC. What is before [documents.Earliest] is
// neither.
func dayOf(v any) (first, last time.Time, ok bool) {
	switch v := v.(type) {
	case time.Time:
		return v, v, !v.Before(documents.Earliest)
	case string:
		day, err := time.Parse(time.DateOnly, v)
		return day, day.Add(24*time.Hour - 1), err == nil && !day.Before(documents.Earliest)
	default:
		return first, last, false
	}
}
