package declared_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

const (
	warnings = "warn about draft"
	clears   = "clear warning of draft"
	deletes  = "delete draft"
)

// warnsFirst is a rule that warns a week before it deletes, by e-mail.
var warnsFirst = fields{
	"collection": "drafts", "age": fields{"field": "editedAt", "days": 90}, "where": array{fields{"field": "kept", "is": "not true"}},
	"warn": fields{"days": 7, "field": "warnedAt", "create": "mail", "data": fields{
		"toUids": array{"{ownerId}"}, "n": int64(1), "message": fields{"text": "{title} ({id}) goes on {date}"}}},
}

// draft returns a document that is so many days old at [now].
func draft(days int, more fields) fields {
	data := fields{"editedAt": now.AddDate(0, 0, -days), "ownerId": "hana", "title": "Haiku", "warnedAt": nil}
	maps.Copy(data, more)
	return data
}

// edit changes a field of a draft.
func edit(t testing.TB, f *enginetest.Function, path, field string, value any) {
	t.Helper()
	data := f.Documents(t, "drafts")[strings.TrimPrefix(path, "drafts/")]
	data[field] = value
	f.Set(t, path, data)
}

// counts wants the actions of a report, each of which is done.
func counts(t testing.TB, rep *report.Report, want map[string]int) {
	t.Helper()
	all := map[string]report.Counts{}
	for kind, n := range want {
		all[kind] = report.Counts{Planned: n, Done: n}
	}
	enginetest.WantReport(t, rep, report.Completed, all)
}

// mails returns the texts of all e-mails, in order.
func mails(t testing.TB, f *enginetest.Function) (texts []string) {
	t.Helper()
	for _, mail := range f.Documents(t, "mail") {
		texts = append(texts, fmt.Sprint(mail["toUids"], mail["n"], mail["message"].(fields)["text"]))
	}
	slices.Sort(texts)
	return texts
}

// TestWarnFirst: somebody is told, has a week, and is told again where the document was in use meanwhile.
func TestWarnFirst(t *testing.T) {
	f := start(t, warnsFirst)
	f.Clock = func() time.Time { return f.Now }
	f.Set(t, "drafts/idle", draft(91, nil))
	f.Set(t, "drafts/edited", draft(91, nil))
	f.Set(t, "drafts/saved", draft(91, nil))
	f.Set(t, "drafts/young", draft(90, nil))
	f.Set(t, "drafts/nobodys", draft(91, fields{"ownerId": nil}))
	f.Set(t, "drafts/elsewhere", draft(91, fields{"warnedAt": "soon"}))
	begun := f.Now

	rep := f.Run(t, "")
	counts(t, rep, map[string]int{warnings: 3})
	enginetest.Want(t, "kept", map[string]int{"not due": 1, "warnedAt is not a timestamp": 1,
		"nobody can be warned: ownerId holds no text": 1}, rep.Kept)
	day := begun.AddDate(0, 0, 7).Format(time.DateOnly)
	told := func(id, day string) string { return "[hana] 1Haiku (" + id + ") goes on " + day }
	enginetest.Want(t, "mails", []string{told("edited", day), told("idle", day), told("saved", day)}, mails(t, f))
	enginetest.Want(t, "warned", fields{"editedAt": begun.AddDate(0, 0, -91), "ownerId": "hana", "title": "Haiku", "warnedAt": begun},
		f.Documents(t, "drafts")["idle"])

	edit(t, f, "drafts/edited", "editedAt", begun) // it is used
	edit(t, f, "drafts/saved", "kept", true)
	f.Now = begun.AddDate(0, 0, 7).Add(-time.Second)
	rep = f.Run(t, "") // young is due now
	counts(t, rep, map[string]int{warnings: 1, clears: 2})
	enginetest.Want(t, "waits", 1, rep.Kept["warned less than 7 days ago"])
	for _, id := range []string{"edited", "saved"} {
		enginetest.Want(t, "the mark of "+id, nil, f.Documents(t, "drafts")[id]["warnedAt"])
	}

	f.Now = begun.AddDate(0, 0, 7)
	last := f.Run(t, "")
	counts(t, last, map[string]int{deletes: 1})
	enginetest.Want(t, "left", []string{"edited", "elsewhere", "nobodys", "saved", "young"}, slices.Sorted(maps.Keys(f.Documents(t, "drafts"))))

	f.Now = begun.AddDate(0, 0, 91) // in use no longer: told anew, and the week begins anew
	edit(t, f, "drafts/saved", "kept", false)
	counts(t, f.Run(t, ""), map[string]int{warnings: 2, deletes: 1})
	day = f.Now.AddDate(0, 0, 7).Format(time.DateOnly)
	if got := mails(t, f); len(got) != 5 || !slices.Contains(got, told("edited", day)) || !slices.Contains(got, told("saved", day)) {
		t.Errorf("mails %q", got)
	}
}

// TestWarnOldSchedule: where the run's now lies back, the days that a warning leaves count from the clock.
func TestWarnOldSchedule(t *testing.T) {
	f := start(t, warnsFirst)
	clock := now.AddDate(0, 0, 3)
	f.Clock = func() time.Time { return clock }
	f.Set(t, "drafts/idle", draft(95, nil))
	counts(t, f.Run(t, ""), map[string]int{warnings: 1})
	enginetest.Want(t, "mark", any(clock.UTC().Truncate(time.Microsecond)), f.Documents(t, "drafts")["idle"]["warnedAt"])
	enginetest.Want(t, "mails", []string{"[hana] 1Haiku (idle) goes on " + clock.AddDate(0, 0, 7).Format(time.DateOnly)}, mails(t, f))
}

// TestClearingsCountForNoLimit: what is in use again because somebody came back is not due, whatever else of it is gone.
func TestClearingsCountForNoLimit(t *testing.T) {
	t.Parallel()
	age := func(optional bool) fields { return fields{"field": "editedAt", "days": 90, "optional": optional} }
	for name, tt := range map[string]struct {
		more    fields
		cleared int
	}{
		"counted":               {fields{"age": age(false)}, 30},
		"counted, with a limit": {fields{"age": age(false), "limit": 25}, 25},
		"all judged":            {fields{"age": age(true)}, 30},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, with(fields{"collection": "drafts", "warn": fields{"days": 30, "field": "warnedAt"},
				"gone": array{fields{"document": "users/{ownerId}"}, fields{"document": "titles/{title}"}}}, tt.more))
			f.Set(t, "users/hana", fields{"x": true})
			f.Set(t, "titles/Tanka", fields{"x": true})
			f.SetMany(t, 30, func(i int) (string, fields) {
				data := draft(91, fields{"warnedAt": now.AddDate(0, 0, -3)})
				if i%3 > 0 {
					data["title"] = "Tanka"
				}
				return fmt.Sprintf("drafts/d%02d", i), data
			})
			counts(t, f.Run(t, ""), map[string]int{clears: tt.cleared})
		})
	}
}

// TestWarnBelow: marks in collections of the same name elsewhere are the business of somebody else, and a message may lie below
// what the rule's path binds.
func TestWarnBelow(t *testing.T) {
	f := start(t, fields{
		"collection": "users/{uid}/drafts", "age": fields{"field": "editedAt", "days": 90},
		"warn": fields{"days": 1, "field": "warnedAt", "create": "users/{uid}/notifications", "data": fields{"body": "{parent}: {id} of {size}"}},
		"set":  fields{"hidden": true}, "where": array{fields{"field": "hidden", "is": "not true"}},
	})
	over := now.AddDate(0, 0, -1)
	f.Set(t, "users/hana/drafts/due", draft(91, fields{"size": 1.5}))
	f.Set(t, "users/hana/drafts/over", draft(92, fields{"size": 1.5, "warnedAt": over}))
	f.Set(t, "users/ken/drafts/used", draft(3, fields{"warnedAt": over}))
	f.Set(t, "teams/t/drafts/used", draft(3, fields{"warnedAt": over}))
	f.Set(t, "drafts/used", draft(3, fields{"warnedAt": over}))
	counts(t, f.Run(t, ""), map[string]int{warnings: 1, clears: 1, "change draft": 1})
	for path, want := range map[string][2]any{ // warnedAt and hidden
		"users/hana/drafts/due": {now, nil}, "users/hana/drafts/over": {nil, true}, "users/ken/drafts/used": {nil, nil},
		"teams/t/drafts/used": {over, nil}, "drafts/used": {over, nil},
	} {
		collection, id, _ := strings.Cut(path, "drafts/")
		got := f.Documents(t, collection+"drafts")[id]
		enginetest.Want(t, path, want, [2]any{got["warnedAt"], got["hidden"]})
	}
	for _, n := range f.Documents(t, "users/hana/notifications") {
		enginetest.Want(t, "notification", fields{"body": "users/hana: due of 1.5"}, n)
	}
	enginetest.Want(t, "notifications", 1, len(f.Documents(t, "users/hana/notifications")))
	counts(t, f.Run(t, ""), map[string]int{})
}

// TestMarksOfTheApplication: a field that the application writes is no mark, and stays.
func TestMarksOfTheApplication(t *testing.T) {
	rule := maps.Clone(warnsFirst)
	rule["warn"] = fields{"days": 7, "field": "openedAt"}
	f := start(t, rule)
	f.SetMany(t, 20, func(i int) (string, fields) {
		age := 100
		if i < 11 { // the most that may be due are 10
			age = 3
		}
		return fmt.Sprint("drafts/d", i), draft(age, fields{"kept": false, "openedAt": now.AddDate(0, 0, -2)})
	})
	before := left(f, t)
	enginetest.WantAborted(t, f.Run(t, ""), "11 of 20 marks in openedAt (a field of its own?) of drafts")
	enginetest.Want(t, "left", before, left(f, t))
}

// TestWarnReads each document that waits twice a run, and no other.
func TestWarnReads(t *testing.T) {
	f := start(t, warnsFirst)
	const n = 100
	f.SetMany(t, 3*n, func(i int) (string, fields) {
		if i < n {
			return fmt.Sprint("drafts/d", i), draft(100, fields{"kept": false, "warnedAt": now.AddDate(0, 0, -1)})
		}
		return fmt.Sprint("drafts/d", i), draft(3, fields{"kept": false})
	})
	rep := f.Run(t, "")
	counts(t, rep, map[string]int{})
	if reads := rep.Usage.FirestoreReads; reads > 2*n+10 {
		t.Errorf("%d reads", reads)
	}
}

// TestTheDayIsThatOfTheTimeZone: people are told the day in the entry's time zone, and nothing goes before it has begun there, whatever
// the clocks do until then.
func TestTheDayIsThatOfTheTimeZone(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		zone   string
		warned time.Time
		day    string
	}{
		"ahead of UTC": {"Asia/Tokyo", time.Date(2026, 5, 1, 16, 0, 0, 0, time.UTC), "2026-05-09"},
		"behind UTC":   {"America/New_York", time.Date(2026, 5, 1, 2, 0, 0, 0, time.UTC), "2026-05-07"},
		// 00:30 there, and a week later 23:30; and 23:30, and a week later 00:30.
		"with an hour set back":    {"Europe/Berlin", time.Date(2026, 10, 19, 22, 30, 0, 0, time.UTC), "2026-10-26"},
		"with an hour set ahead":   {"Europe/Berlin", time.Date(2026, 3, 24, 22, 30, 0, 0, time.UTC), "2026-04-01"},
		"without one, that is UTC": {"", time.Date(2026, 5, 1, 23, 59, 59, 0, time.UTC), "2026-05-08"},
	} {
		t.Run(name, func(t *testing.T) {
			rule := warnsFirst
			if tt.zone != "" {
				rule = with(rule, fields{"timeZone": tt.zone})
			}
			f := start(t, rule)
			f.Clock = func() time.Time { return f.Now }
			f.Now = tt.warned
			f.Set(t, "drafts/d", fields{"editedAt": tt.warned.AddDate(0, 0, -91), "ownerId": "hana", "title": "Haiku"})
			counts(t, f.Run(t, ""), map[string]int{warnings: 1})
			enginetest.Want(t, "mails", []string{"[hana] 1Haiku (d) goes on " + tt.day}, mails(t, f))
			zone, err := time.LoadLocation(tt.zone)
			ok(t, err)
			begins, err := time.ParseInLocation(time.DateOnly, tt.day, zone)
			ok(t, err)
			f.Now = begins.Add(-time.Microsecond)
			counts(t, f.Run(t, ""), map[string]int{})
			f.Now = tt.warned.AddDate(0, 0, 7)
			counts(t, f.Run(t, ""), map[string]int{deletes: 1})
		})
	}
}

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
			check.Holds(t, fmt.Sprint(f.LogLines(t)), "drafts/d00")
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
