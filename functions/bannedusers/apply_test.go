package bannedusers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/sweep"
)

// onDelete disturbs the commits that delete a document whose path begins with prefix.
func onDelete(prefix string, f func(send func() error) error) grpc.DialOption {
	return grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		send := func() error { return invoke(ctx, method, req, reply, cc, opts...) }
		commit, ok := req.(*firestorepb.CommitRequest)
		if ok && slices.ContainsFunc(commit.GetWrites(), func(w *firestorepb.Write) bool {
			_, path, _ := strings.Cut(w.GetDelete(), "/documents/")
			return strings.HasPrefix(path, prefix)
		}) {
			return f(send)
		}
		return send()
	})
}

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
	warnings := f.warnings(t, "authDeletionRetries/u1")
	if len(warnings) != 1 || !strings.HasPrefix(warnings[0], "Auth delete failed for u1: ") || !strings.Contains(warnings[0], "INTERNAL_ERROR") {
		t.Errorf("warnings %q", warnings)
	}
	if len(f.warnings(t, "authDeletionRetries/u12")) != 0 {
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
	if warnings := f.warnings(t, "authDeletionRetries/u1"); len(warnings) != 2 ||
		!strings.Contains(warnings[1], "user document deleted 2026-01-10T19:00:00Z, failed attempts to delete the account since: 2") {
		t.Errorf("warnings %q", warnings)
	}

	// From the third attempt on, it is a person's business, every time.
	for attempts := 2; attempts < 5; attempts++ {
		if n := f.alerts(t, "authDeletionRetries/u1"); n != max(0, attempts-2) {
			t.Errorf("%d alerts after %d attempts", n, attempts)
		}
		wantReport(t, f.Run(t, ""), sweep.Completed, map[string]sweep.Counts{"retry account deletion": {Planned: 1}})
	}
	f.FailDelete(t, "u1", "")
	wantReport(t, f.Run(t, ""), sweep.Completed, retried(1))
	f.wantLeft(t, left{})
	wantReport(t, f.Run(t, ""), sweep.Completed, map[string]sweep.Counts{})
	if n := f.alerts(t, "authDeletionRetries/u1"); n != 3 {
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
	f.beforeCall = func(n int, _ []string) error {
		if n == 1 {
			return errors.New("quota exceeded")
		}
		return nil
	}
	got := f.Run(t, "")
	wantReport(t, got, sweep.Completed, map[string]sweep.Counts{
		"delete user": {Planned: 2}, "retry account deletion": {Planned: 1}})
	if f.alerts(t, "authDeletionRetries/old") != 1 || f.alerts(t, "authDeletionRetries/u1") != 0 {
		t.Error("want an alert for the account that could not be deleted for the fourth time, and none for the others")
	}
	f.wantLeft(t, left{Accounts: []string{"bystander", "old", "u1", "u2"}, Notes: []string{"old", "u1", "u2"}})
	if got.Kept[keptAccount] != 3 || f.Documents(t, "authDeletionRetries")["old"]["attempts"] != int64(4) {
		t.Errorf("kept %v, notes %v", got.Kept, f.Documents(t, "authDeletionRetries"))
	}
	for _, uid := range []string{"u1", "u2", "old"} {
		if warnings := f.warnings(t, "authDeletionRetries/"+uid); len(warnings) != 1 || !strings.Contains(warnings[0], "quota exceeded") {
			t.Errorf("warnings for %s: %q", uid, warnings)
		}
	}

	wantReport(t, f.Run(t, ""), sweep.Completed, retried(3))
	f.wantLeft(t, left{Accounts: []string{"bystander"}})
}

func TestOneCallForUsersAndRetries(t *testing.T) {
	f := newFunction(t)
	var all []string
	for i := range 20 {
		uid := fmt.Sprintf("u%02d", i)
		f.user(t, uid, "permanent", ago(time.Hour))
		all = append(all, uid)
	}
	for i := range 3 {
		uid := fmt.Sprintf("old%d", i)
		f.Set(t, "authDeletionRetries/"+uid, map[string]any{"addedAt": ago(24 * time.Hour), "attempts": 1})
		all = append(all, uid)
	}
	f.signUp(t, all...)
	got := f.Run(t, "")
	wantReport(t, got, sweep.Completed, map[string]sweep.Counts{
		"delete user": {Planned: 20, Done: 20}, "retry account deletion": {Planned: 3, Done: 3}})
	slices.Sort(all)
	if diff := cmp.Diff([][]string{all}, f.calls); diff != "" || got.Usage.AuthCalls != 1 {
		t.Errorf("%d calls metered, calls (-want +got):\n%s", got.Usage.AuthCalls, diff)
	}
	f.wantLeft(t, left{})
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
	if warnings := f.warnings(t, "users/gone"); len(warnings) != 1 || !strings.Contains(warnings[0], "its account was kept") {
		t.Errorf("warnings for the user whom somebody else deleted: %q", warnings)
	}
	if diff := cmp.Diff([][]string{{"left", "touched"}}, f.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func TestNobodyLeftToDelete(t *testing.T) {
	f := newFunction(t)
	f.user(t, "u1", "permanent", ago(time.Hour))
	f.signUp(t, "u1")
	f.Hooks.BeforeApply = func() { f.user(t, "u1", "none", nil) }
	got := f.Run(t, "")
	wantReport(t, got, sweep.Completed, map[string]sweep.Counts{"delete user": {Planned: 1, Changed: 1}})
	f.wantLeft(t, left{Users: []string{"u1"}, Accounts: []string{"u1"}})
	if len(f.calls) != 0 || got.Usage.AuthCalls != 0 {
		t.Errorf("calls %v, want none", f.calls)
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
		"delete user": {Planned: 1, Done: 1}, "retry account deletion": {Planned: 4, Done: 1, Changed: 3}})
	f.wantLeft(t, left{
		Users:    []string{"postponed", "restored", "second"},
		Accounts: []string{"postponed", "restored", "second"},
		Notes:    []string{"postponed", "restored", "second"}, // a person must decide; nothing is forgotten
	})
	if diff := cmp.Diff([][]string{{"first", "stranger"}}, f.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	for _, uid := range []string{"restored", "postponed"} {
		if warnings := f.warnings(t, "users/"+uid); len(warnings) != 1 || !strings.Contains(warnings[0], "account "+uid+" kept") {
			t.Errorf("warnings for %s: %q", uid, warnings)
		}
	}

	wantReport(t, f.Run(t, ""), sweep.Completed, map[string]sweep.Counts{
		"delete user": {Planned: 1, Done: 1}, "retry account deletion": {Planned: 2, Changed: 2}})
	f.wantLeft(t, left{Users: []string{"postponed", "restored"}, Accounts: []string{"postponed", "restored"},
		Notes: []string{"postponed", "restored"}})
}

func TestNoteRemovedBetweenPlanAndApply(t *testing.T) {
	f := newFunction(t)
	f.Set(t, "authDeletionRetries/u1", map[string]any{})
	f.signUp(t, "u1")
	f.Hooks.BeforeApply = func() { f.deleteDocument(t, "authDeletionRetries/u1") }
	wantReport(t, f.Run(t, ""), sweep.Completed, map[string]sweep.Counts{"retry account deletion": {Planned: 1, Changed: 1}})
	f.wantLeft(t, left{Accounts: []string{"u1"}})
}

func TestCrashBeforeAccountsAreDeleted(t *testing.T) {
	f := newFunction(t)
	f.user(t, "u1", "permanent", ago(time.Hour))
	f.user(t, "u2", "permanent", ago(time.Hour))
	f.signUp(t, "u1", "u2")
	f.beforeCall = func(n int, _ []string) error {
		if n == 1 {
			panic("killed")
		}
		return nil
	}
	got := f.Run(t, "")
	wantReport(t, got, sweep.Failed, map[string]sweep.Counts{"delete user": {Planned: 2, Failed: 2}})
	f.wantLeft(t, left{Accounts: []string{"u1", "u2"}, Notes: []string{"u1", "u2"}})

	wantReport(t, f.Run(t, ""), sweep.Completed, retried(2))
	f.wantLeft(t, left{})
}

func TestCrashAfterAccountsAreDeleted(t *testing.T) {
	f := newFunction(t)
	f.user(t, "u1", "permanent", ago(time.Hour))
	f.signUp(t, "u1")
	var denied atomic.Bool
	f.Hooks.Dial = append(f.Hooks.Dial, onDelete("authDeletionRetries/", func(send func() error) error {
		if denied.CompareAndSwap(false, true) {
			return status.Error(codes.PermissionDenied, "denied")
		}
		return send()
	}))
	wantReport(t, f.Run(t, ""), sweep.Failed, map[string]sweep.Counts{"delete user": {Planned: 1, Failed: 1}})
	f.wantLeft(t, left{Notes: []string{"u1"}})

	wantReport(t, f.Run(t, ""), sweep.Completed, retried(1))
	f.wantLeft(t, left{})
}

func TestOneUserThatFailsDoesNotStopTheOthers(t *testing.T) {
	f := newFunction(t)
	all := []string{"u1", "u2", "u3"}
	for _, uid := range all {
		f.user(t, uid, "permanent", ago(time.Hour))
	}
	f.signUp(t, all...)
	var denied atomic.Bool
	f.Hooks.Dial = append(f.Hooks.Dial, onDelete("users/u2", func(send func() error) error {
		if denied.CompareAndSwap(false, true) {
			return status.Error(codes.PermissionDenied, "denied")
		}
		return send()
	}))
	got := f.Run(t, "")
	wantReport(t, got, sweep.Failed, map[string]sweep.Counts{"delete user": {Planned: 3, Done: 2, Failed: 1}})
	f.wantLeft(t, left{Users: []string{"u2"}, Accounts: []string{"u2"}})
	if len(got.Failures) != 1 || got.Failures[0].Target != "users/u2" || !strings.HasPrefix(got.Failures[0].Error, "delete users/u2: ") {
		t.Errorf("failures %+v", got.Failures)
	}
	wantReport(t, f.Run(t, ""), sweep.Completed, deleted(1))
	f.wantLeft(t, left{})
}

// TestLostAnswerIsNoRace loses the answer to the commit that deletes a user: the repetition finds the document gone, and
// the note tells that it was this run that deleted it.
func TestLostAnswerIsNoRace(t *testing.T) {
	f := newFunction(t)
	f.user(t, "u1", "permanent", ago(time.Hour))
	f.signUp(t, "u1")
	var lost atomic.Bool
	f.Hooks.Dial = append(f.Hooks.Dial, onDelete("users/u1", func(send func() error) error {
		err := send()
		if err == nil && lost.CompareAndSwap(false, true) {
			return status.Error(codes.Unavailable, "the connection broke")
		}
		return err
	}))
	wantReport(t, f.Run(t, ""), sweep.Completed, deleted(1))
	f.wantLeft(t, left{})
	if !lost.Load() {
		t.Error("no answer was lost")
	}
}

func TestOutOfTimeThenFinishedByTheNextRuns(t *testing.T) {
	f := newFunction(t)
	var all []string
	for i := range 20 {
		uid := fmt.Sprintf("u%02d", i)
		f.user(t, uid, "permanent", ago(time.Duration(60-i)*time.Minute))
		all = append(all, uid)
	}
	f.Set(t, "authDeletionRetries/old", map[string]any{"addedAt": ago(24 * time.Hour), "attempts": 1})
	f.signUp(t, append(all, "old")...)
	// With the third user deleted, time is up. Those under way by then, few at a time, still come to their end.
	var day, commits atomic.Int64
	f.Clock = func() time.Time {
		at := now.AddDate(0, 0, int(day.Load()))
		if commits.Load() >= 3 {
			at = at.Add(f.Timeout)
		}
		return at
	}
	f.Hooks.Dial = append(f.Hooks.Dial, onDelete("users/", func(send func() error) error {
		commits.Add(1)
		return send()
	}))
	remaining := 20
	for remaining > 0 {
		commits.Store(0)
		got := f.Run(t, "")
		day.Add(1)
		done := got.Actions["delete user"].Done
		if done < min(3, remaining) || done > 2+maxTransactions || got.Actions["delete user"].Failed > 0 {
			t.Fatalf("%d of %d users deleted: %+v", done, remaining, got)
		}
		if remaining -= done; remaining > 0 && got.Status != sweep.Partial {
			t.Errorf("%d users left, status %s, want partial", remaining, got.Status)
		}
		l := f.left(t)
		withoutRetry := slices.DeleteFunc(slices.Clone(l.Accounts), func(uid string) bool { return uid == "old" })
		if len(l.Users) != remaining || !slices.Equal(l.Users, withoutRetry) || slices.ContainsFunc(l.Notes, func(uid string) bool { return uid != "old" }) {
			t.Fatalf("%d users should be left, whole: %+v", remaining, l)
		}
	}
	commits.Store(0)
	if got := f.Run(t, ""); got.Status != sweep.Completed {
		t.Errorf("last run: %+v", got)
	}
	f.wantLeft(t, left{})
}

// TestManyRetries has more notes than there is time to plan; those of the first run fail. The second run goes on behind
// them, and the third begins again.
func TestManyRetries(t *testing.T) {
	f := newFunction(t)
	const n = 1203
	db := f.Firestore(t)
	for first := 0; first < n; first += 500 {
		err := db.RunTransaction(t.Context(), func(_ context.Context, tx *firestore.Transaction) error {
			for i := first; i < min(first+500, n); i++ {
				note := map[string]any{"addedAt": ago(time.Hour), "attempts": 1}
				if err := tx.Set(db.Doc(fmt.Sprintf("authDeletionRetries/r%04d", i)), note); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	f.signUp(t, "r0000", "r0700", "r1202", "r12020")
	var pages atomic.Int64
	f.Clock = func() time.Time {
		if pages.Load() >= 2 { // the users, and a page of notes
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
	f.beforeCall = func(n int, _ []string) error {
		if n == 1 {
			return errors.New("quota exceeded")
		}
		return nil
	}
	wantReport(t, f.Run(t, ""), sweep.Partial, map[string]sweep.Counts{"retry account deletion": {Planned: 500}})
	if position := f.Documents(t, "cleanupJobs")["cleanupBannedUsers"]["position"]; position != `[{"text":"r0499"}]` {
		t.Errorf("position %v", position)
	}
	f.user(t, "r0000", "permanent", ago(time.Hour)) // who is due is not missed for the position
	pages.Store(-10)
	wantReport(t, f.Run(t, ""), sweep.Completed, map[string]sweep.Counts{
		"delete user": {Planned: 1, Done: 1}, "retry account deletion": {Planned: n - 500, Done: n - 500}})
	wantReport(t, f.Run(t, ""), sweep.Completed, retried(499))
	f.wantLeft(t, left{Accounts: []string{"r12020"}})
	var sizes []int
	for _, call := range f.calls {
		sizes = append(sizes, len(call))
	}
	if diff := cmp.Diff([]int{500, 704, 499}, sizes); diff != "" {
		t.Errorf("accounts a call (-want +got):\n%s", diff)
	}
}
