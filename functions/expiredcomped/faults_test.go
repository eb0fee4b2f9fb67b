package expiredcomped

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/sweep"
	"github.com/firesweep/firesweep/shared/sweep/sweeptest"
)

var (
	errDenied = status.Error(codes.PermissionDenied, "Missing or insufficient permissions.")
	errLost   = status.Error(codes.Unavailable, "the connection broke")
)

// onUnary lets a test see and disturb the unary requests to Firestore, which all writes are; send sends one.
func onUnary(f *sweeptest.Function, handle func(req any, send func() error) error) {
	f.Hooks.Dial = append(f.Hooks.Dial, grpc.WithChainUnaryInterceptor(
		func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			return handle(req, func() error { return invoke(ctx, method, req, reply, cc, opts...) })
		}))
}

// writes reports whether a request changes documents.
func writes(req any) bool {
	switch r := req.(type) {
	case *firestorepb.CommitRequest:
		return len(r.GetWrites()) > 0
	case *firestorepb.BatchWriteRequest:
		return true
	default:
		return false
	}
}

// touches reports whether a request deletes or writes the document.
func touches(req any, f *sweeptest.Function, path string) bool {
	commit, _ := req.(*firestorepb.CommitRequest)
	name := "projects/" + f.ID + "/databases/(default)/documents/" + path
	for _, w := range commit.GetWrites() {
		if w.GetDelete() == name || w.GetUpdate().GetName() == name {
			return true
		}
	}
	return false
}

// death ends the process, in effect, at its n-th write: before it is sent, or after it took effect. From then on no request
// gets through, not even to release the lease. Only what it had locked is released, as Firestore does after a while.
type death struct {
	at    int
	after bool

	mu     sync.Mutex
	writes int
	dead   bool
}

func (d *death) install(f *sweeptest.Function) {
	onUnary(f, func(req any, send func() error) error {
		if _, ok := req.(*firestorepb.RollbackRequest); ok {
			return send()
		}
		d.mu.Lock()
		before, after := d.dead, false
		if !d.dead && writes(req) {
			if d.writes++; d.writes == d.at {
				d.dead = true
				before, after = !d.after, d.after
			}
		}
		d.mu.Unlock()
		if before {
			return errDenied
		}
		err := send()
		if after {
			return errDenied
		}
		return err
	})
	f.Hooks.Dial = append(f.Hooks.Dial, grpc.WithChainStreamInterceptor(
		func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, stream grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			d.mu.Lock()
			dead := d.dead
			d.mu.Unlock()
			if dead {
				return nil, errDenied
			}
			return stream(ctx, desc, cc, method, opts...)
		}))
}

// fewRows is the job when it deletes two rows a commit, so that a member of five takes three.
func fewRows() sweep.Job { return jobWith(2, 100_000) }

// everySort has a member of each sort that the job treats differently; a run of [fewRows] takes two writes for its lease and
// its end, one for the members of at most two rows, three for the one of five, and one for the journal.
func everySort() (before, after world) {
	before = world{
		"members_products/one": row("one", yesterday), "members/one": member("comped"),
		"members_products/two-a": row("two", yesterday), "members_products/two-b": row("two", today.AddDate(-1, 0, 0)), "members/two": member("comped"),
		"members_products/paid": row("paid", yesterday), "members/paid": member("paid"),
		"members_products/stays-a": row("stays", yesterday), "members_products/stays-b": row("stays", nil), "members/stays": member("comped"),
		"members/many": member("comped"),
	}
	for i := range 5 {
		before[fmt.Sprintf("members_products/many%d", i)] = row("many", today.AddDate(0, 0, -1-i))
	}
	after = before.freed("one", "one").freed("two", "two-a", "two-b").freed("many", "many4").without("members_products/paid", "members_products/stays-a",
		"members_products/many0", "members_products/many1", "members_products/many2", "members_products/many3")
	return before, after
}

const (
	membersOfEverySort = 5
	writesOfEverySort  = 7
	commitsOfMembers   = 4
)

// sound makes sure that nobody is comped without a row, nor free without exactly one event, nor the other way round.
func sound(t testing.TB, f *sweeptest.Function) {
	t.Helper()
	rows, events := map[any]int{}, map[any]int{}
	for _, r := range f.Documents(t, "members_products") {
		rows[r["member_id"]]++
	}
	for _, e := range f.Documents(t, "members_status_events") {
		events[e["member_id"]]++
	}
	for id, m := range f.Documents(t, "members") {
		switch m["status"] {
		case "comped":
			if rows[id] == 0 || events[id] != 0 {
				t.Errorf("%s is comped, with %d rows and %d events", id, rows[id], events[id])
			}
		case "free":
			if rows[id] != 0 || events[id] != 1 {
				t.Errorf("%s is free, with %d rows and %d events", id, rows[id], events[id])
			}
		}
	}
}

// TestKilledAtEveryWrite lets a run die before and after each of its writes, and runs again.
func TestKilledAtEveryWrite(t *testing.T) {
	for at := 1; at <= writesOfEverySort+1; at++ {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d,after=%v", at, after), func(t *testing.T) {
				t.Parallel()
				f := functionOf(t, fewRows())
				before, end := everySort()
				before.load(t, f)
				d := &death{at: at, after: after}
				d.install(f)
				first := f.Run(t, "")
				if at > writesOfEverySort {
					if d.dead || d.writes != writesOfEverySort {
						t.Fatalf("%d writes: this test is not about what it should be", d.writes)
					}
					ended(t, first, sweep.Completed, sweep.Counts{Planned: membersOfEverySort, Done: membersOfEverySort})
					end.is(t, f)
					return
				}
				if !d.dead || first.Status != sweep.Failed {
					t.Errorf("dead %v, status %s", d.dead, first.Status)
				}
				sound(t, f)
				next := sweeptest.On(t, sweep.NewFunction(fewRows(), f.Timeout, f.Uses), f.Project)
				next.Now = now // the retry of the same schedule
				next.Clock = func() time.Time { return time.Now().Add(time.Hour) }
				if got := next.Run(t, ""); got.Status != sweep.Completed {
					t.Errorf("next run %s %v", got.Status, got.Failures)
				}
				end.is(t, f)
				sound(t, f)
			})
		}
	}
}

// TestLostAnswers loses the answer of each commit in turn; the run repeats it, notices, and counts it once.
func TestLostAnswers(t *testing.T) {
	for lose := 1; lose <= writesOfEverySort; lose++ {
		t.Run(fmt.Sprint(lose), func(t *testing.T) {
			t.Parallel()
			f := functionOf(t, fewRows())
			before, end := everySort()
			before.load(t, f)
			var mu sync.Mutex
			n := 0
			onUnary(f, func(req any, send func() error) error {
				err := send()
				mu.Lock()
				defer mu.Unlock()
				if err == nil && writes(req) {
					if n++; n == lose {
						return errLost
					}
				}
				return err
			})
			got := f.Run(t, "")
			if n < lose {
				t.Fatalf("%d commits, none was lost", n)
			}
			ended(t, got, sweep.Completed, sweep.Counts{Planned: membersOfEverySort, Done: membersOfEverySort})
			end.is(t, f)
			logged(t, f, starting, removedLine(10, 3, got)) // 1 + 2 + 1 + 1 + 5 rows; one, two and many are free
		})
	}
}

func TestOnePoisonedMember(t *testing.T) {
	t.Parallel()
	f := functionOf(t, fewRows())
	before, end := everySort()
	before.load(t, f)
	poisoned := true
	onUnary(f, func(req any, send func() error) error {
		if poisoned && touches(req, f, "members_products/two-a") {
			return errDenied
		}
		return send()
	})
	got := f.Run(t, "")
	ended(t, got, sweep.Failed, sweep.Counts{Planned: membersOfEverySort, Done: membersOfEverySort - 1, Failed: 1})
	if len(got.Failures) != 1 || got.Failures[0].Target != "members/two" {
		t.Errorf("failures %v", got.Failures)
	}
	end.without("members_status_events/"+eventIDOf(before, "two", "two-a", "two-b")).
		with(world{"members/two": before["members/two"],
			"members_products/two-a": before["members_products/two-a"], "members_products/two-b": before["members_products/two-b"]}).is(t, f)
	logged(t, f, starting, removedLine(8, 2, got))

	poisoned = false
	ended(t, f.Run(t, ""), sweep.Completed, sweep.Counts{Planned: 1, Done: 1})
	end.is(t, f)
}

// commitSize returns how many writes a commit has.
func commitSize(req any) int {
	commit, _ := req.(*firestorepb.CommitRequest)
	return len(commit.GetWrites())
}
