package declared_test

import (
	"strings"
	"testing"

	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// TestWhatOthersReferTo: a file, or a document, goes along only with the last of the collection that refers to it.
func TestWhatOthersReferTo(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		second any // its age
		spelt  string
		kept   int
		left   int
	}{
		"the other stays":                      {now, "drafts/cover.png", 2, 1},
		"the other stays, in another spelling": {now, "gs://BUCKET/drafts/cover.png", 2, 1},
		"the other goes, too":                  {old, "drafts/cover.png", 0, 0},
		"the other refers to another":          {now, "drafts/other.png", 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, drafts(fields{"maxDuePercent": 100, "with": array{fields{"objects": "drafts/**", "field": "cover"}, fields{"document": "teams/{team}"}}}))
			f.Put(t, "drafts/cover.png", nil, nil)
			f.Set(t, "teams/red", fields{"x": true})
			f.Set(t, "drafts/a", fields{"updatedAt": old, "cover": "drafts/cover.png", "team": "red"})
			f.Set(t, "drafts/b", fields{"updatedAt": tt.second, "cover": strings.ReplaceAll(tt.spelt, "BUCKET", f.Bucket), "team": "red"})
			rep := f.Run(t, "")
			enginetest.Want(t, "status", report.Completed, rep.Status)
			enginetest.Want(t, "kept", tt.kept, rep.Kept["another document of drafts refers to it"])
			enginetest.Want(t, "files", tt.left, len(f.Objects(t)))
			teams := 1
			if tt.second == old {
				teams = 0
			}
			enginetest.Want(t, "teams", teams, len(f.Documents(t, "teams")))
		})
	}
}
