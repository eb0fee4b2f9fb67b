package documents_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/protobuf/proto"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/documents/wire"
)

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
	if n, err := read(1 << 20); err != nil || n != 200_000 {
		t.Fatalf("%d bytes, %v", n, err)
	}
	whole := sent
	if n, err := read(whole); err != nil || n != 200_000 {
		t.Errorf("as many bytes as there are: %d, %v", n, err)
	}
	if n, err := read(whole - 1); n != 0 || !errors.Is(err, documents.ErrTooMuch) {
		t.Errorf("one byte less: %d, %v", n, err)
	}
	if all, err := c.Reader().GetAll(ctx, paths); err != nil || len(all) != 20 {
		t.Errorf("afterwards: %d, %v", len(all), err)
	}
}

// TestTooLateToSend: the writer is asked for the time right before writes are sent, and then nothing is.
func TestTooLateToSend(t *testing.T) {
	t.Parallel()
	p := backendstest.Start(t)
	p.Set(t, "things/a", map[string]any{"n": 1})
	ctx, c, _ := open(t, p)
	w, late := c.Writer(free{}), errors.New("late")
	asked := 0
	w.InTime = func() error {
		asked++
		return late
	}
	err := transact(ctx, w, func(tx *documents.Transaction) error {
		if _, _, err := get(tx, "things/a"); err != nil || asked != 0 {
			t.Errorf("asked %d times to read: %v", asked, err)
		}
		return tx.Apply(write(documents.Delete, "things/a", nil))
	})
	if !errors.Is(err, late) || asked != 1 || len(p.Documents(t, "things")) != 1 {
		t.Errorf("%v, asked %d times, %d are left", err, asked, len(p.Documents(t, "things")))
	}
}
