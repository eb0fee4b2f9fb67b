package documents_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/documents/wire"
	"github.com/firesweep/firesweep/shared/usage"
)

// open opens the project's database and meters what is done under the returned context.
func open(t *testing.T, p *backendstest.Project, dial ...grpc.DialOption) (context.Context, *documents.Client, *usage.Meter) {
	t.Helper()
	c, err := documents.Open(t.Context(), documents.Database{
		Project: p.ID, ID: "(default)", EmulatorHost: p.Environment["FIRESTORE_EMULATOR_HOST"]}, dial...)
	ok(t, err)
	t.Cleanup(func() { ok(t, c.Close()) })
	m := new(usage.Meter)
	return usage.NewContext(t.Context(), m), c, m
}

var (
	ok   = check.OK
	same = check.Same
)

func collect(ctx context.Context, t *testing.T, r documents.Reader, q documents.Query, from documents.Cursor) [][]string {
	t.Helper()
	var pages [][]string
	for page, err := range r.Pages(ctx, q, from) {
		ok(t, err)
		var ids []string
		for _, d := range page.Documents {
			ids = append(ids, d.ID())
		}
		pages = append(pages, ids)
	}
	return pages
}

func TestPages(t *testing.T) {
	p := backendstest.Start(t)
	for i := range 5 {
		p.Set(t, fmt.Sprintf("things/t%d", i), map[string]any{"n": i / 2, "other": "x"})
	}
	p.Set(t, "things/none", map[string]any{"other": "x"})
	for _, id := range []string{"__id10__", "__id7__", "__id-7__", "a"} {
		p.Set(t, "imported/"+id, map[string]any{"n": 1})
	}
	ctx, c, m := open(t, p)
	tests := []struct {
		name  string
		query documents.Query
		want  [][]string
		reads int64
	}{
		{"by name", documents.Query{Collection: "things", PageSize: 4}, [][]string{{"none", "t0", "t1", "t2"}, {"t3", "t4"}}, 6},
		{"by field, which leaves out documents without it", documents.Query{Collection: "things", OrderBy: []string{"n"}, PageSize: 2, Select: []string{"other"}},
			// order and name are two ranges: a read for the index entries of each page
			[][]string{{"t0", "t1"}, {"t2", "t3"}, {"t4"}}, 5 + 3},
		{"a last page that is full costs a query more", documents.Query{Collection: "things", OrderBy: []string{"n"}, PageSize: 5}, [][]string{{"t0", "t1", "t2", "t3", "t4"}}, 5 + 1 + 1},
		{"filtered", documents.Query{Collection: "things", Where: []documents.Filter{{Field: "n", Op: "==", Value: 1}}}, [][]string{{"t2", "t3"}}, 2},
		{"Datastore's numbers", documents.Query{Collection: "imported", PageSize: 1}, [][]string{{"__id-7__"}, {"__id7__"}, {"__id10__"}, {"a"}}, 5},
		{"none", documents.Query{Collection: "nothing"}, nil, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := m.Usage().FirestoreReads
			pages := collect(ctx, t, c.Reader(), tt.query, "")
			same(t, "pages", tt.want, pages)
			same(t, "reads", tt.reads, m.Usage().FirestoreReads-before)
		})
	}
}

// TestCursorOfEveryType continues behind each document of an order that mixes types and has ties.
func TestCursorOfEveryType(t *testing.T) {
	p := backendstest.Start(t)
	at := time.Date(2026, 1, 1, 0, 0, 0, 123456000, time.UTC)
	var ids []string
	// In Firestore's order of types.
	for i, v := range []any{nil, nil, false, true, int64(-1), 1.5, int64(2), at, at, at.Add(time.Microsecond), "", `"}]`, "a\u0000b",
		"é", "日本語🙂"} {
		id := fmt.Sprintf("d%02d", i)
		ids = append(ids, id)
		p.Set(t, "things/"+id, map[string]any{"v": v})
	}
	ctx, c, _ := open(t, p)
	q := documents.Query{Collection: "things", OrderBy: []string{"v"}, PageSize: 1}
	var walked []string
	var cursor documents.Cursor
	for range ids {
		q.PageSize = 1
		for page, err := range c.Reader().Pages(ctx, q, cursor) {
			ok(t, err)
			walked, cursor = append(walked, page.Documents[0].ID()), page.Next
			break
		}
	}
	same(t, "walked one by one", ids, walked)
	same(t, "behind the last document", [][]string(nil), collect(ctx, t, c.Reader(), q, cursor))
}

func TestWrongCursors(t *testing.T) {
	p := backendstest.Start(t)
	ctx, c, m := open(t, p)
	q := documents.Query{Collection: "things", OrderBy: []string{"n"}}
	for _, cursor := range []documents.Cursor{"x", "{}", "[]", `[{"text":"a"}]`, `[{"int":1},{"text":"a"},{"text":"b"}]`,
		`[{"int":1},{"int":1}]`, `[{"int":1},{"text":""}]`, `[{"int":1},{"text":"a/b"}]`} {
		for _, err := range c.Reader().Pages(ctx, q, cursor) {
			check.Is(t, string(cursor), err, documents.ErrCursor)
		}
	}
	same(t, "what wrong cursors cost", usage.Usage{}, m.Usage())
}

// TestRefusedCursors: Google refuses a cursor beyond what a query asks for; what it refuses without one is another error.
func TestRefusedCursors(t *testing.T) {
	refused := status.Error(codes.InvalidArgument, "cursor position is outside the range of the original query")
	ctx, c, _ := open(t, backendstest.Start(t), wire.Before(func(context.Context, string, any) error { return refused })...)
	for cursor, want := range map[documents.Cursor]bool{`[{"text":"a"}]`: true, "": false} {
		q := documents.Query{Collection: "things"}
		if _, err := c.Reader().First(ctx, q, cursor, 1); err == nil || errors.Is(err, documents.ErrCursor) != want {
			t.Errorf("from %q: %v; an ErrCursor: %t", cursor, err, want)
		}
	}
}

func TestCount(t *testing.T) {
	p := backendstest.Start(t)
	p.SetMany(t, 1001, func(i int) (string, map[string]any) { return fmt.Sprint("things/", i), map[string]any{"n": i} })
	ctx, c, m := open(t, p)
	for _, tt := range []struct {
		where []documents.Filter
		most  int
		want  int
		reads int64
	}{
		{nil, 0, 1001, 2},
		{nil, 1000, 1000, 1},
		{[]documents.Filter{{Field: "n", Op: "<", Value: 1000}}, 0, 1000, 1},
		{[]documents.Filter{{Field: "n", Op: "<", Value: 0}}, 0, 0, 1},
	} {
		before := m.Usage().FirestoreReads
		got, err := c.Reader().Count(ctx, documents.Query{Collection: "things", Where: tt.where}, tt.most)
		same(t, fmt.Sprint("count where ", tt.where), []any{tt.want, nil}, []any{got, err})
		same(t, fmt.Sprintf("reads to count where %v", tt.where), tt.reads, m.Usage().FirestoreReads-before)
	}
}

// TestCountThatFails at first is sent once more, unless that would take as long again.
func TestCountThatFails(t *testing.T) {
	t.Parallel()
	p := backendstest.Start(t)
	p.Set(t, "things/a", map[string]any{"n": 1})
	for code, requests := range map[codes.Code]int{
		codes.Unavailable: 2, codes.ResourceExhausted: 2, codes.PermissionDenied: 1,
		codes.DeadlineExceeded: 1, // more index entries than can be gone through in a minute
	} {
		sent := 0
		ctx, c, _ := open(t, p, wire.Before(func(context.Context, string, any) error {
			if sent++; sent == 1 {
				return status.Error(code, "not yet")
			}
			return nil
		})...)
		n, err := c.Reader().Count(ctx, documents.Query{Collection: "things"}, 0)
		if answered := err == nil && n == 1; sent != requests || answered != (requests > 1) {
			t.Errorf("%s: %d requests, want %d; %d, %v", code, sent, requests, n, err)
		}
	}
}

// TestGet reads one document and many. A missing one costs a read too.
func TestGet(t *testing.T) {
	p := backendstest.Start(t)
	p.Set(t, "things/a", map[string]any{"n": 1})
	p.Set(t, "things/c", map[string]any{"n": 3})
	ctx, c, m := open(t, p)
	r := c.Reader()
	a, found, err := r.Get(ctx, "things/a")
	if err != nil || !found || a.Path != "things/a" || a.Data["n"] != int64(1) || a.UpdateTime.IsZero() {
		t.Errorf("Get = %+v, %v, %v", a, found, err)
	}
	_, found, err = r.Get(ctx, "things/b")
	same(t, "Get of nothing", []any{false, nil}, []any{found, err})
	all, err := r.GetAll(ctx, []string{"things/a", "things/b", "things/c"})
	if err != nil || len(all) != 2 || all["things/a"].Data["n"] != int64(1) || all["things/c"].Data["n"] != int64(3) ||
		all["things/c"].Path != "things/c" || all["things/c"].UpdateTime.IsZero() {
		t.Errorf("GetAll = %+v, %v", all, err)
	}
	none, err := r.GetAll(ctx, nil)
	same(t, "GetAll of nothing", []any{0, nil}, []any{len(none), err})
	same(t, "reads", int64(2+3), m.Usage().FirestoreReads)
	for _, path := range []string{"", "things", "things//b", "things/a/sub"} {
		_, _, err := r.Get(ctx, path)
		check.Fails(t, err)
		_, err = r.GetAll(ctx, []string{"things/a", path})
		check.Fails(t, err)
	}
}

// TestGetOfNoDatabase: a database that does not exist is no document that does not exist. Firestore answers both alike.
func TestGetOfNoDatabase(t *testing.T) {
	p := backendstest.Start(t)
	ctx, c, _ := open(t, p, wire.Before(func(_ context.Context, method string, _ any) error {
		if strings.HasSuffix(method, "Transaction") || strings.HasSuffix(method, "Rollback") {
			return nil
		}
		return status.Error(codes.NotFound, "The database (default) does not exist for project my-app")
	})...)
	_, found, errGet := c.Reader().Get(ctx, "things/a")
	all, errAll := c.Reader().GetAll(ctx, []string{"things/a"})
	missing, errMissing := c.Reader().Missing(ctx, "things", []string{"a"})
	foundThere := false
	errTransaction := transact(ctx, c.Writer(nil), func(tx *documents.Transaction) (err error) {
		_, foundThere, err = get(tx, "things/a")
		return err
	})
	same(t, "found, or found to be missing", []any{false, 0, 0, false}, []any{found, len(all), len(missing), foundThere})
	for of, err := range map[string]error{"Get": errGet, "GetAll": errAll, "Missing": errMissing, "a transaction": errTransaction} {
		same(t, fmt.Sprintf("the error of %s, %v, says why", of, err), true, strings.Contains(fmt.Sprint(err), "does not exist"))
	}
}

// TestGetMany: no request has more names than Firestore takes, and each document is found.
func TestGetMany(t *testing.T) {
	p := backendstest.Start(t)
	p.Set(t, "things/t0000", map[string]any{"n": 1})
	p.Set(t, "things/t4100", map[string]any{"n": 2})
	var most atomic.Int32
	ctx, c, _ := open(t, p, wire.Before(func(_ context.Context, _ string, request any) error {
		if r, ok := request.(*firestorepb.BatchGetDocumentsRequest); ok {
			most.Store(max(most.Load(), int32(len(r.GetDocuments()))))
		}
		return nil
	})...)
	paths := make([]string, 4101)
	for i := range paths {
		paths[i] = fmt.Sprintf("things/t%04d", i)
	}
	found, err := c.Reader().GetAll(ctx, paths)
	same(t, "documents, by requests for up to", []any{2, int32(2000), nil}, []any{len(found), most.Load(), err})
}

type free struct{}

func (free) WaitN(ctx context.Context, _ int) error { return ctx.Err() }

// transact runs f in a transaction.
func transact(ctx context.Context, w documents.Writer, f func(tx *documents.Transaction) error) error {
	_, _, err := w.Transact(ctx, false, func(_ context.Context, tx *documents.Transaction) error { return f(tx) })
	return err
}

func write(op documents.Op, path string, data map[string]any) documents.Write {
	return documents.Write{Op: op, Ref: documents.Document{Path: path}.Ref(), Data: data}
}

// get reads one document in a transaction.
func get(tx *documents.Transaction, path string) (d documents.Document, there bool, err error) {
	found, err := tx.GetAll(context.Background(), []string{path})
	d, there = found[path]
	return d, there, err
}

func TestTransact(t *testing.T) {
	p := backendstest.Start(t)
	p.Set(t, "things/a", map[string]any{"n": 1, "dotted.name": 1, "keep": true})
	ctx, c, m := open(t, p)
	err := transact(ctx, c.Writer(free{}), func(tx *documents.Transaction) error {
		_, found, err := get(tx, "things/none")
		same(t, "Get of nothing", []any{false, nil}, []any{found, err})
		d, _, err := get(tx, "things/a")
		if err != nil {
			return err
		}
		return tx.Apply(
			write(documents.Update, "things/a", map[string]any{"n": d.Data["n"].(int64) + 1, "dotted.name": 2}),
			write(documents.Create, "things/b", map[string]any{"n": 1}), write(documents.Set, "things/c", map[string]any{"n": 1}))
	})
	ok(t, err)
	want := map[string]map[string]any{
		"a": {"n": int64(2), "dotted.name": int64(2), "keep": true}, "b": {"n": int64(1)}, "c": {"n": int64(1)}}
	same(t, "documents", want, p.Documents(t, "things"))
	u := m.Usage()
	same(t, "reads and writes", []int64{2, 3}, []int64{u.FirestoreReads, u.FirestoreWrites})
	refused := errors.New("not what was judged")
	err = transact(ctx, c.Writer(free{}), func(tx *documents.Transaction) error {
		return errors.Join(tx.Apply(write(documents.Set, "things/d", map[string]any{})), refused)
	})
	check.Is(t, "commit", err, refused) // an error of the function must leave everything as it was
	same(t, "things", 3, len(p.Documents(t, "things")))
}

// TestTransactionsTakeTurnsOnEmulators has transactions query one collection and write to it, which on the emulator are
// in each other's way.
func TestTransactionsTakeTurnsOnEmulators(t *testing.T) {
	t.Parallel()
	p := backendstest.Start(t)
	ctx, c, _ := open(t, p)
	const n = 8
	p.SetMany(t, n, func(i int) (string, map[string]any) { return fmt.Sprintf("things/t%d", i), map[string]any{"n": i} })
	var attempts, underWay atomic.Int32
	var all errgroup.Group
	for i := range n {
		all.Go(func() error {
			return transact(ctx, c.Writer(free{}), func(tx *documents.Transaction) error {
				attempts.Add(1)
				same(t, "under way at once", int32(1), underWay.Add(1))
				defer underWay.Add(-1)
				q := documents.Query{Collection: "things", Where: []documents.Filter{{Field: "n", Op: "==", Value: i}}}
				found, err := streamed(tx, q, 2)
				if err != nil || len(found) != 1 {
					return fmt.Errorf("found %v, %w", found, err)
				}
				return tx.Apply(write(documents.Delete, found[0].Path, nil))
			})
		})
	}
	ok(t, all.Wait())
	same(t, "attempts", int32(n), attempts.Load())
	same(t, "documents left", 0, len(p.Documents(t, "things")))
}

// TestOtherDatabase reads and writes another database than (default), for which Google's service demands a header that names it.
// [documents.Open] has that checked on the emulator.
func TestOtherDatabase(t *testing.T) {
	p := backendstest.Start(t)
	p.Set(t, "members/a", map[string]any{"of": "default"})
	_, err := p.FirestoreDatabase(t, "ghost").Doc("members/a").Set(t.Context(), map[string]any{"of": "ghost"})
	ok(t, err)
	c, err := documents.Open(t.Context(),
		documents.Database{Project: p.ID, ID: "ghost", EmulatorHost: p.Environment["FIRESTORE_EMULATOR_HOST"]})
	ok(t, err)
	r, all := c.Reader(), documents.Query{Collection: "members"}
	d, _, errGet := r.Get(t.Context(), "members/a")
	n, errCount := r.Count(t.Context(), all, 0)
	none, errMissing := r.Missing(t.Context(), "members", []string{"a", "b"})
	var streamedIDs int
	errTransact := transact(t.Context(), c.Writer(free{}), func(tx *documents.Transaction) error {
		found, err := streamed(tx, all, 2)
		streamedIDs = len(found)
		return errors.Join(err, tx.Apply(write(documents.Create, "members/new", map[string]any{}), write(documents.Delete, "members/a", nil)))
	})
	ok(t, errors.Join(errGet, errCount, errMissing, errTransact))
	got := fmt.Sprint(d.Data["of"], n, none, streamedIDs, collect(t.Context(), t, r, all, ""), len(p.Documents(t, "members")))
	same(t, "what is read and written", "ghost1 [b] 1 [[new]] 1", got)
	ok(t, c.Close())
}

func TestInstant(t *testing.T) {
	now := time.Date(2026, 1, 10, 18, 0, 0, 1000, time.UTC)
	d := documents.Document{Data: map[string]any{
		"time": now, "null": nil, "text": "2026-01-10T18:00:00Z", "number": now.UnixMilli(), "false": false, "map": map[string]any{"seconds": int64(0)},
		"first": documents.Earliest, "before": documents.Earliest.Add(-time.Microsecond), "epoch": time.Unix(0, 0).UTC(), "zero": time.Time{},
	}}
	for field, want := range map[string]struct{ set, ok bool }{
		"time": {true, true}, "null": {false, true}, "missing": {false, true},
		"first": {true, true}, "before": {false, false}, "epoch": {false, false}, "zero": {false, false},
		"text": {false, false}, "number": {false, false}, "false": {false, false}, "map": {false, false},
	} {
		at, set, ok := d.Instant(field)
		same(t, field+": set, ok", []bool{want.set, want.ok}, []bool{set, ok})
		if set && !at.Equal(now) && field != "first" || !set && !at.IsZero() {
			t.Errorf("%s: %s", field, at)
		}
	}
	_, set, ok := (documents.Document{}).Instant("time")
	same(t, "no data at all: set, ok", []bool{false, true}, []bool{set, ok})
}
