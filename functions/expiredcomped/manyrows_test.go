package expiredcomped

import (
	"cmp"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
)

// TestManyRowsOfOneMember is a member with 420 expired rows, which take two commits of at most 400, or with twice as many. Rows that
// stay lie before them, among them and behind them, or are given before the last commit.
func TestManyRowsOfOneMember(t *testing.T) {
	for name, tt := range map[string]struct {
		stays, given string // a row that never expires
		lost         int    // the commit whose answer is
		most         int    // rows that a commit may delete
		last         int    // the commit after which time is up
		n            int    // rows that are expired, if not 420
	}{
		"none stays":                   {},
		"the first stays":              {stays: "a"},
		"one in the middle stays":      {stays: "r0210x"},
		"the last stays":               {stays: "z"},
		"one is given before":          {given: "a"},
		"one is given behind":          {given: "z"},
		"an answer is lost":            {lost: 1},
		"large commits are refused":    {most: 100},
		"out of time after the first":  {last: 1},
		"out of time after the second": {last: 2, n: 840},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := cmp.Or(tt.n, 420)
			f := newFunction(t)
			f.Set(t, "members/m", member("comped"))
			if tt.stays != "" {
				f.Set(t, "members_products/"+tt.stays, row("m", nil))
			}
			f.SetMany(t, n, func(i int) (string, map[string]any) {
				return fmt.Sprintf("members_products/r%04d", i), row("m", yesterday.Add(-time.Duration(i)*time.Hour))
			})
			var late atomic.Bool
			f.Clock = func() time.Time {
				if late.Load() {
					return now.Add(f.Timeout)
				}
				return now
			}
			commits, largest := 0, 0
			f.OnCommit(func(_ int, c *firestorepb.CommitRequest, send func() error) error {
				rows := 0
				for _, w := range c.GetWrites() {
					if w.GetDelete() != "" {
						rows++
					}
				}
				if rows <= 1 { // a record of the run's own
					return send()
				}
				if tt.most > 0 && rows > tt.most {
					return status.Error(codes.InvalidArgument, "Transaction too big. Decrease transaction size.")
				}
				largest = max(largest, rows)
				if err := send(); err != nil {
					return err
				}
				commits++
				late.Store(commits == tt.last)
				if commits == tt.lost {
					return status.Error(codes.Unavailable, "the connection broke")
				}
				if commits == 1 && tt.given != "" {
					f.Set(t, "members_products/"+tt.given, row("m", nil))
				}
				return nil
			})
			got := f.Run(t, "")
			if tt.last > 0 {
				rows, events, m := f.Documents(t, "members_products"), f.Documents(t, "members_status_events"), f.Documents(t, "members")["m"]
				if got.Status != engine.Partial || m["status"] != "comped" || len(rows) == 0 || len(rows) == n || len(events) > 0 {
					t.Errorf("%s: the member is %v, %d rows are left, and events %v", got.Status, m["status"], len(rows), events)
				}
				late.Store(false)
				got = f.Run(t, "")
			} else {
				enginetest.Want(t, "lines", removedLine(n, min(1, len(f.Documents(t, "members_status_events"))), got), ownLines(t, f)[1])
			}
			enginetest.WantReport(t, got, engine.Completed, enginetest.Done(kind, 1))
			// A row that stays may be among those that a commit looks at.
			if largest > 401 || tt.most == 0 && largest < 400 && (tt.stays == "" || largest < 399) {
				t.Errorf("the largest commit has %d deletions, want those of 400 rows", largest)
			}
			want, stays := world{"members/m": member("comped")}, tt.stays+tt.given
			if stays != "" {
				want["members_products/"+stays] = row("m", nil)
			} else {
				want = want.Changed("members/m", map[string]any{"status": "free", "updated_at": now})
			}
			for id, data := range f.Documents(t, "members_status_events") {
				want["members_status_events/"+id] = data
			}
			want.Is(t, f)
			enginetest.Want(t, "documents, with an event of a member made free", 2, len(want))
		})
	}
}

// TestRowsThatStayBeforeThoseThatGo is a member whose rows that stay alone are more than one commit looks at.
func TestRowsThatStayBeforeThoseThatGo(t *testing.T) {
	t.Parallel()
	f := newFunction(t)
	w := world{"members/m": member("comped")}
	for i := range 450 {
		w[fmt.Sprintf("members_products/r%03d", i)] = row("m", nil)
	}
	w.With(world{"members_products/x": row("m", yesterday)}).Write(t, f)
	enginetest.WantReport(t, f.Run(t, ""), engine.Completed, enginetest.Done(kind, 1))
	w.Is(t, f)
}
