package engine_test

import (
	"context"
	"fmt"
	"slices"
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

// TestCountKept counts on a collection whose queries firestore.indexes.json covers.
func TestCountKept(t *testing.T) {
	due := documents.Query{
		Collection: "reports",
		Where:      []documents.Filter{{Field: "status", Op: "==", Value: "reviewed"}, {Field: "createdAt", Op: "<", Value: start}},
		OrderBy:    []string{"createdAt"},
	}
	count := cleanup.KeptCount{
		Due: due, Eligible: due.Where[:1], Young: documents.Filter{Field: "createdAt", Op: ">=", Value: start},
		KeptOther: "other", KeptYoung: "young", KeptUndated: "undated",
	}
	among, invalid := count, count
	among.Among = []documents.Filter{{Field: "status", Op: "!=", Value: nil}}
	invalid.Invalid = true
	two := map[string]map[string]any{
		"due": {"status": "reviewed", "createdAt": start.Add(-time.Microsecond)}, "at": {"status": "reviewed", "createdAt": start},
	}
	all := map[string]map[string]any{
		"due1": {"status": "reviewed", "createdAt": start.Add(-time.Microsecond)},
		"due2": {"status": "reviewed", "createdAt": start.AddDate(-1, 0, 0)}, "due3": {"status": "reviewed", "createdAt": start.AddDate(-2, 0, 0)},
		"at": {"status": "reviewed", "createdAt": start}, "after": {"status": "reviewed", "createdAt": start.AddDate(1, 0, 0)},
		"text": {"status": "reviewed", "createdAt": "2020"}, "null": {"status": "reviewed", "createdAt": nil}, "undated": {"status": "reviewed"},
		"open": {"status": "open", "createdAt": start.AddDate(-1, 0, 0)}, "odd": {"status": 1},
		"no status": {"createdAt": start.AddDate(-1, 0, 0)}, "null status": {"status": nil},
	}
	// Null lies before all times, a text behind them, and what has no date is found among the eight that are reviewed.
	undated := []string{"reports/null", "reports/text", "reports/undated"}
	for name, tt := range map[string]struct {
		count    cleanup.KeptCount
		data     map[string]map[string]any
		scanned  int
		kept     map[string]int
		warnings int // of what cannot be judged
		named    []string
		reads    int // to name them: at either end of the index, and among all
	}{
		"nothing there":      {count, nil, 0, map[string]int{}, 0, nil, 0},
		"nothing invalid":    {invalid, two, 1, map[string]int{"young": 1}, 0, nil, 0},
		"all":                {count, all, 9, map[string]int{"young": 2, "undated": 3, "other": 4}, 1, undated, 1 + 1 + 8},
		"some":               {among, all, 7, map[string]int{"young": 2, "undated": 3, "other": 2}, 1, undated, 1 + 1 + 8},
		"others are invalid": {invalid, all, 9, map[string]int{"young": 2, "undated": 3, "other": 4}, 2, append([]string{"reports/null status", "reports/odd", "reports/no status"}, undated...), 2 + 1 + 12 + 1 + 1 + 8},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFunction(t, cleanup.Job{Name: "testJob", Plan: func(ctx context.Context, p *cleanup.Planner) error {
				p.CountKept(ctx, tt.count)
				return nil
			}})
			for id, data := range tt.data {
				f.Set(t, "reports/"+id, data)
			}
			got := f.Run(t, "")
			enginetest.Want(t, "kept", tt.kept, got.Kept)
			enginetest.Want(t, "status", report.Completed, got.Status)
			enginetest.Want(t, "scanned", tt.scanned, got.Scanned)
			if want := int64(4 + 1 + tt.reads); got.Usage.FirestoreReads != want { // the counts; the lease
				t.Errorf("%d reads, want %d", got.Usage.FirestoreReads, want)
			}
			named, said := namedIn(t, f, "reports")
			want := map[string]bool{}
			for _, name := range tt.named {
				want[name] = true
			}
			enginetest.Want(t, "named", want, named)
			if len(said) != tt.warnings {
				t.Errorf("%d warnings, want %d", len(said), tt.warnings)
			}
		})
	}
}

// dated describes documents whose only condition is their age.
func dated(collection string) cleanup.KeptCount {
	return cleanup.KeptCount{
		Due:   documents.Query{Collection: collection, Where: []documents.Filter{{Field: "at", Op: "<", Value: start}}, OrderBy: []string{"at"}},
		Young: documents.Filter{Field: "at", Op: ">=", Value: start}, KeptYoung: "young", KeptUndated: "undated",
	}
}

func countsOf(t *testing.T, counts ...cleanup.KeptCount) *enginetest.Function {
	t.Helper()
	return newFunction(t, cleanup.Job{Name: "testJob", Plan: func(ctx context.Context, p *cleanup.Planner) error {
		for _, c := range counts {
			p.CountKept(ctx, c)
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

func TestCountKeptWhereAgeIsTheOnlyCondition(t *testing.T) {
	t.Parallel()
	withNull, limited := dated("things"), dated("things")
	withNull.KeptNull = "endless"
	limited.KeptLater, limited.Judged = "later", 1
	for name, tt := range map[string]struct {
		count   cleanup.KeptCount
		scanned int
		kept    map[string]int
		named   []string
	}{
		"null is no age":            {dated("things"), 4, map[string]int{"young": 1, "undated": 3}, []string{"things/null", "things/number", "things/undated"}},
		"null means no end":         {withNull, 4, map[string]int{"young": 1, "endless": 1, "undated": 2}, []string{"things/number", "things/undated"}},
		"only the first are judged": {limited, 5, map[string]int{"young": 1, "later": 1, "undated": 3}, []string{"things/null", "things/number", "things/undated"}},
	} {
		f := countsOf(t, tt.count)
		for id, at := range map[string]any{"due1": start.AddDate(-1, 0, 0), "due2": start.AddDate(-2, 0, 0), "young": start, "null": nil, "number": 7} {
			f.Set(t, "things/"+id, map[string]any{"at": at})
		}
		f.Set(t, "things/undated", map[string]any{"n": 1})
		got := f.Run(t, "")
		enginetest.Want(t, name+": kept", tt.kept, got.Kept)
		enginetest.Want(t, name+": scanned", tt.scanned, got.Scanned)
		enginetest.Want(t, name+": status", report.Completed, got.Status)
		if got.NotCounted != nil {
			t.Errorf("%s: not counted: %v", name, got.NotCounted)
		}
		named, _ := namedIn(t, f, "things")
		for _, path := range tt.named {
			if !named[path] {
				t.Errorf("%s: %s is not named", name, path)
			}
		}
		if len(named) != len(tt.named) {
			t.Errorf("%s: named %v, want %v", name, named, tt.named)
		}
	}
}

// TestNotDatedYetIsNoFault: where documents get their date later, those without one are counted apart, in no warning, and nothing
// is read to name them. Only values of another type are named.
func TestNotDatedYetIsNoFault(t *testing.T) {
	t.Parallel()
	unset := dated("things")
	unset.KeptUnset = "unset"
	for name, tt := range map[string]struct {
		odd   []any
		kept  map[string]int
		reads int // beside the lease and three counts
	}{
		"none is odd": {nil, map[string]int{"young": 30, "unset": 40}, 2}, // both ends of the index
		"some are":    {[]any{"2020", 7, true, []any{start}}, map[string]int{"young": 30, "unset": 40, "undated": 4}, 4},
		"many are":    {slices.Repeat([]any{"2020"}, 25), map[string]int{"young": 30, "unset": 40, "undated": 25}, 1 + 20 + 1},
	} {
		f := countsOf(t, unset)
		f.SetMany(t, 70, func(i int) (string, map[string]any) {
			return fmt.Sprintf("things/t%02d", i), []map[string]any{{"n": 1}, {"at": nil}, {"at": start}}[min(i/20, 2)]
		})
		f.SetMany(t, len(tt.odd), func(i int) (string, map[string]any) {
			return fmt.Sprintf("things/odd%02d", i), map[string]any{"at": tt.odd[i]}
		})
		got := f.Run(t, "")
		enginetest.Want(t, name+": kept", tt.kept, got.Kept)
		enginetest.Want(t, name+": status", report.Completed, got.Status)
		enginetest.Want(t, name+": reads", int64(1+3+tt.reads), got.Usage.FirestoreReads)
		named, said := namedIn(t, f, "things")
		if len(named) != min(20, len(tt.odd)) || len(said) != min(1, len(tt.odd)) {
			t.Errorf("%s: named %v, said %v", name, named, said)
		}
		for path := range named {
			if !strings.HasPrefix(path, "things/odd") {
				t.Errorf("%s: %s is named", name, path)
			}
		}
	}
}

// TestOddValuesAreNamed: no type of value behind the times keeps a document from being named.
func TestOddValuesAreNamed(t *testing.T) {
	t.Parallel()
	f := countsOf(t, dated("things"))
	odd := map[string]any{"text": "2020", "bytes": []byte("2020"), "list": []any{start}, "map": map[string]any{"at": start}, "number": 1.5}
	for id, at := range odd {
		f.Set(t, "things/"+id, map[string]any{"at": at})
	}
	f.Set(t, "things/young", map[string]any{"at": start})
	f.Run(t, "")
	if named, said := namedIn(t, f, "things"); len(named) != len(odd) || named["things/young"] {
		t.Errorf("named %v, want those of %d; said %v", named, len(odd), said)
	}
}

// TestUndatedAreNamedWithinBounds: twenty are named; and where a document lacks its age among very many that have one, the
// log says how many were looked at.
func TestUndatedAreNamedWithinBounds(t *testing.T) {
	t.Parallel()
	f := countsOf(t, dated("things"), dated("others"))
	f.SetMany(t, 30, func(i int) (string, map[string]any) { return fmt.Sprintf("things/t%02d", i), map[string]any{"n": i} })
	const many = 2100
	f.SetMany(t, many, func(i int) (string, map[string]any) {
		return fmt.Sprintf("others/o%04d", i), map[string]any{"at": start}
	})
	f.Set(t, "others/p", map[string]any{"n": 1}) // behind all that are looked at
	got := f.Run(t, "")
	if got.Status != report.Completed || got.Kept["undated"] != 31 {
		t.Fatalf("report %+v", got)
	}
	if named, said := namedIn(t, f, "things"); len(named) != 20 || len(said) != 1 {
		t.Errorf("named %v; said %v; want 20 names and one line for all", named, said)
	}
	named, said := namedIn(t, f, "others")
	enginetest.Want(t, "named", 0, len(named))
	if len(said) != 2 {
		t.Fatalf("said %v, want %d", said, 2)
	}
	has(t, said[0], "0 of 1 are named")
	has(t, said[0], "not among the first 1")
	// The lease; three counts of 1 read each, then three of 3, 3 and 1; both ends of two indexes, of which the first is
	// empty; and at most 2000 to name.
	if reads := got.Usage.FirestoreReads; reads > 1+3+7+4+2000 || reads < 1500 {
		t.Errorf("%d reads", reads)
	}
}

// TestFiguresThatCannotBeCountedFailNothing: one attempt each, and the report says so.
func TestFiguresThatCannotBeCountedFailNothing(t *testing.T) {
	t.Parallel()
	whole := thingsJob(10)
	f := newFunction(t, cleanup.Job{Name: "testJob", Plan: func(ctx context.Context, p *cleanup.Planner) error {
		p.CountKept(ctx, dated("things"))
		p.CountKept(ctx, dated("things"))
		p.CountKept(ctx, cleanup.KeptCount{Due: documents.Query{Collection: "no/collection"}})
		return whole.Plan(ctx, p)
	}})
	seed(t, f, 2)
	f.Hooks.Dial = append(f.Hooks.Dial, streamed("RunAggregationQuery", func(int) error { return status.Error(codes.DeadlineExceeded, "it took too long") }))
	got := f.Run(t, "")
	enginetest.Want(t, "status", report.Completed, got.Status)
	enginetest.Want(t, "delete thing done", 2, got.Actions["delete thing"].Done)
	enginetest.Want(t, "kept", 0, len(got.Kept))
	enginetest.Want(t, "not counted", []string{"things", "no/collection"}, got.NotCounted)
	if n := f.Request.Count("RunAggregationQuery"); n != 2*3 {
		t.Errorf("%d counts sent, want one attempt each", n)
	}
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
		p.CountKept(ctx, dated("things"))
		return thingsJob(10).Plan(ctx, p)
	}})
	seed(t, f, 2)
	var begun sync.WaitGroup
	begun.Add(3 + 1)
	f.Hooks.Dial = append(f.Hooks.Dial,
		streamed("RunAggregationQuery", func(int) error {
			begun.Done()
			begun.Wait()
			return nil
		}),
		streamed("RunQuery", func(n int) error {
			if n == 1 { // more of them name what has no date
				begun.Done()
			}
			return nil
		}))
	got := f.Run(t, "")
	enginetest.WantReport(t, got, report.Completed, enginetest.Done("delete thing", 2))
	enginetest.Want(t, "kept", map[string]int{"undated": 2}, got.Kept) // by the count, which does not know what the job does
}

// TestCountsEndBeforeAnythingIsApplied, for what is deleted would be missing in some of them. A forced run applies while it
// plans.
func TestCountsEndBeforeAnythingIsApplied(t *testing.T) {
	t.Parallel()
	almostAll, counted := make(chan struct{}), new(atomic.Int32)
	f := newFunction(t, cleanup.Job{Name: "testJob", Plan: func(ctx context.Context, p *cleanup.Planner) error {
		p.CountKept(ctx, dated("things"))
		if err := many(0, 9_999)(ctx, p); err != nil {
			return err
		}
		close(almostAll)
		return many(9_999, 2)(ctx, p)
	}})
	f.Hooks.Dial = append(f.Hooks.Dial, streamed("RunAggregationQuery", func(int) error {
		<-almostAll
		counted.Add(1)
		return nil
	}))
	f.Hooks.BeforeApply = func() {
		if n := counted.Load(); n != 3 {
			t.Errorf("%d counts were made before a window was applied, want all 3", n)
		}
	}
	enginetest.WantReport(t, f.Run(t, `{"force":true}`), report.Completed, map[string]report.Counts{"delete thing": {Planned: 10_001, Changed: 10_001}})
}
