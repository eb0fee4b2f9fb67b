package documents_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/documents/wire"
)

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
		if strings.Contains(text, "ken@") {
			t.Errorf("a name that shows what somebody wrote: %s", text)
		}
	}
	if shown := documents.Shown("投稿/a-1/b.c"); shown != "投稿/a-1/b.c" {
		t.Errorf("a plain path is shown as %s", shown)
	}
}
