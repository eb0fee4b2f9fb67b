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

// TestBatchWrite makes each write on its own condition, at the pace and in requests that begin small, and sends none twice.
func TestBatchWrite(t *testing.T) {
	t.Parallel()
	p := backendstest.Start(t)
	var sent []int
	ctx, c, meter := open(t, p, wire.Around(func(_ context.Context, _ string, req, _ any, send func() error) error {
		batch, ok := req.(*firestorepb.BatchWriteRequest)
		if !ok {
			return send()
		}
		sent = append(sent, len(batch.GetWrites()))
		err := send()
		if len(sent) == 2 { // the answer to the second is lost
			return status.Error(codes.Unavailable, "the connection broke")
		}
		return err
	}))
	p.Set(t, "things/t001", map[string]any{"n": 1})
	pace := &counted{}
	w := c.Writer(pace)
	missing := &firestorepb.Precondition{ConditionType: &firestorepb.Precondition_Exists{Exists: false}}
	writes := make([]*firestorepb.Write, 60)
	for i := range writes {
		d := &firestorepb.Document{Name: w.Name(fmt.Sprintf("things/t%03d", i))}
		writes[i] = &firestorepb.Write{Operation: &firestorepb.Write_Update{Update: d}, CurrentDocument: missing}
	}
	results := w.BatchWrite(ctx, writes)
	for i, err := range results {
		switch {
		case i == 1 && !errors.Is(err, documents.ErrChanged), i != 1 && i < 50 && err != nil, i >= 50 && !retry.Transient(err):
			t.Errorf("write %d: %v", i, err)
		}
	}
	if want := []int{50, 10}; !slices.Equal(sent, want) || !slices.Equal(pace.waits, want) {
		t.Errorf("sent %v, waited for %v; want %v", sent, pace.waits, want)
	}
	if len(results) != 60 {
		t.Errorf("%d results", len(results))
	}
	if n := len(p.Documents(t, "things")); n != 60 || meter.Usage().FirestoreWrites != 49 {
		t.Errorf("%d documents, %d writes are billed", n, meter.Usage().FirestoreWrites)
	}
	if again := w.BatchWrite(ctx, writes[50:]); slices.ContainsFunc(again, func(err error) bool { return !errors.Is(err, documents.ErrChanged) }) {
		t.Errorf("those whose answer was lost: %v", again)
	}
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
	if err := errors.Join(errA, errNone, errAll, errFirst); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(found, len(first), len(all)); got != "false 1 1" {
		t.Fatalf("nothing found, first, all: %s", got)
	}
	last := a.UpdateTime
	for _, d := range slices.Concat([]documents.Document{a, none}, slices.Collect(maps.Values(all)), first) {
		if d.ReadTime.Before(last) || d.ReadTime.Sub(last) > time.Hour {
			t.Errorf("%q was read at %s, after %s", d.Path, d.ReadTime, last)
		}
		last = d.ReadTime
	}
}
