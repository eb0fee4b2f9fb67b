package placeholderusers

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/tasks"
)

var (
	now        = time.Date(2026, 3, 10, 0, 0, 0, 0, time.UTC)
	twoDaysAgo = time.Date(2026, 3, 8, 0, 0, 0, 0, time.UTC)
)

const tick = time.Microsecond

func TestJudge(t *testing.T) {
	const attempts, last = "deletion_attempts", "last_deletion_attempt_at"
	for name, tt := range map[string]struct {
		data    map[string]any
		number  int    // of the attempt that is due; 0: none is
		reason  string // why not
		invalid bool
	}{
		"never tried":              {data: detail("u"), number: 1},
		"namespace missing":        {data: detail("u", "namespace_id", enginetest.Missing), number: 1},
		"namespace set":            {data: detail("u", "namespace_id", "g1"), reason: keptNamespace},
		"namespace is a number":    {data: detail("u", "namespace_id", int64(1)), reason: keptNamespace},
		"namespace is a map":       {data: detail("u", "namespace_id", map[string]any{}), reason: keptNamespace},
		"namespace is 0":           {data: detail("u", "namespace_id", int64(0)), reason: keptBadSpace, invalid: true},
		"namespace is empty":       {data: detail("u", "namespace_id", ""), reason: keptBadSpace, invalid: true},
		"namespace is false":       {data: detail("u", "namespace_id", false), reason: keptBadSpace, invalid: true},
		"last attempt in 1970":     {data: detail("u", last, time.Unix(0, 0)), reason: keptBadTime, invalid: true},
		"attempts missing":         {data: detail("u", attempts, enginetest.Missing), number: 1},
		"attempts null":            {data: detail("u", attempts, nil), number: 1},
		"14 attempts":              {data: detail("u", attempts, int64(14)), number: 15},
		"14 attempts, as a real":   {data: detail("u", attempts, 14.0), number: 15},
		"15 attempts":              {data: detail("u", attempts, int64(15)), reason: keptExhausted},
		"attempts as text":         {data: detail("u", attempts, "1"), reason: keptBadAttempts, invalid: true},
		"half an attempt":          {data: detail("u", attempts, 0.5), reason: keptBadAttempts, invalid: true},
		"attempts below 0":         {data: detail("u", attempts, int64(-1)), reason: keptBadAttempts, invalid: true},
		"attempts beyond counting": {data: detail("u", attempts, int64(math.MaxInt64)), reason: keptExhausted},
		"tried exactly 2 days ago": {data: detail("u", last, twoDaysAgo), reason: keptRecent},
		"a tick longer ago":        {data: detail("u", last, twoDaysAgo.Add(-tick)), number: 1},
		"last attempt as text":     {data: detail("u", last, "2020-01-01"), reason: keptBadTime, invalid: true},
		"no user":                  {data: detail(nil), reason: keptNoUser, invalid: true},
		"a path":                   {data: detail("users/u"), reason: keptNoUser, invalid: true},
		"a user who has a number":  {data: detail(int64(7)), number: 1},
		"the longest user":         {data: detail(strings.Repeat("x", 1499)), number: 1},
		"too long to be asked for": {data: detail(strings.Repeat("x", 1500)), reason: keptLongUser, invalid: true},
	} {
		want := cleanup.Decision{Reason: tt.reason, Invalid: tt.invalid}
		if tt.number > 0 {
			want = cleanup.Do(handKind, fmt.Sprintf("in no namespace, attempt %d of 15", tt.number))
		}
		if name == "a tick longer ago" {
			want.Reason += ", the last on 2026-03-07T23:59:59Z"
		}
		enginetest.Want(t, name, want, judge(attempt{Subject: subject(tt.data)}, cleanup.Run{Now: now}))
	}
}

func subject(data map[string]any) cleanup.Subject {
	return cleanup.Subject{Document: documents.Document{Path: details + "/d", Data: data}, Found: true}
}

// TestTheTask is the same whenever it is asked for, another for each attempt, and due a second after the one before.
func TestTheTask(t *testing.T) {
	run := cleanup.Run{Now: now, Started: now.Add(time.Minute)}
	for name, tt := range map[string]struct {
		attempts any
		last     any
		key      []string
		last15   bool
	}{
		"the first": {nil, nil, []string{"d", "1", "0001-01-01T00:00:00Z"}, false},
		"the third": {int64(2), twoDaysAgo.Add(-tick), []string{"d", "3", "2026-03-07T23:59:59.999999Z"}, false},
		"the last":  {14.0, now, []string{"d", "15", "2026-03-10T00:00:00Z"}, true},
	} {
		s := subject(detail(int64(7), "deletion_attempts", tt.attempts, "last_deletion_attempt_at", tt.last))
		body := map[string]string{"placeholder_user_id": "7"}
		task := tasks.Task{Key: tt.key, Body: body}
		got := countAttempt(attempt{Subject: s}, cleanup.Do("count", ""), run)
		first := cleanup.Change{Then: []cleanup.FollowUp{{Task: &task, Apart: time.Second, Recorded: &cleanup.Recorded{}}}, Again: true, From: got.From}
		enginetest.Want(t, name+": first", first, got)
		s.From = "another task"
		enginetest.Want(t, name+": after another task", first, countAttempt(attempt{Subject: s}, cleanup.Do("count", ""), run))
		s.From = got.From
		got = countAttempt(attempt{Subject: s}, cleanup.Do("count", ""), run)
		enginetest.Want(t, name+": counted", 1, len(got.Writes))
		var notices []cleanup.Notice
		if tt.last15 {
			notices = []cleanup.Notice{{
				Message: "Maximum deletion attempts (15) reached for deletion of placeholder user. Making final deletion attempt.",
				Fields:  map[string]any{"placeholder_user_id": "7"},
			}}
		}
		enginetest.Want(t, name+": notices", notices, got.Notices)
	}
}

// TestUnset counts what it costs to find the things without a box: only where some lack the field, or where they cannot be
// counted, are all read.
func TestUnset(t *testing.T) {
	const empty, packed, skipped = "looked at, in no box", "looked at, in a box", "in a box"
	type kept = map[string]int
	for name, tt := range map[string]struct {
		boxes       []any // of one thing each, besides 20 that have one; the name of the field is another for "missing"
		uncountable bool
		reads       int // besides the lease, and who holds jobs
		kept        kept
	}{
		"none":               {nil, false, 3, kept{skipped: 20}},
		"null":               {[]any{nil}, false, 3 + 1, kept{empty: 1, skipped: 20}},
		"missing":            {[]any{"missing"}, false, 3 + 21, kept{empty: 1, packed: 20}},
		"null and missing":   {[]any{nil, nil, "missing"}, false, 3 + 23, kept{empty: 3, packed: 20}},
		"cannot be counted":  {[]any{nil, "missing"}, true, 22, kept{empty: 2, packed: 20}},
		"odd values are set": {[]any{nil, "x", true, 1, 0.5, math.NaN(), []any{}, map[string]any{}, time.Unix(0, 0)}, false, 3 + 1, kept{empty: 1, skipped: 28}},
		"as good as unset":   {[]any{nil, "", false, 0, 0.0}, false, 3 + 5, kept{empty: 5, skipped: 20}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newTestJob(t, cleanup.Job{Name: "testJob", Plan: func(ctx context.Context, p *cleanup.Planner) error {
				q, some := unset(ctx, p, "things", "box", "in a box")
				if !some {
					return nil
				}
				return p.Sweep(ctx, q, "", cleanup.Rule[cleanup.Subject]{
					Name: "thing", Load: cleanup.Itself, Reach: cleanup.Reach{Items: "things"},
					Judge: func(s cleanup.Subject, _ cleanup.Run) cleanup.Decision {
						switch s.Data["box"] {
						case nil, "", false, int64(0), 0.0:
							return cleanup.Keep(empty)
						}
						return cleanup.Keep(packed)
					},
				})
			}})
			f.SetAlike(t, 20, "things/packed%d", map[string]any{"box": "b"})
			for i, box := range tt.boxes {
				data := map[string]any{"box": box}
				if box == "missing" {
					data = map[string]any{}
				}
				f.Set(t, fmt.Sprintf("things/t%d", i), data)
			}
			if tt.uncountable {
				f.RefuseCounts(status.Error(codes.DeadlineExceeded, "it took too long"))
			}
			got := f.Run(t, "")
			enginetest.WantReport(t, got, report.Completed, map[string]report.Counts{})
			enginetest.Want(t, "reads", int64(3+tt.reads), got.Usage.FirestoreReads)
			enginetest.Want(t, "kept", tt.kept, got.Kept)
			enginetest.Want(t, "scanned", 20+len(tt.boxes), got.Scanned)
			enginetest.Want(t, "not counted", tt.uncountable, len(got.NotCounted) == 1)
		})
	}
}

// newTestJob returns a function that serves a job of a test.
func newTestJob(t *testing.T, job cleanup.Job) *enginetest.Function {
	t.Helper()
	f := enginetest.New(t, engine.NewFunction(job, 5*time.Minute, []config.Backend{config.Firestore}))
	f.Clock = func() time.Time { return now }
	return f
}
