package bannedusers

import (
	"fmt"
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

const retry = "retry account deletion"

// counts returns the actions of a report with one kind.
func counts(kind string, c report.Counts) map[string]report.Counts {
	return map[string]report.Counts{kind: c}
}

func TestOneAccountThatCannotBeDeleted(t *testing.T) {
	f := newFunction(t)
	for _, uid := range []string{"u1", "u2", "u12"} {
		f.user(t, uid, "permanent", ago(time.Hour))
		f.SignUp(t, uid)
	}
	f.FailDelete(t, "u1", "INTERNAL_ERROR")
	want := counts("delete user", report.Counts{Planned: 3, Done: 2})
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
		want = counts(retry, report.Counts{Planned: 1})
		f.Now = f.Now.AddDate(0, 0, 1)
	}
	f.FailDelete(t, "u1", "")
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done(retry, 1))
	f.wantLeft(t, left{})
	f.wantWarnings(t, "u1", 5, 3, "Auth delete failed for u1: ")
	f.wantWarnings(t, "u12", 0, 0, "")
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
