package engine_test

import (
	"testing"

	"cloud.google.com/go/firestore/apiv1/firestorepb"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// TestLostAnswersWithoutUndo: with UNDO_DAYS=0 only its Todo tells that a commit took effect whose answer was lost.
func TestLostAnswersWithoutUndo(t *testing.T) {
	t.Parallel()
	note := cleanup.Rule[cleanup.Subject]{
		Name: "note", Load: cleanup.Itself, Reach: cleanup.Reach{Items: "notes", Deletes: []string{"notes"}},
		Judge: func(cleanup.Subject, cleanup.Run) cleanup.Decision { return cleanup.Do("delete note", "") },
		Change: func(s cleanup.Subject, _ cleanup.Decision, _ cleanup.Run) cleanup.Change {
			return cleanup.Change{Writes: []documents.Write{{Op: documents.Delete, Ref: s.Ref()}}}
		},
	}
	counted := cleanup.Rule[cleanup.Subject]{
		Name: "thing", Load: cleanup.Itself, Reach: cleanup.Reach{Items: "things", Writes: []string{"things"}},
		Judge: func(cleanup.Subject, cleanup.Run) cleanup.Decision { return cleanup.Do("count", "always") },
		Change: func(s cleanup.Subject, _ cleanup.Decision, _ cleanup.Run) cleanup.Change {
			n, _ := s.Data["n"].(int64)
			return cleanup.Change{
				Writes: []documents.Write{{Op: documents.Update, Ref: s.Ref(), Data: map[string]any{"n": n + 1}}},
				Next:   []cleanup.Item{{Rule: note, Ref: documents.Ref{Collection: "notes", ID: s.ID()}}},
			}
		},
	}
	f := ruleFunction(t, ruleJob("things", counted, note))
	f.Env["UNDO_DAYS"] = "0"
	f.Set(t, "things/a", map[string]any{"n": int64(0)})
	f.Set(t, "notes/a", map[string]any{})
	todos := 0
	loseAnswers(f, func(_ int, r *firestorepb.CommitRequest) bool {
		todos += writesOf(r)["set cleanupTodo"]
		return todos == 1 && writesOf(r)["set cleanupTodo"] == 1
	})
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("count", 1))
	enginetest.Want(t, "commits that left something to do", 1, todos)
	enginetest.Want(t, "things", map[string]map[string]any{"a": {"n": int64(1)}}, f.Documents(t, "things"))
	enginetest.Want(t, "notes", 0, len(f.Documents(t, "notes")))
}

// TestNobodyElsesAccountFollows: a rule that deletes the account of its item's id deletes no other, recorded or not.
func TestNobodyElsesAccountFollows(t *testing.T) {
	t.Parallel()
	for name, recorded := range map[string]*cleanup.Recorded{"recorded": {}, "not recorded": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := ruleFunction(t, ruleJob("people", cleanup.Rule[cleanup.Subject]{
				Name: "person", Load: cleanup.Itself,
				Reach: cleanup.Reach{Items: "people", Deletes: []string{"people"}, Account: true},
				Judge: func(cleanup.Subject, cleanup.Run) cleanup.Decision { return cleanup.Do("delete person", "") },
				Change: func(s cleanup.Subject, _ cleanup.Decision, _ cleanup.Run) cleanup.Change {
					return cleanup.Change{
						Writes: []documents.Write{{Op: documents.Delete, Ref: s.Ref()}},
						Then:   []cleanup.FollowUp{{Account: "other", Absent: s.Ref(), Recorded: recorded}},
					}
				},
			}))
			f.Set(t, "people/p", map[string]any{})
			f.SignUp(t, "p", "other")
			enginetest.WantReport(t, f.Run(t, ""), report.Failed, map[string]report.Counts{"delete person": {Planned: 1, Failed: 1}})
			for _, uid := range []string{"p", "other"} {
				if _, err := f.Auth(t).GetUser(t.Context(), uid); err != nil {
					t.Errorf("account %s: %v", uid, err)
				}
			}
			enginetest.Want(t, "people", 1, len(f.Documents(t, "people")))
		})
	}
}
