package expiredcomped

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/sweep"
)

// manyRows has a run delete so many rows, whose members have rows all over the order of expiry_at: each member is proposed
// once and becomes free with one commit and one event.
func manyRows(t testing.TB, n, people int) {
	t.Helper()
	f := functionOf(t, Job)
	f.SetMany(t, people, func(i int) (string, map[string]any) { return fmt.Sprintf("members/m%d", i), member("comped") })
	f.SetMany(t, n, func(i int) (string, map[string]any) {
		return fmt.Sprintf("members_products/r%05d", i), row(fmt.Sprintf("m%d", i%people), yesterday.Add(-time.Duration(i)*time.Minute))
	})
	got := f.Run(t, "")
	ended(t, got, sweep.Completed, sweep.Counts{Planned: people, Done: people})
	// The lease twice, two counts of all and two of none; each row is planned and judged again, and has an index entry in its
	// page; what follows the last page; the members; the journal. To find out that a commit holds one member takes groups of 25,
	// 12, 6 and 3, each of which reads one row too many. Each member's commit has an entry in the journal.
	counts, pages, groups := 2*((n+999)/1000)+2, (n+499)/500, 4*(400+1)+25+12+6+3
	if u := got.Usage; u.FirestoreReads != int64(2+counts+2*n+pages+1+people+1+groups) || u.FirestoreDeletes != int64(n+people) || u.FirestoreWrites != int64(3+3*people) {
		t.Errorf("usage %+v", u)
	}
	if rows, events := f.Documents(t, "members_products"), f.Documents(t, "members_status_events"); len(rows) != 0 || len(events) != people {
		t.Errorf("%d rows and %d events left, want none and %d", len(rows), len(events), people)
	}
	sound(t, f)
	logged(t, f, starting, removedLine(n, people, got))
}

// TestTwentyThousandRows has 400 rows a member, for the emulator reads the whole collection for each transaction.
func TestTwentyThousandRows(t *testing.T) {
	t.Parallel()
	manyRows(t, 20_000, 50)
}

// TestManyRowsOfOneMember is a member whose rows are too many for one commit, with and without one that stays.
func TestManyRowsOfOneMember(t *testing.T) {
	const n = 1000
	for name, stays := range map[string]string{"none stays": "", "the first stays": "a", "one in the middle stays": "r0500x", "the last stays": "z"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFunction(t)
			end := world{"members/m": member("comped")}
			if stays != "" {
				end["members_products/"+stays] = row("m", nil)
			}
			end.load(t, f)
			var paced pace
			f.Hooks.Pace = func() documents.Pace { return &paced }
			largest := 0
			onUnary(f, func(req any, send func() error) error {
				if writes(req) {
					largest = max(largest, commitSize(req))
				}
				return send()
			})
			f.SetMany(t, n, func(i int) (string, map[string]any) {
				return fmt.Sprintf("members_products/r%04d", i), row("m", yesterday.Add(-time.Duration(i)*time.Hour))
			})
			got := f.Run(t, "")
			ended(t, got, sweep.Completed, sweep.Counts{Planned: 1, Done: 1})
			freed := 0
			if stays == "" {
				freed = 1
				if m := f.Documents(t, "members")["m"]; m["status"] != "free" || m["updated_at"] != now || len(read(t, f)) != 2 {
					t.Errorf("left %v", read(t, f))
				}
				sound(t, f)
			} else {
				end.is(t, f)
			}
			if largest > 402 || largest < 400 {
				t.Errorf("the largest commit has %d writes, want those of 400 rows", largest)
			}
			if paced.Load() < n {
				t.Errorf("%d writes were waited for, want those of %d rows at least", paced.Load(), n)
			}
			logged(t, f, starting, removedLine(n, freed, got))
		})
	}
}

// pace counts the writes that are waited for.
type pace struct{ atomic.Int64 }

// Wait implements documents.Pace.
func (p *pace) Wait(ctx context.Context, n int) error {
	p.Add(int64(n))
	return ctx.Err()
}

// TestRowsThatStayBeforeThoseThatGo is a member whose rows that stay alone are more than one commit looks at.
func TestRowsThatStayBeforeThoseThatGo(t *testing.T) {
	t.Parallel()
	f := functionOf(t, fewRows())
	end := world{"members/m": member("comped")}
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		end["members_products/"+id] = row("m", nil)
	}
	end.with(world{"members_products/x": row("m", yesterday), "members_products/y": row("m", yesterday)}).load(t, f)
	ended(t, f.Run(t, ""), sweep.Completed, sweep.Counts{Planned: 1, Done: 1})
	end.is(t, f)
}

// TestProposedTwice has a run that remembers one member only, and so proposes another a second time.
func TestProposedTwice(t *testing.T) {
	t.Parallel()
	f := functionOf(t, jobWith(1000, 1))
	world{
		"members_products/new": row("m", yesterday), "members/m": member("comped"),
		"members_products/other": row("m2", today.AddDate(0, -1, 0)), "members/m2": member("comped"),
	}.load(t, f)
	// 500 rows a page: the second row of m is on the next.
	f.SetMany(t, 500, func(i int) (string, map[string]any) {
		return fmt.Sprintf("members_products/old%d", i), row("m", today.AddDate(-1, 0, -i))
	})
	got := f.Run(t, "")
	ended(t, got, sweep.Completed, sweep.Counts{Planned: 3, Done: 2, Changed: 1})
	if got.Scanned != 502 || len(f.Documents(t, "members_products")) != 0 || len(f.Documents(t, "members_status_events")) != 2 {
		t.Errorf("scanned %d, left %v", got.Scanned, read(t, f))
	}
	sound(t, f)
	logged(t, f, starting, removedLine(502, 2, got))
}
