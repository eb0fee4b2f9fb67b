package documents_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/shared/documents"
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
		_, err := c.Reader().Missing(ctx, "things", []string{"a", id})
		check.Fails(t, err) // it would be a conclusion about another document
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
	same(t, "missing", []any{[]string{"b", "c "}, nil}, []any{got, err})
	if !slices.Contains(sent, "/google.firestore.v1.Firestore/RunAggregationQuery") {
		t.Errorf("interceptors saw %v, want the count that production gets", sent)
	}
	db := p.Firestore(t)
	ref := db.Collection("things")
	q := ref.Where("__name__", "in", []any{ref.Doc("a"), ref.Doc("b"), ref.Doc("日本 語"), ref.Doc("c%20"), ref.Doc("c ")})
	result, err := q.NewAggregationQuery().WithCount("n").Get(t.Context())
	same(t, "the emulator's own count", []any{"integer_value:3", nil}, []any{fmt.Sprint(result["n"]), err})
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

// TestQueryable compares what is said to be too large with what Firestore's emulator refuses, to the byte.
func TestQueryable(t *testing.T) {
	t.Parallel()
	p := backendstest.Start(t)
	db := p.Firestore(t)
	x := func(n int) string { return strings.Repeat("x", n) }
	for name, at := range map[string]struct {
		largest, tooLarge any
	}{
		"a text":              {x(1499), x(1500)},
		"characters":          {strings.Repeat("語", 499) + "é", strings.Repeat("語", 500)},
		"zeros":               {strings.Repeat("\x00", 1499), strings.Repeat("\x00", 1500)},
		"bytes":               {make([]byte, 1500), make([]byte, 1501)},
		"a list":              {[]string{x(1499)}, []string{x(1500)}},
		"a list of two":       {[]any{x(749), x(749)}, []any{x(749), x(750)}},
		"a reference":         {db.Collection("things").Doc(x(1476)), db.Collection("things").Doc(x(1477))},
		"a reference, deeper": {db.Collection("things/a/more").Doc(x(1469)), db.Collection("things/a/more").Doc(x(1470))},
	} {
		for value, want := range map[*any]bool{&at.largest: true, &at.tooLarge: false} {
			_, err := db.Collection("things").Where("v", "==", *value).Documents(t.Context()).GetAll()
			same(t, name+": queryable, and taken by the emulator", []bool{want, want}, []bool{documents.Queryable(*value), err == nil})
		}
	}
	same(t, "a reference to nothing can be asked for", false, documents.Queryable((*firestore.DocumentRef)(nil)))
}

// TestPastOtherTexts: no text is too long, wherever in the order it stands; by names alone, no text is asked for.
func TestPastOtherTexts(t *testing.T) {
	d := documents.Document{Path: "things/t", Data: map[string]any{"n": int64(7), "text": strings.Repeat("x", 5000)}}
	for _, order := range [][]string{nil, {"n", "text"}} {
		if cursor, err := (documents.Query{Collection: "things", OrderBy: order}).Past(d); cursor == "" || len(cursor) > 1600 || err != nil {
			t.Errorf("ordered by %v: a cursor of %d bytes and %v", order, len(cursor), err)
		}
	}
}

// TestPast: whatever the text, a query can ask for the cursor behind it, and nothing comes twice.
func TestPast(t *testing.T) {
	q := documents.Query{Collection: "things", OrderBy: []string{"meta.text", "at"}}
	past := func(text string) string {
		d := documents.Document{Path: "things/t", Data: map[string]any{"meta": map[string]any{"text": text}, "at": int64(7)}}
		cursor, err := q.Past(d)
		if err != nil || d.Value("meta.text") != text {
			t.Fatalf("%v; the document has %.40q", err, d.Value("meta.text"))
		}
		return string(cursor)
	}
	for _, text := range []string{"t", strings.Repeat("x", 1499), strings.Repeat("x", 1500), strings.Repeat("長", 500),
		"x" + strings.Repeat("長", 500), "xx" + strings.Repeat("長", 500)} {
		var values []struct {
			Text string
			Int  int64
		}
		ok(t, json.Unmarshal([]byte(past(text)), &values))
		at := values[0].Text
		if len(at) > 1499 || !utf8.ValidString(at) {
			t.Errorf("the cursor behind a text of %d bytes has one that cannot be asked for: %.40q", len(text), at)
		}
		if at < text {
			t.Errorf("the cursor behind a text of %d bytes lies before it: %.40q", len(text), at)
		}
		if at != text && (len(text) <= 1499 || len(at) < 1490) {
			t.Errorf("the cursor behind a text of %d bytes has another of %d: %.40q", len(text), len(at), at)
		}
		same(t, "the cursor's second value", int64(7), values[1].Int)
	}
	same(t, "the cursor behind all texts", "", past(strings.Repeat("\U0010FFFF", 400))) // no text comes after it
}

// TestReadOnly: every way to read shows what there is, and nothing can be written.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	p := backendstest.Start(t)
	for _, id := range []string{"a", "b"} {
		p.Set(t, "reports/"+id, map[string]any{"status": "open"})
	}
	_, c, _ := open(t, p, documents.ReadOnly()...)
	r, all := c.Reader(), documents.Query{Collection: "reports"}
	d, _, errGet := r.Get(t.Context(), "reports/a")
	n, errCount := r.Count(t.Context(), all, 0)
	found, errFirst := r.First(t.Context(), all, "", 10)
	missing, errMissing := r.Missing(t.Context(), "reports", []string{"a", "none"})
	ok(t, errors.Join(errGet, errCount, errFirst, errMissing))
	same(t, "what is read", "open 2 2 [none]", fmt.Sprint(d.Data["status"], " ", n, " ", len(found), " ", missing))
	w := c.Writer(documents.NewPace())
	_, exchanged := w.Exchange(t.Context(), "cleanupJobs/job", documents.Document{},
		func(documents.Document, bool) (fields, also map[string]any, _ error) {
			return map[string]any{"lease": nil}, nil, nil
		})
	for name, err := range map[string]error{
		"commit":      w.Commit(t.Context(), []*firestorepb.Write{{Operation: &firestorepb.Write_Delete{Delete: w.Name("reports/a")}}}),
		"exchange":    exchanged,
		"transaction": transact(t.Context(), w, func(*documents.Transaction) error { return nil }),
	} {
		same(t, name, codes.PermissionDenied, status.Code(err))
	}
	same(t, "left", 2, len(p.Documents(t, "reports")))
}

// TestErrorsShowNoIDs: whatever the id of a document, or of one above it, no error shows one that is no plain one.
func TestErrorsShowNoIDs(t *testing.T) {
	const evil = "ken@example.com \u202e"
	refused := status.Error(codes.PermissionDenied, "no right")
	ctx, c, _ := open(t, backendstest.Start(t), wire.Before(func(context.Context, string, any) error { return refused })...)
	r, w := c.Reader(), c.Writer(free{})
	exchange := func(path string, also map[string]any) error {
		_, err := w.Exchange(ctx, path, documents.Document{UpdateTime: time.Unix(1, 0)},
			func(documents.Document, bool) (_, _ map[string]any, _ error) { return nil, also, nil })
		return err
	}
	ref := documents.Ref{Collection: "users/" + evil + "/notes", ID: evil}
	_, errWrong := documents.RefOf("users/" + evil + "/x")
	_, _, errGet := r.Get(ctx, ref.Path())
	_, _, errNone := r.Get(ctx, "users/"+evil+"/x")
	_, errAll := r.GetAll(ctx, []string{ref.Path()})
	_, errFirst := r.First(ctx, documents.Query{Collection: ref.Collection}, "", 1)
	_, errGroup := r.First(ctx, documents.Query{Collection: "users/" + evil, Group: true}, "", 1)
	_, errCursor := r.First(ctx, documents.Query{Collection: "users"}, documents.Cursor(evil), 1)
	_, errCount := r.Count(ctx, documents.Query{Collection: ref.Collection}, 0)
	_, errMissing := r.Missing(ctx, ref.Collection, []string{"a"})
	_, errInvalid := r.Missing(ctx, "users", []string{evil + "/"})
	_, errBelow := r.Collections(ctx, ref)
	_, errOriginals := r.Originals(ctx, []string{ref.Path()})
	_, errAfter := documents.Query{OrderBy: []string{"at"}}.After(documents.Document{Path: ref.Path(), Data: map[string]any{"at": 'x'}})
	errStream := transact(ctx, w, func(tx *documents.Transaction) error {
		for _, err := range tx.Stream(ctx, documents.Query{Collection: ref.Collection}, "", 1) {
			return err
		}
		return nil
	})
	errs := map[string]error{
		"RefOf": errWrong, "Get": errGet, "Get of a collection": errNone, "GetAll": errAll, "First": errFirst, "a group": errGroup,
		"a cursor": errCursor, "Count": errCount, "Missing": errMissing, "an invalid id": errInvalid, "Collections": errBelow,
		"Originals": errOriginals, "After": errAfter, "Stream": errStream,
		"Exchange":    exchange("users/"+evil+"/x", map[string]any{"a/b": nil}),
		"Put":         w.Put(ctx, []documents.Write{{Op: documents.Create, Ref: ref}}),
		"Transaction": transact(ctx, w, func(tx *documents.Transaction) error { return tx.Apply(documents.Write{Op: "x", Ref: ref}) }),
	}
	for of, err := range errs {
		if err == nil || strings.Contains(err.Error(), "ken@") {
			t.Errorf("%s: no error, or one that shows what somebody wrote: %v", of, err)
		}
	}
	for _, text := range []string{ref.String(), documents.Write{Op: documents.Delete, Ref: ref}.String(), documents.Shown("a/" + evil)} {
		same(t, "what somebody wrote is shown in "+text, false, strings.Contains(text, "ken@"))
	}
	same(t, "a plain path is shown as", "投稿/a-1/b.c", documents.Shown("投稿/a-1/b.c"))
}
