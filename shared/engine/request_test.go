package engine

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestParseRequest(t *testing.T) {
	yes, no := true, false
	padded := func(n int) string { return "{}" + strings.Repeat(" ", n-2) }
	tests := []struct {
		name, query, body string
		dryRun            *bool
		force             bool
		refused           string // part of the error; empty: accepted
	}{
		{name: "nothing said"},
		{name: "dryRun", body: `{"dryRun":true}`, dryRun: &yes},
		{name: "both, with white space", body: " {\n \"force\" : true , \"dryRun\" : true }\n", dryRun: &yes, force: true},
		{name: "in the query, off", query: "dryRun=false", dryRun: &no},
		{name: "in both, alike", query: "dryRun=true", body: `{"dryRun":true}`, dryRun: &yes},
		{name: "force in the body, dryRun in the query", query: "dryRun=true", body: `{"force":true}`, dryRun: &yes, force: true},
		{name: "just not too large", body: padded(64 << 10)},

		{name: "in both, unlike", query: "dryRun=false", body: `{"dryRun":true}`, refused: "given in both"},
		{name: "white space that is not JSON's", body: "\u00a0", refused: "not a JSON object"},
		{name: "misspelt", body: `{"dryrun":true}`, refused: `unknown field "dryrun"`},
		{name: "escaped but right", body: `{"dry\u0052un":true}`, dryRun: &yes},
		{name: "given twice", body: `{"dryRun":true,"dryRun":false}`, refused: `"dryRun" is given twice`},
		{name: "string true", body: `{"dryRun":"true"}`, refused: `"dryRun" must be true or false`},
		{name: "null", body: `{"dryRun":null}`, refused: `"dryRun" must be true or false`},
		{name: "second object", body: `{} {}`, refused: "unexpected data"},
		{name: "array", body: `[]`, refused: "not a JSON object"},
		{name: "unfinished", body: `{"dryRun":true`, refused: "not valid JSON"},
		{name: "not UTF-8", body: "{\"dry\xffRun\":true}", refused: "unknown field"},
		{name: "a byte too large", body: padded(64<<10 + 1), refused: "larger than 65536 bytes"},
		{name: "query misspelt", query: "dryrun=true", refused: `unknown query parameter "dryrun"`},
		{name: "query force", query: "force=true", refused: `put {"force":true} into the body`},
		{name: "query empty", query: "dryRun=", refused: "must be true or false"},
		{name: "query twice", query: "dryRun=true&dryRun=true", refused: "more than once"},
		{name: "query malformed", query: "dryRun=%zz", refused: "malformed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/?"+tt.query, strings.NewReader(tt.body))
			got, err := parseRequest(httptest.NewRecorder(), r, nil)
			if tt.refused != "" {
				if err == nil || !strings.Contains(err.Error(), tt.refused) {
					t.Fatalf("error %v, want one that says %q", err, tt.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
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
			if scheduled != (tt.header != "" && tt.want != "") {
				t.Errorf("scheduled %v", scheduled)
			}
			if tt.want == "" {
				if err == nil || len(tt.header) <= 64 && !strings.Contains(err.Error(), tt.header) || strings.Contains(err.Error(), "xy") {
					t.Fatalf("%s, %v; want an error that names the value", got, err)
				}
				return
			}
			if err != nil || got.Format(time.RFC3339Nano) != tt.want {
				t.Errorf("%s, %v; want %s", got.Format(time.RFC3339Nano), err, tt.want)
			}
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
		if got, _, err := runTime(h, tt.worker, wall, false); err != nil || !got.Equal(tt.want) {
			t.Errorf("%s: %s, %v; want %s", name, got, err, tt.want)
		}
	}
	h := http.Header{"Firesweep-Now": {"yesterday"}}
	if _, _, err := runTime(h, true, wall, false); err == nil || !strings.Contains(err.Error(), "Firesweep-Now") {
		t.Errorf("%v, want an error that names the header", err)
	}
}
