package engine_test

import (
	"testing"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/undo"
)

// TestRecordsSayWhichItemTheyBelongTo: two notes share a commit, and the id of each is that of what belongs to the other.
func TestRecordsSayWhichItemTheyBelongTo(t *testing.T) {
	t.Parallel()
	other := map[string]string{"7": "3", "3": "7"}
	note := cleanup.Rule[cleanup.Subject]{
		Name: "note", Group: 10, Load: cleanup.Itself, Judge: whileThere,
		Reach: cleanup.Reach{
			Items: "notes", Deletes: []string{"notes", "likes"}, Account: true, Objects: []cleanup.Files{{Folder: "files/"}},
		},
		Change: func(s cleanup.Subject, _ cleanup.Decision, _ cleanup.Run) cleanup.Change {
			return cleanup.Change{
				Writes: []documents.Write{
					{Op: documents.Delete, Ref: documents.Ref{Collection: "likes", ID: other[s.ID()]}}, {Op: documents.Delete, Ref: s.Ref()},
				},
				Then: []cleanup.FollowUp{
					{Object: cleanup.ObjectDeletion{Name: "files/" + other[s.ID()]}, Absent: s.Ref()}, {Account: s.ID(), Absent: s.Ref()},
				},
			}
		},
	}
	f := ruleFunction(t, ruleJob("notes", note))
	for id := range other {
		f.Set(t, "notes/"+id, map[string]any{"n": 1})
		f.Set(t, "likes/"+id, map[string]any{"noteId": id})
		f.Put(t, "files/"+id, nil, []byte("x"))
		f.SignUp(t, id)
	}
	run := f.Run(t, "")
	got := map[string]string{}
	commits := 0
	err := f.Restorer(t, f.Clock).Contents(t.Context(), run.RunID, func(_, _ int, records []undo.Record) error {
		commits++
		for i, r := range records {
			switch item := undo.ItemOf(records, i); {
			case r.Write != nil:
				got[r.Write.Path] = item
			case r.Object != nil:
				got[r.Object.Name] = item
			case r.Account != nil:
				got["account "+r.Account.UID] = item
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	enginetest.Want(t, "items", map[string]string{
		"notes/3": "notes/3", "likes/7": "notes/3", "files/7": "notes/3", "account 3": "notes/3",
		"notes/7": "notes/7", "likes/3": "notes/7", "files/3": "notes/7", "account 7": "notes/7",
	}, got)
	enginetest.Want(t, "entries: the commit of both, their files, and their accounts", 3, commits)
}
