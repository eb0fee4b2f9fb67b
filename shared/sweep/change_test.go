package sweep_test

import (
	"testing"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/sweep"
	"github.com/firesweep/firesweep/shared/sweep/sweeptest"
)

func TestChanges(t *testing.T) {
	a, b := documents.Ref{Collection: "boxes", ID: "a"}, documents.Ref{Collection: "boxes/a/things", ID: "b"}
	fields := map[string]any{"state": "old"}
	sweeptest.Want(t, "update", []documents.Write{{Op: documents.Update, Ref: a, Data: fields}}, sweep.Update(a, fields).Writes)
	sweeptest.Want(t, "delete", []documents.Write{{Op: documents.Delete, Ref: a}, {Op: documents.Delete, Ref: b}},
		sweep.Delete(documents.Document{Path: a.Path()}, documents.Document{Path: b.Path(), Data: fields}).Writes)
	sweeptest.Want(t, "delete nothing", 0, len(sweep.Delete().Writes))
}
