package documents_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/documents/retry"
	"github.com/firesweep/firesweep/shared/documents/wire"
)

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
	if err := commit("c", "a"); !errors.Is(err, documents.ErrChanged) {
		t.Errorf("one is there: %v", err)
	}
	if err := commit("d"); !retry.Transient(err) {
		t.Errorf("the answer is lost: %v", err)
	}
	if n := len(p.Documents(t, "things")); n != 3 || sent != 3 || meter.Usage().FirestoreWrites != 2 {
		t.Errorf("%d documents, %d requests, %d writes are billed", n, sent, meter.Usage().FirestoreWrites)
	}
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
