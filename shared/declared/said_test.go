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
			f.SetAlike(t, 30, "drafts/d%02d", fields{"at": tt.value})
			rep := f.Run(t, "")
			enginetest.WantKept(t, rep, report.Completed, map[string]report.Counts{}, map[string]int{"no usable age": 30})
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
// that is done, and the undo log has it as it was then; if not, or if somebody deleted it, it is left alone, and nothing goes
// along.
func TestJudgedAgainInTheCommit(t *testing.T) {
	t.Parallel()
	due := fields{"at": old, "by": "ken", "list": array{fields{"at": old}, "x"}}
	along := array{fields{"account": "{id}"}, fields{"document": "users/{id}"}}
	for name, more := range map[string]fields{
		"deleted alone": {}, "with": {"with": array{fields{"subcollection": "**"}}}, "unless": {"unless": array{fields{"document": "users/{by}"}}},
		"gone": {"gone": array{fields{"document": "users/{by}"}}}, "set": {"where": array{fields{"field": "done", "is": "not true"}}, "set": fields{"done": true}},
		"remove": {"age": fields{"field": "list[].at", "days": 30}, "remove": "list[]"}, "warn": {"warn": fields{"days": 3, "field": "warnedAt"}},
		"many collections": {"collection": "drafts/{d}/parts"}, "limit": {"limit": 10}, "a condition": {"where": array{fields{"field": "by", "==": "ken"}}},
		"of any age": {"age": "any", "with": along},
		"of an odd age": {"age": fields{"field": "at", "days": 1, "optional": true}, "with": along,
			"gone": array{fields{"document": "users/{by}"}}},
	} {
		t.Run(name, func(t *testing.T) {
			rule := with(drafts(fields{"maxDuePercent": 100, "age": fields{"field": "at", "days": 30}}), more)
			rule["where"] = append(append(array{}, asList(rule["where"])...), fields{"field": "state", "is": "not set"})
			f := start(t, rule)
			in := "drafts/"
			if name == "many collections" {
				in = "drafts/x/parts/"
			}
			for _, id := range []string{"same", "touched", "again", "kept", "deleted"} {
				f.Set(t, in+id, due)
				f.Set(t, "users/"+id, fields{"x": true})
				f.SignUp(t, id)
			}
			inUse, touched := with(due, fields{"state": "in use"}), with(due, fields{"text": "new"})
			f.Hooks.BeforeApply = func() {
				f.Delete(t, in+"deleted")
				f.Delete(t, in+"again")
				f.Set(t, in+"again", touched)
				f.Set(t, in+"touched", touched)
				f.Set(t, in+"kept", inUse)
				f.Set(t, in+"same", due) // writes nothing
			}
			rep := f.Run(t, "")
			enginetest.Want(t, "status", report.Completed, rep.Status)
			for kind, counts := range rep.Actions {
				enginetest.Want(t, kind, report.Counts{Planned: 5, Done: 3, Changed: 2}, counts)
			}
			left := f.Documents(t, strings.TrimSuffix(in, "/"))
			enginetest.Want(t, "what is kept", inUse, left["kept"])
			enginetest.Want(t, "what is deleted", fields(nil), left["deleted"])
			writes := kept(t, f, rep.RunID)
			for id, text := range map[string]string{"same": "", "touched": "new", "again": "new"} {
				write, there := writes[in+id]
				enginetest.Want(t, id+" in the undo log", array{true, text}, array{there, write["text"].GetStringValue()})
			}
			users, uids := []string{"again", "deleted", "kept", "same", "touched"}, f.Accounts(t)
			if rule["age"] == "any" || name == "of an odd age" {
				users = []string{"deleted", "kept"}
			}
			enginetest.Want(t, "users", users, f.IDs(t, "users"))
			enginetest.Want(t, "accounts", users, uids)
		})
	}
}

func asList(value any) array {
	list, _ := value.(array)
	return list
}

// TestAReasonSaysSomething: what has no time, and is due all the same, and what is due at any age, has a reason, too.
func TestAReasonSaysSomething(t *testing.T) {
	t.Parallel()
	for want, age := range map[string]any{
		"usedAt is not set": fields{"field": "usedAt", "days": 9, "optional": true},
		"of any age":        "any",
	} {
		t.Run(want, func(t *testing.T) {
			f := start(t, fields{"collection": "drafts", "age": age, "maxDuePercent": 100})
			f.Set(t, "drafts/d", fields{"n": 1})
			enginetest.Want(t, "reason", want, f.Run(t, `{"dryRun":true}`).Plan[0].Reason)
		})
	}
}
