package engine_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// TestNotDue counts on a collection whose queries firestore.indexes.json covers.
func TestNotDue(t *testing.T) {
	reviewed := documents.Filter{Field: "status", Op: "==", Value: "reviewed"}
	among := documents.Query{Collection: "reports"}
	due := documents.Query{
		Collection: "reports", Where: []documents.Filter{reviewed, {Field: "createdAt", Op: "<", Value: start}}, OrderBy: []string{"createdAt"},
	}
	since := due
	since.Where = append([]documents.Filter{{Field: "createdAt", Op: ">=", Value: documents.Earliest}}, due.Where...)
	ofReviewed := among
	ofReviewed.Where = []documents.Filter{reviewed}
	two := map[string]map[string]any{
		"due": {"status": "reviewed", "createdAt": start.Add(-time.Microsecond)}, "at": {"status": "reviewed", "createdAt": start},
	}
	all := map[string]map[string]any{
		"due1": {"status": "reviewed", "createdAt": start.Add(-time.Microsecond)},
		"due2": {"status": "reviewed", "createdAt": start.AddDate(-1, 0, 0)}, "due3": {"status": "reviewed", "createdAt": start.AddDate(-2, 0, 0)},
		"at": {"status": "reviewed", "createdAt": start}, "after": {"status": "reviewed", "createdAt": start.AddDate(1, 0, 0)},
		"text": {"status": "reviewed", "createdAt": "2020"}, "null": {"status": "reviewed", "createdAt": nil}, "undated": {"status": "reviewed"},
		"early": {"status": "reviewed", "createdAt": time.Unix(0, 0)},
		"open":  {"status": "open", "createdAt": start.AddDate(-1, 0, 0)}, "odd": {"status": 1, "createdAt": "2020"},
		"no status": {"createdAt": start.AddDate(-1, 0, 0)}, "null status": {"status": nil},
	}
	undated := []string{"reports/null", "reports/text", "reports/undated"}
	for name, tt := range map[string]struct {
		count   cleanup.NotDue
		data    map[string]map[string]any
		scanned int
		kept    map[string]int
		named   []string
		reads   int // the counts, at either end of the index, and among all
	}{
		"nothing there":    {cleanup.NotDue{All: among, Due: due}, nil, 0, map[string]int{}, nil, 4},
		"all are usable":   {cleanup.NotDue{All: among, Due: due}, two, 1, map[string]int{"not due": 1}, nil, 4},
		"early ones, too":  {cleanup.NotDue{All: among, Due: due}, all, 9, map[string]int{"not due": 6, "no usable age": 3}, undated, 4 + 1 + 1 + 9},
		"early ones apart": {cleanup.NotDue{All: among, Due: since}, all, 10, map[string]int{"not due": 6, "no usable age": 4}, append(undated, "reports/early"), 4 + 1 + 1 + 9},
		"of some":          {cleanup.NotDue{All: ofReviewed, Due: due}, all, 5, map[string]int{"not due": 2, "no usable age": 3}, undated, 3 + 1 + 1 + 9},
		"null says never":  {cleanup.NotDue{All: among, Due: due, Null: "never"}, all, 9, map[string]int{"not due": 6, "no usable age": 2, "never": 1}, undated[1:], 5 + 1 + 1 + 9},
		"may be unset":     {cleanup.NotDue{All: among, Due: due, Unset: true}, all, 9, map[string]int{"not due": 6, "no usable age": 3}, undated[1:2], 4 + 1 + 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := countsOf(t, tt.count)
			for id, data := range tt.data {
				f.Set(t, "reports/"+id, data)
			}
			got := f.Run(t, "")
			enginetest.Want(t, "kept", tt.kept, got.Kept)
			enginetest.Want(t, "status", report.Completed, got.Status)
			enginetest.Want(t, "scanned", tt.scanned, got.Scanned)
			enginetest.Want(t, "reads", int64(3+tt.reads), got.Usage.FirestoreReads) // the lease, and what is for all jobs
			named, _ := namedIn(t, f, "reports")
			want := map[string]bool{}
			for _, name := range tt.named {
				want[name] = true
			}
			enginetest.Want(t, "named", want, named)
		})
	}
}

// dated describes documents whose only condition is their age.
func dated(collection string) cleanup.NotDue {
	return cleanup.NotDue{
		All: documents.Query{Collection: collection},
		Due: documents.Query{Collection: collection, Where: []documents.Filter{{Field: "at", Op: "<", Value: start}}, OrderBy: []string{"at"}},
	}
}

// countsOf is a job that counts.
func countsOf(t *testing.T, counts ...cleanup.NotDue) *enginetest.Function {
	t.Helper()
	return newFunction(t, cleanup.Job{Name: "testJob", Plan: func(ctx context.Context, p *cleanup.Planner) error {
		for _, c := range counts {
			p.CountNotDue(ctx, c)
		}
		return nil
	}})
}

// namedIn returns the documents of a collection that warnings name, and the messages of those that say how many there are of them, or
// why they could not all be named.
func namedIn(t *testing.T, f *enginetest.Function, collection string) (named map[string]bool, said []string) {
	t.Helper()
	named = map[string]bool{}
	for _, line := range f.LogLines(t) {
		if line["severity"] != "WARNING" {
			continue
		}
		if line["target"] == collection || line["in"] == collection {
			said = append(said, line["message"].(string))
		}
		targets, _ := line["targets"].([]any)
		for _, target := range targets {
			if strings.HasPrefix(target.(string), collection+"/") {
				named[target.(string)] = true
			}
		}
	}
	return named, said
}

// TestAgesOfOtherForms: what lies outside of the numbers or texts that a query asks for has no usable age.
func TestAgesOfOtherForms(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ least, below, due, young, early, other any }{
		"numbers": {int64(100), 200.0, 150, 250, 50, "150"}, "texts": {"1971", "2020", "2019-01-01", "2021-01-01", "1970-01-01", 2019},
	} {
		c := dated("things")
		c.Due.Where = []documents.Filter{{Field: "at", Op: ">=", Value: tt.least}, {Field: "at", Op: "<", Value: tt.below}}
		f := countsOf(t, c)
		for id, at := range map[string]any{"due": tt.due, "young": tt.young, "early": tt.early, "other": tt.other, "time": start, "list": []any{tt.due}} {
			f.Set(t, "things/"+id, map[string]any{"at": at})
		}
		enginetest.Want(t, name, map[string]int{"not due": 1, "no usable age": 4}, f.Run(t, "").Kept)
		named, _ := namedIn(t, f, "things")
		enginetest.Want(t, name+": named", map[string]bool{"things/early": true, "things/other": true, "things/time": true, "things/list": true}, named)
	}
}

// TestUndatedAreNamedWithinBounds: twenty are named; and where a document lacks its age among very many that have one, the
// log says how many lack it.
func TestUndatedAreNamedWithinBounds(t *testing.T) {
	t.Parallel()
	f := countsOf(t, dated("things"))
	f.SetMany(t, 30, func(i int) (string, map[string]any) { return fmt.Sprintf("things/t%02d", i), map[string]any{"n": i} })
	enginetest.Want(t, "kept", map[string]int{"no usable age": 30}, f.Run(t, "").Kept)
	if named, said := namedIn(t, f, "things"); len(named) != 20 || len(said) != 1 || !strings.HasSuffix(said[0], " and 13 more: kept, no usable at") {
		t.Errorf("named %v; said %v; want 20 names of 30 in one line", named, said)
	}
	f = countsOf(t, dated("others"))
	const many = 600
	f.SetAlike(t, many, "others/o%04d", map[string]any{"at": start})
	f.Set(t, "others/p", map[string]any{"n": 1}) // behind all that are looked at
	got := f.Run(t, "")
	enginetest.Want(t, "kept", map[string]int{"not due": many, "no usable age": 1}, got.Kept)
	named, said := namedIn(t, f, "others")
	enginetest.Want(t, "named", 0, len(named))
	enginetest.Want(t, "said", []string{"1 of others: kept, no usable at"}, said)
	// The lease, and what is for all jobs; three counts of one each; an empty end of the index, and the other.
	enginetest.Want(t, "reads", int64(3+3+2+500), got.Usage.FirestoreReads)
}

// TestFiguresThatCannotBeCountedFailNothing: one attempt each, and the report says so.
func TestFiguresThatCannotBeCountedFailNothing(t *testing.T) {
	t.Parallel()
	whole := thingsJob(10)
	f := newFunction(t, cleanup.Job{Name: "testJob", Plan: func(ctx context.Context, p *cleanup.Planner) error {
		p.CountNotDue(ctx, dated("things"))
		p.CountNotDue(ctx, dated("things"))
		p.CountNotDue(ctx, dated("no/collection"))
		return whole.Plan(ctx, p)
	}})
	seed(t, f, 2)
	onCalls(f, "RunAggregationQuery", func(int) error { return status.Error(codes.DeadlineExceeded, "it took too long") })
	got := f.Run(t, "")
	enginetest.Want(t, "status", report.Completed, got.Status)
	enginetest.Want(t, "delete thing done", 2, got.Actions["delete thing"].Done)
	enginetest.Want(t, "kept", 0, len(got.Kept))
	enginetest.Want(t, "not counted", []string{"things", "no/collection"}, got.NotCounted)
	enginetest.Want(t, "counts sent, one attempt each", 2*3, f.Request.Count("RunAggregationQuery"))
	has(t, f.Summaries(t)[0]["message"].(string), "not counted: things, no/collection")
	_, said := namedIn(t, f, "things")
	if len(said) != 2 || !strings.Contains(said[0], "could not be counted") {
		t.Errorf("said %v", said)
	}
}

// TestCountsDoNotKeepTheRunWaiting: they are all under way, and the page is read, before any of them is answered.
func TestCountsDoNotKeepTheRunWaiting(t *testing.T) {
	t.Parallel()
	f := newFunction(t, cleanup.Job{Name: "testJob", Plan: func(ctx context.Context, p *cleanup.Planner) error {
		c := dated("things")
		c.Unset = true
		p.CountNotDue(ctx, c)
		return thingsJob(10).Plan(ctx, p)
	}})
	seed(t, f, 2)
	var begun sync.WaitGroup
	begun.Add(3 + 1)
	onCalls(f, "RunAggregationQuery", func(int) error {
		begun.Done()
		begun.Wait()
		return nil
	})
	onCalls(f, "RunQuery", func(n int) error {
		if n == 1 { // more of them name what has no date
			begun.Done()
		}
		return nil
	})
	got := f.Run(t, "")
	enginetest.WantReport(t, got, report.Completed, enginetest.Done("delete thing", 2))
	enginetest.Want(t, "kept", map[string]int{"no usable age": 2}, got.Kept) // by the count, which does not know what the job does
}

// TestCountsEndBeforeAnythingIsApplied, for what is deleted would be missing in some of them.
func TestCountsEndBeforeAnythingIsApplied(t *testing.T) {
	t.Parallel()
	planned, counted := make(chan struct{}), new(atomic.Int32)
	f := newFunction(t, cleanup.Job{Name: "testJob", Plan: func(ctx context.Context, p *cleanup.Planner) error {
		p.CountNotDue(ctx, dated("others"))
		defer close(planned)
		return thingsJob(10).Plan(ctx, p)
	}})
	onCalls(f, "RunAggregationQuery", func(int) error {
		<-planned
		counted.Add(1)
		return nil
	})
	f.Hooks.BeforeApply = func() {
		enginetest.Want(t, "counts that were made before the plan was applied", int32(3), counted.Load())
	}
	seed(t, f, 2)
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("delete thing", 2))
}
