package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"firebase.google.com/go/v4/auth"

	"github.com/firesweep/firesweep/shared/documents/wire"
	"github.com/firesweep/firesweep/shared/engine/report"
)

const forgets = `{"functions": [
	{"name": "cleanupUsers", "schedule": "0 4 * * *", "collection": "users", "where": [{"field": "name", "==": null}], "age": {"field": "at", "days": 90},
		"unless": [{"document": "legalHolds/{id}"}], "with": [{"subcollection": "prefs"}, {"objects": "users/{id}/**"}, {"account": "{id}"}]},
	{"name": "cleanupPosts", "schedule": "0 4 * * *", "collection": "posts", "age": {"field": "at", "days": 90}, "gone": [{"account": "{by}"}],
		"unless": [{"document": "postHolds/{id}"}]},
	{"name": "cleanupDrafts", "schedule": "0 4 * * *", "collection": "drafts", "age": {"field": "at", "days": 90}}
]}`

const secret = "what hana wrote"

// forgetful puts an application with two users into the project.
func (o *operator) forgetful(t *testing.T) {
	t.Helper()
	o.inApp(t, map[string]string{"firesweep.json": forgets, "firebase.json": "{}"})
	for path, data := range map[string]map[string]any{
		"users/hana": {"name": secret}, "users/hana/prefs/p": {"text": secret}, "users/ken": {"name": "ken"}, "users/hana2": {"name": "x"},
		"posts/a": {"by": "hana", "text": secret}, "posts/held": {"by": "hana", "text": secret}, "posts/ken": {"by": "ken"},
		"postHolds/held": {"by": "court"}, "legalHolds/ken": {"by": "court"}, "drafts/hana": {"by": "hana"},
	} {
		o.Set(t, path, data)
	}
	o.Put(t, "users/hana/a.png", nil, []byte(secret))
	o.Put(t, "users/ken/a.png", nil, nil)
	o.SetSoftDelete(t, 7*24*3600e9)
	o.Import(t, new(auth.UserToImport).UID("hana").Email("hana@example.com"), new(auth.UserToImport).UID("ken"))
}

// application is all in the project but the bundle's own records.
func (o *operator) application(t *testing.T) map[string]any {
	all := map[string]any{}
	for _, d := range o.All(t) {
		_, path, _ := strings.Cut(d.Ref.Path, "/documents/")
		if !strings.HasPrefix(path, "cleanup") {
			all[path] = d.Data()
		}
	}
	all["objects"], all["accounts"] = o.Objects(t), o.Accounts(t)
	return all
}

// TestForget goes the way of somebody who answers a request for erasure, and then takes it back.
func TestForget(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.forgetful(t)
	all, before := o.everything(t), o.application(t)
	out := o.well(t, "forget", "hana")
	wantParts(t, out, "What belongs to the user hana in "+o.ID+", by cleanupUsers,\n  cleanupPosts:", "users/hana", "users/hana/prefs/p", "account hana", "posts/a",
		"posts: postHolds/{id} exists", "posts/held is kept: posts: postHolds/{id} exists", "Nothing was changed. Do it:", "firesweep forget --apply hana")
	if strings.Contains(out, "ken") || strings.Contains(out, "hana2") || strings.Contains(out, secret) {
		t.Errorf("it names another user, or says what somebody wrote:\n%s", out)
	}
	want(t, "the project", all, o.everything(t))

	o.screen.in, o.in = true, "Hana\n"
	_, errs := o.ends(t, exitFailed, "forget", "--apply", "hana")
	wantParts(t, errs, "Type the uid to delete all of this: ", "nothing was changed: the answer was not the uid")
	want(t, "the project, after another answer", all, o.everything(t))

	o.in = "hana\n"
	out, _ = o.ends(t, exitFine, "forget", "--apply", "hana")
	wantParts(t, oneLine(out), "Receipt: the user hana in "+o.ID+", on the emulator "+o.env["FIRESTORE_EMULATOR_HOST"], "run --here by ", "Everything due is done", "users/hana/prefs/p", "delete account", "delete object",
		"posts: postHolds/{id} exists", "Undo brings the user back, until its log is gone")
	if strings.Contains(out, secret) || strings.Contains(out, "hana@example.com") {
		t.Errorf("the receipt holds contents:\n%s", out)
	}
	after := o.application(t)
	for _, path := range []string{"users/hana", "users/hana/prefs/p", "posts/a"} {
		if after[path] != nil {
			t.Errorf("%s is left", path)
		}
		delete(before, path)
	}
	before["objects"], before["accounts"] = []string{"users/ken/a.png"}, []string{"ken"}
	want(t, "what is left", before, after)

	wantParts(t, o.well(t, "forget", "--apply", "--yes", "hana"), "nothing to do", "Nothing was changed.")
	run := ""
	for id := range o.Documents(t, "cleanupRuns") {
		run = id
	}
	wantParts(t, o.well(t, "show", run), "users/hana/prefs/p")
	o.refuses(t, exitFailed, "give the whole id of a run of forget", "show", shortID(run))
	wantParts(t, o.well(t, "undo", run), "the run forgot a user, and undoing it brings that user back")
	o.well(t, "undo", "--apply", run)
	back := o.application(t)
	want(t, "what hana wrote", map[string]any{"name": secret}, back["users/hana"])
	want(t, "accounts", []string{"hana", "ken"}, o.Accounts(t))
	want(t, "objects", []string{"users/hana/a.png", "users/ken/a.png"}, o.Objects(t))
	o.well(t, "forget", "--apply", "--yes", "hana")
	want(t, "what is pinned", back, o.application(t))
}

// TestForgetForPrograms: the receipt as JSON, of a user who is held, and of one whose forgetting was interrupted.
func TestForgetForPrograms(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.forgetful(t)
	held := parsed[forgotten](t, o.well(t, "forget", "--apply", "--yes", "--json", "ken"))
	want(t, "kept of ken", map[string]int{"users: legalHolds/{id} exists": 1}, held.Run.Kept)
	want(t, "done of ken", report.Counts{Planned: 1, Done: 1}, held.Run.Actions["delete document"])
	want(t, "accounts", []string{"hana", "ken"}, o.Accounts(t))

	o.env["MAX_ACTIONS"] = "1"
	out, _ := o.ends(t, exitFailed, "forget", "hana")
	wantParts(t, out, "aborted", "firesweep forget --force UID", "Nothing was changed.")
	delete(o.env, "MAX_ACTIONS")
	o.FailDelete(t, "hana", "INTERNAL_ERROR")
	out, _ = o.ends(t, exitFailed, "forget", "--apply", "--yes", "--json", "hana")
	want(t, "status", report.Failed, parsed[forgotten](t, out).Run.Status)
	o.FailDelete(t, "hana", "")
	o.Delete(t, "legalHolds/ken")
	o.Set(t, "legalHolds/x", map[string]any{})
	other := parsed[forgotten](t, o.well(t, "forget", "--apply", "--yes", "--json", "ken"))
	want(t, "done of ken, now", 1, other.Run.Done())
	want(t, "whose forgetting was interrupted", []string{"hana"}, o.Accounts(t))
	out = o.well(t, "forget", "--apply", "--yes", "--json", "hana")
	want(t, "accounts, finished", 0, len(o.Accounts(t)))
	r := parsed[forgotten](t, out)
	want(t, "receipt", []any{"hana", o.ID, []string{"cleanupUsers", "cleanupPosts"}}, []any{r.UID, r.Project, r.Rules})
	if !json.Valid([]byte(out)) || strings.Contains(out, secret) || r.Run.Did == nil {
		t.Errorf("the receipt: %s", out)
	}
}

// TestForgetWhatChangesMeanwhile: a receipt of what stayed says so, and ends as a failure does.
func TestForgetWhatChangesMeanwhile(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.forgetful(t)
	o.running.BeforeApply = func() { o.Set(t, "postHolds/a", map[string]any{"by": "court"}) }
	out, _ := o.ends(t, exitFailed, "forget", "--apply", "--yes", "--json", "hana")
	r := parsed[forgotten](t, out)
	want(t, "status", report.Completed, r.Run.Status)
	wantParts(t, r.Error, "1 of these changed before they were to be deleted, and may be there still: do it again")
}

// TestForgetWhatGoesMeanwhile: what another rule's document took along before it was to be deleted itself is no failure.
func TestForgetWhatGoesMeanwhile(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.forgetful(t)
	rule := func(name, of, with string) string {
		return fmt.Sprintf(`{"name": %q, "schedule": "never", "collection": %q, "age": "any", "gone": [{"account": "{by}"}], "with": [{"document": "%s/{id}"}]}`, name, of, with)
	}
	o.inApp(t, map[string]string{"firesweep.json": `{"functions": [` + rule("forgetPosts", "posts", "covers") + "," + rule("forgetCovers", "covers", "posts") + "]}"})
	o.Delete(t, "posts/held")
	o.Set(t, "covers/a", map[string]any{"by": "hana"})
	r := parsed[forgotten](t, o.well(t, "forget", "--apply", "--yes", "--json", "hana"))
	want(t, "changed", 1, r.Run.Totals().Changed)
	want(t, "error", "", r.Error)
	want(t, "posts", []string{"ken"}, slices.Collect(maps.Keys(o.Documents(t, "posts"))))
}

// TestForgetWhatOthersDelete: a receipt says that nothing led to what belonged to a document that somebody else has deleted, after the
// user's things were shown or after the run has planned, whether or not a log tells which.
func TestForgetWhatOthersDelete(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		days string
		when func(o *operator, f func())
		says string
	}{
		"before the run plans": {"7", func(o *operator, f func()) {
			var once sync.Once
			o.running.Dial = wire.Before(func(_ context.Context, _ string, message any) error {
				if _, ok := message.(*firestorepb.CommitRequest); ok { // the first takes the lease
					once.Do(f)
				}
				return nil
			})
		}, "1 of these went meanwhile by another's hand, and what belonged to them was not looked for"},
		"after that": {"7", func(o *operator, f func()) { o.running.BeforeApply = f },
			"1 of these went meanwhile by another's hand, and what belonged to them was not looked for"},
		"without a log": {"0", func(o *operator, f func()) { o.running.BeforeApply = f },
			"some of these may have gone meanwhile by another's hand, and what belonged to them was not looked for"},
	} {
		o := newOperator(t, "UNDO_DAYS="+tt.days)
		o.forgetful(t)
		o.inApp(t, map[string]string{"firesweep.json": strings.Replace(forgets, `"gone": [{"account": "{by}"}],`,
			`"gone": [{"account": "{by}"}], "with": [{"objects": "posts/{id}/**"}, {"collection": "comments", "field": "postId"}],`, 1)})
		o.Set(t, "comments/c", map[string]any{"postId": "a"})
		o.Put(t, "posts/a/a.png", nil, nil)
		tt.when(o, func() { o.Delete(t, "posts/a") })
		out, _ := o.ends(t, exitFailed, "forget", "--apply", "--yes", "--json", "hana")
		r := parsed[forgotten](t, out)
		want(t, name, []any{report.Completed, tt.says}, []any{r.Run.Status, r.Error})
		want(t, name+", objects", []string{"posts/a/a.png", "users/ken/a.png"}, o.Objects(t))
	}
}

// TestForgetOnAnotherBucket: one that nobody named must be that of the rules' last runs, or the user's files would stay.
func TestForgetOnAnotherBucket(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.Put(t, "x", nil, nil)
	chosen := o.Bucket
	o.Bucket = o.ID + "-files"
	o.env["STORAGE_BUCKET"] = o.Bucket
	o.forgetful(t)
	o.well(t, "run", "--here", "--apply", "--confirm", o.ID, "cleanupUsers")
	before := o.application(t)
	o.env["STORAGE_BUCKET"] = ""
	_, errs := o.ends(t, exitWrongUse, "forget", "--apply", "--yes", "hana")
	wantParts(t, errs, "the last run of cleanupUsers worked on the bucket "+o.Bucket+", and not on "+chosen+": set STORAGE_BUCKET")
	want(t, "the application", before, o.application(t))
	o.env["STORAGE_BUCKET"] = o.Bucket
	o.well(t, "forget", "--apply", "--yes", "hana")
	want(t, "objects", []string{"users/ken/a.png"}, o.Objects(t))
}

// TestUndoOfWhatWasForgottenSince: an earlier run's undo says that it brings back what a user was promised to be gone.
func TestUndoOfWhatWasForgottenSince(t *testing.T) {
	t.Parallel()
	o := newOperator(t, "UNDO_DAYS=7")
	o.forgetful(t)
	o.Set(t, "drafts/hana", map[string]any{"at": o.now.AddDate(-1, 0, 0)})
	run := parsed[ranHere](t, o.well(t, "run", "--here", "--apply", "--confirm", o.ID, "--json", "cleanupDrafts")).Runs[0].Report.RunID
	warnings := func() []string { return parsed[taken](t, o.well(t, "undo", "--json", run)).Warnings }
	want(t, "before", 0, len(warnings()))
	o.now = o.now.Add(time.Hour + 300*time.Millisecond) // a run's id has whole seconds
	forgot := parsed[forgotten](t, o.well(t, "forget", "--apply", "--yes", "--json", "hana")).Run.RunID
	want(t, "since", []string{"users were forgotten since, by " + forgot + ": release what comes back of them, and forget them again: hana"}, warnings())
	want(t, "of the run that forgot them", []string{"the run forgot a user, and undoing it brings that user back"},
		parsed[taken](t, o.well(t, "undo", "--json", forgot)).Warnings)
	o.well(t, "undo", "--apply", forgot)
	want(t, "after that was taken back", 0, len(warnings()))
}

// TestForgetRefuses what it cannot do, before it does anything.
func TestForgetRefuses(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.forgetful(t)
	before := o.everything(t)
	for args, says := range map[string]string{
		"users/hana":               `"users/hana" is no uid`,
		"--apply hana":             "standard input is not a terminal: use --yes",
		"--yes hana":               "--yes needs --apply",
		"--lift x --apply -y hana": `--lift: "x" cannot be lifted`,
	} {
		o.refuses(t, exitWrongUse, says, append([]string{"forget"}, strings.Fields(args)...)...)
	}
	o.env["FIRESTORE_DATABASE_cleanupPosts"] = "other"
	o.refuses(t, exitWrongUse, "FIRESTORE_DATABASE_cleanupPosts differs from FIRESTORE_DATABASE", "forget", "hana")
	delete(o.env, "FIRESTORE_DATABASE_cleanupPosts")
	o.inApp(t, map[string]string{"firesweep.json": strings.ReplaceAll(forgets, "account", "accounts"), "firebase.json": "{}"})
	o.ends(t, exitWrongUse, "forget", "hana")
	o.inApp(t, map[string]string{"firesweep.json": drafts, "firebase.json": "{}"})
	o.refuses(t, exitWrongUse, "no rule says whose anything is", "forget", "hana")
	want(t, "the project", before, o.everything(t))
	if !slices.Contains(o.Accounts(t), "hana") {
		t.Error("hana is gone")
	}
}
