package declared_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/declared"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

const (
	keptAccepted = "user_id is set"
	keptNotDue   = "not due"
	keptNoAge    = "no usable age"
)

var (
	now   = time.Date(2026, 1, 10, 15, 10, 0, 0, time.UTC)
	limit = time.Date(2025, 10, 12, 15, 10, 0, 0, time.UTC) // exactly 90 days before
	old   = limit.AddDate(0, 0, -30)
)

func newJob(t *testing.T, job string) *enginetest.Function {
	t.Helper()
	t.Parallel()
	f := enginetest.New(t, functions.New(functions.Registered()[job]))
	f.Now = now
	return f
}

func newInvites(t *testing.T) *enginetest.Function {
	t.Helper()
	return newJob(t, "removeUnacceptedMemberInvites")
}

type fields = map[string]any

// invite is an invitation that nobody accepted.
func invite(token, created any) fields {
	return fields{"invite_token": token, "created_at": created, "user_id": nil, "invite_email": "hana@example.com", "access_level": 30}
}

var with = enginetest.With

// TestWhatIsReadAndCounted: members who are no invitations are not read.
func TestWhatIsReadAndCounted(t *testing.T) {
	f := newInvites(t)
	due := map[string]fields{
		"by-a-tick": invite("t1", limit.Add(-time.Microsecond)), "no-user-id": with(invite("t2", old), "user_id", enginetest.Missing), "smallest-text": invite("\x00", old),
	}
	left := map[string]fields{
		"exactly": invite("t4", limit), "future": invite("t8", now.Add(time.Hour)), "young-no-user": with(invite("t6", now), "user_id", enginetest.Missing),
		"accepted": with(invite("t9", old), "user_id", "u1"), "accepted-zero": with(invite("t12", old), "user_id", 0),
		"token-empty": invite("", old), "token-number": invite(12, old), "token-list": invite([]any{"t"}, old),
		"date-missing": with(invite("t13", old), "created_at", enginetest.Missing), "date-null": invite("t14", nil), "date-text": invite("t15", "2020-01-01T00:00:00Z"),

		// Members, not invitations: counted, and not read.
		"member-token-null": with(invite(nil, old), "user_id", "u2"), "member-token-missing": with(invite("", old), "invite_token", enginetest.Missing),
		"member-other-app": {"status": "comped", "email": "x@example.com"}, "member-empty": {},
	}
	for _, all := range []map[string]fields{due, left} {
		for id, data := range all {
			f.Set(t, "members/"+id, data)
		}
	}
	got := enginetest.NewGolden(t, "memberinvites").Run(t, "what is read and counted", f, "", "")
	enginetest.WantReport(t, got, report.Completed, enginetest.Done("delete member", 3))
	enginetest.Want(t, "scanned", len(due)+len(left), got.Scanned)
	enginetest.Want(t, "kept", map[string]int{keptNotDue: 10, keptAccepted: 2, keptNoAge: 3}, got.Kept)
	enginetest.Want(t, "members left", slices.Sorted(maps.Keys(left)), f.IDs(t, "members"))
}

// TestDatesOfAnotherType: few among more than are looked at are found all the same.
func TestDatesOfAnotherType(t *testing.T) {
	f := newInvites(t)
	f.SetMany(t, 2500, func(i int) (string, fields) { return fmt.Sprint("members/young", i), invite("t", now) })
	f.SetMany(t, 3, func(i int) (string, fields) { return fmt.Sprint("members/text", i), invite("t", "2020-01-01 00:00:00") })
	enginetest.Want(t, "kept", map[string]int{keptNotDue: 2500, keptNoAge: 3}, f.Run(t, "").Kept)
	var named []any
	for _, line := range f.LogLines(t) {
		targets, _ := line["targets"].([]any)
		named = append(named, targets...)
	}
	enginetest.Want(t, "named", []any{"members/text0", "members/text1", "members/text2"}, named)
}

func TestCheckpointThatLeadsNowhereBeginsAtTheBeginning(t *testing.T) {
	for name, checkpoint := range map[string]string{
		"gone": "members/nobody", "no longer an invitation": "members/member", "undated": "members/undated", "no document": "members", "another query's": `[{"text":"x"}]`,
	} {
		t.Run(name, func(t *testing.T) {
			f := newInvites(t)
			f.Set(t, "members/a", invite("a", old))
			f.Set(t, "members/member", with(invite("", old), "invite_token", enginetest.Missing))
			f.Set(t, "members/undated", invite("z", nil))
			f.Set(t, "cleanupJobs/removeUnacceptedMemberInvites", enginetest.From(checkpoint))
			enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("delete member", 1))
		})
	}
}

// TestTokensTooLongForAQuery has pages end with tokens of which an index holds only the beginning, long ones that begin
// alike and long ones that do not: they are dealt with like the others, and what comes after them is reached.
func TestTokensTooLongForAQuery(t *testing.T) {
	f := newInvites(t)
	long := strings.Repeat("長", 600)
	f.SetMany(t, 2*declared.PageSize, func(i int) (string, map[string]any) {
		token := fmt.Sprintf("%05d", i)
		if end := i % declared.PageSize; end >= declared.PageSize-3 && end <= declared.PageSize { // around the end of each page
			token += long
		}
		return fmt.Sprintf("members/m%05d", i), invite(token, old)
	})
	f.SetMany(t, 3, func(i int) (string, map[string]any) {
		// The last of the first page and two that begin like it.
		return fmt.Sprintf("members/twin%d", i), invite(fmt.Sprintf("%05d%s%d", declared.PageSize-1, long, i), old)
	})
	f.Set(t, "members/accepted", with(invite("~"+long, old), "user_id", 7))
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("delete member", 2*declared.PageSize))
	enginetest.Want(t, "left", []string{"accepted", "twin0", "twin1", "twin2"}, f.IDs(t, "members"))
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("delete member", 3))

	// A run that was out of time goes on behind the accepted one.
	f.Set(t, "cleanupJobs/removeUnacceptedMemberInvites", enginetest.From("members/accepted"))
	f.Set(t, "members/last", invite("\U0010FFFF", old))
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("delete member", 1))
}

// TestCheckpointTellsNoToken: a run that is out of time saves the path of the last invitation that it read, and the next one goes on
// behind it.
func TestCheckpointTellsNoToken(t *testing.T) {
	f := newInvites(t)
	f.SetMany(t, declared.PageSize+100, func(i int) (string, fields) {
		return fmt.Sprintf("members/m%04d", i), with(invite(fmt.Sprintf("secret-%04d", i), old), "user_id", "u")
	})
	var looks atomic.Int64
	f.Clock = func() time.Time {
		if looks.Add(1) > 3 { // when the first page has been planned
			return now.Add(f.Timeout/2 + time.Second)
		}
		return now
	}
	first := f.Run(t, "")
	last := fmt.Sprintf("members/m%04d", first.Kept[keptAccepted]-1)
	enginetest.Want(t, "checkpoint", last, enginetest.Checkpoint(f.Documents(t, "cleanupJobs")["removeUnacceptedMemberInvites"]))
	f.Clock = func() time.Time { return now }
	second := f.Run(t, "")
	enginetest.Want(t, "status of each", []report.Status{report.Partial, report.Completed}, []report.Status{first.Status, second.Status})
	enginetest.Want(t, "read by both", declared.PageSize+100, first.Kept[keptAccepted]+second.Kept[keptAccepted])
}
