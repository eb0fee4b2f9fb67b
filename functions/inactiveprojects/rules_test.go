package inactiveprojects

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
)

// now has a cutoff of 10 January 2026 for projects and of 10 March for warnings, by the settings below.
var (
	now     = time.Date(2026, 4, 10, 12, 0, 0, 0, time.UTC)
	cutoff  = time.Date(2026, 1, 10, 12, 0, 0, 0, time.UTC)
	usual   = settings{warnAfter: 3, deleteAfter: 4}
	monthly = map[string]any{
		"delete_inactive_projects": true, "inactive_projects_send_warning_email_after_months": 3, "inactive_projects_delete_after_months": 4,
	}
)

const (
	tick = time.Microsecond
	day  = 24 * time.Hour
)

func TestSettings(t *testing.T) {
	const on, warnAfter, deleteAfter, size = "delete_inactive_projects", "inactive_projects_send_warning_email_after_months",
		"inactive_projects_delete_after_months", "inactive_projects_min_size_mb"
	doc := func(pairs ...any) map[string]any {
		return enginetest.With(map[string]any{on: true, warnAfter: int64(3), deleteAfter: int64(4)}, pairs...)
	}
	for name, tt := range map[string]struct {
		doc  map[string]any
		want settings
		err  string // "" is none
	}{
		"no document":       {nil, settings{}, ""},
		"off":               {doc(on, false, warnAfter, "x"), settings{}, ""},
		"null":              {doc(on, nil), settings{}, ""},
		"on":                {doc(), usual, ""},
		"the longest":       {doc(warnAfter, int64(1199), deleteAfter, int64(1200)), settings{1199, 1200, 0}, ""},
		"on with a size":    {doc(size, 0.5), settings{3, 4, 0.5}, ""},
		"size null":         {doc(size, nil), usual, ""},
		"switch as text":    {doc(on, "true"), settings{}, on + " is a string: it must be true or false"},
		"no warning months": {doc(warnAfter, enginetest.Missing), settings{}, warnAfter + " is missing: it must be a whole number from 1 to 1199"},
		"0 months":          {doc(warnAfter, int64(0)), settings{}, warnAfter + " is 0: it must be a whole number from 1 to 1199"},
		"equal":             {doc(deleteAfter, int64(3)), settings{}, deleteAfter + " is 3: it must be a whole number from 4 to 1200"},
		"far too long":      {doc(deleteAfter, int64(1201)), settings{}, deleteAfter + " is 1201: it must be a whole number from 4 to 1200"},
		"as a real":         {doc(warnAfter, 3.0), usual, ""},
		"a fraction":        {doc(warnAfter, 2.5), settings{}, warnAfter + " is 2.5: it must be a whole number from 1 to 1199"},
		"all that is wrong": {doc(warnAfter, true, deleteAfter, "secret", size, []any{"secret"}), settings{},
			warnAfter + " is neither a number nor a string: it must be a whole number from 1 to 1199\n" +
				deleteAfter + " is a string: it must be a whole number from 1 to 1200\n" +
				size + " is neither a number nor a string: it must be a number, 0 or more"},
		"size negative": {doc(size, int64(-1)), settings{}, size + " is -1: it must be a number, 0 or more"},
	} {
		got, err := settingsOf(documents.Document{Data: tt.doc})
		if got != tt.want {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
		if err == nil {
			err = errors.New("")
		}
		enginetest.Want(t, name+": error", tt.err, err.Error())
	}
}

// projectOf is a project that was found, of an organization that has a bot.
func projectOf(id string, data map[string]any) project {
	subject := cleanup.Subject{Document: documents.Document{Path: "projects/" + id, Data: data}, Found: true}
	return project{Subject: subject, settings: usual, bot: "bot", told: true}
}

func TestWhichProjectsAreDormant(t *testing.T) {
	base := map[string]any{"last_activity_at": cutoff.Add(-tick), "storage_size": int64(1), "organization_id": "o1"}
	for name, tt := range map[string]struct {
		id      string // "": p
		data    map[string]any
		minSize float64
		kept    string // "": it is dormant
		invalid string
	}{
		"just before the cutoff": {data: base},
		"exactly at the cutoff":  {data: enginetest.With(base, "last_activity_at", cutoff), kept: keptActive},
		"undated":                {data: enginetest.With(base, "last_activity_at", enginetest.Missing), invalid: keptUndated},
		"0 bytes":                {data: enginetest.With(base, "storage_size", int64(0)), kept: keptSmall},
		"no size":                {data: enginetest.With(base, "storage_size", enginetest.Missing)},
		"null as size":           {data: enginetest.With(base, "storage_size", nil)},
		"no size, and a minimum": {data: enginetest.With(base, "storage_size", enginetest.Missing), minSize: 0.001, invalid: keptUnsized},
		"size as text":           {data: enginetest.With(base, "storage_size", "1"), invalid: keptUnsized},
		"exactly 10 MiB":         {data: enginetest.With(base, "storage_size", int64(10<<20)), minSize: 10, kept: keptSmall},
		"10 MiB and a byte":      {data: enginetest.With(base, "storage_size", int64(10<<20+1)), minSize: 10},
		"marked":                 {data: enginetest.With(base, "marked_for_deletion_on", now), kept: keptMarked},
		"marked on a day":        {data: enginetest.With(base, "marked_for_deletion_on", "2026-04-01"), kept: keptMarked},
		"marked with nothing":    {data: enginetest.With(base, "marked_for_deletion_on", ""), invalid: keptBadMark},
		"marked in 1970":         {data: enginetest.With(base, "marked_for_deletion_on", time.Unix(0, 0)), invalid: keptBadMark},
		"marked in the year 1":   {data: enginetest.With(base, "marked_for_deletion_on", "0001-01-01"), invalid: keptBadMark},
		"active in 1970":         {data: enginetest.With(base, "last_activity_at", time.Unix(0, 0)), invalid: keptUndated},
		"pending":                {data: enginetest.With(base, "pending_delete", true), kept: keptPending},
		"not pending":            {data: enginetest.With(base, "pending_delete", false)},
		"pending as text":        {data: enginetest.With(base, "pending_delete", "false"), invalid: keptUnclear},
		"no organization":        {data: enginetest.With(base, "organization_id", enginetest.Missing), invalid: keptNoOrg},
		"a path as organization": {data: enginetest.With(base, "organization_id", "o1/x"), invalid: keptNoOrg},
		"size not a number":      {data: enginetest.With(base, "storage_size", math.NaN()), invalid: keptUnsized},
		"owners who are none":    {data: enginetest.With(base, "owner_ids", []any{"", nil}), invalid: keptNoPeople},
		// Datastore's numbered keys, which Firestore shows like this after an import, and no task can name.
		"a reserved id": {id: "__id7__", data: base, invalid: keptBadID},
	} {
		p := projectOf(cmp.Or(tt.id, "p"), tt.data)
		p.settings.minSize = tt.minSize
		want := cleanup.Decision{Reason: tt.kept + tt.invalid, Invalid: tt.invalid != ""}
		if want.Reason == "" {
			want = cleanup.Do(warn, "no activity since 2026-01-10T11:59:59Z; to be deleted on 2026-05-10; acting as user bot")
		}
		enginetest.Want(t, name, want, judge(p, cleanup.Run{Now: now, Promise: now}))
		p.settings = settings{}
		enginetest.Want(t, name+", switched off", cleanup.Decision{}, judge(p, cleanup.Run{Now: now, Promise: now}))
	}
}

func TestWhatBecomesOfDormantProjects(t *testing.T) {
	last := cutoff.AddDate(0, -1, 0)
	monthAgo := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	entry := func(on, date any) map[string]any { return map[string]any{"warned_on": on, "deletion_date": date} }
	for name, tt := range map[string]struct {
		entry map[string]any
		want  string // a kind, or why it is kept
	}{
		"not warned":                         {nil, warn},
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
		p := projectOf("p", map[string]any{"last_activity_at": last, "storage_size": int64(1), "organization_id": "o1"})
		p.warning, p.warned = documents.Document{Data: tt.entry}, tt.entry != nil
		for bot, want := range map[any]string{"bot": tt.want, nil: tt.want, int64(0): tt.want} {
			if bot != "bot" && (tt.want == warn || tt.want == mark) {
				want = keptNoBot
			}
			p.bot = bot
			got := judge(p, cleanup.Run{Now: now, Promise: now})
			if got.Kind != "" && !strings.HasSuffix(got.Reason, "; acting as user bot") {
				t.Errorf("%s: the reason %q does not say in whose name", name, got.Reason)
			}
			what := fmt.Sprintf("%s, in the name of %v", name, bot)
			enginetest.Want(t, what, want, cmp.Or(got.Kind, got.Reason))
			enginetest.Want(t, what+": invalid", want == keptBadEntry || want == keptNoBot, got.Invalid)
		}
	}
}

// TestMonthEnds proves that nothing is deleted before the promised date, whatever day the warning was given on.
func TestMonthEnds(t *testing.T) {
	february, march := time.Date(2026, 2, 28, 12, 30, 0, 0, time.UTC), time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	p := projectOf("p", map[string]any{"last_activity_at": now.AddDate(-1, 0, 0), "storage_size": int64(1), "organization_id": "o1"})
	// It is marked from then on: a month before 28 February is 28 January, before 1 March it is 1 February.
	for given, first := range map[int]time.Time{28: february, 29: march, 30: march, 31: march} {
		at := time.Date(2026, 1, given, 12, 30, 0, 0, time.UTC)
		enginetest.Want(t, fmt.Sprintf("promised on 2026-01-%d", given), "2026-02-28", usual.promise(at))
		p.warned, p.warning = true, documents.Document{Data: map[string]any{"warned_on": at, "deletion_date": usual.promise(at)}}
		before, then := judge(p, cleanup.Run{Now: first.Add(-tick)}), judge(p, cleanup.Run{Now: first})
		enginetest.Want(t, fmt.Sprint("warned on 2026-01-", given), []string{"", mark}, []string{before.Kind, then.Kind})
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

var passNow = time.Date(2026, 4, 10, 12, 0, 0, 0, time.UTC)

const someTerms = "3 months"

func TestWhereAPassContinues(t *testing.T) {
	underWay := pass{Terms: someTerms, Began: passNow, Cursor: `[{"time":"2026-01-01T00:00:00Z"},{"text":"p"}]`}
	complete := underWay
	complete.Seen = passNow
	for name, tt := range map[string]struct {
		saved string
		terms string
		now   time.Time
		fresh bool
	}{
		"the same day":          {complete.checkpoint(), someTerms, passNow.Add(24*time.Hour - tick), false},
		"a day later":           {complete.checkpoint(), someTerms, passNow.Add(24 * time.Hour), true},
		"changed terms":         {complete.checkpoint(), "4 months", passNow.Add(time.Hour), true},
		"time has gone back":    {complete.checkpoint(), someTerms, passNow.Add(-tick), true},
		"a long pass goes on":   {underWay.checkpoint(), someTerms, passNow.AddDate(0, 0, 3), false},
		"nothing has been done": {"", someTerms, passNow, true},
		"an earlier version":    {`{"settings":"3 months","began":"2026-04-10T11:00:00Z","done":true,"projects":"x"}`, someTerms, passNow, true},
	} {
		got, err := passOf(tt.saved, tt.terms, tt.now)
		seen := !got.Seen.IsZero()
		if err != nil || got.fresh() != tt.fresh || tt.fresh && (seen || !got.Began.Equal(tt.now) || got.Terms != tt.terms) || seen != (!tt.fresh && name != "a long pass goes on") {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestMuchLeftUndoneBeginsANewPass(t *testing.T) {
	for name, tt := range map[string]struct {
		n     int
		id    string
		fresh bool
	}{
		"little":                       {maxPassUndone, strings.Repeat("長", 499), false},
		"much":                         {maxPassUndone + 1, "p", true},
		"six bytes each, as JSON does": {maxPassUndone, strings.Repeat("<", 1490), true},
	} {
		var undone []documents.Ref
		for i := range tt.n {
			undone = append(undone, documents.Ref{Collection: "things", ID: fmt.Sprint(i, tt.id)})
		}
		checkpoint := pass{Terms: someTerms, Began: passNow}.next(passNow, undone)
		got, err := passOf(checkpoint, someTerms, passNow)
		if (checkpoint == "") != tt.fresh || err != nil || !tt.fresh && (len(got.Undone) != tt.n || got.Undone[0] != undone[0].Path()) {
			t.Errorf("%s: a checkpoint of %d bytes, %+v, %v", name, len(checkpoint), got, err)
		}
	}
}

// FuzzPass: a saved checkpoint is refused as one that is none, or gives a state of these terms that is not from the future and
// can be saved again.
func FuzzPass(f *testing.F) {
	good := pass{Terms: someTerms, Began: passNow.Add(-time.Hour), Seen: passNow, Cursor: `[{"text":"a"}]`, Undone: []string{"things/a", "a/b/c", ""}}
	aged := good
	aged.Began = passNow.Add(-24 * time.Hour)
	for _, seed := range []string{"", "{}", "null", "[]", "{", good.checkpoint(), aged.checkpoint(), `{"undone":null,"began":"9999-12-31T23:59:59Z"}`, `{"terms":1}`, good.checkpoint() + "x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, saved string) {
		got, err := passOf(saved, someTerms, passNow)
		if err != nil {
			if !errors.Is(err, documents.ErrCursor) {
				t.Fatalf("checkpoint %q: %v is no ErrCursor", saved, err)
			}
			return
		}
		if got.Terms != someTerms || got.Began.After(passNow) || !got.Seen.IsZero() && !passNow.Before(got.Began.Add(24*time.Hour)) {
			t.Fatalf("checkpoint %q: %+v", saved, got)
		}
		again, err := passOf(got.checkpoint(), someTerms, passNow)
		check.OK(t, err)
		check.Same(t, saved+" again", got, again)
	})
}
