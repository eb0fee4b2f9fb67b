package memberinvites

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/sweep"
	"github.com/firesweep/firesweep/shared/sweep/sweeptest"
)

const action = "delete invite"

var (
	now   = time.Date(2026, 1, 10, 15, 10, 0, 0, time.UTC)
	limit = time.Date(2025, 10, 12, 15, 10, 0, 0, time.UTC) // exactly 90 days before
	old   = limit.AddDate(0, 0, -30)
)

func newFunction(t *testing.T) *sweeptest.Function {
	t.Helper()
	t.Parallel()
	f := sweeptest.New(t, functions.New(Job))
	f.Now = now
	return f
}

type fields = map[string]any

// invite is an invitation that nobody accepted.
func invite(token, created any) fields {
	return fields{"invite_token": token, "created_at": created, "user_id": nil, "invite_email": "hana@example.com", "access_level": 30}
}

func with(data, changes fields) fields {
	data = maps.Clone(data)
	maps.Copy(data, changes)
	return data
}

func without(data fields, field string) fields {
	data = maps.Clone(data)
	delete(data, field)
	return data
}

func ids(documents map[string]fields) []string { return slices.Sorted(maps.Keys(documents)) }

func TestRemoveUnacceptedMemberInvites(t *testing.T) {
	f := newFunction(t)
	gone := map[string]fields{
		"gone-by-a-tick":     invite("t1", limit.Add(-time.Microsecond)),
		"gone-by-a-second":   invite("t2", limit.Add(-time.Second)),
		"gone-no-user-id":    without(invite("t3", old), "user_id"),
		"gone-long-ago":      invite("招待", old.AddDate(-9, 0, 0)),
		"gone-smallest-text": invite("\x00", old),
	}
	left := map[string]fields{
		"exactly":       invite("t4", limit),
		"under-a-tick":  invite("t5", limit.Add(time.Microsecond)),
		"under-no-user": without(invite("t6", limit.Add(time.Second)), "user_id"),
		"today":         invite("t7", now),
		"future":        invite("t8", now.Add(time.Hour)),

		"accepted":       with(invite("t9", old), fields{"user_id": "u1"}),
		"accepted-int":   with(invite("t10", old), fields{"user_id": 7}),
		"accepted-empty": with(invite("t11", old), fields{"user_id": ""}),
		"accepted-zero":  with(invite("t12", old), fields{"user_id": 0}),

		"token-empty":  invite("", old),
		"token-number": invite(12, old),
		"token-true":   invite(true, old),
		"token-list":   invite([]any{"t"}, old),

		"date-missing": without(invite("t13", old), "created_at"),
		"date-null":    invite("t14", nil),
		"date-text":    invite("t15", "2020-01-01T00:00:00Z"),
		"date-number":  invite("t16", 1577836800000),

		// Members, not invitations: neither read nor counted.
		"member-token-null":    with(invite(nil, old), fields{"user_id": "u2"}),
		"member-token-null-2":  invite(nil, old),
		"member-token-missing": without(invite("", old), "invite_token"),
		"member-other-app":     {"status": "comped", "email": "x@example.com"},
		"member-empty":         {},
	}
	for _, documents := range []map[string]fields{gone, left} {
		for id, data := range documents {
			f.Set(t, "members/"+id, data)
		}
	}
	neighbours := []string{"groups/g/members", "members/exactly/members", "members/gone-by-a-tick/members", "members_archive", "member"}
	for _, collection := range neighbours {
		f.Set(t, collection+"/gone-long-ago", invite("t", old))
	}

	got := f.Run(t, "")
	want := &sweep.Report{
		Job: "removeUnacceptedMemberInvites", RunID: got.RunID, Status: sweep.Completed, Now: now, StartedAt: got.StartedAt,
		DurationMs: got.DurationMs, Database: got.Database, Bucket: got.Bucket, Scanned: 22,
		Actions: map[string]sweep.Counts{action: {Planned: 5, Done: 5}},
		Kept: map[string]int{
			"created 90 days ago or less":                 5,
			"user_id is set: the invitation was accepted": 4,
			"invite_token is empty or not a text":         4,
			"created_at is missing or not a timestamp":    4,
		},
		Failures: []sweep.Failure{},
		Usage:    got.Usage,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(ids(left), ids(f.Documents(t, "members"))); diff != "" {
		t.Errorf("members left (-want +got):\n%s", diff)
	}
	for _, collection := range neighbours {
		if len(f.Documents(t, collection)) != 1 {
			t.Errorf("%s was touched", collection)
		}
	}
	// The 5 that go and the 4 accepted, their page's index entries, four counts, the lease twice. To name what cannot be judged: four at the beginning of
	// the tokens' index, one behind the texts, and the 18 with a token, for those without a date.
	if u := got.Usage; u.FirestoreReads != 9+1+4+2+(4+1+18)+3 || u.FirestoreDeletes != 5 || u.FirestoreWrites != 3 {
		t.Errorf("usage %+v", u)
	}
	for _, line := range f.LogLines(t) {
		if text := fmt.Sprint(line); strings.Contains(text, "example.com") || strings.Contains(text, "招待") {
			t.Errorf("the log holds something personal: %s", text)
		}
	}

	again := f.Run(t, "")
	if again.Status != sweep.Completed || len(again.Actions) != 0 || again.Scanned != 17 {
		t.Errorf("second run: %+v, want nothing to do", again)
	}
}

func TestInviteAcceptedBetweenPlanAndApplySurvives(t *testing.T) {
	f := newFunction(t)
	for _, id := range []string{"accepted", "accepted-token-cleared", "resent", "deleted", "invited-anew", "left"} {
		f.Set(t, "members/"+id, invite("token-"+id, old))
	}
	f.Hooks.BeforeApply = func() {
		f.Set(t, "members/accepted", with(invite("token-accepted", old), fields{"user_id": "u"}))
		f.Set(t, "members/accepted-token-cleared", with(invite(nil, old), fields{"user_id": "u"}))
		f.Set(t, "members/resent", with(invite("token-resent", old), fields{"reminders": 3}))
		for _, id := range []string{"deleted", "invited-anew"} {
			if _, err := f.Firestore(t).Doc("members/" + id).Delete(t.Context()); err != nil {
				t.Error(err)
			}
		}
		f.Set(t, "members/invited-anew", invite("token-new", now))
	}
	got := f.Run(t, "")
	if diff := cmp.Diff(sweep.Counts{Planned: 6, Done: 1, Changed: 5}, got.Actions[action]); diff != "" || got.Status != sweep.Completed {
		t.Errorf("status %s, counts (-want +got):\n%s", got.Status, diff)
	}
	want := []string{"accepted", "accepted-token-cleared", "invited-anew", "resent"}
	if diff := cmp.Diff(want, ids(f.Documents(t, "members"))); diff != "" {
		t.Errorf("members left (-want +got):\n%s", diff)
	}
	if f.Documents(t, "members")["accepted"]["user_id"] != "u" {
		t.Error("the accepted invitation was changed")
	}
}

func TestMembersWithoutAnOldInvitationCostNothing(t *testing.T) {
	f := newFunction(t)
	const due, accepted, young, members = 2500, 40, 60, 1500
	f.SetMany(t, due+accepted+young+members, func(i int) (string, fields) {
		path, token := fmt.Sprintf("members/m%05d", i), fmt.Sprintf("%05d", i*7919%30011)
		switch {
		case i < due:
			return path, fields{"invite_token": token, "created_at": old.Add(-time.Duration(i) * time.Second)}
		case i < due+accepted:
			return path, fields{"invite_token": token, "created_at": old, "user_id": "u"}
		case i < due+accepted+young:
			return path, fields{"invite_token": token, "created_at": now}
		default:
			return path, fields{"invite_token": nil, "created_at": old, "user_id": "u"}
		}
	})
	got := f.Run(t, "")
	if diff := cmp.Diff(sweep.Counts{Planned: due, Done: due}, got.Actions[action]); diff != "" || got.Status != sweep.Completed {
		t.Errorf("status %s, counts (-want +got):\n%s", got.Status, diff)
	}
	if n := len(f.Documents(t, "members")); n != accepted+young+members {
		t.Errorf("%d members left, want %d", n, accepted+young+members)
	}
	// What is due and what is accepted, and their index entries, page by page; counts of 2,600, 2,600, 60 and 2,540; the
	// lease twice. Neither young invitations nor members are read.
	if u := got.Usage; u.FirestoreReads != due+accepted+3+3+3+1+3+2 || u.FirestoreDeletes != due || u.FirestoreWrites != 3 {
		t.Errorf("usage %+v", u)
	}
}

// TestOutOfTimeThenFinishedByTheNextRuns has accepted invitations among the due ones, over which the saved position leads.
func TestOutOfTimeThenFinishedByTheNextRuns(t *testing.T) {
	f := newFunction(t)
	const first = pageSize + 100
	const accepted = first + (4*pageSize-first)/100
	f.SetMany(t, 4*pageSize, func(i int) (string, fields) {
		data := invite(fmt.Sprintf("secret-%04d", i), old)
		if i < first || i%100 == 0 { // more than a page of them come first
			data["user_id"] = "u"
		}
		return fmt.Sprintf("members/m%04d", i), data
	})
	// The clock jumps past the time for planning when the first page has been planned.
	wall := now
	var statuses []sweep.Status
	read := 0
	for range 10 {
		started, reads := wall, 0
		f.Clock = func() time.Time {
			if reads++; reads > 4 {
				return started.Add(f.Timeout/2 + time.Second)
			}
			return wall
		}
		got := f.Run(t, "")
		statuses = append(statuses, got.Status)
		read += got.Kept[keptAccepted]
		wall = wall.Add(24 * time.Hour)
		if got.Status != sweep.Partial {
			break
		}
		position, _ := f.Documents(t, "cleanupJobs")["removeUnacceptedMemberInvites"]["position"].(string)
		if !strings.HasPrefix(position, "m") || strings.Contains(position, "secret") {
			t.Fatalf("a partial run saved the position %q, want a member's id and no token", position)
		}
	}
	if statuses[0] != sweep.Partial || statuses[len(statuses)-1] != sweep.Completed {
		t.Errorf("statuses %v, want some partial runs and then a completed one", statuses)
	}
	if n := len(f.Documents(t, "members")); n != accepted {
		t.Errorf("%d members left, want the %d accepted", n, accepted)
	}
	if read != accepted {
		t.Errorf("accepted invitations were read %d times, want each once", read)
	}
	if position := f.Documents(t, "cleanupJobs")["removeUnacceptedMemberInvites"]["position"]; position != "" {
		t.Errorf("position %v left after a full pass", position)
	}
}

func TestPositionThatLeadsNowhereBeginsAtTheBeginning(t *testing.T) {
	for name, position := range map[string]string{
		"gone": "nobody", "no longer an invitation": "member", "undated": "undated", "no id": "a/b", "another query's": `[{"text":"x"}]`,
	} {
		t.Run(name, func(t *testing.T) {
			f := newFunction(t)
			f.Set(t, "members/a", invite("a", old))
			f.Set(t, "members/member", without(invite("", old), "invite_token"))
			f.Set(t, "members/undated", invite("z", nil))
			f.Set(t, "cleanupJobs/removeUnacceptedMemberInvites", fields{"position": position})
			if got := f.Run(t, ""); got.Status != sweep.Completed || got.Actions[action].Done != 1 {
				t.Errorf("report %+v, want one done", got)
			}
		})
	}
}

// TestTokensTooLongForAQuery has pages end with tokens of which an index holds only the beginning, long ones that begin
// alike and long ones that do not: they are dealt with like the others, and what comes after them is reached.
func TestTokensTooLongForAQuery(t *testing.T) {
	f := newFunction(t)
	long := strings.Repeat("長", 600)
	f.SetMany(t, 2*pageSize, func(i int) (string, map[string]any) {
		token := fmt.Sprintf("%05d", i)
		if end := i % pageSize; end >= pageSize-3 && end <= pageSize { // around the end of each page
			token += long
		}
		return fmt.Sprintf("members/m%05d", i), invite(token, old)
	})
	f.SetMany(t, 3, func(i int) (string, map[string]any) {
		// The last of the first page and two that begin like it.
		return fmt.Sprintf("members/twin%d", i), invite(fmt.Sprintf("%05d%s%d", pageSize-1, long, i), old)
	})
	f.Set(t, "members/accepted", with(invite("~"+long, old), fields{"user_id": 7}))
	got := f.Run(t, "")
	sweeptest.WantReport(t, got, sweep.Completed, sweeptest.Done(action, 2*pageSize))
	if left := ids(f.Documents(t, "members")); !slices.Equal(left, []string{"accepted", "twin0", "twin1", "twin2"}) {
		t.Errorf("left %.200v", left)
	}
	sweeptest.WantReport(t, f.Run(t, ""), sweep.Completed, sweeptest.Done(action, 3))

	// A run that was out of time goes on behind the accepted one.
	f.Set(t, "cleanupJobs/removeUnacceptedMemberInvites", fields{"position": "accepted"})
	f.Set(t, "members/last", invite("\U0010FFFF", old))
	sweeptest.WantReport(t, f.Run(t, ""), sweep.Completed, sweeptest.Done(action, 1))
}

// TestCursorsCanBeAskedFor, whatever the token.
func TestCursorsCanBeAskedFor(t *testing.T) {
	q := documents.Query{Collection: collection, OrderBy: []string{tokenField, createdField}}
	for _, token := range []string{"t", strings.Repeat("x", 1499), strings.Repeat("x", 1500), strings.Repeat("長", 500), "x" + strings.Repeat("長", 500), "xx" + strings.Repeat("長", 500)} {
		cursor, err := cursorAfter(q, documents.Document{Path: "members/m", Data: invite(token, old)})
		if err != nil {
			t.Fatal(err)
		}
		var values []struct{ Text string }
		if err := json.Unmarshal([]byte(cursor), &values); err != nil {
			t.Fatal(err)
		}
		at := values[0].Text
		if len(at) > 1499 || !utf8.ValidString(at) || at < token || len(token) <= 1499 && at != token {
			t.Errorf("the cursor behind a token of %d bytes has one of %d: %.40q", len(token), len(at), at)
		}
	}
	last := invite(strings.Repeat("\U0010FFFF", 400), old) // no text comes after it
	if cursor, err := cursorAfter(q, documents.Document{Path: "members/m", Data: last}); cursor != "" || err != nil {
		t.Errorf("the cursor behind all texts: %.40q, %v", cursor, err)
	}
}
