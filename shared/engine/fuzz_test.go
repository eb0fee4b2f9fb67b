package engine

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
)

// fieldsOf is what encoding/json sees of a body; ok is false unless it is one object that names no field twice.
func fieldsOf(body []byte) (fields map[string]any, ok bool) {
	if json.Unmarshal(body, &fields) != nil || fields == nil {
		return nil, false
	}
	d := json.NewDecoder(bytes.NewReader(body))
	_, _ = d.Token() // the brace: the body has been parsed
	seen := map[string]bool{}
	for d.More() {
		key, _ := d.Token()
		var value json.RawMessage
		_ = d.Decode(&value)
		if seen[key.(string)] {
			return nil, false
		}
		seen[key.(string)] = true
	}
	return fields, true
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
// dryRun and force, each once and a bool, and then means what encoding/json sees.
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

// FuzzTask: a worker's body is accepted exactly if encoding/json sees one object with exactly the task's fields, each once
// and a text that is not empty.
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
