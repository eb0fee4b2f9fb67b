package declared_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// TestAgesOfAnotherFormAreTold: what no query finds because its age is of another form is named by every run.
func TestAgesOfAnotherFormAreTold(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		as    string
		value any
		hint  string
	}{
		"milliseconds as seconds": {"seconds", old.UnixMilli(), `write "as": "milliseconds"`}, "seconds as milliseconds": {"milliseconds", old.Unix(), `write "as": "seconds"`},
		"timestamps as milliseconds": {"milliseconds", old, `leave "as" out`}, "texts as seconds": {"seconds", "2020-01-01", `write "as": "text"`},
		"timestamps as text": {"text", old, `leave "as" out`}, "milliseconds as text": {"text", old.UnixMilli(), `write "as": "milliseconds"`},
		"milliseconds as timestamps": {"timestamp", old.UnixMilli(), `write "as": "milliseconds"`},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, fields{"collection": "drafts", "age": fields{"field": "at", "as": tt.as, "days": 30}})
			f.SetMany(t, 30, func(i int) (string, fields) { return fmt.Sprintf("drafts/d%02d", i), fields{"at": tt.value} })
			rep := f.Run(t, "")
			enginetest.WantReport(t, rep, report.Completed, map[string]report.Counts{})
			enginetest.Want(t, "kept", map[string]int{"no usable age": 30}, rep.Kept)
			enginetest.Want(t, "scanned", 30, rep.Scanned)
			if !strings.Contains(fmt.Sprint(f.LogLines(t)), "drafts/d00") {
				t.Error("the log names none of them")
			}
			if said := fmt.Sprint(rep.Warnings); !strings.Contains(said, tt.hint) || len(rep.Warnings) != 1 {
				t.Errorf("it says %s, want %s", said, tt.hint)
			}
		})
	}
}

// TestJudgedAgainInTheCommit: whatever the rule does, a document that changed since the plan is judged again. If it is due all the same,
// that is done; if not, it is left alone.
func TestJudgedAgainInTheCommit(t *testing.T) {
	t.Parallel()
	due := fields{"at": old, "by": "ken"}
	for name, more := range map[string]fields{
		"deleted alone": {}, "with": {"with": array{fields{"subcollection": "**"}}}, "unless": {"unless": array{fields{"document": "users/{by}"}}},
		"gone": {"gone": array{fields{"document": "users/{by}"}}}, "set": {"where": array{fields{"field": "done", "is": "not true"}}, "set": fields{"done": true}},
		"remove": {"age": fields{"field": "list[].at", "days": 30}, "remove": "list[]"}, "warn": {"warn": fields{"days": 3, "field": "warnedAt"}},
		"many collections": {"collection": "drafts/{d}/parts"}, "limit": {"limit": 10}, "a condition": {"where": array{fields{"field": "by", "==": "ken"}}},
	} {
		t.Run(name, func(t *testing.T) {
			rule := with(drafts(fields{"maxDuePercent": 100, "age": fields{"field": "at", "days": 30}}), more)
			rule["where"] = append(append(array{}, asList(rule["where"])...), fields{"field": "state", "is": "not set"})
			f := start(t, rule)
			f.Set(t, "users/other", fields{"x": true})
			in := "drafts/"
			if name == "many collections" {
				in = "drafts/x/parts/"
			}
			data := func(more fields) fields {
				return with(with(due, fields{"list": array{fields{"at": old}, "x"}}), more)
			}
			for _, id := range []string{"same", "touched", "kept"} {
				f.Set(t, in+id, data(nil))
			}
			f.Hooks.BeforeApply = func() {
				f.Set(t, in+"touched", data(fields{"text": "new"}))
				f.Set(t, in+"kept", data(fields{"state": "in use"}))
			}
			rep := f.Run(t, "")
			enginetest.Want(t, "status", report.Completed, rep.Status)
			for kind, counts := range rep.Actions {
				enginetest.Want(t, kind, report.Counts{Planned: 3, Done: 2, Changed: 1}, counts)
			}
			kept := f.Documents(t, strings.TrimSuffix(in, "/"))["kept"]
			enginetest.Want(t, "what is kept", data(fields{"state": "in use"}), kept)
		})
	}
}

func asList(value any) array {
	list, _ := value.(array)
	return list
}
