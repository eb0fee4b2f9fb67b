package engine

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/shared/backends"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/internal/tell"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/logging"
)

func TestParseRequest(t *testing.T) {
	yes := true
	padded := func(n int) string { return "{}" + strings.Repeat(" ", n-2) }
	tests := []struct {
		name, query, body string
		dryRun            *bool
		force             bool
		refused           string // part of the error; empty: accepted
	}{
		{name: "nothing said"},
		{name: "in both, alike", query: "dryRun=true", body: `{"dryRun":true}`, dryRun: &yes},
		{name: "force in the body, dryRun in the query", query: "dryRun=true", body: `{"force":true}`, dryRun: &yes, force: true},
		{name: "just not too large", body: padded(64 << 10)},

		{name: "in both, unlike", query: "dryRun=false", body: `{"dryRun":true}`, refused: "given in both"},
		{name: "unfinished", body: `{"dryRun":true`, refused: "not valid JSON"},
		{name: "a byte too large", body: padded(64<<10 + 1), refused: "larger than 65536 bytes"},
		{name: "query misspelt", query: "dryrun=true", refused: `unknown query parameter "dryrun"`},
		{name: "query twice", query: "dryRun=true&dryRun=true", refused: "more than once"},
		{name: "query malformed", query: "dryRun=%zz", refused: "malformed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/?"+tt.query, strings.NewReader(tt.body))
			got, err := parseRequest(httptest.NewRecorder(), r, nil)
			if tt.refused != "" {
				check.Fails(t, err, tt.refused)
				return
			}
			check.OK(t, err)
			if (got.dryRun == nil) != (tt.dryRun == nil) || got.dryRun != nil && *got.dryRun != *tt.dryRun || got.Force != tt.force {
				t.Errorf("request %+v, want dryRun %v, force %v", got, tt.dryRun, tt.force)
			}
		})
	}
}

func TestRunTime(t *testing.T) {
	wall := time.Date(2026, 1, 10, 15, 0, 1, 123456789, time.UTC)
	tests := []struct {
		name, header string
		emulated     bool
		want         string // RFC 3339; empty: refused
	}{
		{"a long value is quoted in part", strings.Repeat("x", 64) + "y", false, ""},
		{"no header is the wall clock", "", false, "2026-01-10T15:00:01.123456Z"},
		{"the schedule time", "2026-01-10T15:00:00Z", false, "2026-01-10T15:00:00Z"},
		{"another zone", "2026-01-11T00:00:00+09:00", false, "2026-01-10T15:00:00Z"},
		{"long ago", "2020-02-29T00:00:00Z", false, "2020-02-29T00:00:00Z"},
		{"the future is clamped", "2026-01-10T15:00:02Z", false, "2026-01-10T15:00:01.123456Z"},
		{"the future on emulators is believed", "2030-01-01T00:00:00Z", true, "2030-01-01T00:00:00Z"},
		{"the past on emulators", "2020-01-01T00:00:00Z", true, "2020-01-01T00:00:00Z"},
		{"not a time", "yesterday", false, ""},
		{"not RFC 3339", "Sat, 10 Jan 2026 15:00:00 GMT", false, ""},
		{"no zone", "2026-01-10T15:00:00", false, ""},
		{"before Firestore's first year", "0001-01-01T00:00:00+00:01", false, ""},
		{"Firestore's first instant", "0001-01-01T00:00:00Z", false, "0001-01-01T00:00:00Z"},
		{"after Firestore's last year", "9999-12-31T23:59:59-00:01", true, ""},
		{"Firestore's last second", "9999-12-31T23:59:59Z", true, "9999-12-31T23:59:59Z"},
		{"no such day", "2026-02-30T00:00:00Z", true, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := http.Header{}
			if tt.header != "" {
				h.Set("X-CloudScheduler-ScheduleTime", tt.header)
			}
			got, scheduled, err := runTime(h, false, wall, tt.emulated)
			check.Same(t, "scheduled", tt.header != "" && tt.want != "", scheduled)
			if tt.want == "" {
				if err == nil || len(tt.header) <= 64 && !strings.Contains(err.Error(), tt.header) || strings.Contains(err.Error(), "xy") {
					t.Fatalf("%s, %v; want an error that names the value", got, err)
				}
				return
			}
			check.Same(t, tt.want, []any{tt.want, nil}, []any{got.Format(time.RFC3339Nano), err})
		})
	}
}

// TestRunTimeOfAWorker: Cloud Tasks may take Cloud Scheduler's header away, and tasks of an earlier version have no other.
func TestRunTimeOfAWorker(t *testing.T) {
	wall := time.Date(2026, 1, 10, 15, 0, 0, 0, time.UTC)
	handedOver, scheduled := wall.Add(-time.Hour), wall.Add(-2*time.Hour)
	for name, tt := range map[string]struct {
		now, scheduled bool // which headers there are
		worker         bool
		want           time.Time
	}{
		"ours":                                 {now: true, worker: true, want: handedOver},
		"Cloud Scheduler's":                    {scheduled: true, worker: true, want: scheduled},
		"both":                                 {now: true, scheduled: true, worker: true, want: handedOver},
		"none":                                 {worker: true, want: wall},
		"ours means nothing to a job":          {now: true, want: wall},
		"Cloud Scheduler's alone counts there": {now: true, scheduled: true, want: scheduled},
	} {
		h := http.Header{}
		if tt.now {
			h.Set("Firesweep-Now", handedOver.Format(time.RFC3339Nano))
		}
		if tt.scheduled {
			h.Set("X-CloudScheduler-ScheduleTime", scheduled.Format(time.RFC3339Nano))
		}
		got, _, err := runTime(h, tt.worker, wall, false)
		check.Same(t, name, []any{tt.want, nil}, []any{got, err})
	}
	h := http.Header{"Firesweep-Now": {"yesterday"}}
	_, _, err := runTime(h, true, wall, false)
	check.Fails(t, err, "Firesweep-Now")
}

// fieldsOf is what encoding/json sees of a body; ok is false unless it is one object.
func fieldsOf(body []byte) (fields map[string]any, ok bool) {
	err := json.Unmarshal(body, &fields)
	return fields, err == nil && fields != nil
}

// only reports whether all fields are among the allowed ones and of type V.
func only[V any](fields map[string]any, allowed ...string) bool {
	for name, value := range fields {
		if _, is := value.(V); !is || !slices.Contains(allowed, name) {
			return false
		}
	}
	return true
}

// FuzzBody: a job's body is accepted exactly if it is empty or encoding/json sees one object with no other fields than
// dryRun and force, each a bool, and then means what encoding/json sees.
func FuzzBody(f *testing.F) {
	for _, seed := range []string{"", " \n", "{}", `{"dryRun":true}`, `{"force":false,"dryRun":true}`, `{"dry\u0052un":true}`, `{"dryrun":true}`,
		`{"dryRun":null}`, `{"dryRun":"true"}`, `{"dryRun":true,"dryRun":false}`, `{} {}`, `{"dryRun":true}x`, `[true]`, "null", "true", `{"dryRun":{}}`, `{"force":1}`,
		`{"force":true}`, `{"dryRun"}`, `{"dryRun" true}`, `{"dryRun":tr`, `{"dryRun":true}}`, "dryRun=true", `{"dryRun":` + strings.Repeat("[", 60_000), "\u00a0", "\ufeff{}", "{\"\xff\":true}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var got request
		err := got.parseBody(body)
		fields, ok := fieldsOf(body)
		if len(bytes.Trim(body, " \t\r\n")) == 0 {
			fields, ok = nil, true
		}
		if want := ok && only[bool](fields, "dryRun", "force"); want != (err == nil) {
			t.Fatalf("body %q: error %v, want it accepted: %v", body, err, want)
		}
		if err != nil {
			return
		}
		dryRun, said := fields["dryRun"].(bool)
		force, _ := fields["force"].(bool)
		if (got.dryRun != nil) != said || said && *got.dryRun != dryRun || got.Force != force {
			t.Errorf("body %q: %+v, want what encoding/json sees: %v", body, got, fields)
		}
	})
}

// FuzzTask: a worker's body is accepted exactly if encoding/json sees one object with exactly the task's fields, each
// a text that is not empty.
func FuzzTask(f *testing.F) {
	for _, seed := range []string{`{"thing":"t","color":"red"}`, `{"color":"","thing":"t"}`, `{"thing":"t"}`, `{"thing":"t","color":1}`, `{"thing":"t","color":null}`, `{"thing":"a/b","color":"red"}`,
		`{"thing":"t","Color":"red"}`, `{"thing":"a","thing":"b","color":"c"}`, `{"thing":"\ud800","color":"` + "\xff" + `"}`, "", "null", `{"thing":"t","color":"c"}{}`} {
		f.Add([]byte(seed))
	}
	task := cleanup.Task{Fields: []string{"thing", "color"}}
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := parseTask(body, task)
		fields, ok := fieldsOf(body)
		want := ok && len(fields) == 2 && only[string](fields, task.Fields...) && fields["color"] != ""
		if want {
			want = documents.ValidID(fields["thing"].(string))
		}
		if want != (err == nil) {
			t.Fatalf("body %q: error %v, want it accepted: %v", body, err, want)
		}
		if err == nil && !maps.EqualFunc(got, fields, func(a string, b any) bool { return a == b }) {
			t.Errorf("body %q: %q, want what encoding/json sees: %q", body, got, fields)
		}
	})
}

// FuzzQuery: a query is accepted exactly if it is empty or says dryRun once, as strconv reads a bool.
func FuzzQuery(f *testing.F) {
	for _, seed := range []string{"", "dryRun=true", "dryRun=false", "dryRun=T", "dryrun=true", "dryRun=", "dryRun=yes", "dryRun=true&dryRun=true", "dryRun=true;x", "dry%52un=1", "dryRun=%zz", "a;b", "&&", "=true"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		got, err := dryRunParameter(raw)
		values, malformed := url.ParseQuery(raw)
		said, notBool := strconv.ParseBool(values.Get("dryRun"))
		nothing := malformed == nil && len(values) == 0
		if want := nothing || malformed == nil && len(values) == 1 && len(values["dryRun"]) == 1 && notBool == nil; want != (err == nil) {
			t.Fatalf("query %q: error %v, want it accepted: %v", raw, err, want)
		}
		if err == nil && (nothing != (got == nil) || got != nil && *got != said) {
			t.Errorf("query %q: %v", raw, got)
		}
	})
}

// FuzzRunTime: a run's now is in UTC, in Firestore's resolution, and not after the wall clock unless on emulators.
func FuzzRunTime(f *testing.F) {
	for _, seed := range []string{"", "2026-01-10T15:00:00Z", "2026-01-10T15:00:00.123456789+09:00", "9999-12-31T23:59:59.999999999-23:59", "0000-01-01T00:00:00Z",
		"2030-01-01T00:00:00Z", "yesterday", "2026-02-30T00:00:00Z", "2026-01-10T15:00:00", "2026-01-10t15:00:00z", "2026-01-10T24:00:00Z"} {
		f.Add(seed, false)
		f.Add(seed, true)
	}
	wall := time.Date(2026, 1, 10, 15, 0, 1, 123456789, time.UTC)
	f.Fuzz(func(t *testing.T, header string, emulated bool) {
		h := http.Header{}
		h.Set(scheduleTimeHeader, header)
		got, _, err := runTime(h, false, wall, emulated)
		if err != nil {
			return
		}
		if got.Location() != time.UTC || got.Nanosecond()%1000 != 0 || !emulated && got.After(wall) {
			t.Errorf("header %q: %s", header, got)
		}
		if year := got.Year(); year < 1 || year > 9999 {
			t.Errorf("header %q: %s cannot be kept in Firestore", header, got)
		}
	})
}

func TestPromiseFrom(t *testing.T) {
	at := time.Date(2026, 1, 10, 15, 0, 0, 123_456_789, time.FixedZone("JST", 9*60*60))
	day := 24 * time.Hour
	for name, c := range map[string]struct{ now, started, want time.Time }{
		"an old schedule time shortens no promise": {at.Add(-7 * day), at, at.UTC().Truncate(time.Microsecond)},
		"a schedule time ahead, on emulators":      {at.Add(7 * day), at, at.Add(7 * day).UTC().Truncate(time.Microsecond)},
	} {
		r := &run{Teller: &tell.Teller{Report: &report.Report{Now: c.now, StartedAt: c.started}}}
		check.Same(t, name+": a rule promises from", c.want, r.known().Promise)
	}
}

// TestRunIsBoundByTheMonotonicClock: a wall clock that is set back must not move the time at which a run stops. A time without
// a monotonic reading would be compared by the wall clock alone.
func TestRunIsBoundByTheMonotonicClock(t *testing.T) {
	f := &Function{Job: cleanup.Job{Name: "testJob"}, Timeout: time.Minute, Getenv: func(string) string { return "" }, Clock: time.Now}
	wall, no := f.Clock(), false
	r := f.newRun(&clients{Opened: &backends.Opened{Documents: new(documents.Client)}}, config.Config{}, logging.New(&bytes.Buffer{}), wall, wall.UTC(), request{dryRun: &no})
	for name, at := range map[string]time.Time{"begun": r.begun, "planUntil": r.planUntil, "stopAt": r.stopAt} {
		if !strings.Contains(at.String(), " m=") {
			t.Errorf("%s has no monotonic reading: %s", name, at)
		}
	}
	if strings.Contains(r.Report.StartedAt.String(), " m=") || r.Report.StartedAt.Location() != time.UTC {
		t.Errorf("the report's time is not one to write down: %s", r.Report.StartedAt)
	}
}

// TestSleepEndsACall: while a laptop sleeps, the monotonic clock may stand still.
func TestSleepEndsACall(t *testing.T) {
	begun := time.Now()
	woken := begun
	*(*uint64)(unsafe.Pointer(&woken)) += 3600 << 30 // the wall clock's seconds; nothing else makes such a time
	check.Same(t, "passed, and slept", []time.Duration{0, time.Hour}, []time.Duration{woken.Sub(begun), woken.Round(0).Sub(begun)})
	looks := 0
	d := deadline{clock: func() time.Time { return woken }, stopAt: begun.Add(time.Minute), canceled: func() bool { return false }}
	d.stop.look, d.stop.looked = func() { looks++ }, begun
	check.Same(t, "time is up, must stop, looks", []any{true, false, 1}, []any{d.timeIsUp(), d.mustStop(), looks})
}
