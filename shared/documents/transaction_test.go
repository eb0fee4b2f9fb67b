package documents_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/documents/retry"
	"github.com/firesweep/firesweep/shared/documents/wire"
)

func TestStream(t *testing.T) {
	p := backendstest.Start(t)
	p.SetMany(t, 50, func(i int) (string, map[string]any) { return fmt.Sprintf("things/t%02d", i), map[string]any{"n": i} })
	ctx, c, m := open(t, p)
	w := c.Writer(documents.NewPace())
	all := documents.Query{Collection: "things"}
	var ids []string
	var cursor documents.Cursor
	for range 4 {
		var got []string
		err := transact(ctx, w, func(tx *documents.Transaction) error {
			got = nil
			for d, err := range tx.Stream(ctx, all, cursor, 25) {
				if err != nil {
					return err
				}
				if cursor, err = all.After(d); err != nil {
					return err
				}
				if got = append(got, d.ID()); len(got) == 20 {
					break
				}
			}
			if len(got) == 0 {
				return nil
			}
			return tx.Apply(write(documents.Delete, "things/"+got[0], nil)) // a stream broken off does not end the transaction
		})
		ok(t, err)
		ids = append(ids, got...)
	}
	var all50, left []string
	for i := range 50 {
		id := fmt.Sprintf("t%02d", i)
		if all50 = append(all50, id); i%20 > 0 {
			left = append(left, id)
		}
	}
	same(t, "streamed", all50, ids)
	same(t, "left", left, slices.Sorted(maps.Keys(p.Documents(t, "things"))))
	same(t, "reads", int64(25+25+10+1), m.Usage().FirestoreReads)
}

// counted is a pace that counts the writes and never waits.
type counted struct{ waits []int }

// Wait implements documents.Pace.
func (p *counted) WaitN(ctx context.Context, n int) error {
	p.waits = append(p.waits, n)
	return ctx.Err()
}

func TestWait(t *testing.T) {
	p := backendstest.Start(t)
	ctx, c, _ := open(t, p)
	for n, want := range map[int][]int{0: nil, 1: {1}, 200: {200}, 450: {200, 200, 50}} {
		pace := &counted{}
		err := c.Writer(pace).Wait(ctx, n)
		same(t, fmt.Sprint("waited for ", n), []any{want, nil}, []any{pace.waits, err})
	}
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	check.Is(t, "canceled", c.Writer(&counted{}).Wait(ctx, 1), context.Canceled)
}

// streamed returns the first documents that a query matches in a transaction, at most limit.
func streamed(tx *documents.Transaction, q documents.Query, limit int) (found []documents.Document, err error) {
	for d, err := range tx.Stream(context.Background(), q, "", limit) {
		if err != nil {
			return found, err
		}
		found = append(found, d)
	}
	return found, nil
}

// TestAtMost: what is more than a transaction wants to hold is no answer; what just fits is one.
func TestAtMost(t *testing.T) {
	t.Parallel()
	p := backendstest.Start(t)
	sent := 0
	ctx, c, _ := open(t, p, wire.After(func(_ string, answer any, err error) error {
		if r, ok := answer.(*firestorepb.BatchGetDocumentsResponse); ok && err == nil {
			sent += proto.Size(r.GetFound())
		}
		return err
	})...)
	paths := []string{"things/none"}
	for i := range 20 {
		paths = append(paths, fmt.Sprintf("things/t%02d", i))
		p.Set(t, paths[i+1], map[string]any{"text": strings.Repeat("x", 10_000)})
	}
	read := func(most int) (n int, err error) {
		sent = 0
		ctx := documents.AtMost(ctx, most)
		_, _, err = c.Writer(free{}).Transact(ctx, true, func(ctx context.Context, tx *documents.Transaction) error {
			all, err := tx.GetAll(ctx, paths)
			for _, d := range all {
				n += len(d.Data["text"].(string))
			}
			return err
		})
		return n, err
	}
	n, err := read(1 << 20)
	same(t, "bytes", []any{200_000, nil}, []any{n, err})
	whole := sent
	n, err = read(whole)
	same(t, "as many bytes as there are", []any{200_000, nil}, []any{n, err})
	n, err = read(whole - 1)
	same(t, "one byte less", 0, n)
	check.Is(t, "one byte less", err, documents.ErrTooMuch)
	all, err := c.Reader().GetAll(ctx, paths)
	same(t, "afterwards", []any{20, nil}, []any{len(all), err})
}

// TestCommit makes all writes or none, each on its own condition, at the pace, and sends nothing twice.
func TestCommit(t *testing.T) {
	t.Parallel()
	p := backendstest.Start(t)
	sent := 0
	ctx, c, meter := open(t, p, wire.Around(func(_ context.Context, _ string, req, _ any, send func() error) error {
		err := send()
		if _, ok := req.(*firestorepb.CommitRequest); ok {
			if sent++; sent == 3 {
				return status.Error(codes.Unavailable, "the connection broke")
			}
		}
		return err
	}))
	pace := &counted{}
	w := c.Writer(pace)
	commit := func(ids ...string) error {
		var writes []*firestorepb.Write
		for _, id := range ids {
			writes = append(writes, &firestorepb.Write{
				Operation:       &firestorepb.Write_Update{Update: &firestorepb.Document{Name: w.Name("things/" + id)}},
				CurrentDocument: &firestorepb.Precondition{ConditionType: &firestorepb.Precondition_Exists{Exists: false}},
			})
		}
		return w.Commit(ctx, writes)
	}
	ok(t, commit("a", "b"))
	check.Is(t, "one is there", commit("c", "a"), documents.ErrChanged)
	if err := commit("d"); !retry.Transient(err) {
		t.Errorf("the answer is lost: %v", err)
	}
	same(t, "documents, requests, writes that are billed", []int{3, 3, 2},
		[]int{len(p.Documents(t, "things")), sent, int(meter.Usage().FirestoreWrites)})
	same(t, "waited for", []int{2, 2, 1}, pace.waits)
}

// TestReadTime: each document says when it was read, by Firestore's clock, and so does one that is not there.
func TestReadTime(t *testing.T) {
	t.Parallel()
	p := backendstest.Start(t)
	ctx, c, _ := open(t, p)
	p.Set(t, "things/a", map[string]any{"n": 1})
	r := c.Reader()
	a, _, errA := r.Get(ctx, "things/a")
	none, found, errNone := r.Get(ctx, "things/none")
	all, errAll := r.GetAll(ctx, []string{"things/a"})
	first, errFirst := r.First(ctx, documents.Query{Collection: "things"}, "", 1)
	ok(t, errors.Join(errA, errNone, errAll, errFirst))
	same(t, "nothing found, first, all", "false 1 1", fmt.Sprint(found, len(first), len(all)))
	last := a.UpdateTime
	for _, d := range slices.Concat([]documents.Document{a, none}, slices.Collect(maps.Values(all)), first) {
		if d.ReadTime.Before(last) || d.ReadTime.Sub(last) > time.Hour {
			t.Errorf("%q was read at %s, after %s", d.Path, d.ReadTime, last)
		}
		last = d.ReadTime
	}
}

// disturbed returns a writer of a project. disturb may answer the n-th commit itself.
func disturbed(t *testing.T, p *backendstest.Project, disturb func(n int, send func() error) error) documents.Writer {
	t.Helper()
	var n atomic.Int32
	_, c, _ := open(t, p, wire.Around(func(_ context.Context, full string, _, _ any, send func() error) error {
		if path.Base(full) != "Commit" {
			return send()
		}
		return disturb(int(n.Add(1)), send)
	}))
	return c.Writer(free{})
}

// TestTransactionsOfUnsureEnd: only a commit that was sent, whose answer was lost and after which none succeeded may have taken effect.
func TestTransactionsOfUnsureEnd(t *testing.T) {
	t.Parallel()
	lost, denied := status.Error(codes.Unavailable, "the connection broke"), status.Error(codes.PermissionDenied, "no")
	for name, tt := range map[string]struct {
		answers []error // to the first commits, which take effect
		again   error   // of what is read in later attempts
		fails   bool
		unsure  bool
	}{
		"undisturbed":                     {},
		"its answer was lost":             {answers: []error{lost}},
		"refused":                         {answers: []error{denied}, fails: true},
		"lost against another writer":     {answers: []error{status.Error(codes.Aborted, "contention"), denied}, fails: true},
		"refused after a lost answer":     {answers: []error{lost, denied}, fails: true, unsure: true},
		"not made after a lost answer":    {answers: []error{lost}, again: denied, fails: true, unsure: true},
		"not made after another's commit": {answers: []error{status.Error(codes.Aborted, "contention")}, again: denied, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := backendstest.Start(t)
			w := disturbed(t, p, func(n int, send func() error) error {
				if n > len(tt.answers) {
					return send()
				}
				if status.Code(tt.answers[n-1]) == codes.Unavailable {
					_ = send() // nobody is told
				}
				return tt.answers[n-1]
			})
			attempts := 0
			at, unsure, err := w.Transact(t.Context(), false, func(_ context.Context, tx *documents.Transaction) error {
				if attempts++; attempts > 1 && tt.again != nil {
					return tt.again
				}
				return tx.Apply(write(documents.Set, "things/a", map[string]any{"n": 1}))
			})
			same(t, "fails, is unsure, says no time", []bool{tt.fails, tt.unsure, tt.fails}, []bool{err != nil, unsure, at.IsZero()})
		})
	}
}

// TestPut sets, updates and deletes documents together, in one request, and again if that fails for a while or its answer is lost.
func TestPut(t *testing.T) {
	t.Parallel()
	p := backendstest.Start(t)
	type data = map[string]any
	set, gone := documents.Ref{Collection: "things", ID: "set"}, documents.Ref{Collection: "things", ID: "gone"}
	both := []documents.Write{{Op: documents.Set, Ref: set, Data: data{"n": 2}}, {Op: documents.Delete, Ref: gone}}
	before := map[string]data{"set": {"n": int64(1), "other": "x"}, "gone": {"n": int64(1)}}
	after := map[string]data{"set": {"n": int64(2)}}
	lost := status.Error(codes.Unavailable, "the connection broke")
	for name, tt := range map[string]struct {
		writes   []documents.Write
		disturb  func(send func() error) error // the first request
		requests int
		fails    string
		want     map[string]data
	}{
		"undisturbed":     {both, nil, 1, "", after},
		"not sent":        {both, func(func() error) error { return lost }, 2, "", after},
		"its answer lost": {both, func(send func() error) error { _ = send(); return lost }, 2, "", after},
		"refused":         {both, func(func() error) error { return status.Error(codes.PermissionDenied, "no") }, 1, "no", before},
		"nothing":         {nil, nil, 0, "", before},
		"one is too large": {append([]documents.Write{{Op: documents.Set, Ref: documents.Ref{Collection: "things", ID: "large"}, Data: data{"x": strings.Repeat("x", 1<<20)}}}, both...),
			nil, 1, "InvalidArgument", before},
		"an update": {append(both, documents.Write{Op: documents.Update, Ref: set, Data: data{"other": "y"}}), nil, 1, "",
			map[string]data{"set": {"n": int64(2), "other": "y"}}},
		"an update whose answer is lost": {[]documents.Write{{Op: documents.Update, Ref: set, Data: data{"other": "y"}}},
			func(send func() error) error { _ = send(); return lost }, 2, "",
			map[string]data{"set": {"n": int64(1), "other": "y"}, "gone": {"n": int64(1)}}},
		"a creation":  {append(both, documents.Write{Op: documents.Create, Ref: gone, Data: data{"n": 3}}), nil, 0, "may be repeated", before},
		"not a place": {append(both, documents.Write{Op: documents.Delete, Ref: documents.Ref{Collection: "a/b", ID: "c"}}), nil, 0, "not a document's path", before},
	} {
		p.Reset(t)
		for id, d := range before {
			p.Set(t, "things/"+id, d)
		}
		requests := 0
		w := disturbed(t, p, func(n int, send func() error) error {
			if requests = n; n == 1 && tt.disturb != nil {
				return tt.disturb(send)
			}
			return send()
		})
		err := w.Put(t.Context(), tt.writes)
		if (err == nil) != (tt.fails == "") || err != nil && !strings.Contains(err.Error(), tt.fails) {
			t.Errorf("%s: %v, want %q", name, err, tt.fails)
		}
		same(t, name+": requests", tt.requests, requests)
		same(t, name+": documents", tt.want, p.Documents(t, "things"))
	}
}

// TestExchangeOfWhatIsKnown: a document that an exchange has left need not be read, unless it has changed since.
func TestExchangeOfWhatIsKnown(t *testing.T) {
	t.Parallel()
	p := backendstest.Start(t)
	type data = map[string]any
	for name, tt := range map[string]struct {
		meanwhile func(path string)
		lost      bool // the first answer to the commit
		want      []any
	}{
		"as it was left":    {want: []any{"left"}},
		"a lost answer":     {lost: true, want: []any{"left", "again"}},
		"changed since":     {meanwhile: func(path string) { p.Set(t, path, data{"is": "theirs"}) }, want: []any{"left", "theirs"}},
		"written as it was": {meanwhile: func(path string) { p.Set(t, path, data{"is": "left"}) }, want: []any{"left"}},
		"deleted since":     {meanwhile: func(path string) { p.Delete(t, path) }, want: []any{"left", nil}},
	} {
		t.Run(name, func(t *testing.T) {
			w := disturbed(t, p, func(n int, send func() error) error {
				if err := send(); err != nil || !tt.lost || n != 2 {
					return err
				}
				return status.Error(codes.Unavailable, "the connection broke")
			})
			path := "known/" + name
			at, err := w.Exchange(t.Context(), path, documents.Document{}, func(documents.Document, bool) (fields, also map[string]any, _ error) {
				return data{"is": "left"}, nil, nil
			})
			d, _, getErr := w.Get(t.Context(), path)
			ok(t, errors.Join(err, getErr))
			if at.IsZero() || !at.Equal(d.UpdateTime) {
				t.Fatalf("written at %s, read as of %s", at, d.UpdateTime)
			}
			if tt.meanwhile != nil {
				tt.meanwhile(path)
			}
			var seen []any
			known := documents.Document{Path: path, UpdateTime: at, Data: data{"is": "left"}}
			_, err = w.Exchange(t.Context(), path, known, func(d documents.Document, _ bool) (fields, also map[string]any, _ error) {
				seen = append(seen, d.Data["is"])
				return data{"is": "again"}, nil, nil
			})
			ok(t, err)
			same(t, "seen", tt.want, seen)
			same(t, "in the end", any("again"), p.Documents(t, "known")[name]["is"])
		})
	}
}

// TestExchange adds 1 to a number, while somebody else writes to the document right after it was first read. It writes another
// document along with that, in the same commit, or alone. After a lost answer, the function is called again and is to know its own.
func TestExchange(t *testing.T) {
	t.Parallel()
	p := backendstest.Start(t)
	type data = map[string]any
	lost := status.Error(codes.Unavailable, "the connection broke")
	large := data{"x": strings.Repeat("x", 1<<20)}
	for name, tt := range map[string]struct {
		before, also data
		fields       bool // are written
		meanwhile    data // set by somebody else after the first read; empty: deleted
		lost         bool // the first answer to a commit
		thing, other data // in the end; nil: there is no such document
		calls        int
		fails        bool
	}{
		"a document":              {before: data{"n": 1, "x": 2}, also: data{"a": 1}, fields: true, thing: data{"n": int64(2), "x": int64(2)}, other: data{"a": int64(1)}, calls: 1},
		"no document":             {also: data{"a": 1}, fields: true, thing: data{"n": int64(1)}, other: data{"a": int64(1)}, calls: 1},
		"a lost answer":           {before: data{"n": 1}, also: data{"a": 1}, fields: true, lost: true, thing: data{"n": int64(3)}, other: data{"a": int64(2)}, calls: 2},
		"a lost answer, anew":     {fields: true, lost: true, thing: data{"n": int64(2)}, calls: 2},
		"the same, set anew":      {before: data{"n": 1}, fields: true, meanwhile: data{"n": 1, "at": 2}, thing: data{"n": int64(2), "at": int64(2)}, calls: 2},
		"deleted meanwhile":       {before: data{"n": 1}, fields: true, meanwhile: data{}, thing: data{"n": int64(1)}, calls: 2},
		"changed meanwhile":       {before: data{"n": 1}, also: data{"a": 1}, fields: true, meanwhile: data{"n": 10}, thing: data{"n": int64(11)}, other: data{"a": int64(2)}, calls: 2},
		"made meanwhile":          {also: data{"a": 1}, fields: true, meanwhile: data{"n": 10}, thing: data{"n": int64(11)}, other: data{"a": int64(2)}, calls: 2},
		"alone":                   {before: data{"n": 1}, also: data{"a": 1}, thing: data{"n": int64(1)}, other: data{"a": int64(1)}, calls: 1},
		"alone, lost":             {also: data{"a": 1}, lost: true, other: data{"a": int64(2)}, calls: 2},
		"alone, whatever becomes": {before: data{"n": 1}, also: data{"a": 1}, meanwhile: data{"n": 10}, thing: data{"n": int64(10)}, other: data{"a": int64(1)}, calls: 1},
		"nothing":                 {before: data{"n": 1}, thing: data{"n": int64(1)}, calls: 1},
		"what is refused":         {before: data{"n": 1}, also: large, fields: true, thing: data{"n": int64(1)}, calls: 1, fails: true},
	} {
		p.Reset(t)
		if tt.before != nil {
			p.Set(t, "things/t", tt.before)
		}
		w := disturbed(t, p, func(n int, send func() error) error {
			if err := send(); err != nil || !tt.lost || n > 1 {
				return err
			}
			return lost
		})
		calls := 0
		_, err := w.Exchange(t.Context(), "things/t", documents.Document{}, func(d documents.Document, _ bool) (fields, also map[string]any, err error) {
			switch calls++; {
			case calls > 1 || tt.meanwhile == nil:
			case len(tt.meanwhile) == 0:
				p.Delete(t, "things/t")
			default:
				p.Set(t, "things/t", tt.meanwhile)
			}
			if n, _ := d.Data["n"].(int64); tt.fields {
				fields = data{"n": n + 1}
			}
			if tt.also != nil {
				if also = (data{"others/o": tt.also}); tt.also["a"] != nil {
					also["others/o"] = struct {
						A int `firestore:"a"`
					}{calls}
				}
			}
			return fields, also, nil
		})
		same(t, fmt.Sprint(name, ": it fails: ", err), tt.fails, err != nil)
		same(t, name+": calls", tt.calls, calls)
		same(t, name+": documents", []data{tt.thing, tt.other}, []data{p.Documents(t, "things")["t"], p.Documents(t, "others")["o"]})
	}
	w := disturbed(t, p, func(int, func() error) error {
		t.Error("something was written")
		return nil
	})
	_, err := w.Exchange(t.Context(), "things/t", documents.Document{}, func(documents.Document, bool) (fields, also map[string]any, err error) {
		return data{"n": 1}, data{"others": data{}}, nil
	})
	check.Fails(t, err, "not a document's path")
	no := errors.New("no")
	if _, err := w.Exchange(t.Context(), "things/t", documents.Document{},
		func(documents.Document, bool) (fields, also map[string]any, _ error) { return nil, nil, no }); !errors.Is(err, no) {
		t.Errorf("error %v", err)
	}
}
