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

// circle returns a circle's data of what is given, without what is nil.
func circle(posted, created, warned any) map[string]any {
	data := map[string]any{"name": "読書会"}
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

// What tests call the two ways of being kept.
const (
	toKeep    = "keep"
	toInvalid = "invalid"
)

func outcomeOf(d sweep.Decision) string {
	switch {
	case d.Invalid:
		return toInvalid
	case d.Kind == "":
		return toKeep
	default:
		return d.Kind
	}
}

func TestJudge(t *testing.T) {
	const (
		ghost     = "ghost: the last human post is of 2024-12-26T18:30:00Z, 365 days ago or more"
		abandoned = "abandoned: no human post since its creation 2025-12-01T18:30:00Z, 30 days ago or more"
	)
	lastYear, lastMonth, long := daysAgo(380), daysAgo(40), daysAgo(1000)
	tests := []struct {
		name   string
		data   map[string]any
		want   string
		reason string // "" is not compared
	}{
		{"ghost", circle(lastYear, long, nil), toWarn, ghost},
		{"abandoned", circle(nil, lastMonth, nil), toWarn, abandoned},
		{"ghost whose creation is unknown", circle(lastYear, nil, nil), toWarn, ghost},
		{"ghost whose creation is no date", circle(lastYear, "2020", nil), toWarn, ghost},
		{"in use", circle(daysAgo(1), long, nil), toKeep, keptInUse},
		{"new", circle(nil, daysAgo(1), nil), toKeep, keptInUse},
		{"old, and somebody posted a month ago", circle(lastMonth, long, nil), toKeep, keptInUse},

		{"ghost by a tick", circle(daysAgo(365).Add(-tick), long, nil), toWarn, ""},
		{"ghost this instant", circle(daysAgo(365), long, nil), toWarn, ""},
		{"not yet a ghost", circle(daysAgo(365).Add(tick), long, nil), toKeep, keptInUse},
		{"abandoned by a tick", circle(nil, daysAgo(30).Add(-tick), nil), toWarn, ""},
		{"abandoned this instant", circle(nil, daysAgo(30), nil), toWarn, ""},
		{"not yet abandoned", circle(nil, daysAgo(30).Add(tick), nil), toKeep, keptInUse},

		{"warned long enough ago", circle(lastYear, long, daysAgo(8)), toDelete, ghost + "; warned 2026-01-02T18:30:00Z"},
		{"warned a week and a tick ago", circle(lastYear, long, daysAgo(7).Add(-tick)), toDelete, ""},
		{"warned a week ago", circle(lastYear, long, daysAgo(7)), toDelete, ""},
		{"warned a tick less than a week ago", circle(lastYear, long, daysAgo(7).Add(tick)), toKeep, keptWarned},
		{"warned this instant", circle(lastYear, long, now), toKeep, keptWarned},
		{"abandoned, warned a week ago", circle(nil, lastMonth, daysAgo(7)), toDelete, abandoned + "; warned 2026-01-03T18:30:00Z"},
		{"abandoned, warned a tick less than a week ago", circle(nil, lastMonth, daysAgo(7).Add(tick)), toKeep, keptWarned},

		{"warned before a later post", circle(lastYear, long, daysAgo(400)), toWarn, ghost + "; the warning of 2024-12-06T18:30:00Z no longer counts"},
		{"warned a tick before it became a ghost", circle(lastYear, long, daysAgo(15).Add(-tick)), toWarn, ""},
		{"warned when it became a ghost", circle(lastYear, long, daysAgo(15)), toDelete, ""},
		{"warned a tick before it was abandoned", circle(nil, lastMonth, daysAgo(10).Add(-tick)), toWarn, ""},
		{"warned when it was abandoned", circle(nil, lastMonth, daysAgo(10)), toDelete, ""},

		{"revived by a post", circle(daysAgo(2), long, daysAgo(5)), toClear, "in use again; the warning was given 2026-01-05T18:30:00Z"},
		{"revived by a post, warned long ago", circle(daysAgo(2), long, daysAgo(100)), toClear, ""},
		{"revived a tick before it was too late", circle(daysAgo(365).Add(tick), long, daysAgo(8)), toClear, ""},
		{"new and marked", circle(nil, daysAgo(3), daysAgo(1)), toClear, ""},

		{"isDeleted null", with(circle(lastYear, long, nil), "isDeleted", nil), toWarn, ""},
		{"isDeleted false", with(circle(lastYear, long, nil), "isDeleted", false), toWarn, ""},
		{"deleted by somebody", with(circle(lastYear, long, daysAgo(8)), "isDeleted", true), toKeep, keptDeleted},
		{"deleted by somebody named", with(with(circle(lastYear, long, daysAgo(8)), "isDeleted", true), "deletedBy", "user1"), toKeep, keptDeleted},
		{"deleted by something odd", with(with(circle(lastYear, long, daysAgo(8)), "isDeleted", true), "deletedBy", []any{jobName}), toKeep, keptDeleted},
		{"isDeleted text", with(circle(lastYear, long, daysAgo(8)), "isDeleted", "true"), toInvalid, keptOddDeleted},
		{"isDeleted number", with(circle(lastYear, long, daysAgo(8)), "isDeleted", int64(1)), toInvalid, keptOddDeleted},

		{"claimed", with(with(circle(lastYear, long, daysAgo(8)), "isDeleted", true), "deletedBy", jobName), toFinish, ""},
		{"claimed, whatever else it holds", map[string]any{"isDeleted": true, "deletedBy": jobName, "createdAt": 1, "lastHumanPostAt": now}, toFinish, ""},
		{"claim undone", with(with(with(circle(lastYear, long, daysAgo(9)), "isDeleted", false), "deletedBy", jobName), "deletedAt", daysAgo(1)),
			toWarn, ghost + "; the warning of 2026-01-01T18:30:00Z no longer counts"},
		{"claim undone by removing isDeleted", with(with(circle(lastYear, long, daysAgo(9)), "deletedBy", jobName), "deletedAt", daysAgo(1)), toWarn, ""},
		{"claim undone, warned anew", with(with(circle(lastYear, long, daysAgo(2)), "deletedBy", jobName), "deletedAt", daysAgo(3)), toKeep, keptWarned},
		{"claim undone, warned anew a week ago", with(with(circle(lastYear, long, daysAgo(7)), "deletedBy", jobName), "deletedAt", daysAgo(8)), toDelete, ""},
		{"claim undone, and in use", with(with(circle(daysAgo(1), long, daysAgo(9)), "deletedBy", jobName), "deletedAt", daysAgo(2)), toClear, ""},
		{"claim undone, of unknown date", with(circle(lastYear, long, daysAgo(9)), "deletedBy", jobName), toInvalid, keptOddRevival},
		{"claim undone, of a future date", with(with(circle(lastYear, long, daysAgo(9)), "deletedBy", jobName), "deletedAt", now.Add(tick)), toInvalid, keptOddRevival},

		{"post in the future", circle(now.Add(tick), long, nil), toKeep, keptInUse},
		{"creation in the future", circle(nil, now.Add(tick), nil), toKeep, keptInUse},
		{"warning in the future", circle(lastYear, long, now.Add(tick)), toInvalid, keptFutureWarning},
		{"warning in the future of a circle in use", circle(daysAgo(1), long, now.Add(tick)), toClear, ""},
		{"post null", with(circle(nil, lastMonth, nil), "lastHumanPostAt", nil), toWarn, abandoned},
		{"post null, new", with(circle(nil, daysAgo(1), nil), "lastHumanPostAt", nil), toKeep, keptInUse},
		{"post as text", circle("2020-01-01", long, daysAgo(8)), toInvalid, keptOddPost},
		{"post as milliseconds", circle(int64(1577836800000), long, daysAgo(8)), toInvalid, keptOddPost},
		{"post false", circle(false, long, daysAgo(8)), toInvalid, keptOddPost},
		{"no date at all", circle(nil, nil, daysAgo(8)), toInvalid, keptUndated},
		{"creation null", with(circle(nil, nil, daysAgo(8)), "createdAt", nil), toInvalid, keptUndated},
		{"creation as text", circle(nil, "2020-01-01", daysAgo(8)), toInvalid, keptUndated},
		{"warning null", with(circle(lastYear, long, nil), "ghostWarningNotifiedAt", nil), toWarn, ghost},
		{"warning null of a circle in use", with(circle(daysAgo(1), long, nil), "ghostWarningNotifiedAt", nil), toKeep, keptInUse},
		{"warning true", circle(lastYear, long, true), toInvalid, keptOddWarning},
		{"warning as text", circle(lastYear, long, "2020-01-01"), toInvalid, keptOddWarning},
		{"empty", map[string]any{}, toInvalid, keptUndated},
		{"no data at all", nil, toInvalid, keptUndated},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := documents.Document{Path: "circles/c", Data: tt.data}
			d := judge(c, now, now)
			if got := outcomeOf(d); got != tt.want || d.Reason == "" || tt.reason != "" && d.Reason != tt.reason {
				t.Errorf("judge = %s, %q; want %s, %q", got, d.Reason, tt.want, tt.reason)
			}
			// By this a commit knows whose owner it asks for.
			if counts := warningCounts(c); counts != (tt.want == toDelete) && (tt.want == toDelete || tt.want == toWarn) {
				t.Errorf("%s, and warningCounts = %v", tt.want, counts)
			}
		})
	}
}

// TestWeekByTheWallClock judges a circle with an old schedule time: it is a ghost by that, and its week is over by the wall clock.
func TestWeekByTheWallClock(t *testing.T) {
	wall := now.Add(3 * day)
	for name, tt := range map[string]struct {
		data map[string]any
		want string
	}{
		"a ghost by the wall clock only":          {circle(now.Add(-364*day), nil, nil), toKeep},
		"warned by another run since":             {circle(daysAgo(380), nil, wall.Add(-time.Hour)), toKeep},
		"warned a tick less than a week ago":      {circle(daysAgo(380), nil, wall.Add(-7*day).Add(tick)), toKeep},
		"warned a week ago":                       {circle(daysAgo(380), nil, wall.Add(-7*day)), toDelete},
		"warned in the future of the wall clock":  {circle(daysAgo(380), nil, wall.Add(tick)), toInvalid},
		"claimed and revived since the old time":  {with(with(circle(daysAgo(380), nil, wall.Add(-8*day)), "deletedBy", jobName), "deletedAt", wall.Add(-time.Hour)), toWarn},
		"revived in the future of the wall clock": {with(with(circle(daysAgo(380), nil, wall.Add(-8*day)), "deletedBy", jobName), "deletedAt", wall.Add(tick)), toInvalid},
	} {
		if d := judge(documents.Document{Path: "circles/c", Data: tt.data}, now, wall); outcomeOf(d) != tt.want {
			t.Errorf("%s: judge = %s, %q; want %s", name, outcomeOf(d), d.Reason, tt.want)
		}
	}
}

// TestSince holds what makes one warning another: each occasion has its own.
func TestSince(t *testing.T) {
	revived := with(with(circle(daysAgo(380), nil, daysAgo(9)), "deletedBy", jobName), "deletedAt", daysAgo(1))
	for name, tt := range map[string]struct {
		data      map[string]any
		since     time.Time
		abandoned bool
	}{
		"ghost":     {circle(daysAgo(380), daysAgo(1000), nil), daysAgo(15), false},
		"abandoned": {circle(nil, daysAgo(40), nil), daysAgo(10), true},
		"revived":   {revived, daysAgo(1), false},
	} {
		c := documents.Document{Path: "circles/c", Data: tt.data}
		i, _ := idleness(c)
		if since := countsFrom(c); !since.Equal(tt.since) || i.abandoned != tt.abandoned {
			t.Errorf("%s: warnings count from %s, abandoned %v; want %s, %v", name, since, i.abandoned, tt.since, tt.abandoned)
		}
	}
}

func TestNameForPeople(t *testing.T) {
	long := make([]rune, 300)
	for i := range long {
		long[i] = '長'
	}
	for want, name := range map[string]any{"読書会": "読書会", "c": nil, string(long[:200]) + "…": string(long), string(long[:200]): string(long[:200])} {
		if got := nameOf(documents.Document{Path: "circles/c", Data: map[string]any{"name": name}}); got != want {
			t.Errorf("nameOf(%v) = %s, want %s", name, got, want)
		}
	}
	for _, odd := range []any{"", 7, []any{"x"}} {
		if got := nameOf(documents.Document{Path: "circles/c", Data: map[string]any{"name": odd}}); got != "c" {
			t.Errorf("nameOf(%v) = %s, want the id", odd, got)
		}
	}
}
