package documents_test

import (
	"fmt"
	"io"
	"sync/atomic"
	"testing"

	"cloud.google.com/go/firestore/apiv1/firestorepb"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/shared/documents/wire"
)

// TestOriginalsOfAnAnswerThatEndsEarly: who was not answered is asked for again, and is not taken for one that is gone.
func TestOriginalsOfAnAnswerThatEndsEarly(t *testing.T) {
	p := backendstest.Start(t)
	p.SetMany(t, 5, func(i int) (string, map[string]any) { return fmt.Sprintf("things/t%d", i), map[string]any{"n": i} })
	var answers atomic.Int32
	ctx, c, _ := open(t, p, wire.After(func(_ string, answer any, err error) error {
		if _, ok := answer.(*firestorepb.BatchGetDocumentsResponse); ok && answers.Add(1) == 2 {
			return io.EOF
		}
		return err
	})...)
	found := map[string]int{}
	for o, err := range c.Reader().Originals(ctx, []string{"things/t0", "things/t1", "things/t2", "things/t3", "things/t4", "things/none"}) {
		ok(t, err)
		found[o.Path]++
	}
	for i := range 5 {
		if path := fmt.Sprintf("things/t%d", i); found[path] != 1 {
			t.Errorf("%s came %d times", path, found[path])
		}
	}
}
