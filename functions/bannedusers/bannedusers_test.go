package bannedusers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"firebase.google.com/go/v4/auth"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/api/iterator"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/sweep"
	"github.com/firesweep/firesweep/shared/sweep/sweeptest"
)

var now = time.Date(2026, 1, 10, 19, 0, 0, 0, time.UTC)

// function is the function under test and the calls that it made to Authentication.
type function struct {
	*sweeptest.Function

	mu         sync.Mutex
	calls      [][]string
	beforeCall func() error // where not nil, it disturbs a call
}

// newFunction also makes the test run beside the others: most of its time is spent on waiting for the second in which the
// next call to Authentication may be made.
func newFunction(t *testing.T) *function {
	t.Helper()
	t.Parallel()
	f := &function{Function: sweeptest.New(t, functions.New(Job))}
	f.Now = now
	f.Hooks.Accounts = func(d accounts.API) accounts.API { return deleter{d, f} }
	t.Cleanup(func() {
		for _, line := range f.LogLines(t) {
			if text := fmt.Sprint(line); strings.Contains(text, "example.com") || strings.Contains(text, "花子") {
				t.Errorf("the log names a person: %s", text)
			}
		}
	})
	return f
}

type deleter struct {
	accounts.API
	f *function
}

// DeleteUsers implements accounts.API.
func (d deleter) DeleteUsers(ctx context.Context, uids []string) (*auth.DeleteUsersResult, error) {
	d.f.mu.Lock()
	d.f.calls = append(d.f.calls, slices.Sorted(slices.Values(uids)))
	d.f.mu.Unlock()
	if d.f.beforeCall != nil {
		if err := d.f.beforeCall(); err != nil {
			return nil, err
		}
	}
	return d.API.DeleteUsers(ctx, uids)
}

// user writes a user's document.
func (f *function) user(t *testing.T, uid string, status, due any) {
	t.Helper()
	f.Set(t, "users/"+uid, map[string]any{
		"displayName": "花子", "email": uid + "@example.com", "banStatus": status, "permanentBanScheduledDeletionAt": due,
	})
}

// signUp creates users' accounts.
func (f *function) signUp(t *testing.T, uids ...string) {
	t.Helper()
	client := f.Auth(t)
	for _, uid := range uids {
		if _, err := client.CreateUser(t.Context(), new(auth.UserToCreate).UID(uid).Email(uid+"@example.com")); err != nil {
			t.Fatal(err)
		}
	}
}

// left is what is there after a run: users' documents, accounts and notes, each sorted.
type left struct{ Users, Accounts, Notes []string }

func (f *function) left(t *testing.T) left {
	t.Helper()
	var l left
	l.Users = slices.Sorted(maps.Keys(f.Documents(t, "users")))
	l.Notes = slices.Sorted(maps.Keys(f.Documents(t, "authDeletionRetries")))
	for it := f.Auth(t).Users(t.Context(), ""); ; {
		user, err := it.Next()
		if errors.Is(err, iterator.Done) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		l.Accounts = append(l.Accounts, user.UID)
	}
	slices.Sort(l.Accounts)
	return l
}

func (f *function) wantLeft(t *testing.T, want left) {
	t.Helper()
	if diff := cmp.Diff(want, f.left(t), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

// alerts returns how many of the warnings about a uid are alerts.
func (f *function) alerts(t *testing.T, uid string) int {
	t.Helper()
	n := 0
	for _, line := range f.LogLines(t) {
		if line["alert"] == nil {
			continue
		}
		if line["alert"] != "account" || line["severity"] != "WARNING" {
			t.Errorf("alert %v", line)
		}
		if about(line, uid) {
			n++
		}
	}
	return n
}

// about reports whether a line is about a user's document or a note.
func about(line map[string]any, uid string) bool {
	return line["target"] == "users/"+uid || line["target"] == "authDeletionRetries/"+uid
}

// warnings returns the messages of the warnings about a uid.
func (f *function) warnings(t *testing.T, uid string) []string {
	t.Helper()
	var messages []string
	for _, line := range f.LogLines(t) {
		if line["severity"] == "WARNING" && about(line, uid) {
			messages = append(messages, line["message"].(string))
		}
	}
	return messages
}

func wantReport(t *testing.T, got *sweep.Report, status sweep.Status, actions map[string]sweep.Counts) {
	t.Helper()
	if diff := cmp.Diff(actions, got.Actions); got.Status != status || diff != "" {
		t.Errorf("status %s, want %s; actions (-want +got):\n%s\nfailures %v", got.Status, status, diff, got.Failures)
	}
}

func ago(d time.Duration) time.Time { return now.Add(-d) }

func TestCleanupBannedUsers(t *testing.T) {
	f := newFunction(t)
	f.user(t, "u1", "permanent", ago(time.Hour))
	f.user(t, "u2", "permanent", now)
	f.user(t, "accountless", "permanent", ago(24*time.Hour))

	kept := []string{"u12", "u3", "u4", "u5", "u6", "u7", "u8", "u9"}
	f.user(t, "u12", "none", nil)
	f.user(t, "u3", "permanent", now.Add(time.Microsecond))
	f.user(t, "u4", "permanent", "2020-01-01T00:00:00Z")
	f.user(t, "u5", "permanent", nil)
	f.user(t, "u6", "temporary", ago(time.Hour))
	f.user(t, "u7", "none", ago(time.Hour))
	f.user(t, "u8", true, 1577836800000) // poisoned: wrong types everywhere
	f.Set(t, "users/u9", map[string]any{"displayName": "花子"})
	f.signUp(t, append(kept, "u1", "u2", "documentless")...)
	f.Set(t, "posts/p1", map[string]any{"userId": "u1", "text": "hello"})
	f.Set(t, "comments/c1", map[string]any{"userId": "u1", "postId": "p1"})
	f.Set(t, "archive/x/users/u1", map[string]any{"banStatus": "permanent", "permanentBanScheduledDeletionAt": ago(time.Hour)})

	got := f.Run(t, "")
	want := &sweep.Report{
		Job: "cleanupBannedUsers", RunID: got.RunID, Status: sweep.Completed, Now: now, StartedAt: got.StartedAt,
		DurationMs: got.DurationMs, Database: got.Database, Bucket: got.Bucket, Scanned: 6,
		Actions:  map[string]sweep.Counts{"delete user": {Planned: 3, Done: 3}},
		Kept:     map[string]int{keptNotYet: 1, keptUndated: 2},
		Failures: []sweep.Failure{},
		Usage:    got.Usage,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	f.wantLeft(t, left{Users: kept, Accounts: append([]string{"documentless"}, kept...)})
	if diff := cmp.Diff([][]string{{"accountless", "u1", "u2"}}, f.calls); diff != "" || got.Usage.AuthCalls != 1 {
		t.Errorf("%d calls metered, calls (-want +got):\n%s", got.Usage.AuthCalls, diff)
	}
	for _, collection := range []string{"posts", "comments", "archive/x/users"} {
		if len(f.Documents(t, collection)) != 1 {
			t.Errorf("%s was touched", collection)
		}
	}

	wantReport(t, f.Run(t, ""), sweep.Completed, map[string]sweep.Counts{})
	f.wantLeft(t, left{Users: kept, Accounts: append([]string{"documentless"}, kept...)})
}

func TestTwentyARunEarliestFirst(t *testing.T) {
	f := newFunction(t)
	var all, latest []string
	for i := range 25 {
		uid := fmt.Sprintf("u%d", i)
		hours := i * 7 % 25 // an order that is not that of the ids
		f.user(t, uid, "permanent", ago(time.Duration(hours)*time.Hour))
		all = append(all, uid)
		if hours < 5 {
			latest = append(latest, uid)
		}
	}
	slices.Sort(latest)
	f.user(t, "later", "permanent", now.Add(time.Hour))
	f.signUp(t, append(all, "later")...)

	got := f.Run(t, "")
	wantReport(t, got, sweep.Completed, map[string]sweep.Counts{"delete user": {Planned: 20, Done: 20}})
	if diff := cmp.Diff(map[string]int{keptByLimit(20): 5, keptNotYet: 1}, got.Kept); diff != "" || got.Scanned != 26 {
		t.Errorf("scanned %d, kept (-want +got):\n%s", got.Scanned, diff)
	}
	if got.Usage.AuthCalls != 1 || len(f.calls) != 1 || len(f.calls[0]) != 20 {
		t.Errorf("calls %v, want one for 20 accounts", f.calls)
	}
	// Lease, no journal, 20 users and their index entries, three counts, no notes, 20 users again, the journal's entry, lease
	// again.
	if u := got.Usage; u.FirestoreReads != 49 || u.FirestoreDeletes != 41 || u.FirestoreWrites != 24 {
		t.Errorf("usage %+v, want 49 reads, 20 users and notes deleted and 20 notes written, with an entry of the journal", u)
	}
	survivors := append([]string{"later"}, latest...)
	f.wantLeft(t, left{Users: survivors, Accounts: survivors})

	wantReport(t, f.Run(t, ""), sweep.Completed, map[string]sweep.Counts{"delete user": {Planned: 5, Done: 5}})
	f.wantLeft(t, left{Users: []string{"later"}, Accounts: []string{"later"}})
}

// TestIDLongerThanAUID has users who can have no account: there is nothing to delete but the document.
func TestIDLongerThanAUID(t *testing.T) {
	f := newFunction(t)
	f.user(t, strings.Repeat("x", 129), "permanent", ago(time.Hour))
	f.user(t, strings.Repeat("長", 129), "permanent", ago(time.Hour))
	f.user(t, strings.Repeat("x", 1500), "permanent", ago(time.Hour))
	f.user(t, strings.Repeat("y", 1500), "permanent", now.Add(time.Hour))
	f.user(t, "u1", "permanent", ago(time.Minute))
	f.signUp(t, "u1", strings.Repeat("x", 128))
	wantReport(t, f.Run(t, ""), sweep.Completed, deleted(4))
	f.wantLeft(t, left{Users: []string{strings.Repeat("y", 1500)}, Accounts: []string{strings.Repeat("x", 128)}})
	if diff := cmp.Diff([][]string{{"u1"}}, f.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}
