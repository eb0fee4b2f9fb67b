package documents_test

import (
	"fmt"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/documents/encode"
	"github.com/firesweep/firesweep/shared/documents/wire"
)

// TestFirstWhole: what a query with Select returns, at the same reads, with the whole of as many documents as there is room for.
func TestFirstWhole(t *testing.T) {
	p := backendstest.Start(t)
	at := time.Date(2026, 1, 1, 0, 0, 0, 123456000, time.UTC)
	var path string
	p.SetMany(t, 5, func(i int) (string, map[string]any) {
		path = fmt.Sprintf("things/t%d", i)
		return path, map[string]any{
			"n": i, "of": map[string]any{"a": map[string]any{"b": i, "c": "x"}, "d": true}, "at": at, "text": "as long as in the others",
			"embedding": firestore.Vector64{1, 2}, "ref": p.Firestore(t).Doc("a/b"), "list": []any{nil, 1.5},
		}
	})
	ctx, c, m := open(t, p)
	q := documents.Query{
		Collection: "things", OrderBy: []string{"n"}, Select: []string{"of.a.b", "at", "missing", "of.none", "text.deeper"},
		Where: []documents.Filter{{Field: "n", Op: "<", Value: 9}},
	}
	selected, err := c.Reader().First(ctx, q, "", 4)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := c.Reader().GetAll(ctx, []string{"things/t0", "things/t1", "things/t2", "things/t3"})
	if err != nil {
		t.Fatal(err)
	}
	all, err := c.Reader().FirstWhole(ctx, q, "", 4, 1<<20)
	if err != nil || len(all) != 4 {
		t.Fatalf("%d, %v", len(all), err)
	}
	one := len(all[0].Original)
	for room, want := range map[int]int{0: 0, one - 1: 0, one: 1, 3*one - 1: 2, 3 * one: 3, 1 << 20: 4} {
		before := m.Usage().FirestoreReads
		found, err := c.Reader().FirstWhole(ctx, q, "", 4, room)
		if err != nil {
			t.Fatal(err)
		}
		kept := 0
		for i := range found {
			if original := found[i].Original; original != nil {
				kept++
				got, err := encode.Unpack(original)
				if err != nil {
					t.Fatal(err)
				}
				want, err := encode.Fields(whole[found[i].Path].Data)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
					t.Errorf("%s (-want +got):\n%s", found[i].Path, diff)
				}
			}
			if found[i].ReadTime.IsZero() {
				t.Errorf("%s was read at no time", found[i].Path)
			}
			found[i].Original, found[i].ReadTime = nil, selected[i].ReadTime
		}
		if diff := cmp.Diff(selected, found); diff != "" || kept != want {
			t.Errorf("room for %d bytes: %d are whole, want %d; what is selected (-want +got):\n%s", room, kept, want, diff)
		}
		if reads := m.Usage().FirestoreReads - before; reads != 4+1 { // one for the index entries
			t.Errorf("%d reads", reads)
		}
	}
	if _, err := encode.Unpack([]byte("damaged")); err == nil {
		t.Error("something else is unpacked")
	}
}

// spoiled puts a value that the client library cannot decode into each document that has another field than n.
func spoiled(_ string, m any, err error) error {
	if r, ok := m.(*firestorepb.RunQueryResponse); ok && len(r.GetDocument().GetFields()) > 1 {
		text := func(v string) *firestorepb.Value {
			return &firestorepb.Value{ValueType: &firestorepb.Value_StringValue{StringValue: v}}
		}
		r.GetDocument().Fields["odd"] = &firestorepb.Value{ValueType: &firestorepb.Value_MapValue{MapValue: &firestorepb.MapValue{
			Fields: map[string]*firestorepb.Value{"__type__": text("__vector__"), "value": text("no numbers")},
		}}}
	}
	return err
}

// TestFirstWholeOfWhatCannotBeDecoded: such a value in a field that nobody asks for keeps no document from being read.
func TestFirstWholeOfWhatCannotBeDecoded(t *testing.T) {
	p := backendstest.Start(t)
	p.Set(t, "things/t", map[string]any{"n": 1, "other": "x"})
	ctx, c, _ := open(t, p, wire.After(spoiled)...)
	found, err := c.Reader().FirstWhole(ctx, documents.Query{Collection: "things", Select: []string{"n"}}, "", 5, 1<<20)
	if err != nil || len(found) != 1 {
		t.Fatalf("%+v, %v", found, err)
	}
	if found[0].Original != nil || found[0].Data["n"] != int64(1) {
		t.Errorf("%+v", found[0])
	}
}
