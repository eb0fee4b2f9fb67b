package bannedusers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"

	"github.com/firesweep/firesweep/shared/sweep"
)

func (f *function) deleteDocument(t *testing.T, path string) {
	t.Helper()
	if _, err := f.Firestore(t).Doc(path).Delete(t.Context()); err != nil {
		t.Error(err)
	}
}

func deleted(n int) map[string]sweep.Counts {
	return map[string]sweep.Counts{"delete user": {Planned: n, Done: n}}
}

func retried(n int) map[string]sweep.Counts {
	return map[string]sweep.Counts{"retry account deletion": {Planned: n, Done: n}}
}

func TestOneAccountThatCannotBeDeleted(t *testing.T) {
	f := newFunction(t)
	for _, uid := range []string{"u1", "u2", "u12"} {
		f.user(t, uid, "permanent", ago(time.Hour))
		f.signUp(t, uid)
	}
	f.FailDelete(t, "u1", "INTERNAL_ERROR")

	got := f.Run(t, "")
	wantReport(t, got, sweep.Completed, map[string]sweep.Counts{"delete user": {Planned: 3, Done: 2}})
	f.wantLeft(t, left{Accounts: []string{"u1"}, Notes: []string{"u1"}})
	wantNote := map[string]any{"addedAt": now, "attempts": int64(1)}
	if diff := cmp.Diff(wantNote, f.Documents(t, "authDeletionRetries")["u1"]); diff != "" {
		t.Errorf("note (-want +got):\n%s", diff)
	}
	if got.Kept[keptAccount] != 1 {
		t.Errorf("kept %v", got.Kept)
	}
	warnings := f.warnings(t, "u1")
	if len(warnings) != 1 || !strings.HasPrefix(warnings[0], "Auth delete failed for u1: ") || !strings.Contains(warnings[0], "INTERNAL_ERROR") {
		t.Errorf("warnings %q", warnings)
	}
	if len(f.warnings(t, "u12")) != 0 {
		t.Error("a warning for an account that was deleted")
	}

	// It fails again, on the next day, which is no failure of that run either.
	f.Now = now.AddDate(0, 0, 1)
	got = f.Run(t, "")
	wantReport(t, got, sweep.Completed, map[string]sweep.Counts{"retry account deletion": {Planned: 1}})
	f.wantLeft(t, left{Accounts: []string{"u1"}, Notes: []string{"u1"}})
	wantNote["attempts"] = int64(2)
	if diff := cmp.Diff(wantNote, f.Documents(t, "authDeletionRetries")["u1"]); diff != "" || got.Kept[keptAccount] != 1 {
		t.Errorf("kept %v, note (-want +got):\n%s", got.Kept, diff)
	}
	if warnings := f.warnings(t, "u1"); len(warnings) != 2 ||
		!strings.Contains(warnings[1], "user document deleted 2026-01-10T19:00:00Z, failed attempts to delete the account since: 2") {
		t.Errorf("warnings %q", warnings)
	}

	// From the third attempt on, it is a person's business, every time.
	for attempts := 2; attempts < 5; attempts++ {
		if n := f.alerts(t, "u1"); n != max(0, attempts-2) {
			t.Errorf("%d alerts after %d attempts", n, attempts)
		}
		wantReport(t, f.Run(t, ""), sweep.Completed, map[string]sweep.Counts{"retry account deletion": {Planned: 1}})
	}
	f.FailDelete(t, "u1", "")
	wantReport(t, f.Run(t, ""), sweep.Completed, retried(1))
	f.wantLeft(t, left{})
	wantReport(t, f.Run(t, ""), sweep.Completed, map[string]sweep.Counts{})
	if n := f.alerts(t, "u1"); n != 3 {
		t.Errorf("%d alerts, want none for what succeeded", n)
	}
}

func TestAuthenticationDown(t *testing.T) {
	f := newFunction(t)
	for _, uid := range []string{"u1", "u2"} {
		f.user(t, uid, "permanent", ago(time.Hour))
	}
	f.Set(t, "authDeletionRetries/old", map[string]any{"addedAt": ago(24 * time.Hour), "attempts": 3})
	f.signUp(t, "u1", "u2", "old", "bystander")
	f.beforeCall = func() error { return errors.New("quota exceeded") }
	got := f.Run(t, "")
	wantReport(t, got, sweep.Completed, map[string]sweep.Counts{
		"delete user": {Planned: 2}, "retry account deletion": {Planned: 1}})
	if f.alerts(t, "old") != 1 || f.alerts(t, "u1") != 0 {
		t.Error("want an alert for the account that could not be deleted for the fourth time, and none for the others")
	}
	f.wantLeft(t, left{Accounts: []string{"bystander", "old", "u1", "u2"}, Notes: []string{"old", "u1", "u2"}})
	if got.Kept[keptAccount] != 3 || f.Documents(t, "authDeletionRetries")["old"]["attempts"] != int64(4) {
		t.Errorf("kept %v, notes %v", got.Kept, f.Documents(t, "authDeletionRetries"))
	}
	for _, uid := range []string{"u1", "u2", "old"} {
		if warnings := f.warnings(t, uid); len(warnings) != 1 || !strings.Contains(warnings[0], "quota exceeded") {
			t.Errorf("warnings for %s: %q", uid, warnings)
		}
	}

	f.beforeCall = nil
	wantReport(t, f.Run(t, ""), sweep.Completed, retried(3))
	f.wantLeft(t, left{Accounts: []string{"bystander"}})
}

func TestChangedBetweenPlanAndApply(t *testing.T) {
	f := newFunction(t)
	all := []string{"unbanned", "eased", "postponed", "undated", "gone", "touched", "left"}
	for _, uid := range all {
		f.user(t, uid, "permanent", ago(time.Hour))
	}
	f.signUp(t, all...)
	f.Hooks.BeforeApply = func() {
		f.user(t, "unbanned", "none", nil)
		f.user(t, "eased", "temporary", ago(time.Hour))
		f.user(t, "postponed", "permanent", now.Add(time.Microsecond))
		f.user(t, "undated", "permanent", nil)
		f.user(t, "touched", "permanent", ago(2*time.Hour)) // still due
		f.deleteDocument(t, "users/gone")
	}
	got := f.Run(t, "")
	wantReport(t, got, sweep.Completed, map[string]sweep.Counts{"delete user": {Planned: 7, Done: 2, Changed: 5}})
	f.wantLeft(t, left{
		Users:    []string{"eased", "postponed", "unbanned", "undated"},
		Accounts: []string{"eased", "gone", "postponed", "unbanned", "undated"},
	})
	if warnings := f.warnings(t, "gone"); len(warnings) != 1 || !strings.Contains(warnings[0], "its account was kept") {
		t.Errorf("warnings for the user whom somebody else deleted: %q", warnings)
	}
	if diff := cmp.Diff([][]string{{"left", "touched"}}, f.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
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
	f.user(t, "second", "permanent", ago(time.Hour)) // due too, and its turn is in the next run
	f.signUp(t, all...)

	got := f.Run(t, "")
	wantReport(t, got, sweep.Completed, map[string]sweep.Counts{
		"delete user": {Planned: 1, Done: 1}, "retry account deletion": {Planned: 1, Done: 1}})
	if diff := cmp.Diff(map[string]int{keptWithUser: 2, keptBack: 2, keptByLimit(1): 1, keptNotYet: 1}, got.Kept); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	f.wantLeft(t, left{
		Users:    []string{"postponed", "restored", "second"},
		Accounts: []string{"postponed", "restored", "second"},
		Notes:    []string{"postponed", "restored", "second"}, // a person must decide; nothing is forgotten
	})
	for _, uid := range []string{"restored", "postponed"} {
		if warnings := f.warnings(t, uid); len(warnings) != 1 || !strings.Contains(warnings[0], keptBack) {
			t.Errorf("warnings for %s: %q", uid, warnings)
		}
	}

	wantReport(t, f.Run(t, ""), sweep.Completed, deleted(1))
	f.wantLeft(t, left{Users: []string{"postponed", "restored"}, Accounts: []string{"postponed", "restored"},
		Notes: []string{"postponed", "restored"}})
}

// TestNoteChangedBetweenPlanAndApply: an account is kept if its note is gone, or its user document there again.
func TestNoteChangedBetweenPlanAndApply(t *testing.T) {
	f := newFunction(t)
	all := []string{"back", "due", "forgotten", "left"}
	for _, uid := range all {
		f.Set(t, "authDeletionRetries/"+uid, map[string]any{})
	}
	f.signUp(t, all...)
	f.Hooks.BeforeApply = func() {
		f.user(t, "back", "none", nil)
		f.user(t, "due", "permanent", ago(time.Hour))
		f.deleteDocument(t, "authDeletionRetries/forgotten")
	}
	wantReport(t, f.Run(t, ""), sweep.Completed, map[string]sweep.Counts{"retry account deletion": {Planned: 4, Done: 1, Changed: 3}})
	f.wantLeft(t, left{Users: []string{"back", "due"}, Accounts: []string{"back", "due", "forgotten"}, Notes: []string{"back", "due"}})
	if warnings := f.warnings(t, "back"); len(warnings) != 1 || !strings.Contains(warnings[0], keptBack) {
		t.Errorf("warnings %q", warnings)
	}
}

// TestManyRetries has more notes than there is time to plan; those of the first run fail. The second run goes on behind
// them, and the third begins again.
func TestManyRetries(t *testing.T) {
	f := newFunction(t)
	const n = 1203
	f.SetMany(t, n, func(i int) (string, map[string]any) {
		return fmt.Sprintf("authDeletionRetries/r%04d", i), map[string]any{"addedAt": ago(time.Hour), "attempts": 1}
	})
	f.signUp(t, "r0000", "r0700", "r1202", "r12020")
	var pages atomic.Int64
	f.Clock = func() time.Time {
		if pages.Load() >= 3 { // no journal, the users, and a page of notes
			return now.Add(f.Timeout / 2)
		}
		return now
	}
	f.Hooks.Dial = append(f.Hooks.Dial, grpc.WithChainStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, stream grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		if strings.HasSuffix(method, "/RunQuery") {
			pages.Add(1)
		}
		return stream(ctx, desc, cc, method, opts...)
	}))
	f.beforeCall = func() error { return errors.New("quota exceeded") }
	wantReport(t, f.Run(t, ""), sweep.Partial, map[string]sweep.Counts{"retry account deletion": {Planned: 500}})
	if checkpoint := f.Documents(t, "cleanupJobs")["cleanupBannedUsers"]["position"]; checkpoint != `[{"text":"r0499"}]` {
		t.Errorf("checkpoint %v", checkpoint)
	}
	f.beforeCall = nil
	f.user(t, "r0000", "permanent", ago(time.Hour)) // who is due is not missed for the checkpoint
	pages.Store(-10)
	wantReport(t, f.Run(t, ""), sweep.Completed, map[string]sweep.Counts{
		"delete user": {Planned: 1, Done: 1}, "retry account deletion": {Planned: n - 500, Done: n - 500}})
	wantReport(t, f.Run(t, ""), sweep.Completed, retried(499))
	f.wantLeft(t, left{Accounts: []string{"r12020"}})
}
