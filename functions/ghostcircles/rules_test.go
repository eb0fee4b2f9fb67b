package ghostcircles

import (
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
)

const (
	tick = time.Microsecond // Firestore's resolution
	day  = 24 * time.Hour
)

var now = time.Date(2026, 1, 10, 18, 30, 0, 0, time.UTC)

func daysAgo(n int) time.Time { return now.Add(-time.Duration(n) * day) }

// circle returns a circle's data of what is given, without what is nil. It is hana's.
func circle(posted, created, warned any) map[string]any {
	data := map[string]any{"name": "読書会", "ownerId": "hana"}
	for field, value := range map[string]any{"lastHumanPostAt": posted, "createdAt": created, "ghostWarningNotifiedAt": warned} {
		if value != nil {
			data[field] = value
		}
	}
	return data
}

var with = enginetest.With

func decide(data map[string]any, promise time.Time) cleanup.Decision {
	circle := cleanup.Subject{Document: documents.Document{Path: "circles/c", Data: data}}
	return judge(state{Subject: circle, hasOwner: true}, cleanup.Run{Now: now, Promise: promise})
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
		want cleanup.Decision // an empty reason is not compared
	}{
		{"ghost", circle(lastYear, long, nil), cleanup.Do(toWarn, ghost)},
		{"abandoned", circle(nil, lastMonth, nil), cleanup.Do(toWarn, abandoned)},
		{"ghost whose creation is unknown", circle(lastYear, nil, nil), cleanup.Do(toWarn, ghost)},
		{"ghost whose creation is no date", circle(lastYear, "2020", nil), cleanup.Do(toWarn, ghost)},
		{"in use", circle(daysAgo(1), long, nil), cleanup.Keep(keptInUse)},
		{"new", circle(nil, daysAgo(1), nil), cleanup.Keep(keptInUse)},
		{"old, and somebody posted a month ago", circle(lastMonth, long, nil), cleanup.Keep(keptInUse)},

		{"ghost by a tick", circle(daysAgo(365).Add(-tick), long, nil), cleanup.Do(toWarn, "")},
		{"ghost this instant", circle(daysAgo(365), long, nil), cleanup.Do(toWarn, "")},
		{"not yet a ghost", circle(daysAgo(365).Add(tick), long, nil), cleanup.Keep(keptInUse)},
		{"abandoned by a tick", circle(nil, daysAgo(30).Add(-tick), nil), cleanup.Do(toWarn, "")},
		{"abandoned this instant", circle(nil, daysAgo(30), nil), cleanup.Do(toWarn, "")},
		{"not yet abandoned", circle(nil, daysAgo(30).Add(tick), nil), cleanup.Keep(keptInUse)},

		{"warned long enough ago", circle(lastYear, long, daysAgo(8)), cleanup.Do(toDelete, ghost+"; warned 2026-01-02T18:30:00Z")},
		{"warned a week and a tick ago", circle(lastYear, long, daysAgo(7).Add(-tick)), cleanup.Do(toDelete, "")},
		{"warned a week ago", circle(lastYear, long, daysAgo(7)), cleanup.Do(toDelete, "")},
		{"warned a tick less than a week ago", circle(lastYear, long, daysAgo(7).Add(tick)), cleanup.Keep(keptWarned)},
		{"warned this instant", circle(lastYear, long, now), cleanup.Keep(keptWarned)},
		{"abandoned, warned a week ago", circle(nil, lastMonth, daysAgo(7)), cleanup.Do(toDelete, abandoned+"; warned 2026-01-03T18:30:00Z")},
		{"abandoned, warned a tick less than a week ago", circle(nil, lastMonth, daysAgo(7).Add(tick)), cleanup.Keep(keptWarned)},

		{"warned before a later post", circle(lastYear, long, daysAgo(400)), cleanup.Do(toWarn, ghost+"; the warning of 2024-12-06T18:30:00Z no longer counts")},
		{"warned a tick before it became a ghost", circle(lastYear, long, daysAgo(15).Add(-tick)), cleanup.Do(toWarn, "")},
		{"warned when it became a ghost", circle(lastYear, long, daysAgo(15)), cleanup.Do(toDelete, "")},
		{"warned a tick before it was abandoned", circle(nil, lastMonth, daysAgo(10).Add(-tick)), cleanup.Do(toWarn, "")},
		{"warned when it was abandoned", circle(nil, lastMonth, daysAgo(10)), cleanup.Do(toDelete, "")},

		{"revived by a post", circle(daysAgo(2), long, daysAgo(5)), cleanup.Do(toClear, "in use again; the warning was given 2026-01-05T18:30:00Z")},
		{"revived by a post, warned long ago", circle(daysAgo(2), long, daysAgo(100)), cleanup.Do(toClear, "")},
		{"revived a tick before it was too late", circle(daysAgo(365).Add(tick), long, daysAgo(8)), cleanup.Do(toClear, "")},
		{"new and marked", circle(nil, daysAgo(3), daysAgo(1)), cleanup.Do(toClear, "")},

		{"isDeleted null", with(circle(lastYear, long, nil), "isDeleted", nil), cleanup.Do(toWarn, "")},
		{"isDeleted false", with(circle(lastYear, long, nil), "isDeleted", false), cleanup.Do(toWarn, "")},
		{"deleted by somebody", with(circle(lastYear, long, daysAgo(8)), "isDeleted", true), cleanup.Keep(keptDeleted)},
		{"deleted by somebody named", with(with(circle(lastYear, long, daysAgo(8)), "isDeleted", true), "deletedBy", "user1"), cleanup.Keep(keptDeleted)},
		{"deleted by something odd", with(with(circle(lastYear, long, daysAgo(8)), "isDeleted", true), "deletedBy", []any{jobName}), cleanup.Keep(keptDeleted)},
		{"isDeleted text", with(circle(lastYear, long, daysAgo(8)), "isDeleted", "true"), cleanup.Invalid(keptOddDeleted)},
		{"isDeleted number", with(circle(lastYear, long, daysAgo(8)), "isDeleted", int64(1)), cleanup.Invalid(keptOddDeleted)},

		{"claimed", with(with(circle(lastYear, long, daysAgo(8)), "isDeleted", true), "deletedBy", jobName), cleanup.Do(toFinish, "")},
		{"claimed, whatever else it holds", map[string]any{"isDeleted": true, "deletedBy": jobName, "createdAt": 1, "lastHumanPostAt": now, "ownerId": nil}, cleanup.Do(toFinish, "")},
		{"claim undone", with(with(with(circle(lastYear, long, daysAgo(9)), "isDeleted", false), "deletedBy", jobName), "deletedAt", daysAgo(1)),
			cleanup.Do(toWarn, ghost+"; the warning of 2026-01-01T18:30:00Z no longer counts")},
		{"claim undone by removing isDeleted", with(with(circle(lastYear, long, daysAgo(9)), "deletedBy", jobName), "deletedAt", daysAgo(1)), cleanup.Do(toWarn, "")},
		{"claim undone, warned anew", with(with(circle(lastYear, long, daysAgo(2)), "deletedBy", jobName), "deletedAt", daysAgo(3)), cleanup.Keep(keptWarned)},
		{"claim undone, warned anew a week ago", with(with(circle(lastYear, long, daysAgo(7)), "deletedBy", jobName), "deletedAt", daysAgo(8)), cleanup.Do(toDelete, "")},
		{"claim undone, and in use", with(with(circle(daysAgo(1), long, daysAgo(9)), "deletedBy", jobName), "deletedAt", daysAgo(2)), cleanup.Do(toClear, "")},
		{"claim undone, of unknown date", with(circle(lastYear, long, daysAgo(9)), "deletedBy", jobName), cleanup.Invalid(keptOddRevival)},
		{"claim undone, of a future date", with(with(circle(lastYear, long, daysAgo(9)), "deletedBy", jobName), "deletedAt", now.Add(tick)), cleanup.Invalid(keptOddRevival)},

		{"post in the future", circle(now.Add(tick), long, nil), cleanup.Keep(keptInUse)},
		{"creation in the future", circle(nil, now.Add(tick), nil), cleanup.Keep(keptInUse)},
		{"warning in the future", circle(lastYear, long, now.Add(tick)), cleanup.Invalid(keptFutureWarning)},
		{"warning in the future of a circle in use", circle(daysAgo(1), long, now.Add(tick)), cleanup.Do(toClear, "")},
		{"post null", with(circle(nil, lastMonth, nil), "lastHumanPostAt", nil), cleanup.Do(toWarn, abandoned)},
		{"post null, new", with(circle(nil, daysAgo(1), nil), "lastHumanPostAt", nil), cleanup.Keep(keptInUse)},
		{"post as text", circle("2020-01-01", long, daysAgo(8)), cleanup.Invalid(keptOddPost)},
		{"no date at all", circle(nil, nil, daysAgo(8)), cleanup.Invalid(keptUndated)},
		{"creation null", with(circle(nil, nil, daysAgo(8)), "createdAt", nil), cleanup.Invalid(keptUndated)},
		{"creation as text", circle(nil, "2020-01-01", daysAgo(8)), cleanup.Invalid(keptUndated)},
		{"warning null", with(circle(lastYear, long, nil), "ghostWarningNotifiedAt", nil), cleanup.Do(toWarn, ghost)},
		{"warning null of a circle in use", with(circle(daysAgo(1), long, nil), "ghostWarningNotifiedAt", nil), cleanup.Keep(keptInUse)},
		{"warning true", circle(lastYear, long, true), cleanup.Invalid(keptOddWarning)},

		{"owner null", with(circle(lastYear, long, nil), "ownerId", nil), cleanup.Invalid(keptOddOwner)},
		{"owner null, warned", with(circle(lastYear, long, daysAgo(8)), "ownerId", nil), cleanup.Invalid(keptOddOwner)},
		{"owner null, abandoned", with(circle(nil, lastMonth, nil), "ownerId", nil), cleanup.Invalid(keptOddOwner)},
		{"owner null, in use", with(circle(daysAgo(1), long, nil), "ownerId", nil), cleanup.Keep(keptInUse)},
		{"owner null, in use again", with(circle(daysAgo(1), long, daysAgo(8)), "ownerId", nil), cleanup.Do(toClear, "")},
		{"owner a path", with(circle(lastYear, long, daysAgo(8)), "ownerId", "users/hana"), cleanup.Invalid(keptOddOwner)},
		{"owner a number", with(circle(lastYear, long, nil), "ownerId", int64(42)), cleanup.Do(toWarn, ghost)},
		{"owner a number, warned", with(circle(lastYear, long, daysAgo(8)), "ownerId", int64(42)), cleanup.Do(toDelete, "")},

		{"last post of 1970", circle(time.Unix(0, 0), long, nil), cleanup.Invalid(keptOddPost)},
		{"last post of 1971", circle(documents.Earliest, long, nil), cleanup.Do(toWarn, "")},
		{"creation in the year 1", circle(nil, time.Time{}, nil), cleanup.Invalid(keptUndated)},
		{"warning of 1970", circle(lastYear, long, documents.Earliest.Add(-tick)), cleanup.Invalid(keptOddWarning)},
		{"empty", map[string]any{}, cleanup.Invalid(keptUndated)},
		{"no data at all", nil, cleanup.Invalid(keptUndated)},
	}
	for _, tt := range tests {
		d := decide(tt.data, now)
		enginetest.Want(t, tt.name+" says no reason", false, d.Reason == "")
		if tt.want.Reason == "" {
			d.Reason = ""
		}
		enginetest.Want(t, tt.name, tt.want, d)
	}
}

// TestNobodyToTell: a circle whose owner has no document is neither warned of nor deleted. Everything else is judged as before.
func TestNobodyToTell(t *testing.T) {
	long := daysAgo(380)
	claim := func(c map[string]any) map[string]any {
		return with(with(c, "deletedBy", jobName), "deletedAt", daysAgo(1))
	}
	for name, tt := range map[string]struct {
		data map[string]any
		want cleanup.Decision
	}{
		"a ghost":                  {circle(long, nil, nil), cleanup.Invalid(keptNoOwner)},
		"abandoned":                {circle(nil, daysAgo(31), nil), cleanup.Invalid(keptNoOwner)},
		"warned a week ago":        {circle(long, nil, daysAgo(7)), cleanup.Invalid(keptNoOwner)},
		"warned too early":         {circle(long, nil, daysAgo(300)), cleanup.Invalid(keptNoOwner)},
		"revived":                  {claim(circle(long, nil, daysAgo(8))), cleanup.Invalid(keptNoOwner)},
		"warned less than a week":  {circle(long, nil, daysAgo(6)), cleanup.Keep(keptWarned)},
		"in use":                   {circle(daysAgo(1), nil, nil), cleanup.Keep(keptInUse)},
		"in use again":             {circle(daysAgo(1), nil, daysAgo(8)), cleanup.Do(toClear, "")},
		"claimed":                  {claim(with(circle(long, nil, daysAgo(8)), "isDeleted", true)), cleanup.Do(toFinish, "")},
		"an owner that names none": {with(circle(long, nil, nil), "ownerId", "users/hana"), cleanup.Invalid(keptOddOwner)},
	} {
		c := cleanup.Subject{Document: documents.Document{Path: "circles/c", Data: tt.data}}
		d := judge(state{Subject: c}, cleanup.Run{Now: now, Promise: now})
		if tt.want.Kind != "" {
			d.Reason = ""
		}
		enginetest.Want(t, name, tt.want, d)
	}
}

// TestOldScheduleTime judges a circle with one: it is a ghost by that, and its week is over by that; what is in the future is so by
// the wall clock.
func TestOldScheduleTime(t *testing.T) {
	wall := now.Add(3 * day)
	for name, tt := range map[string]struct {
		data map[string]any
		want cleanup.Decision
	}{
		"a ghost by the wall clock only":          {circle(now.Add(-364*day), nil, nil), cleanup.Decision{}},
		"warned by another run since":             {circle(daysAgo(380), nil, wall.Add(-time.Hour)), cleanup.Decision{}},
		"warned a week ago by the wall clock":     {circle(daysAgo(380), nil, wall.Add(-7*day)), cleanup.Decision{}},
		"warned a tick less than a week ago":      {circle(daysAgo(380), nil, daysAgo(7).Add(tick)), cleanup.Decision{}},
		"warned a week ago":                       {circle(daysAgo(380), nil, daysAgo(7)), cleanup.Do(toDelete, "")},
		"warned in the future of the wall clock":  {circle(daysAgo(380), nil, wall.Add(tick)), cleanup.Invalid("")},
		"claimed and revived since the old time":  {with(with(circle(daysAgo(380), nil, wall.Add(-8*day)), "deletedBy", jobName), "deletedAt", wall.Add(-time.Hour)), cleanup.Do(toWarn, "")},
		"revived in the future of the wall clock": {with(with(circle(daysAgo(380), nil, wall.Add(-8*day)), "deletedBy", jobName), "deletedAt", wall.Add(tick)), cleanup.Invalid("")},
	} {
		d := decide(tt.data, wall)
		enginetest.Want(t, name, []any{tt.want.Kind, tt.want.Invalid}, []any{d.Kind, d.Invalid})
	}
}
