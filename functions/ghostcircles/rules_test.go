package ghostcircles

import (
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/sweep"
)

const (
	tick = time.Microsecond // Firestore's resolution
	day  = 24 * time.Hour
)

var now = time.Date(2026, 1, 10, 18, 30, 0, 0, time.UTC)

func daysAgo(n int) time.Time { return now.Add(-time.Duration(n) * day) }

// circle returns a circle's data of what is given, without what is nil. Its owner has no document.
func circle(posted, created, warned any) map[string]any {
	data := map[string]any{"name": "読書会", "ownerId": "gone"}
	for field, value := range map[string]any{"lastHumanPostAt": posted, "createdAt": created, "ghostWarningNotifiedAt": warned} {
		if value != nil {
			data[field] = value
		}
	}
	return data
}

// with returns data with one more field.
func with(data map[string]any, field string, value any) map[string]any {
	data[field] = value
	return data
}

func decide(data map[string]any, promise time.Time) sweep.Decision {
	circle := sweep.Subject{Document: documents.Document{Path: "circles/c", Data: data}}
	return judge(state{Subject: circle}, sweep.Run{Now: now, Promise: promise})
}

func TestJudge(t *testing.T) {
	const (
		ghost     = "ghost: the last human post is of 2024-12-26T18:30:00Z, 365 days ago or more"
		abandoned = "abandoned: no human post since its creation 2025-12-01T18:30:00Z, 30 days ago or more"
	)
	lastYear, lastMonth, long := daysAgo(380), daysAgo(40), daysAgo(1000)
	tests := []struct {
		name string
		data map[string]any
		want sweep.Decision // an empty reason is not compared
	}{
		{"ghost", circle(lastYear, long, nil), sweep.Do(toWarn, ghost)},
		{"abandoned", circle(nil, lastMonth, nil), sweep.Do(toWarn, abandoned)},
		{"ghost whose creation is unknown", circle(lastYear, nil, nil), sweep.Do(toWarn, ghost)},
		{"ghost whose creation is no date", circle(lastYear, "2020", nil), sweep.Do(toWarn, ghost)},
		{"in use", circle(daysAgo(1), long, nil), sweep.Keep(keptInUse)},
		{"new", circle(nil, daysAgo(1), nil), sweep.Keep(keptInUse)},
		{"old, and somebody posted a month ago", circle(lastMonth, long, nil), sweep.Keep(keptInUse)},

		{"ghost by a tick", circle(daysAgo(365).Add(-tick), long, nil), sweep.Do(toWarn, "")},
		{"ghost this instant", circle(daysAgo(365), long, nil), sweep.Do(toWarn, "")},
		{"not yet a ghost", circle(daysAgo(365).Add(tick), long, nil), sweep.Keep(keptInUse)},
		{"abandoned by a tick", circle(nil, daysAgo(30).Add(-tick), nil), sweep.Do(toWarn, "")},
		{"abandoned this instant", circle(nil, daysAgo(30), nil), sweep.Do(toWarn, "")},
		{"not yet abandoned", circle(nil, daysAgo(30).Add(tick), nil), sweep.Keep(keptInUse)},

		{"warned long enough ago", circle(lastYear, long, daysAgo(8)), sweep.Do(toDelete, ghost+"; warned 2026-01-02T18:30:00Z")},
		{"warned a week and a tick ago", circle(lastYear, long, daysAgo(7).Add(-tick)), sweep.Do(toDelete, "")},
		{"warned a week ago", circle(lastYear, long, daysAgo(7)), sweep.Do(toDelete, "")},
		{"warned a tick less than a week ago", circle(lastYear, long, daysAgo(7).Add(tick)), sweep.Keep(keptWarned)},
		{"warned this instant", circle(lastYear, long, now), sweep.Keep(keptWarned)},
		{"abandoned, warned a week ago", circle(nil, lastMonth, daysAgo(7)), sweep.Do(toDelete, abandoned+"; warned 2026-01-03T18:30:00Z")},
		{"abandoned, warned a tick less than a week ago", circle(nil, lastMonth, daysAgo(7).Add(tick)), sweep.Keep(keptWarned)},

		{"warned before a later post", circle(lastYear, long, daysAgo(400)), sweep.Do(toWarn, ghost+"; the warning of 2024-12-06T18:30:00Z no longer counts")},
		{"warned a tick before it became a ghost", circle(lastYear, long, daysAgo(15).Add(-tick)), sweep.Do(toWarn, "")},
		{"warned when it became a ghost", circle(lastYear, long, daysAgo(15)), sweep.Do(toDelete, "")},
		{"warned a tick before it was abandoned", circle(nil, lastMonth, daysAgo(10).Add(-tick)), sweep.Do(toWarn, "")},
		{"warned when it was abandoned", circle(nil, lastMonth, daysAgo(10)), sweep.Do(toDelete, "")},

		{"revived by a post", circle(daysAgo(2), long, daysAgo(5)), sweep.Do(toClear, "in use again; the warning was given 2026-01-05T18:30:00Z")},
		{"revived by a post, warned long ago", circle(daysAgo(2), long, daysAgo(100)), sweep.Do(toClear, "")},
		{"revived a tick before it was too late", circle(daysAgo(365).Add(tick), long, daysAgo(8)), sweep.Do(toClear, "")},
		{"new and marked", circle(nil, daysAgo(3), daysAgo(1)), sweep.Do(toClear, "")},

		{"isDeleted null", with(circle(lastYear, long, nil), "isDeleted", nil), sweep.Do(toWarn, "")},
		{"isDeleted false", with(circle(lastYear, long, nil), "isDeleted", false), sweep.Do(toWarn, "")},
		{"deleted by somebody", with(circle(lastYear, long, daysAgo(8)), "isDeleted", true), sweep.Keep(keptDeleted)},
		{"deleted by somebody named", with(with(circle(lastYear, long, daysAgo(8)), "isDeleted", true), "deletedBy", "user1"), sweep.Keep(keptDeleted)},
		{"deleted by something odd", with(with(circle(lastYear, long, daysAgo(8)), "isDeleted", true), "deletedBy", []any{jobName}), sweep.Keep(keptDeleted)},
		{"isDeleted text", with(circle(lastYear, long, daysAgo(8)), "isDeleted", "true"), sweep.Invalid(keptOddDeleted)},
		{"isDeleted number", with(circle(lastYear, long, daysAgo(8)), "isDeleted", int64(1)), sweep.Invalid(keptOddDeleted)},

		{"claimed", with(with(circle(lastYear, long, daysAgo(8)), "isDeleted", true), "deletedBy", jobName), sweep.Do(toFinish, "")},
		{"claimed, whatever else it holds", map[string]any{"isDeleted": true, "deletedBy": jobName, "createdAt": 1, "lastHumanPostAt": now, "ownerId": nil}, sweep.Do(toFinish, "")},
		{"claim undone", with(with(with(circle(lastYear, long, daysAgo(9)), "isDeleted", false), "deletedBy", jobName), "deletedAt", daysAgo(1)),
			sweep.Do(toWarn, ghost+"; the warning of 2026-01-01T18:30:00Z no longer counts")},
		{"claim undone by removing isDeleted", with(with(circle(lastYear, long, daysAgo(9)), "deletedBy", jobName), "deletedAt", daysAgo(1)), sweep.Do(toWarn, "")},
		{"claim undone, warned anew", with(with(circle(lastYear, long, daysAgo(2)), "deletedBy", jobName), "deletedAt", daysAgo(3)), sweep.Keep(keptWarned)},
		{"claim undone, warned anew a week ago", with(with(circle(lastYear, long, daysAgo(7)), "deletedBy", jobName), "deletedAt", daysAgo(8)), sweep.Do(toDelete, "")},
		{"claim undone, and in use", with(with(circle(daysAgo(1), long, daysAgo(9)), "deletedBy", jobName), "deletedAt", daysAgo(2)), sweep.Do(toClear, "")},
		{"claim undone, of unknown date", with(circle(lastYear, long, daysAgo(9)), "deletedBy", jobName), sweep.Invalid(keptOddRevival)},
		{"claim undone, of a future date", with(with(circle(lastYear, long, daysAgo(9)), "deletedBy", jobName), "deletedAt", now.Add(tick)), sweep.Invalid(keptOddRevival)},

		{"post in the future", circle(now.Add(tick), long, nil), sweep.Keep(keptInUse)},
		{"creation in the future", circle(nil, now.Add(tick), nil), sweep.Keep(keptInUse)},
		{"warning in the future", circle(lastYear, long, now.Add(tick)), sweep.Invalid(keptFutureWarning)},
		{"warning in the future of a circle in use", circle(daysAgo(1), long, now.Add(tick)), sweep.Do(toClear, "")},
		{"post null", with(circle(nil, lastMonth, nil), "lastHumanPostAt", nil), sweep.Do(toWarn, abandoned)},
		{"post null, new", with(circle(nil, daysAgo(1), nil), "lastHumanPostAt", nil), sweep.Keep(keptInUse)},
		{"post as text", circle("2020-01-01", long, daysAgo(8)), sweep.Invalid(keptOddPost)},
		{"post as milliseconds", circle(int64(1577836800000), long, daysAgo(8)), sweep.Invalid(keptOddPost)},
		{"post false", circle(false, long, daysAgo(8)), sweep.Invalid(keptOddPost)},
		{"no date at all", circle(nil, nil, daysAgo(8)), sweep.Invalid(keptUndated)},
		{"creation null", with(circle(nil, nil, daysAgo(8)), "createdAt", nil), sweep.Invalid(keptUndated)},
		{"creation as text", circle(nil, "2020-01-01", daysAgo(8)), sweep.Invalid(keptUndated)},
		{"warning null", with(circle(lastYear, long, nil), "ghostWarningNotifiedAt", nil), sweep.Do(toWarn, ghost)},
		{"warning null of a circle in use", with(circle(daysAgo(1), long, nil), "ghostWarningNotifiedAt", nil), sweep.Keep(keptInUse)},
		{"warning true", circle(lastYear, long, true), sweep.Invalid(keptOddWarning)},
		{"warning as text", circle(lastYear, long, "2020-01-01"), sweep.Invalid(keptOddWarning)},

		{"owner null", with(circle(lastYear, long, nil), "ownerId", nil), sweep.Invalid(keptOddOwner)},
		{"owner null, warned", with(circle(lastYear, long, daysAgo(8)), "ownerId", nil), sweep.Invalid(keptOddOwner)},
		{"owner null, abandoned", with(circle(nil, lastMonth, nil), "ownerId", nil), sweep.Invalid(keptOddOwner)},
		{"owner null, in use", with(circle(daysAgo(1), long, nil), "ownerId", nil), sweep.Keep(keptInUse)},
		{"owner null, in use again", with(circle(daysAgo(1), long, daysAgo(8)), "ownerId", nil), sweep.Do(toClear, "")},
		{"owner empty", with(circle(lastYear, long, daysAgo(8)), "ownerId", ""), sweep.Invalid(keptOddOwner)},
		{"owner with a blank", with(circle(lastYear, long, daysAgo(8)), "ownerId", " hana"), sweep.Invalid(keptOddOwner)},
		{"owner undefined", with(circle(lastYear, long, daysAgo(8)), "ownerId", "undefined"), sweep.Invalid(keptOddOwner)},
		{"owner a path", with(circle(lastYear, long, daysAgo(8)), "ownerId", "users/hana"), sweep.Invalid(keptOddOwner)},
		{"owner a map", with(circle(lastYear, long, daysAgo(8)), "ownerId", map[string]any{"id": "hana"}), sweep.Invalid(keptOddOwner)},
		{"owner a list", with(circle(lastYear, long, daysAgo(8)), "ownerId", []any{"hana"}), sweep.Invalid(keptOddOwner)},
		{"owner true", with(circle(lastYear, long, daysAgo(8)), "ownerId", true), sweep.Invalid(keptOddOwner)},
		{"owner zero", with(circle(lastYear, long, daysAgo(8)), "ownerId", int64(0)), sweep.Invalid(keptOddOwner)},
		{"owner a number", with(circle(lastYear, long, nil), "ownerId", int64(42)), sweep.Do(toWarn, ghost)},
		{"owner a number, warned", with(circle(lastYear, long, daysAgo(8)), "ownerId", int64(42)), sweep.Do(toDelete, "")},

		{"last post in the year 1", circle(time.Time{}, long, daysAgo(8)), sweep.Invalid(keptOddPost)},
		{"last post of 1970", circle(time.Unix(0, 0), long, nil), sweep.Invalid(keptOddPost)},
		{"last post of 1971", circle(documents.Earliest, long, nil), sweep.Do(toWarn, "")},
		{"creation in the year 1", circle(nil, time.Time{}, nil), sweep.Invalid(keptUndated)},
		{"warning of 1970", circle(lastYear, long, documents.Earliest.Add(-tick)), sweep.Invalid(keptOddWarning)},
		{"empty", map[string]any{}, sweep.Invalid(keptUndated)},
		{"no data at all", nil, sweep.Invalid(keptUndated)},
	}
	for _, tt := range tests {
		d := decide(tt.data, now)
		if d.Reason == "" || d.Kind != tt.want.Kind || d.Invalid != tt.want.Invalid || tt.want.Reason != "" && d.Reason != tt.want.Reason {
			t.Errorf("%s: judge = %+v; want %+v", tt.name, d, tt.want)
		}
	}
}

// TestWeekByTheWallClock judges a circle with an old schedule time: it is a ghost by that, and its week is over by the wall clock.
func TestWeekByTheWallClock(t *testing.T) {
	wall := now.Add(3 * day)
	for name, tt := range map[string]struct {
		data map[string]any
		want sweep.Decision
	}{
		"a ghost by the wall clock only":          {circle(now.Add(-364*day), nil, nil), sweep.Decision{}},
		"warned by another run since":             {circle(daysAgo(380), nil, wall.Add(-time.Hour)), sweep.Decision{}},
		"warned a tick less than a week ago":      {circle(daysAgo(380), nil, wall.Add(-7*day).Add(tick)), sweep.Decision{}},
		"warned a week ago":                       {circle(daysAgo(380), nil, wall.Add(-7*day)), sweep.Do(toDelete, "")},
		"warned in the future of the wall clock":  {circle(daysAgo(380), nil, wall.Add(tick)), sweep.Invalid("")},
		"claimed and revived since the old time":  {with(with(circle(daysAgo(380), nil, wall.Add(-8*day)), "deletedBy", jobName), "deletedAt", wall.Add(-time.Hour)), sweep.Do(toWarn, "")},
		"revived in the future of the wall clock": {with(with(circle(daysAgo(380), nil, wall.Add(-8*day)), "deletedBy", jobName), "deletedAt", wall.Add(tick)), sweep.Invalid("")},
	} {
		d := decide(tt.data, wall)
		if d.Kind != tt.want.Kind || d.Invalid != tt.want.Invalid {
			t.Errorf("%s: judge = %+v; want %+v", name, d, tt.want)
		}
	}
}
