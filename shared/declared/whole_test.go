package declared_test

import (
	"maps"
	"slices"
	"testing"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/protobuf/proto"

	"github.com/firesweep/firesweep/shared/documents/wire"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/runlog"
	"github.com/firesweep/firesweep/shared/engine/undo"
)

// kept returns what a run's undo log holds of each document.
func kept(t testing.TB, f *enginetest.Function, runID string) map[string]undo.Fields {
	t.Helper()
	writes := map[string]undo.Fields{}
	entries := f.Documents(t, runlog.DoneOf(runID))
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		records, err := runlog.Unpack([][]byte{entries[name]["data"].([]byte)})
		ok(t, err)
		for _, r := range records {
			switch {
			case r.Write != nil && writes[r.Write.Path] != nil:
				t.Errorf("%s is kept twice", r.Write.Path)
			case r.Write != nil:
				writes[r.Write.Path] = r.Write.Before
			}
		}
	}
	return writes
}

var settled = fields{
	"collection": "reports", "age": fields{"field": "createdAt", "months": 1},
	"where": array{fields{"field": "status", "in": array{"reviewed", "dismissed"}}},
}

// TestValuesThatNobodyKnows: a value that the client library cannot decode stops neither its document nor others, and the undo log has it.
// Where the rule asks for it, the document stays. Without an undo log, nothing is kept.
func TestValuesThatNobodyKnows(t *testing.T) {
	text := func(v string) *firestorepb.Value {
		return &firestorepb.Value{ValueType: &firestorepb.Value_StringValue{StringValue: v}}
	}
	unknown := &firestorepb.Value{ValueType: &firestorepb.Value_MapValue{MapValue: &firestorepb.MapValue{
		Fields: map[string]*firestorepb.Value{"__type__": text("__vector__"), "value": text("no numbers")},
	}}}
	for days, wanted := range map[string]int{"7": 3, "0": 0} {
		t.Run("UNDO_DAYS "+days, func(t *testing.T) {
			f := start(t, settled)
			f.Env["UNDO_DAYS"] = days
			f.Hooks.Dial = append(f.Hooks.Dial, wire.After(func(_ string, answer any, err error) error {
				if r, ok := answer.(*firestorepb.BatchGetDocumentsResponse); ok && err == nil {
					if field := r.GetFound().GetFields()["unknown"].GetStringValue(); field != "" {
						r.GetFound().Fields[field] = unknown
					}
				}
				return err
			})...)
			for id, field := range map[string]string{"plain": "", "odd": "embedding", "doubtful": "status", "last": ""} {
				f.Set(t, "reports/"+id, fields{"status": "reviewed", "createdAt": old, "unknown": field})
			}
			f.SetAlike(t, 10, "reports/young%d", fields{"status": "reviewed", "createdAt": now})
			got := f.Run(t, "")
			enginetest.WantReport(t, got, report.Completed, map[string]report.Counts{"delete report": {Planned: 4, Done: 3, Changed: 1}})
			if left := f.Documents(t, "reports"); len(left) != 11 || left["doubtful"] == nil {
				t.Errorf("left: %v", left)
			}
			writes := kept(t, f, got.RunID)
			enginetest.Want(t, "kept with UNDO_DAYS "+days, wanted, len(writes))
			if odd := writes["reports/odd"]["embedding"]; wanted > 0 && !proto.Equal(odd, unknown) {
				t.Errorf("the undo log has %v", odd)
			}
		})
	}
}
