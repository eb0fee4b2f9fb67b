package engine_test

import (
	"testing"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
)

func TestChanges(t *testing.T) {
	a, b := documents.Ref{Collection: "boxes", ID: "a"}, documents.Ref{Collection: "boxes/a/things", ID: "b"}
	fields := map[string]any{"state": "old"}
	enginetest.Want(t, "update", []documents.Write{{Op: documents.Update, Ref: a, Data: fields}}, cleanup.Update(a, fields).Writes)
	enginetest.Want(t, "delete", []documents.Write{{Op: documents.Delete, Ref: a}, {Op: documents.Delete, Ref: b}},
		cleanup.Delete(documents.Document{Path: a.Path()}, documents.Document{Path: b.Path(), Data: fields}).Writes)
	enginetest.Want(t, "delete nothing", 0, len(cleanup.Delete().Writes))
}
