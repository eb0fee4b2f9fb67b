package bannedusers

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"firebase.google.com/go/v4/auth"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

var now = time.Date(2026, 1, 10, 19, 0, 0, 0, time.UTC)

type function struct{ *enginetest.Function }

// newFunction also makes the test parallel: most of its time is spent waiting until the next call to Authentication may be
// made.
func newFunction(t *testing.T) function {
	t.Helper()
	t.Parallel()
	f := function{enginetest.New(t, functions.New(Job))}
	f.Now = now
	return f
}

// user writes a user's document.
func (f function) user(t *testing.T, uid string, status, due any) {
	t.Helper()
	f.Set(t, "users/"+uid, map[string]any{
		"displayName": "花子", "email": uid + "@example.com", "banStatus": status, "permanentBanScheduledDeletionAt": due,
	})
}

// left is what exists after a run: users' documents, accounts and notes, each in order.
type left struct{ Users, Accounts, Notes []string }

func (f function) wantLeft(t *testing.T, want left) {
	t.Helper()
	got := left{f.IDs(t, "users"), f.Accounts(t), f.IDs(t, "authDeletionRetries")}
	check.Same(t, "left", want, got, cmpopts.EquateEmpty())
}

// wantWarnings compares the number of warnings about a user's document or note, the number of alerts, and the text of the
// last.
func (f function) wantWarnings(t *testing.T, uid string, n, alerts int, text string) {
	t.Helper()
	all := f.Warnings(t)
	lines, last := slices.Concat(all["users/"+uid], all["authDeletionRetries/"+uid]), text
	for _, line := range lines {
		last = line["message"].(string)
		if line["alert"] == "account" {
			alerts--
		}
	}
	enginetest.Want(t, uid+": warnings, alerts missing", []int{n, 0}, []int{len(lines), alerts})
	check.Holds(t, last, text)
}

func ago(d time.Duration) time.Time { return now.Add(-d) }

func TestTwentyARunEarliestFirst(t *testing.T) {
	f := newFunction(t)
	var all, latest []string
	for i := range 25 {
		uid := fmt.Sprintf("u%d", i)
		hours := i * 7 % 25 // in another order than the ids
		f.user(t, uid, "permanent", ago(time.Duration(hours)*time.Hour))
		all = append(all, uid)
		if hours < 5 {
			latest = append(latest, uid)
		}
	}
	slices.Sort(latest)
	f.user(t, "later", "permanent", now.Add(time.Hour))
	f.SignUp(t, append(all, "later")...)

	got := enginetest.NewGolden(t, "limit").Run(t, "20 of 25", f.Function, "", "")
	enginetest.WantKept(t, got, report.Completed, enginetest.Done("delete user", 20), map[string]int{fmt.Sprintf(keptByLimit, 20): 5, "not due": 1})
	survivors := append([]string{"later"}, latest...)
	f.wantLeft(t, left{Users: survivors, Accounts: survivors})

	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("delete user", 5))
	f.wantLeft(t, left{Users: []string{"later"}, Accounts: []string{"later"}})
}

// TestListedUsersTakeNobodysPlace: a run deletes as many as it may of those who are not on the list of what jobs keep.
func TestListedUsersTakeNobodysPlace(t *testing.T) {
	f := newFunction(t)
	f.Env["MAX_USERS"] = "3"
	var all []string
	for i := range 9 {
		all = append(all, fmt.Sprintf("u%d", i))
		f.user(t, all[i], "permanent", ago(time.Duration(24-i)*time.Hour))
	}
	f.SignUp(t, all...)
	f.Set(t, "cleanupJobs/all-jobs", enginetest.Keeping("users/u0", "users/u1/posts/p"))
	got := f.Run(t, "")
	enginetest.WantReport(t, got, report.Completed, enginetest.Done("delete user", 3))
	survivors := []string{"u0", "u1", "u5", "u6", "u7", "u8"}
	f.wantLeft(t, left{Users: survivors, Accounts: survivors})
	enginetest.Want(t, "left for the next run", 4, got.Kept[fmt.Sprintf(keptByLimit, 3)])
}

// TestAccountUnderAnotherUID: a missing account counts as deleted, and one of another uid is nobody's.
func TestAccountUnderAnotherUID(t *testing.T) {
	for _, days := range []string{"7", "0"} {
		t.Run(days+" days", func(t *testing.T) {
			f := newFunction(t)
			f.Env["UNDO_DAYS"] = days
			f.user(t, "someone", "permanent", ago(time.Hour))
			f.user(t, "u1", "permanent", ago(time.Hour))
			f.SignUp(t, "real-uid", "u1")
			got := f.Run(t, "")
			enginetest.WantReport(t, got, report.Completed, enginetest.Done("delete user", 2))
			f.wantLeft(t, left{Accounts: []string{"real-uid"}})
			enginetest.Want(t, "kept", map[string]int{}, got.Kept)
		})
	}
}

// TestSignedUpAgainSinceTheNote: an account that was made after its note is another one, so it stays; without a look at it, the note
// stays too.
func TestSignedUpAgainSinceTheNote(t *testing.T) {
	f := newFunction(t)
	f.Env["UNDO_DAYS"] = "0"
	f.Set(t, "authDeletionRetries/u1", map[string]any{"addedAt": ago(time.Hour)})
	f.Import(t, new(auth.UserToImport).UID("u1").Metadata(&auth.UserMetadata{CreationTimestamp: time.Now().Add(time.Minute).UnixMilli()}))
	failure := errors.New("quota exceeded")
	f.Hooks.Accounts = func(method string, _ []string, send func() error) error {
		if method == "GetUsers" && failure != nil {
			return failure
		}
		return send()
	}
	enginetest.Want(t, "unseen", map[string]int{keptAccount: 1}, f.Run(t, "").Kept)
	f.wantLeft(t, left{Accounts: []string{"u1"}, Notes: []string{"u1"}})
	failure = nil
	got := f.Run(t, "")
	enginetest.Want(t, "kept", map[string]int{"an account that was made again since": 1}, got.Kept)
	f.wantLeft(t, left{Accounts: []string{"u1"}})
}

const retry = "retry account deletion"

func TestOneAccountThatCannotBeDeleted(t *testing.T) {
	f := newFunction(t)
	for _, uid := range []string{"u1", "u2", "u12"} {
		f.user(t, uid, "permanent", ago(time.Hour))
		f.SignUp(t, uid)
	}
	f.FailDelete(t, "u1", "INTERNAL_ERROR")
	want := map[string]report.Counts{"delete user": {Planned: 3, Done: 2}}
	for attempts := 1; attempts <= 5; attempts++ { // from the third on, each is an alert
		got := f.Run(t, "")
		enginetest.WantReport(t, got, report.Completed, want) // the run itself does not fail
		enginetest.Want(t, "kept", map[string]int{keptAccount: 1}, got.Kept)
		f.wantLeft(t, left{Accounts: []string{"u1"}, Notes: []string{"u1"}})
		note := map[string]any{"addedAt": now, "attempts": int64(attempts)}
		enginetest.Want(t, "note", note, f.Documents(t, "authDeletionRetries")["u1"])
		f.wantWarnings(t, "u1", attempts, max(0, attempts-2), "INTERNAL_ERROR")
		f.wantWarnings(t, "u1", attempts, max(0, attempts-2),
			fmt.Sprint("user document deleted 2026-01-10T19:00:00Z, failed attempts to delete the account since: ", attempts))
		want = map[string]report.Counts{retry: {Planned: 1}}
		f.Now = f.Now.AddDate(0, 0, 1)
	}
	f.FailDelete(t, "u1", "")
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done(retry, 1))
	f.wantLeft(t, left{})
	f.wantWarnings(t, "u1", 5, 3, "Auth delete failed for u1: ")
	f.wantWarnings(t, "u12", 0, 0, "")
}

// TestForgedEntry: what somebody else writes into cleanupTodo deletes no account, also none to which no note leads. The job's own
// notes take the place of Todos.
func TestForgedEntry(t *testing.T) {
	f := newFunction(t)
	f.user(t, "u", "none", nil)
	f.SignUp(t, "u")
	f.SetTodo(t, "e", enginetest.AccountOf("note", "authDeletionRetries/u"))
	enginetest.WantReport(t, f.Run(t, ""), report.Failed, map[string]report.Counts{"finish interrupted action": {Planned: 1, Failed: 1}})
	f.wantLeft(t, left{Users: []string{"u"}, Accounts: []string{"u"}})
}

func TestNotedUserIsThereAgain(t *testing.T) {
	f := newFunction(t)
	f.Env["MAX_USERS"] = "1"
	note := map[string]any{"addedAt": ago(24 * time.Hour), "attempts": 1}
	all := []string{"restored", "postponed", "first", "second", "stranger"}
	for _, uid := range all {
		f.Set(t, "authDeletionRetries/"+uid, note)
	}
	f.user(t, "restored", "none", nil)
	f.user(t, "postponed", "permanent", now.Add(time.Hour))
	f.user(t, "first", "permanent", ago(2*time.Hour))
	f.user(t, "second", "permanent", ago(time.Hour)) // due too, but left for the next run
	f.SignUp(t, all...)

	got := f.Run(t, "")
	enginetest.WantReport(t, got, report.Completed,
		map[string]report.Counts{"delete user": {Planned: 1, Done: 1}, retry: {Planned: 1, Done: 1}})
	enginetest.Want(t, "kept", map[string]int{keptWithUser: 2, keptBack: 2, fmt.Sprintf(keptByLimit, 1): 1, "not due": 1}, got.Kept)
	f.wantLeft(t, left{
		Users:    []string{"postponed", "restored", "second"},
		Accounts: []string{"postponed", "restored", "second"},
		Notes:    []string{"postponed", "restored", "second"}, // a person must decide, so the notes stay
	})
	f.wantWarnings(t, "restored", 1, 0, keptBack)
	f.wantWarnings(t, "postponed", 1, 0, keptBack)

	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("delete user", 1))
	f.wantLeft(t, left{Users: []string{"postponed", "restored"}, Accounts: []string{"postponed", "restored"},
		Notes: []string{"postponed", "restored"}})
}
