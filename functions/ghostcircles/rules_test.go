package ghostcircles

import (
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
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

func decide(data map[string]any, promise time.Time) engine.Decision {
	circle := engine.Subject{Document: documents.Document{Path: "circles/c", Data: data}}
	return judge(state{Subject: circle}, engine.Run{Now: now, Promise: promise})
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
		want engine.Decision // an empty reason is not compared
	}{
		{"ghost", circle(lastYear, long, nil), engine.Do(toWarn, ghost)},
		{"abandoned", circle(nil, lastMonth, nil), engine.Do(toWarn, abandoned)},
		{"ghost whose creation is unknown", circle(lastYear, nil, nil), engine.Do(toWarn, ghost)},
		{"ghost whose creation is no date", circle(lastYear, "2020", nil), engine.Do(toWarn, ghost)},
		{"in use", circle(daysAgo(1), long, nil), engine.Keep(keptInUse)},
		{"new", circle(nil, daysAgo(1), nil), engine.Keep(keptInUse)},
		{"old, and somebody posted a month ago", circle(lastMonth, long, nil), engine.Keep(keptInUse)},

		{"ghost by a tick", circle(daysAgo(365).Add(-tick), long, nil), engine.Do(toWarn, "")},
		{"ghost this instant", circle(daysAgo(365), long, nil), engine.Do(toWarn, "")},
		{"not yet a ghost", circle(daysAgo(365).Add(tick), long, nil), engine.Keep(keptInUse)},
		{"abandoned by a tick", circle(nil, daysAgo(30).Add(-tick), nil), engine.Do(toWarn, "")},
		{"abandoned this instant", circle(nil, daysAgo(30), nil), engine.Do(toWarn, "")},
		{"not yet abandoned", circle(nil, daysAgo(30).Add(tick), nil), engine.Keep(keptInUse)},

		{"warned long enough ago", circle(lastYear, long, daysAgo(8)), engine.Do(toDelete, ghost+"; warned 2026-01-02T18:30:00Z")},
		{"warned a week and a tick ago", circle(lastYear, long, daysAgo(7).Add(-tick)), engine.Do(toDelete, "")},
		{"warned a week ago", circle(lastYear, long, daysAgo(7)), engine.Do(toDelete, "")},
		{"warned a tick less than a week ago", circle(lastYear, long, daysAgo(7).Add(tick)), engine.Keep(keptWarned)},
		{"warned this instant", circle(lastYear, long, now), engine.Keep(keptWarned)},
		{"abandoned, warned a week ago", circle(nil, lastMonth, daysAgo(7)), engine.Do(toDelete, abandoned+"; warned 2026-01-03T18:30:00Z")},
		{"abandoned, warned a tick less than a week ago", circle(nil, lastMonth, daysAgo(7).Add(tick)), engine.Keep(keptWarned)},

		{"warned before a later post", circle(lastYear, long, daysAgo(400)), engine.Do(toWarn, ghost+"; the warning of 2024-12-06T18:30:00Z no longer counts")},
		{"warned a tick before it became a ghost", circle(lastYear, long, daysAgo(15).Add(-tick)), engine.Do(toWarn, "")},
		{"warned when it became a ghost", circle(lastYear, long, daysAgo(15)), engine.Do(toDelete, "")},
		{"warned a tick before it was abandoned", circle(nil, lastMonth, daysAgo(10).Add(-tick)), engine.Do(toWarn, "")},
		{"warned when it was abandoned", circle(nil, lastMonth, daysAgo(10)), engine.Do(toDelete, "")},

		{"revived by a post", circle(daysAgo(2), long, daysAgo(5)), engine.Do(toClear, "in use again; the warning was given 2026-01-05T18:30:00Z")},
		{"revived by a post, warned long ago", circle(daysAgo(2), long, daysAgo(100)), engine.Do(toClear, "")},
		{"revived a tick before it was too late", circle(daysAgo(365).Add(tick), long, daysAgo(8)), engine.Do(toClear, "")},
		{"new and marked", circle(nil, daysAgo(3), daysAgo(1)), engine.Do(toClear, "")},

		{"isDeleted null", with(circle(lastYear, long, nil), "isDeleted", nil), engine.Do(toWarn, "")},
		{"isDeleted false", with(circle(lastYear, long, nil), "isDeleted", false), engine.Do(toWarn, "")},
		{"deleted by somebody", with(circle(lastYear, long, daysAgo(8)), "isDeleted", true), engine.Keep(keptDeleted)},
		{"deleted by somebody named", with(with(circle(lastYear, long, daysAgo(8)), "isDeleted", true), "deletedBy", "user1"), engine.Keep(keptDeleted)},
		{"deleted by something odd", with(with(circle(lastYear, long, daysAgo(8)), "isDeleted", true), "deletedBy", []any{jobName}), engine.Keep(keptDeleted)},
		{"isDeleted text", with(circle(lastYear, long, daysAgo(8)), "isDeleted", "true"), engine.Invalid(keptOddDeleted)},
		{"isDeleted number", with(circle(lastYear, long, daysAgo(8)), "isDeleted", int64(1)), engine.Invalid(keptOddDeleted)},

		{"claimed", with(with(circle(lastYear, long, daysAgo(8)), "isDeleted", true), "deletedBy", jobName), engine.Do(toFinish, "")},
		{"claimed, whatever else it holds", map[string]any{"isDeleted": true, "deletedBy": jobName, "createdAt": 1, "lastHumanPostAt": now, "ownerId": nil}, engine.Do(toFinish, "")},
		{"claim undone", with(with(with(circle(lastYear, long, daysAgo(9)), "isDeleted", false), "deletedBy", jobName), "deletedAt", daysAgo(1)),
			engine.Do(toWarn, ghost+"; the warning of 2026-01-01T18:30:00Z no longer counts")},
		{"claim undone by removing isDeleted", with(with(circle(lastYear, long, daysAgo(9)), "deletedBy", jobName), "deletedAt", daysAgo(1)), engine.Do(toWarn, "")},
		{"claim undone, warned anew", with(with(circle(lastYear, long, daysAgo(2)), "deletedBy", jobName), "deletedAt", daysAgo(3)), engine.Keep(keptWarned)},
		{"claim undone, warned anew a week ago", with(with(circle(lastYear, long, daysAgo(7)), "deletedBy", jobName), "deletedAt", daysAgo(8)), engine.Do(toDelete, "")},
		{"claim undone, and in use", with(with(circle(daysAgo(1), long, daysAgo(9)), "deletedBy", jobName), "deletedAt", daysAgo(2)), engine.Do(toClear, "")},
		{"claim undone, of unknown date", with(circle(lastYear, long, daysAgo(9)), "deletedBy", jobName), engine.Invalid(keptOddRevival)},
		{"claim undone, of a future date", with(with(circle(lastYear, long, daysAgo(9)), "deletedBy", jobName), "deletedAt", now.Add(tick)), engine.Invalid(keptOddRevival)},

		{"post in the future", circle(now.Add(tick), long, nil), engine.Keep(keptInUse)},
		{"creation in the future", circle(nil, now.Add(tick), nil), engine.Keep(keptInUse)},
		{"warning in the future", circle(lastYear, long, now.Add(tick)), engine.Invalid(keptFutureWarning)},
		{"warning in the future of a circle in use", circle(daysAgo(1), long, now.Add(tick)), engine.Do(toClear, "")},
		{"post null", with(circle(nil, lastMonth, nil), "lastHumanPostAt", nil), engine.Do(toWarn, abandoned)},
		{"post null, new", with(circle(nil, daysAgo(1), nil), "lastHumanPostAt", nil), engine.Keep(keptInUse)},
		{"post as text", circle("2020-01-01", long, daysAgo(8)), engine.Invalid(keptOddPost)},
		{"post as milliseconds", circle(int64(1577836800000), long, daysAgo(8)), engine.Invalid(keptOddPost)},
		{"post false", circle(false, long, daysAgo(8)), engine.Invalid(keptOddPost)},
		{"no date at all", circle(nil, nil, daysAgo(8)), engine.Invalid(keptUndated)},
		{"creation null", with(circle(nil, nil, daysAgo(8)), "createdAt", nil), engine.Invalid(keptUndated)},
		{"creation as text", circle(nil, "2020-01-01", daysAgo(8)), engine.Invalid(keptUndated)},
		{"warning null", with(circle(lastYear, long, nil), "ghostWarningNotifiedAt", nil), engine.Do(toWarn, ghost)},
		{"warning null of a circle in use", with(circle(daysAgo(1), long, nil), "ghostWarningNotifiedAt", nil), engine.Keep(keptInUse)},
		{"warning true", circle(lastYear, long, true), engine.Invalid(keptOddWarning)},
		{"warning as text", circle(lastYear, long, "2020-01-01"), engine.Invalid(keptOddWarning)},

		{"owner null", with(circle(lastYear, long, nil), "ownerId", nil), engine.Invalid(keptOddOwner)},
		{"owner null, warned", with(circle(lastYear, long, daysAgo(8)), "ownerId", nil), engine.Invalid(keptOddOwner)},
		{"owner null, abandoned", with(circle(nil, lastMonth, nil), "ownerId", nil), engine.Invalid(keptOddOwner)},
		{"owner null, in use", with(circle(daysAgo(1), long, nil), "ownerId", nil), engine.Keep(keptInUse)},
		{"owner null, in use again", with(circle(daysAgo(1), long, daysAgo(8)), "ownerId", nil), engine.Do(toClear, "")},
		{"owner empty", with(circle(lastYear, long, daysAgo(8)), "ownerId", ""), engine.Invalid(keptOddOwner)},
		{"owner with a blank", with(circle(lastYear, long, daysAgo(8)), "ownerId", " hana"), engine.Invalid(keptOddOwner)},
		{"owner undefined", with(circle(lastYear, long, daysAgo(8)), "ownerId", "undefined"), engine.Invalid(keptOddOwner)},
		{"owner a path", with(circle(lastYear, long, daysAgo(8)), "ownerId", "users/hana"), engine.Invalid(keptOddOwner)},
		{"owner a map", with(circle(lastYear, long, daysAgo(8)), "ownerId", map[string]any{"id": "hana"}), engine.Invalid(keptOddOwner)},
		{"owner a list", with(circle(lastYear, long, daysAgo(8)), "ownerId", []any{"hana"}), engine.Invalid(keptOddOwner)},
		{"owner true", with(circle(lastYear, long, daysAgo(8)), "ownerId", true), engine.Invalid(keptOddOwner)},
		{"owner zero", with(circle(lastYear, long, daysAgo(8)), "ownerId", int64(0)), engine.Invalid(keptOddOwner)},
		{"owner a number", with(circle(lastYear, long, nil), "ownerId", int64(42)), engine.Do(toWarn, ghost)},
		{"owner a number, warned", with(circle(lastYear, long, daysAgo(8)), "ownerId", int64(42)), engine.Do(toDelete, "")},

		{"last post in the year 1", circle(time.Time{}, long, daysAgo(8)), engine.Invalid(keptOddPost)},
		{"last post of 1970", circle(time.Unix(0, 0), long, nil), engine.Invalid(keptOddPost)},
		{"last post of 1971", circle(documents.Earliest, long, nil), engine.Do(toWarn, "")},
		{"creation in the year 1", circle(nil, time.Time{}, nil), engine.Invalid(keptUndated)},
		{"warning of 1970", circle(lastYear, long, documents.Earliest.Add(-tick)), engine.Invalid(keptOddWarning)},
		{"empty", map[string]any{}, engine.Invalid(keptUndated)},
		{"no data at all", nil, engine.Invalid(keptUndated)},
	}
	for _, tt := range tests {
		d := decide(tt.data, now)
		if d.Reason == "" {
			t.Errorf("%s: no reason", tt.name)
		}
		if tt.want.Reason == "" {
			d.Reason = ""
		}
		enginetest.Want(t, tt.name, tt.want, d)
	}
}

// TestWeekByTheWallClock judges a circle with an old schedule time: it is a ghost by that, and its week is over by the wall clock.
func TestWeekByTheWallClock(t *testing.T) {
	wall := now.Add(3 * day)
	for name, tt := range map[string]struct {
		data map[string]any
		want engine.Decision
	}{
		"a ghost by the wall clock only":          {circle(now.Add(-364*day), nil, nil), engine.Decision{}},
		"warned by another run since":             {circle(daysAgo(380), nil, wall.Add(-time.Hour)), engine.Decision{}},
		"warned a tick less than a week ago":      {circle(daysAgo(380), nil, wall.Add(-7*day).Add(tick)), engine.Decision{}},
		"warned a week ago":                       {circle(daysAgo(380), nil, wall.Add(-7*day)), engine.Do(toDelete, "")},
		"warned in the future of the wall clock":  {circle(daysAgo(380), nil, wall.Add(tick)), engine.Invalid("")},
		"claimed and revived since the old time":  {with(with(circle(daysAgo(380), nil, wall.Add(-8*day)), "deletedBy", jobName), "deletedAt", wall.Add(-time.Hour)), engine.Do(toWarn, "")},
		"revived in the future of the wall clock": {with(with(circle(daysAgo(380), nil, wall.Add(-8*day)), "deletedBy", jobName), "deletedAt", wall.Add(tick)), engine.Invalid("")},
	} {
		d := decide(tt.data, wall)
		if d.Kind != tt.want.Kind || d.Invalid != tt.want.Invalid {
			t.Errorf("%s: judge = %+v; want %+v", name, d, tt.want)
		}
	}
}
