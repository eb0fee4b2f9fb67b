package declared_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"firebase.google.com/go/v4/auth"

	"github.com/firesweep/firesweep/shared/declared"
	"github.com/firesweep/firesweep/shared/documents/wire"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

var old = now.AddDate(0, 0, -100)

func drafts(more fields) fields {
	return with(fields{"collection": "drafts", "age": fields{"field": "updatedAt", "days": 90}}, more)
}

// TestTooMuchIsDue: half of a collection may be due; one more aborts the run. If the index does not decide alone, the share
// is estimated from the documents that were judged.
func TestTooMuchIsDue(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		rule    fields
		due     int // of 40 documents, all of which are old; 19: there are no others
		aborted bool
	}{
		{"few, and all of them", drafts(nil), 19, false},
		{"half", drafts(fields{"where": array{fields{"field": "published", "==": false}}}), 20, false},
		{"more than half", drafts(fields{"where": array{fields{"field": "published", "==": false}}}), 21, true},
		{"half of what is judged", drafts(fields{"where": array{fields{"field": "published", "is": "not true"}}}), 20, false},
		{"more than half of what is judged", drafts(fields{"where": array{fields{"field": "published", "is": "not true"}}}), 21, true},
		{"more than half, allowed", drafts(fields{"where": array{fields{"field": "published", "==": false}}, "maxDuePercent": 60}), 24, false},
		{"more than that", drafts(fields{"where": array{fields{"field": "published", "==": false}}, "maxDuePercent": 60}), 25, true},
		{"with a limit, by what was seen", drafts(fields{"where": array{fields{"field": "published", "is": "not true"}}, "limit": 10}), 40, true},
		{"more than half, warned first", drafts(fields{"where": array{fields{"field": "published", "==": false}},
			"warn": fields{"days": 7, "field": "warnedAt", "create": "mail", "data": fields{"text": "{id}"}}}), 21, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := start(t, tt.rule)
			all := 40
			if tt.due == 19 {
				all = tt.due
			}
			f.SetMany(t, all, func(i int) (string, fields) {
				return fmt.Sprintf("drafts/d%02d", i), fields{"updatedAt": old, "published": i >= tt.due}
			})
			before := left(f, t)
			got := f.Run(t, "")
			if !tt.aborted {
				enginetest.WantReport(t, got, report.Completed, enginetest.Done("delete draft", tt.due))
				return
			}
			enginetest.WantAborted(t, got, "maxDuePercent: ")
			enginetest.Want(t, "left", before, left(f, t))
			enginetest.Want(t, "forced", report.Completed, f.Run(t, `{"force":true}`).Status)
		})
	}
}

// TestKeptIsNotDue: what an undo brought back by name stays, so it is no part of what is due, and the job goes on.
func TestKeptIsNotDue(t *testing.T) {
	f := start(t, drafts(fields{"where": array{fields{"field": "published", "==": false}}}))
	f.SetMany(t, 30, func(i int) (string, fields) {
		return fmt.Sprintf("drafts/d%02d", i), fields{"updatedAt": old, "published": i >= 20}
	})
	first := f.Run(t, `{"force":true}`)
	enginetest.WantReport(t, first, report.Completed, enginetest.Done("delete draft", 20))
	undo := f.Restorer(t, f.Clock)
	part := restore.Options{Apply: true, Where: &restore.Where{Field: "published", Value: "false"}}
	ok(t, undo.Undo(t.Context(), first.RunID, part, func(restore.Outcome) error { return nil }))
	f.Set(t, "drafts/new", fields{"updatedAt": old, "published": false})
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("delete draft", 1))
	enginetest.Want(t, "left", 30, len(f.IDs(t, "drafts")))
}

// TestWhereMeansWhatWasDeleted: that a document was written for an item is no reason to bring the item back with it.
func TestWhereMeansWhatWasDeleted(t *testing.T) {
	f := start(t, fields{"collection": "users", "age": fields{"field": "seenAt", "months": 1}, "maxDuePercent": 100,
		"with": array{fields{"collection": "groups", "field": "members[]", "remove": true}, fields{"subcollection": "notes"}}})
	f.Set(t, "users/u1", fields{"seenAt": old, "ownerId": "u1"})
	f.Set(t, "users/u2", fields{"seenAt": old})
	f.Set(t, "users/u3", fields{"seenAt": old})
	f.Set(t, "users/u3/notes/n", fields{"ownerId": "u1"})
	f.Set(t, "groups/g", fields{"members": array{"u2", "x"}, "ownerId": "u1"})
	rep := f.Run(t, "")
	enginetest.WantReport(t, rep, report.Completed, enginetest.Done("delete user", 3))
	part := restore.Options{Apply: true, Where: &restore.Where{Field: "ownerId", Value: "u1"}}
	ok(t, f.Restorer(t, f.Clock).Undo(t.Context(), rep.RunID, part, func(restore.Outcome) error { return nil }))
	enginetest.Want(t, "users", []string{"u1", "u3"}, f.IDs(t, "users"))
	enginetest.Want(t, "members", any(array{"u2", "x"}), f.Documents(t, "groups")["g"]["members"])
}

// TestKeptTellsNothingOfTheRest: all that was not looked at is due, however much of what was is listed to be kept.
func TestKeptTellsNothingOfTheRest(t *testing.T) {
	f := start(t, drafts(fields{"where": array{fields{"field": "published", "==": false}}, "limit": 10}))
	draft := func(at time.Time) func(i int) (string, fields) {
		return func(i int) (string, fields) {
			return fmt.Sprintf("drafts/%s%02d", at.Format("0102"), i), fields{"updatedAt": at, "published": false}
		}
	}
	f.SetMany(t, 10, draft(old))
	var listed []string
	for _, id := range f.IDs(t, "drafts") {
		listed = append(listed, "drafts/"+id)
	}
	f.Set(t, "cleanupJobs/all-jobs", enginetest.Keeping(listed...))
	f.SetMany(t, 30, draft(old.Add(24*time.Hour)))
	f.SetMany(t, 10, draft(now))
	enginetest.WantAborted(t, f.Run(t, ""), "maxDuePercent: 30 of 50 documents of drafts are due (60.0 %)")
}

// TestShareIsOfAllDocuments: whatever form the age has, and whether an index finds it or not, the share is that of all documents of
// the collection, those that meet no condition among them.
func TestShareIsOfAllDocuments(t *testing.T) {
	t.Parallel()
	unpublished := array{fields{"field": "published", "==": false}}
	for name, rule := range map[string]fields{
		"by a timestamp": drafts(fields{"where": unpublished}),
		"by a text":      drafts(fields{"where": unpublished, "age": fields{"field": "text", "days": 90, "as": "text"}}),
		"by a number":    drafts(fields{"where": unpublished, "age": fields{"field": "seconds", "days": 90, "as": "seconds"}}),
		"by two ages":    drafts(fields{"where": unpublished, "age": array{fields{"field": "updatedAt", "days": 90}, fields{"field": "seconds", "days": 1, "as": "seconds"}}}),
		"of any age":     drafts(fields{"where": unpublished, "age": "any"}),
		"one or none":    drafts(fields{"where": unpublished, "age": fields{"field": "updatedAt", "days": 90, "optional": true}}),
		"in ranges":      drafts(fields{"where": array{fields{"field": "n", "<": 1}, fields{"field": "m", "<": 1}}}),
		"in a group":     {"collectionGroup": "drafts", "where": unpublished, "age": fields{"field": "updatedAt", "days": 90}},
		"with a limit":   drafts(fields{"where": unpublished, "limit": 5}),
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, rule)
			draft := func(i int) (string, fields) {
				n := min(1, i/20)
				return fmt.Sprintf("drafts/d%02d", i), fields{"updatedAt": old, "text": old.Format(time.RFC3339), "seconds": old.Unix(),
					"published": n == 1, "n": n, "m": n}
			}
			f.SetMany(t, 39, draft)
			enginetest.WantAborted(t, f.Run(t, ""), "maxDuePercent: 20 of 39 documents of drafts are due (51.3 %)")
			f.SetMany(t, 40, draft)
			f.Now = f.Now.Add(time.Hour)
			got := f.Run(t, "")
			enginetest.Want(t, "status", report.Completed, got.Status)
			if done := got.Actions["delete draft"].Done; done != 20 && done != 5 {
				t.Errorf("%d deleted", done)
			}
		})
	}
}

// TestALimitOnTheWholeBucket names its top where the rule is about no folder.
func TestALimitOnTheWholeBucket(t *testing.T) {
	f := start(t, fields{"objects": "**", "gone": "nobody", "age": fields{"days": 0}})
	f.Now = time.Now().Add(time.Hour)
	f.PutMany(t, 20, func(i int) (string, map[string]string) { return fmt.Sprintf("%02d.png", i), nil })
	enginetest.WantAborted(t, f.Run(t, `{"dryRun":true}`), "20 of 20 objects under / are due")
}

// TestWhatIsDoubtfulIsNotGone: a list or map without an element, a hole without a valid id and a disabled account keep the document,
// in gone as in unless.
func TestWhatIsDoubtfulIsNotGone(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		relation fields
		data     map[string]fields // of documents, by their id, all of which stay but for the one named due
	}{
		"of a list": {fields{"document": "users/{all[]}"}, map[string]fields{"empty": {"all": array{}}, "null": {"all": nil}, "missing": {}, "text": {"all": "x"},
			"one is there": {"all": array{"x", "ken"}}, "one is none": {"all": array{"x", ""}}, "due": {"all": array{"x", "y"}}}},
		"of a map": {fields{"document": "users/{all.*}"}, map[string]fields{"empty": {"all": fields{}}, "list": {"all": array{"x"}},
			"one is there": {"all": fields{"x": true, "ken": true}}, "due": {"all": fields{"x": true}}}},
		"of a field": {fields{"document": "users/{by}"}, map[string]fields{"empty": {"by": ""}, "null": {"by": nil}, "missing": {}, "slash": {"by": "a/b"},
			"mistake": {"by": "undefined"}, "truth": {"by": true}, "there": {"by": "ken"}, "due": {"by": "x"}}},
		"account": {fields{"account": "{by}"}, map[string]fields{"empty": {"by": ""}, "missing": {}, "there": {"by": "ken"}, "disabled": {"by": "mia"},
			"due": {"by": "x"}}},
	} {
		for _, role := range []string{"gone", "unless"} {
			t.Run(name+" "+role, func(t *testing.T) {
				f := start(t, fields{"collection": "notes", "age": "any", "maxDuePercent": 100, role: array{tt.relation}})
				f.Set(t, "users/ken", fields{"x": true})
				f.Import(t, new(auth.UserToImport).UID("ken"), new(auth.UserToImport).UID("mia").Disabled(true))
				want := []string{}
				for id, data := range tt.data {
					if f.Set(t, "notes/"+id, data); id != "due" {
						want = append(want, id)
					}
				}
				slices.Sort(want)
				enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("delete note", 1))
				enginetest.Want(t, "left", want, f.IDs(t, "notes"))
			})
		}
	}
}

// TestShareBelow: documents elsewhere, in collections of the same name, hide nothing of what is due where the rule is.
func TestShareBelow(t *testing.T) {
	f := start(t, fields{"collection": "chats/{chat}/users", "age": "any", "where": array{fields{"field": "left", "is": "not true"}}})
	f.SetMany(t, 80, func(i int) (string, fields) {
		if i%2 == 0 {
			return fmt.Sprintf("users/u%02d", i), fields{"left": true}
		}
		return fmt.Sprintf("chats/c%02d/users/u", i), fields{"left": i/2 >= 21}
	})
	enginetest.WantAborted(t, f.Run(t, ""), "maxDuePercent: 21 of 40 documents of chats/{chat}/users")
}

// TestShareThatCannotBeCounted: nothing is done if the limit cannot be checked.
func TestShareThatCannotBeCounted(t *testing.T) {
	t.Parallel()
	for percent, want := range map[int]report.Status{50: report.Failed, 100: report.Completed} {
		t.Run(fmt.Sprint(percent), func(t *testing.T) {
			f := start(t, drafts(fields{"maxDuePercent": percent}))
			f.RefuseCounts(status.Error(codes.DeadlineExceeded, "the count takes too long"))
			f.Set(t, "drafts/d", fields{"updatedAt": old})
			enginetest.Want(t, "status", want, f.Run(t, "").Status)
			enginetest.Want(t, "left", want == report.Failed, len(f.IDs(t, "drafts")) == 1)
		})
	}
}

// TestContinuesBehindALimit: each run deletes as many as the limit allows and says so, and the next continues behind those that
// it kept.
func TestContinuesBehindALimit(t *testing.T) {
	t.Parallel()
	for as, age := range map[string]any{"any": "any", "timestamp": fields{"field": "updatedAt", "days": 90},
		"text": fields{"field": "updatedAt", "as": "text", "days": 90}} {
		t.Run(as, func(t *testing.T) {
			f := start(t, drafts(fields{"age": age, "where": array{fields{"field": "published", "is": "not true"}}, "limit": 10,
				"maxDuePercent": 100}))
			f.SetMany(t, 50, func(i int) (string, fields) {
				var at any = old.Add(-time.Duration(50-i) * time.Minute)
				if as == "text" {
					at = at.(time.Time).Format(time.RFC3339)
				}
				return fmt.Sprintf("drafts/d%02d", i), fields{"updatedAt": at, "published": i%2 == 0}
			})
			for _, done := range []int{10, 10, 5, 0} {
				rep := f.Run(t, "")
				enginetest.Want(t, "status", report.Completed, rep.Status)
				enginetest.Want(t, "done", done, rep.Actions["delete draft"].Done)
				said := fmt.Sprint(rep.Kept, rep.Warnings)
				told := strings.Contains(said, "left to a later run: each run does 10:")
				enginetest.Want(t, "more may be due, says "+said, done == 10, told)
			}
			enginetest.Want(t, "left, all that are published", 25, len(f.Documents(t, "drafts")))
		})
	}
}

// refuseQueries has Google refuse a query that starts at a value, as the emulator does not.
func refuseQueries(f *enginetest.Function, why string, at func(value *firestorepb.Value) bool) {
	f.Hooks.Dial = append(f.Hooks.Dial, wire.Before(func(_ context.Context, _ string, message any) error {
		q, _ := message.(*firestorepb.RunQueryRequest)
		if from := q.GetStructuredQuery().GetStartAt().GetValues(); len(from) > 0 && at(from[0]) {
			return status.Error(codes.InvalidArgument, why)
		}
		return nil
	})...)
}

// TestCheckpointBeyondTheQuery: a run that Google refuses because the document of the checkpoint is no longer among those asked for
// starts over. The emulator answers with nothing.
func TestCheckpointBeyondTheQuery(t *testing.T) {
	f := start(t, fields{"collection": "drafts", "where": array{fields{"field": "score", "<": 5}}, "unless": array{fields{"field": "hold", "==": true}},
		"age": "any", "limit": 1, "maxDuePercent": 100})
	f.SetMany(t, 4, func(i int) (string, fields) {
		return fmt.Sprintf("drafts/d%d", i), fields{"score": i, "hold": i%2 == 0}
	})
	refuseQueries(f, "cursor position is outside the range of the original query", func(value *firestorepb.Value) bool {
		return value.GetIntegerValue() >= 5
	})
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("delete draft", 1))
	f.Set(t, "drafts/d0", fields{"score": 7, "hold": true})
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("delete draft", 1))
	enginetest.Want(t, "left", []string{"d0", "d2"}, f.IDs(t, "drafts"))
}

// TestCheckpointBehindALongText: a text in place of a date, longer than any query may ask for, stops no later run.
func TestCheckpointBehindALongText(t *testing.T) {
	f := start(t, fields{"collection": "drafts", "age": fields{"field": "meta.date", "as": "text", "days": 1}, "limit": 1,
		"maxDuePercent": 100})
	f.Set(t, "drafts/long", fields{"meta": fields{"date": "2020" + strings.Repeat("x", 5000)}})
	f.Set(t, "drafts/due", fields{"meta": fields{"date": "2021-01-01"}})
	refuseQueries(f, "the value is longer than 1500 bytes",
		func(value *firestorepb.Value) bool { return len(value.GetStringValue()) > 1500 })
	for range 2 {
		enginetest.Want(t, "status", report.Completed, f.Run(t, "").Status)
		enginetest.Want(t, "left", []string{"long"}, f.IDs(t, "drafts"))
	}
}

// TestUndoByTheRuleOfThen: what a rule that was corrected since can not have done comes back by the rule as it was, and the error says so.
func TestUndoByTheRuleOfThen(t *testing.T) {
	f := start(t, drafts(fields{"with": array{fields{"subcollection": "revisions"}}}))
	f.Env["UNDO_DAYS"] = "7"
	f.Set(t, "drafts/d", fields{"updatedAt": old})
	f.Set(t, "drafts/d/revisions/r", fields{"n": int64(1)})
	got := f.Run(t, "")
	of := f.Restorer(t, f.Clock)
	then := of.Jobs[got.Job]
	of.Jobs[got.Job] = declared.Job(got.Job, *entry(t, drafts(nil)).Rule)
	apply := func() error {
		return of.Undo(t.Context(), got.RunID, restore.Options{Apply: true}, func(restore.Outcome) error { return nil })
	}
	if err := apply(); !errors.Is(err, restore.ErrRefused) || !strings.Contains(err.Error(), "give the file of then with --rules") {
		t.Error(err)
	}
	enginetest.Want(t, "by the rule of now", 0, len(f.Documents(t, "drafts/d/revisions")))
	of.Jobs[got.Job] = then
	if err := apply(); err != nil {
		t.Error(err)
	}
	enginetest.Want(t, "by the rule of then", 1, len(f.Documents(t, "drafts/d/revisions")))
}

// TestAnAccountComesBackWhole: an account and the documents that were deleted with it are one item, whichever of them is named, also
// if the next run deleted the documents.
func TestAnAccountComesBackWhole(t *testing.T) {
	f := start(t, guests(fields{"with": array{fields{"document": "carts/{uid}", "with": array{fields{"subcollection": "items"}}},
		fields{"document": "users/{uid}"}}}))
	f.Env["UNDO_DAYS"] = "7"
	of, ids := f.Restorer(t, f.Clock), []string{"named", "account", "cart", "below", "interrupted"}
	for _, id := range append(ids, "other") {
		f.Import(t, signedIn(id, old))
		for _, path := range []string{"carts/" + id, "users/" + id, "carts/" + id + "/items/i"} {
			f.Set(t, path, fields{"x": id})
		}
	}
	left := "interrupted"
	f.OnCommit(func(_ int, commit *firestorepb.CommitRequest, send func() error) error {
		if left != "" && strings.Contains(fmt.Sprint(commit.GetWrites()), "/users/"+left) {
			return status.Error(codes.PermissionDenied, "not now")
		}
		return send()
	})
	first := f.Run(t, "")
	left = ""
	plan := f.Run(t, `{"dryRun":true}`).Plan
	enginetest.Want(t, "what is left", "an earlier run was interrupted before it was done with: account account, account below, account cart, account interrupted, account named, account other", plan[0].Reason)
	second := f.Run(t, "")
	for i, o := range []restore.Options{{Where: &restore.Where{Field: "x", Value: "named"}}, {Only: []string{"account account"}},
		{Only: []string{"carts/cart"}}, {Only: []string{"carts/below/items/"}}, {Only: []string{"account interrupted"}}} {
		var back []string
		run := map[bool]string{false: first.RunID, true: second.RunID}[ids[i] == "interrupted"]
		err := of.Undo(t.Context(), run, o, func(o restore.Outcome) error { back = append(back, o.Target); return nil })
		ok(t, err)
		want := []string{"account " + ids[i], "carts/" + ids[i], "carts/" + ids[i] + "/items/i", "users/" + ids[i]}
		if run == second.RunID {
			want = want[3:]
		}
		slices.Sort(back)
		enginetest.Want(t, ids[i], want, back)
	}
}

// TestContinuesBehindWhatARelationKeeps: a window of nothing but what relations keep is not read again, whatever the query ranges over.
func TestContinuesBehindWhatARelationKeeps(t *testing.T) {
	t.Parallel()
	for name, rule := range map[string]fields{
		"of texts":        {"collection": "drafts", "where": array{fields{"field": "token", "is": "text"}}},
		"of numbers":      {"collection": "drafts", "where": array{fields{"field": "n", ">=": 0}}},
		"of any age":      {"collection": "drafts", "where": array{fields{"field": "token", "is": "text"}}, "age": "any"},
		"of many places":  {"collectionGroup": "drafts", "where": array{fields{"field": "token", "is": "text"}}},
		"that change":     {"collection": "drafts", "where": array{fields{"field": "token", "is": "text"}}, "set": fields{"token": nil}},
		"that are warned": {"collection": "drafts", "where": array{fields{"field": "token", "is": "text"}}, "warn": fields{"days": 3, "field": "warnedAt"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, with(fields{"age": fields{"field": "at", "days": 1}, "unless": array{fields{"document": "holds/{id}"}},
				"limit": 1, "maxDuePercent": 100}, rule))
			f.SetMany(t, 8, func(i int) (string, fields) {
				return fmt.Sprintf("drafts/d%d", i), fields{"token": fmt.Sprintf("t%d", i), "n": i, "at": old}
			})
			for _, id := range []string{"d0", "d1", "d2", "d4", "d5", "d6"} {
				f.Set(t, "holds/"+id, fields{"x": true})
			}
			before := f.Documents(t, "drafts")
			first, second := f.Run(t, ""), f.Run(t, "")
			for _, got := range []*report.Report{first, second} {
				enginetest.Want(t, "status", report.Completed, got.Status)
			}
			if first, second := first.Usage.FirestoreReads, second.Usage.FirestoreReads; second > first+2 {
				t.Errorf("the second run reads %d documents, the first %d", second, first)
			}
			left := f.Documents(t, "drafts")
			for id, data := range before {
				held := id != "d3" && id != "d7"
				enginetest.Want(t, id+" is as it was", held, reflect.DeepEqual(left[id], data))
			}
		})
	}
}

// TestEverythingBelow: more goes along than one commit takes, below documents that exist and that do not, at two reads each.
func TestEverythingBelow(t *testing.T) {
	const n = 300
	for _, days := range []string{"0", "7"} {
		t.Run("UNDO_DAYS "+days, func(t *testing.T) {
			f := start(t, fields{"collection": "rooms", "age": "any", "where": array{fields{"field": "kept", "is": "not true"}},
				"with": array{fields{"subcollection": "**"}}})
			f.Env["UNDO_DAYS"] = days // without an undo log, only names are read
			f.Set(t, "rooms/a", fields{"kept": false})
			f.Set(t, "rooms/b", fields{"kept": true})
			f.SetMany(t, 3*n, func(i int) (string, fields) {
				return fmt.Sprintf("rooms/%c/days/%d/messages/m%03d", "aab"[i/n], i%7, i), fields{"n": i}
			})
			f.SetMany(t, 3*n, func(i int) (string, fields) {
				return fmt.Sprintf("rooms/%c/members/m%03d", "aab"[i/n], i), fields{"n": i}
			})
			f.Set(t, "rooms/a/members/m000/devices/d", fields{"n": 0})
			before := f.Everything(t)
			rep := f.Run(t, "")
			enginetest.WantReport(t, rep, report.Completed, enginetest.Done("delete room", 1))
			for path := range f.Everything(t) {
				delete(before, path)
			}
			enginetest.Want(t, "deleted", 2*n*2+2, len(before))
			if reads, most := int(rep.Usage.FirestoreReads), len(before)*2+100; reads > most {
				t.Errorf("%d reads, more than %d", reads, most)
			}
		})
	}
}

// TestContinuesOfNoOrder: where no field orders the documents, the next page and the next run begin behind a name.
func TestContinuesOfNoOrder(t *testing.T) {
	t.Parallel()
	where := array{fields{"field": "kept", "is": "not true"}}
	for name, tt := range map[string]struct {
		more fields
		all  int
		done []int
	}{
		"a limit":                       {fields{"limit": 10}, 11, []int{10, 0}},
		"behind what is kept":           {fields{"limit": 10}, 21, []int{10, 10}},
		"more than one page":            {nil, 501, []int{500}},
		"by any age":                    {fields{"age": "any"}, 501, []int{500}},
		"by an age that may be missing": {fields{"age": fields{"field": "at", "days": 1, "optional": true}}, 501, []int{500}},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, with(fields{"collection": "users", "where": where, "age": fields{"by": "updateTime", "days": 1}, "maxDuePercent": 100}, tt.more))
			f.SetMany(t, tt.all, func(i int) (string, fields) { return fmt.Sprintf("users/u%03d", i), fields{"kept": i == 3} })
			f.Set(t, "users/u003", fields{"kept": true, "at": old})
			for _, done := range tt.done {
				enginetest.Want(t, "done", done, f.Run(t, "").Actions["delete user"].Done)
			}
			enginetest.Want(t, "left", []string{"u003"}, f.IDs(t, "users"))
		})
	}
}

// left returns the paths of all documents but the bundle's own, and their fields.
func left(f *enginetest.Function, t testing.TB) map[string]fields {
	all := map[string]fields{}
	for _, d := range f.All(t) {
		_, path, _ := strings.Cut(d.Ref.Path, "/documents/")
		if !strings.HasPrefix(path, "cleanup") {
			all[path] = d.Data()
		}
	}
	return all
}
