package documents_test

import (
	"context"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/documents/wire"
)

// telling returns a writer of a project, and the writes that it reported. disturb may answer the n-th commit itself.
func telling(
	t *testing.T, p *backendstest.Project, disturb func(n int, send func() error) error,
) (documents.Writer, *[]documents.Written) {
	t.Helper()
	var n atomic.Int32
	_, c, _ := open(t, p, wire.Around(func(_ context.Context, full string, _, _ any, send func() error) error {
		if path.Base(full) != "Commit" {
			return send()
		}
		return disturb(int(n.Add(1)), send)
	}))
	told := &[]documents.Written{}
	w := c.Writer(free{})
	w.Written = func(_ context.Context, writes []documents.Written) { *told = append(*told, writes...) }
	return w, told
}

func TestTransactionsTellWhatTheyWrote(t *testing.T) {
	t.Parallel()
	lost := status.Error(codes.Unavailable, "the connection broke")
	fails := func(err error) func(int, func() error) error { // the first request, before it is sent
		return func(n int, send func() error) error {
			if n == 1 {
				return err
			}
			return send()
		}
	}
	undisturbed := func(_ int, send func() error) error { return send() }
	losesAnswer := func(n int, send func() error) error {
		if err := send(); err != nil || n > 1 {
			return err
		}
		return lost
	}
	all := []documents.Written{{Op: "create", Path: "things/new"}, {Op: "set", Path: "things/set"},
		{Op: "update", Path: "things/old"}, {Op: "delete", Path: "things/gone"}}
	unsure := slices.Clone(all)
	for i := range unsure {
		unsure[i].Unsure = true
	}
	for name, tt := range map[string]struct {
		disturb func(n int, send func() error) error
		again   bool // the transaction writes once more when it finds that an earlier attempt took effect
		sure    bool // it says that it found that
		fails   bool
		want    []documents.Written
	}{
		"undisturbed":                                     {undisturbed, false, false, false, all},
		"failed before it was sent":                       {fails(lost), false, false, false, all},
		"lost against another writer":                     {fails(status.Error(codes.Aborted, "contention")), false, false, false, all},
		"its answer was lost":                             {losesAnswer, false, false, false, unsure},
		"its answer was lost, and it finds what it wrote": {losesAnswer, false, true, false, all},
		"its answer was lost and it wrote once more":      {losesAnswer, true, false, false, []documents.Written{all[1], unsure[0], unsure[2], unsure[3]}},
		"refused": {fails(status.Error(codes.PermissionDenied, "no")), false, false, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := backendstest.Start(t)
			p.Set(t, "things/old", map[string]any{"n": 1})
			p.Set(t, "things/gone", map[string]any{"n": 1})
			w, told := telling(t, p, tt.disturb)
			err := transact(t.Context(), w, func(tx *documents.Transaction) error {
				_, found, err := get(tx, "things/new")
				if err != nil {
					return err
				}
				if found {
					if tt.sure {
						tx.TookEffect()
					}
					if tt.again {
						return tx.Apply(write(documents.Set, "things/set", map[string]any{"n": 2}))
					}
					return nil
				}
				return tx.Apply(write(documents.Create, "things/new", map[string]any{"n": 1}), write(documents.Set, "things/set", map[string]any{"n": 1}),
					write(documents.Update, "things/old", map[string]any{"n": 2}), write(documents.Delete, "things/gone", nil))
			})
			if (err != nil) != tt.fails {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, *told, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
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
		w, told := telling(t, p, func(n int, send func() error) error {
			if requests = n; n == 1 && tt.disturb != nil {
				return tt.disturb(send)
			}
			return send()
		})
		err := w.Put(t.Context(), tt.writes)
		if (err == nil) != (tt.fails == "") || err != nil && !strings.Contains(err.Error(), tt.fails) {
			t.Errorf("%s: %v, want %q", name, err, tt.fails)
		}
		if requests != tt.requests || len(*told) > 0 {
			t.Errorf("%s: %d requests, want %d; told of %v", name, requests, tt.requests, *told)
		}
		same(t, name+": documents", tt.want, p.Documents(t, "things"))
	}
}
