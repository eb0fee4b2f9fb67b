package sampledata_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/firesweep/firesweep/emulator/sampledata"
	"github.com/firesweep/firesweep/shared/manifest"
	"github.com/firesweep/firesweep/shared/rule"
	"github.com/firesweep/firesweep/shared/rule/criteria"
)

// TestDeclaredFields: where a rule uses a field, or the maps of a list, more than once, one value serves all.
func TestDeclaredFields(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)
	s := sampledata.Declared(rule.Rule{
		Collection: "drafts", Age: rule.Ages{{Field: "meta.at", Hours: new(1)}},
		Where:  []criteria.Condition{{Field: "meta.kind", Ops: criteria.Ops{"==": "a"}}, {Field: "meta", Is: "set"}},
		Unless: []rule.Relation{{Document: "kinds/{meta.kind}"}},
		With:   []rule.Relation{{Objects: "p/**", Field: "photos[].url"}, {Objects: "q/**", Field: "photos[].small"}},
	}, now)
	want := map[string]any{
		"meta":   map[string]any{"kind": "a", "at": now.Add(-time.Hour - time.Millisecond)},
		"photos": []any{map[string]any{"url": "p/drafts-due-1.png", "small": "q/drafts-due-1.png"}},
	}
	if diff := cmp.Diff(want, s.Documents[0].Before); diff != "" {
		t.Errorf("%s (-want +got):\n%s", s.Documents[0].Path, diff)
	}
}

// TestDeclaredOnce: what keeps a document may be in the collection that goes along with it, and each path is there once.
func TestDeclaredOnce(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)
	s := sampledata.Declared(rule.Rule{
		Collection: "chats", Age: rule.Ages{{Field: "at", Days: new(30)}},
		Unless: []rule.Relation{{Subcollection: "messages", Within: &criteria.Age{Field: "sentAt", Days: new(30)}}},
		With:   []rule.Relation{{Subcollection: "messages"}},
	}, now)
	seen := map[string]bool{}
	for _, d := range s.Documents {
		if seen[d.Path] {
			t.Errorf("%s is there twice", d.Path)
		}
		seen[d.Path] = true
	}
	if !seen["chats/chats-kept-1/messages/keeper"] {
		t.Errorf("nothing keeps a chat: %v", seen)
	}
}

func TestAhead(t *testing.T) {
	t.Parallel()
	for days, want := range map[int]time.Duration{0: 48 * time.Hour, 1: 48 * time.Hour, 30: 34 * 24 * time.Hour} {
		for by, r := range map[string]rule.Rule{criteria.TimeCreated: {Objects: "exports/**"}, criteria.UpdateTime: {Collection: "a"}} {
			r.Age = rule.Ages{{By: by, Days: &days}}
			if got := sampledata.Ahead(manifest.Entry{Rule: &r}); got != max(want, time.Duration(days+4)*24*time.Hour) {
				t.Errorf("%d days by %s: %s, want %s", days, by, got, want)
			}
		}
	}
	if got := sampledata.Ahead(manifest.Entry{Rule: &rule.Rule{Collection: "a",
		Age: rule.Ages{{Field: "at", Months: new(9)}}}}); got != 48*time.Hour {
		t.Errorf("documents: %s", got)
	}
}
