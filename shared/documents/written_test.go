package documents_test

import (
	"context"
	"errors"
	"path"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/documents/wire"
)

// telling returns a writer of a project, and the writes that it reported. disturb may answer the method's n-th request
// itself.
func telling(t *testing.T, p *backendstest.Project, method string,
	disturb func(n int, send func() error) error) (documents.Writer, *[]documents.Written) {
	t.Helper()
	var n atomic.Int32
	_, c, _ := open(t, p, wire.Around(func(_ context.Context, full string, _, _ any, send func() error) error {
		if path.Base(full) != method {
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
	undisturbed := func(_ int, send func() error) error { return send() }
	for name, tt := range map[string]struct {
		disturb func(n int, send func() error) error
		again   bool // the transaction writes once more when it finds that an earlier attempt took effect
		sure    bool // it says that it found that
		fails   bool
		want    []documents.Written
	}{
		"undisturbed": {undisturbed, false, false, false,
			[]documents.Written{{Op: "create", Path: "things/new"}, {Op: "set", Path: "things/set"},
				{Op: "update", Path: "things/old"}, {Op: "delete", Path: "things/gone"}}},
		"failed before it was sent": {func(n int, send func() error) error {
			if n == 1 {
				return lost
			}
			return send()
		}, false, false, false, []documents.Written{{Op: "create", Path: "things/new"}, {Op: "set", Path: "things/set"},
			{Op: "update", Path: "things/old"}, {Op: "delete", Path: "things/gone"}}},
		"lost against another writer": {func(n int, send func() error) error {
			if n == 1 {
				return status.Error(codes.Aborted, "contention")
			}
			return send()
		}, false, false, false, []documents.Written{{Op: "create", Path: "things/new"}, {Op: "set", Path: "things/set"},
			{Op: "update", Path: "things/old"}, {Op: "delete", Path: "things/gone"}}},
		"its answer was lost": {func(n int, send func() error) error {
			if err := send(); err != nil || n > 1 {
				return err
			}
			return lost
		}, false, false, false, []documents.Written{
			{Op: "create", Path: "things/new", Unsure: true}, {Op: "set", Path: "things/set", Unsure: true},
			{Op: "update", Path: "things/old", Unsure: true}, {Op: "delete", Path: "things/gone", Unsure: true}}},
		"its answer was lost, and it finds what it wrote": {func(n int, send func() error) error {
			if err := send(); err != nil || n > 1 {
				return err
			}
			return lost
		}, false, true, false, []documents.Written{{Op: "create", Path: "things/new"}, {Op: "set", Path: "things/set"},
			{Op: "update", Path: "things/old"}, {Op: "delete", Path: "things/gone"}}},
		"its answer was lost and it wrote once more": {func(n int, send func() error) error {
			if err := send(); err != nil || n > 1 {
				return err
			}
			return lost
		}, true, false, false, []documents.Written{
			{Op: "set", Path: "things/set"},
			{Op: "create", Path: "things/new", Unsure: true},
			{Op: "update", Path: "things/old", Unsure: true}, {Op: "delete", Path: "things/gone", Unsure: true}}},
		"refused": {func(int, func() error) error { return status.Error(codes.PermissionDenied, "no") }, false, false, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := backendstest.Start(t)
			p.Set(t, "things/old", map[string]any{"n": 1})
			p.Set(t, "things/gone", map[string]any{"n": 1})
			w, told := telling(t, p, "Commit", tt.disturb)
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
			var got []documents.Written
			got = append(got, *told...)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTransactionThatChangesItsMindTellsNothing(t *testing.T) {
	t.Parallel()
	w, told := telling(t, backendstest.Start(t), "", nil)
	changed := errors.New("changed")
	err := transact(t.Context(), w, func(tx *documents.Transaction) error {
		return errors.Join(tx.Apply(write(documents.Set, "things/a", map[string]any{"n": 1})), changed)
	})
	if !errors.Is(err, changed) || len(*told) != 0 {
		t.Errorf("%v; told %v", err, *told)
	}
}
