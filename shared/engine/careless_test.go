package engine_test

import (
	"testing"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

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
