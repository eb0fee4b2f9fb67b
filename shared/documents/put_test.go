package documents_test

import (
	"context"
	"path"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/documents/wire"
)

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
			if (err != nil) != tt.fails || unsure != tt.unsure || at.IsZero() != tt.fails {
				t.Errorf("at %s, unsure %t, %v", at, unsure, err)
			}
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
		if requests != tt.requests {
			t.Errorf("%s: %d requests, want %d", name, requests, tt.requests)
		}
		same(t, name+": documents", tt.want, p.Documents(t, "things"))
	}
}
