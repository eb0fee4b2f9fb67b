package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/sweep"
)

// TestUndo deletes reports, shows what would come back, brings it back, and releases it.
func TestUndo(t *testing.T) {
	o := newOperator(t)
	o.env["UNDO_DAYS"] = "7"
	for _, id := range []string{"a", "b", "c"} {
		o.Set(t, "reports/"+id, map[string]any{"status": "reviewed", "createdAt": o.now.AddDate(0, -2, 0), "text": id})
	}
	first := o.called(t, "cleanupReports", "")
	if first.Status != sweep.Completed || len(o.Documents(t, "reports")) != 0 {
		t.Fatalf("%+v", first)
	}
	o.Set(t, "reports/c", map[string]any{"status": "new"})
	shown := o.well(t, "undo", first.RunID)
	for _, part := range []string{"bring back", "reports/a", "reports/b", "left: changed since", "somebody has created it since", "2 things would be taken back", "1 conflict"} {
		if !strings.Contains(shown, part) {
			t.Errorf("%q is not in\n%s", part, shown)
		}
	}
	if len(o.Documents(t, "reports")) != 1 {
		t.Error("to show it has done it")
	}
	var got taken
	if err := json.Unmarshal([]byte(o.well(t, "undo", "--apply", "--json", first.RunID)), &got); err != nil || len(got.Outcomes) != 3 || !got.Applied {
		t.Errorf("%+v, %v", got, err)
	}
	if back := o.Documents(t, "reports"); back["a"]["text"] != "a" || back["b"]["text"] != "b" || back["c"]["status"] != "new" {
		t.Errorf("%v", back)
	}
	if again := o.well(t, "undo", "--apply", first.RunID); !strings.Contains(again, "nothing to bring back") {
		t.Error(again)
	}
	o.now = o.now.Add(time.Hour)
	if next := o.called(t, "cleanupReports", ""); len(next.Actions) != 0 {
		t.Errorf("what came back is deleted again: %v", next.Actions)
	}
	if _, errs, code := o.run(t, "release", "cleanupReports", "reports/none"); code != exitFailed || !strings.Contains(errs, "reports/none is not held") {
		t.Errorf("%d, %s", code, errs)
	}
	o.well(t, "release", "cleanupReports", "reports/a")
	o.called(t, "cleanupReports", "")
	if left := o.Documents(t, "reports"); left["a"] != nil || left["b"] == nil {
		t.Errorf("%v", left)
	}
	o.well(t, "release", "--all", "cleanupReports")
	o.called(t, "cleanupReports", "")
	if left := o.Documents(t, "reports"); left["b"] != nil || left["c"] == nil {
		t.Errorf("%v", left)
	}
}

// TestUndoRefuses: wrong use begins nothing, and what cannot be taken back says why.
func TestUndoRefuses(t *testing.T) {
	o := newOperator(t)
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"undo"}, exitWrongUse, "name one run"},
		{[]string{"undo", "cleanupReports"}, exitWrongUse, "by its id"},
		{[]string{"undo", "noSuchJob-20260101T000000Z-0123abcd"}, exitWrongUse, "no job or worker"},
		{[]string{"undo", "cleanupReports-20260101T000000Z-0123abcd"}, exitFailed, "the undo log has nothing of it"},
		{[]string{"release"}, exitWrongUse, "give a job"},
		{[]string{"release", "cleanupReports"}, exitWrongUse, "or --all"},
		{[]string{"release", "--all", "cleanupReports", "reports/a"}, exitWrongUse, "or --all"},
		{[]string{"release", "noSuchJob", "x"}, exitWrongUse, "no job or worker"},
	} {
		_, errs, code := o.run(t, tt.args...)
		if code != tt.code || !strings.Contains(errs, tt.want) {
			t.Errorf("%v: %d, %s, want %d, %q", tt.args, code, errs, tt.code, tt.want)
		}
	}
	if left := o.Documents(t, "cleanupJobs"); len(left) != 0 {
		t.Errorf("something was written: %v", left)
	}
}
