package inactiveprojects

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/firesweep/firesweep/shared/documents"
)

// FuzzProgress: a saved position is refused as one that is none, or gives a progress of these settings that is not from the
// future and can be saved again.
func FuzzProgress(f *testing.F) {
	s := settings{enabled: true, deleteAfter: 6, warnAfter: 2, minSize: 1.5}
	at := time.Date(2026, 3, 10, 0, 10, 0, 0, time.UTC)
	good := progress{Settings: s.fingerprint(), Began: at.Add(-time.Hour), Done: true, Projects: `[{"text":"a"}]`, Warned: at.AddDate(0, -4, 0), Again: []string{"p1", "a/b", ""}}
	aged := good
	aged.Began = at.Add(-24 * time.Hour)
	for _, seed := range []string{"", "{}", "null", "[]", "{", good.position(), aged.position(), `{"again":null,"began":"9999-12-31T23:59:59Z"}`, `{"settings":1}`, good.position() + "x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, saved string) {
		g, err := progressOf(saved, s, at)
		if err != nil {
			if !errors.Is(err, documents.ErrCursor) {
				t.Fatalf("position %q: %v is no ErrCursor", saved, err)
			}
			return
		}
		if g.Settings != s.fingerprint() || g.Began.After(at) || g.Done && !at.Before(g.Began.Add(passEvery)) {
			t.Fatalf("position %q: %+v", saved, g)
		}
		again, err := progressOf(g.position(), s, at)
		if diff := cmp.Diff(g, again); err != nil || diff != "" {
			t.Errorf("position %q: again %v (-want +got):\n%s", saved, err, diff)
		}
	})
}
