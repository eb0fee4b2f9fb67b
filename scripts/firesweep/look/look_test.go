package look

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"cloud.google.com/go/firestore"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/documents"
)

// looked returns what is found in a project with so many reads. change may change what is looked at.
func looked(t *testing.T, p *backendstest.Project, reads int, change ...func(*Project)) *Findings {
	t.Helper()
	db := documents.Database{Project: p.ID, ID: firestore.DefaultDatabaseID, EmulatorHost: p.Environment["FIRESTORE_EMULATOR_HOST"]}
	c, err := documents.Open(t.Context(), db, documents.ReadOnly()...)
	check.OK(t, err)
	t.Cleanup(func() { _ = c.Close() }) // everything has been read
	of := Project{DB: c.Reader(), Reads: reads, Now: time.Now()}
	for _, one := range change {
		one(&of)
	}
	found, err := Look(t.Context(), of)
	check.OK(t, err)
	return found
}

// TestLookKeepsToItsBound: no more is read than was said, whatever that is, and what is left out is named.
func TestLookKeepsToItsBound(t *testing.T) {
	t.Parallel()
	p := backendstest.Start(t)
	p.SetMany(t, 1800, func(n int) (string, map[string]any) {
		path := fmt.Sprintf("%c%d/%c%d", 'a'+n%3, n%5, "AKZakz"[n%6], n)
		if n%2 == 0 {
			path += fmt.Sprintf("/below/%d", n)
		}
		return path, map[string]any{"createdBy": fmt.Sprintf("%c%d", "AKZakz"[n%6], n)}
	})
	for _, most := range []int{200, 800, 1500, 2000, 3000, 5000} {
		found := looked(t, p, most)
		if found.Reads > most || found.Reads < most/20 {
			t.Errorf("%d: %d reads", most, found.Reads)
		}
		if most <= 800 && len(found.Unseen) == 0 {
			t.Errorf("%d: nothing is named that was left out", most)
		}
	}
}

// TestNothingIsKnownOfAccounts: where they may not be read, somebody may have one whose document does not exist.
func TestNothingIsKnownOfAccounts(t *testing.T) {
	t.Parallel()
	p := backendstest.Start(t)
	for n := range 20 {
		if n > 0 {
			p.Set(t, fmt.Sprint("users/u", n), map[string]any{"n": n})
		}
		p.Set(t, fmt.Sprintf("users/u%d/notes/1", n), map[string]any{"n": n})
	}
	denied := func(string, []string, func() error) error { return errors.New("you may not read them") }
	refused, err := accounts.Open(t.Context(), p.ID, true, denied)
	check.OK(t, err)
	reader := refused.Writer().Reader
	for name, reader := range map[string]*accounts.Reader{"nobody has one": nil, "who knows": &reader} {
		found := looked(t, p, Reads, func(of *Project) { of.Accounts = reader })
		if known := reader == nil; (len(found.Proposals) > 0) != known || (len(found.Unseen) > 0) == known {
			t.Errorf("%s: %+v", name, found)
		}
	}
}
