package inactiveprojects

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/sweep"
	"github.com/firesweep/firesweep/shared/sweep/sweeptest"
)

// now has a cutoff of 10 January 2026 for projects and of 10 March for warnings, by the settings below.
var (
	now     = time.Date(2026, 4, 10, 12, 0, 0, 0, time.UTC)
	cutoff  = time.Date(2026, 1, 10, 12, 0, 0, 0, time.UTC)
	usual   = settings{enabled: true, warnAfter: 3, deleteAfter: 4, minSize: 0}
	monthly = map[string]any{
		"delete_inactive_projects": true, "inactive_projects_send_warning_email_after_months": 3, "inactive_projects_delete_after_months": 4,
	}
)

const (
	tick = time.Microsecond
	day  = 24 * time.Hour
)

func with(m map[string]any, pairs ...any) map[string]any {
	out := map[string]any{}
	for k, v := range m {
		out[k] = v
	}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] == missing {
			delete(out, pairs[i].(string))
		} else {
			out[pairs[i].(string)] = pairs[i+1]
		}
	}
	return out
}

// missing removes a field.
var missing = &struct{}{}

func TestSettings(t *testing.T) {
	doc := func(pairs ...any) documents.Document {
		data := with(monthly, "inactive_projects_send_warning_email_after_months", int64(3), "inactive_projects_delete_after_months", int64(4))
		return documents.Document{Data: with(data, pairs...)}
	}
	const warnField, deleteField, sizeField = "inactive_projects_send_warning_email_after_months", "inactive_projects_delete_after_months", "inactive_projects_min_size_mb"
	for name, tt := range map[string]struct {
		doc   documents.Document
		found bool
		want  settings
		err   string // part of it; "" is none
	}{
		"no document":       {found: false},
		"empty document":    {found: true},
		"off":               {doc: doc("delete_inactive_projects", false, warnField, "x"), found: true},
		"null":              {doc: doc("delete_inactive_projects", nil), found: true},
		"on":                {doc: doc(), found: true, want: usual},
		"on with a size":    {doc: doc(sizeField, int64(10)), found: true, want: settings{true, 4, 3, 10}},
		"size null":         {doc: doc(sizeField, nil), found: true, want: usual},
		"switch as text":    {doc: doc("delete_inactive_projects", "true"), found: true, err: "delete_inactive_projects must be true or false"},
		"no warning months": {doc: doc(warnField, missing), found: true, err: warnField + " is missing: it must be"},
		"warning as text":   {doc: doc(warnField, "3"), found: true, err: warnField + " is a text: it must be"},
		"warning fraction":  {doc: doc(warnField, 2.5), found: true, err: warnField},
		"equal":             {doc: doc(deleteField, int64(3)), found: true, err: "must be less than"},
		"reversed":          {doc: doc(deleteField, int64(2)), found: true, err: "must be less than"},
		"far too long":      {doc: doc(deleteField, int64(1201)), found: true, err: deleteField},
		"size negative":     {doc: doc(sizeField, int64(-1)), found: true, err: sizeField},
	} {
		got, err := settingsOf(tt.doc, tt.found)
		if tt.err == "" && (err != nil || got != tt.want) {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, tt.want)
		}
		if tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("%s: %v, want an error that names %s", name, err, tt.err)
		}
	}
}

// projectOf is a project that was found.
func projectOf(id string, data map[string]any) sweep.Subject {
	return sweep.Subject{Document: documents.Document{Path: "projects/" + id, Data: data}, Found: true}
}

func TestDormant(t *testing.T) {
	base := map[string]any{"last_activity_at": cutoff.Add(-tick), "storage_size": int64(1), "organization_id": "o1"}
	sized := usual
	sized.minSize = 10
	for name, tt := range map[string]struct {
		data    map[string]any
		s       settings
		is      bool
		kept    string
		invalid string
	}{
		"just before the cutoff": {data: base, is: true},
		"exactly at the cutoff":  {data: with(base, "last_activity_at", cutoff), kept: keptActive},
		"undated":                {data: with(base, "last_activity_at", missing), invalid: keptUndated},
		"0 bytes":                {data: with(base, "storage_size", int64(0)), kept: keptSmall},
		"size as text":           {data: with(base, "storage_size", "1"), invalid: keptUnsized},
		"exactly 10 MiB":         {data: with(base, "storage_size", int64(10<<20)), s: sized, kept: keptSmall},
		"10 MiB and a byte":      {data: with(base, "storage_size", int64(10<<20+1)), s: sized, is: true},
		"marked":                 {data: with(base, "marked_for_deletion_on", now), kept: keptMarked},
		"pending":                {data: with(base, "pending_delete", true), kept: keptPending},
		"pending as text":        {data: with(base, "pending_delete", "false"), invalid: keptUnclear},
		"no organization":        {data: with(base, "organization_id", missing), invalid: keptNoOrg},
		"a path as organization": {data: with(base, "organization_id", "o1/x"), invalid: keptNoOrg},
		"size not a number":      {data: with(base, "storage_size", math.NaN()), invalid: keptUnsized},
		"owners who are none":    {data: with(base, "owner_ids", []any{"", nil}), invalid: keptNoPeople},
	} {
		s := usual
		if tt.s.enabled {
			s = tt.s
		}
		is, otherwise := dormant(projectOf("p", tt.data), s, now)
		if want := (sweep.Decision{Reason: tt.kept + tt.invalid, Invalid: tt.invalid != ""}); is != tt.is || otherwise != want {
			t.Errorf("%s: %v, %+v, want %v, %+v", name, is, otherwise, tt.is, want)
		}
	}
	// Datastore's numbered keys, which Firestore shows like this after an import, and no task can name.
	if is, otherwise := dormant(projectOf("__id7__", base), usual, now); is || otherwise != sweep.Invalid(keptBadID) {
		t.Errorf("a reserved id: %v, %+v", is, otherwise)
	}
}

func TestJudge(t *testing.T) {
	last := cutoff.AddDate(0, -1, 0)
	monthAgo := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	entry := func(on, date any) documents.Document {
		return documents.Document{Data: map[string]any{"warned_on": on, "deletion_date": date}}
	}
	for name, tt := range map[string]struct {
		entry documents.Document
		want  string // a kind, or why it is kept
	}{
		"not warned":                         {documents.Document{}, warn},
		"warned before the last activity":    {entry(last.Add(-tick), "2026-01-10"), warn},
		"warned at the last activity":        {entry(last, "2026-01-10"), mark},
		"grace over this very instant":       {entry(monthAgo, "2026-04-10"), mark},
		"grace not quite over":               {entry(monthAgo.Add(tick), "2026-04-10"), keptInGrace},
		"promised for tomorrow":              {entry(monthAgo, "2026-04-11"), keptInGrace},
		"promised for yesterday":             {entry(monthAgo, "2026-04-09"), mark},
		"promised for long ago, warned late": {entry(monthAgo.AddDate(0, 0, 10), "2026-02-01"), keptInGrace},
		"warned in the future":               {entry(now.Add(time.Hour), "2026-04-01"), keptInGrace},
		"warned on a day":                    {entry("2026-03-09", "2026-04-09"), mark},
		"warned on the very day":             {entry("2026-03-10", "2026-04-10"), keptInGrace}, // perhaps in its evening
		"promised as a timestamp":            {entry(monthAgo, now.Add(tick)), keptInGrace},
		"promised as a timestamp, come":      {entry(monthAgo, now), mark},
		"no date of the warning":             {entry(nil, "2026-04-10"), keptBadEntry},
		"no promise":                         {entry(monthAgo, nil), keptBadEntry},
		"a promise that is no date":          {entry(monthAgo, "soon"), keptBadEntry},
		"a number for a date":                {entry(int64(1767225600), "2026-04-10"), keptBadEntry},
	} {
		data := map[string]any{"last_activity_at": last, "storage_size": int64(1), "organization_id": "o1"}
		for bot, want := range map[any]string{"bot": tt.want, nil: tt.want} {
			if bot == nil && (tt.want == warn || tt.want == mark) {
				want = keptNoBot
			}
			got := judge(project{Subject: projectOf("p", data), settings: usual, warning: tt.entry, warned: tt.entry.Data != nil, bot: bot}, sweep.Run{Now: now, Promise: now})
			if got.Kind != "" && !strings.HasSuffix(got.Reason, "; in the name of user bot") {
				t.Errorf("%s: the reason %q does not say in whose name", name, got.Reason)
			}
			if got.Kind != want && (got.Kind != "" || got.Reason != want) || got.Invalid != (want == keptBadEntry || want == keptNoBot) {
				t.Errorf("%s, in the name of %v: %+v, want %s", name, bot, got, want)
			}
		}
	}
}

// TestOneCommit: the mark comes and the entry goes in one commit. A warning's task is nothing that the journal repeats, which
// would not know of a promise whose date has come, or of a user who came back.
func TestOneCommit(t *testing.T) {
	p := project{Subject: projectOf("p", map[string]any{"last_activity_at": cutoff}), settings: usual, bot: int64(7)}
	got := projectRule.Change(p, sweep.Do(mark, ""), sweep.Run{Now: now})
	sweeptest.Want(t, "writes of a mark", []documents.Write{
		{Op: documents.Update, Ref: p.Ref(), Data: map[string]any{"marked_for_deletion_on": now, "deleting_user": int64(7)}},
		{Op: documents.Delete, Ref: documents.Ref{Collection: warnings, ID: "p"}},
	}, got.Writes)
	got = projectRule.Change(p, sweep.Do(warn, ""), sweep.Run{Now: now, Promise: now})
	if len(got.Writes) != 1 || got.Writes[0].Ref.Collection != "audit_events" || len(got.Then) != 1 || got.Then[0].Task == nil || got.Then[0].Noted == nil {
		t.Errorf("a warning: %+v", got)
	}
}

// TestMonthEnds proves that nothing is deleted before the promised date, whatever day the warning was given on.
func TestMonthEnds(t *testing.T) {
	february, march := time.Date(2026, 2, 28, 12, 30, 0, 0, time.UTC), time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	p := project{settings: usual, Subject: projectOf("p", map[string]any{
		"last_activity_at": now.AddDate(-1, 0, 0), "storage_size": int64(1), "organization_id": "o1"})}
	// It is marked from then on: a month before 28 February is 28 January, before 1 March it is 1 February.
	for given, first := range map[int]time.Time{28: february, 29: march, 30: march, 31: march} {
		at := time.Date(2026, 1, given, 12, 30, 0, 0, time.UTC)
		if got := usual.promise(at); got != "2026-02-28" {
			t.Errorf("warned on 2026-01-%d: promised %s", given, got)
		}
		p.warned, p.warning = true, documents.Document{Data: map[string]any{"warned_on": at, "deletion_date": usual.promise(at)}}
		before, then := judgeProject(p, first.Add(-tick)), judgeProject(p, first)
		if before.Kind != "" || then.Kind != mark {
			t.Errorf("warned on 2026-01-%d: %v, then %v", given, before, then)
		}
	}
}

// TestNameForPeople holds that a name, which is user input, cannot keep its e-mail from being written or sent: not by its
// length, and not by a line break, which would end the subject.
func TestNameForPeople(t *testing.T) {
	long := strings.Repeat("長", maxName)
	for _, tt := range []struct {
		name any
		want string
	}{
		{"掃除 & <b>", "掃除 & <b>"}, {long, long}, {long + "い", long + "…"},
		{"a\r\nBcc: b@example.com\x00\t", "a  Bcc: b@example.com  "},
		{nil, "p1"}, {"", "p1"}, {int64(7), "p1"}, {[]any{"x"}, "p1"},
	} {
		if got := nameOf(documents.Document{Path: "projects/p1", Data: map[string]any{"name": tt.name}}); got != tt.want {
			t.Errorf("nameOf(%v) = %q, want %q", tt.name, got, tt.want)
		}
	}
	if got := nameOf(documents.Document{Path: "projects/p\r\n" + long}); got != "p  "+strings.Repeat("長", maxName-3)+"…" {
		t.Errorf("an id that is long and not one line: %q", got)
	}
}

func TestRecipients(t *testing.T) {
	long := strings.Repeat("x", 1500)
	for name, tt := range map[string]struct {
		owners, maintainers any
		want                string
		nobody              bool // there are some, and nobody can be warned
	}{
		"texts":           {owners: []any{"u1", "u2", "u1"}, maintainers: []any{"u2", "u4"}, want: "u1 u2 u4"},
		"numbers":         {owners: []any{int64(7), "7", int64(8)}, maintainers: []any{int64(9)}, want: "7 8 9"},
		"one number":      {maintainers: int64(7), want: "7"},
		"the longest id":  {owners: []any{long}, want: long},
		"some of use":     {owners: []any{"", "a/b", nil, 7.0, int64(0), long + "x", "u1"}, want: "u1"},
		"one list of use": {owners: []any{""}, maintainers: []any{"u2"}, want: "u2"},
		"missing":         {},
		"nothing of use":  {owners: []any{"", "a/b", nil, 7.0, int64(0), int64(-1), long + "x", []any{"u1"}}, nobody: true},
		"a path":          {owners: "users/u1", nobody: true},
	} {
		got, ok := recipients(documents.Document{Data: map[string]any{"owner_ids": tt.owners, "maintainer_ids": tt.maintainers}})
		if strings.Join(got, " ") != tt.want || ok == tt.nobody {
			t.Errorf("%s: recipients %.40v, %v", name, got, ok)
		}
	}
}
