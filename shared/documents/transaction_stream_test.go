package documents_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/documents/pace"
)

func TestStream(t *testing.T) {
	p := backendstest.Start(t)
	p.SetMany(t, 50, func(i int) (string, map[string]any) { return fmt.Sprintf("things/t%02d", i), map[string]any{"n": i} })
	ctx, c, m := open(t, p)
	w := c.Writer(pace.NewRate())
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
		if err := c.Writer(pace).Wait(ctx, n); err != nil || !slices.Equal(pace.waits, want) {
			t.Errorf("waited for %d: %v, %v; want %v", n, pace.waits, err, want)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	if err := c.Writer(&counted{}).Wait(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
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
