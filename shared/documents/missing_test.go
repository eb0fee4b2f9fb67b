package documents_test

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"testing"

	"cloud.google.com/go/firestore/apiv1/firestorepb"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/shared/documents/wire"
)

// things returns those of the n ids from t000 on for whose number all is true.
func things(n int, all func(i int) bool) []string {
	var ids []string
	for i := range n {
		if all(i) {
			ids = append(ids, fmt.Sprintf("t%03d", i))
		}
	}
	return ids
}

// TestMissing looks up three times thirty ids: each costs a count, and if it is neither all nor none, a read for each that exists.
func TestMissing(t *testing.T) {
	const n = 90
	tests := []struct {
		name    string
		missing func(i int) bool
		reads   int64
	}{
		{"none", func(int) bool { return false }, 3},
		{"all", func(int) bool { return true }, 3},
		{"some of one thirty, all of another", func(i int) bool { return i >= 53 }, 3 + 23},
		{"one of each thirty", func(i int) bool { return i%30 == 17 }, 3 + 3*29},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := backendstest.Start(t)
			for _, id := range things(n, func(i int) bool { return !tt.missing(i) }) {
				p.Set(t, "things/"+id, map[string]any{"n": 1})
			}
			p.Set(t, "others/t000", map[string]any{"n": 1})
			ctx, c, m := open(t, p)
			got, err := c.Reader().Missing(ctx, "things", things(n, func(int) bool { return true }))
			ok(t, err)
			same(t, "missing", things(n, tt.missing), got)
			same(t, "reads", tt.reads, m.Usage().FirestoreReads)
		})
	}
}

func TestMissingOfNothingAndOfInvalidIDs(t *testing.T) {
	ctx, c, m := open(t, backendstest.Start(t))
	if got, err := c.Reader().Missing(ctx, "things", nil); got != nil || err != nil {
		t.Errorf("Missing of nothing = %v, %v", got, err)
	}
	same(t, "reads of nothing", int64(0), m.Usage().FirestoreReads)
	for _, id := range []string{"", "a/b", "..", "__x__"} {
		if got, err := c.Reader().Missing(ctx, "things", []string{"a", id}); err == nil {
			t.Errorf("Missing of id %q = %v, want an error: it would be a conclusion about another document", id, got)
		}
	}
}

// TestCountByNameIsTheEmulatorsOwn compares the shortcut taken on the emulator with what the emulator itself answers.
func TestCountByNameIsTheEmulatorsOwn(t *testing.T) {
	p := backendstest.Start(t)
	for _, id := range []string{"a", "日本 語", "c%20"} {
		p.Set(t, "things/"+id, map[string]any{"n": 1})
	}
	p.Set(t, "things/a/things/b", map[string]any{"n": 1})
	var sent []string
	_, c, _ := open(t, p, wire.Before(func(_ context.Context, method string, _ any) error {
		sent = append(sent, method)
		return nil
	})...)
	got, err := c.Reader().Missing(t.Context(), "things", []string{"a", "b", "日本 語", "c%20", "c "})
	if err != nil || !slices.Equal(got, []string{"b", "c "}) {
		t.Errorf("Missing = %v, %v; want b and c with a space", got, err)
	}
	if !slices.Contains(sent, "/google.firestore.v1.Firestore/RunAggregationQuery") {
		t.Errorf("interceptors saw %v, want the count that production gets", sent)
	}
	db := p.Firestore(t)
	ref := db.Collection("things")
	q := ref.Where("__name__", "in", []any{ref.Doc("a"), ref.Doc("b"), ref.Doc("日本 語"), ref.Doc("c%20"), ref.Doc("c ")})
	result, err := q.NewAggregationQuery().WithCount("n").Get(t.Context())
	if err != nil || fmt.Sprint(result["n"]) != "integer_value:3" {
		t.Errorf("the emulator itself counts %v, %v; want 3", result["n"], err)
	}
}

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
	found, err := c.Reader().Originals(ctx, []string{"things/t0", "things/t1", "things/t2", "things/t3", "things/t4", "things/none"})
	ok(t, err)
	same(t, "documents", 5, len(found))
	for i := range 5 {
		path := fmt.Sprintf("things/t%d", i)
		same(t, path, int64(i), found[path].Fields["n"].GetIntegerValue())
	}
}
