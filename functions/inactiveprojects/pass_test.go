package inactiveprojects

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/shared/documents"
)

var passNow = time.Date(2026, 4, 10, 12, 0, 0, 0, time.UTC)

const someTerms = "3 months"

func TestWhereAPassContinues(t *testing.T) {
	underWay := pass{Terms: someTerms, Began: passNow, Cursor: `[{"time":"2026-01-01T00:00:00Z"},{"text":"p"}]`}
	complete := underWay
	complete.Seen = passNow
	for name, tt := range map[string]struct {
		saved string
		terms string
		now   time.Time
		fresh bool
	}{
		"the same day":          {complete.checkpoint(), someTerms, passNow.Add(24*time.Hour - tick), false},
		"a day later":           {complete.checkpoint(), someTerms, passNow.Add(24 * time.Hour), true},
		"changed terms":         {complete.checkpoint(), "4 months", passNow.Add(time.Hour), true},
		"time has gone back":    {complete.checkpoint(), someTerms, passNow.Add(-tick), true},
		"a long pass goes on":   {underWay.checkpoint(), someTerms, passNow.AddDate(0, 0, 3), false},
		"nothing has been done": {"", someTerms, passNow, true},
		"an earlier version":    {`{"settings":"3 months","began":"2026-04-10T11:00:00Z","done":true,"projects":"x"}`, someTerms, passNow, true},
	} {
		got, err := passOf(tt.saved, tt.terms, tt.now)
		seen := !got.Seen.IsZero()
		if err != nil || got.fresh() != tt.fresh || tt.fresh && (seen || !got.Began.Equal(tt.now) || got.Terms != tt.terms) || seen != (!tt.fresh && name != "a long pass goes on") {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestMuchLeftUndoneBeginsANewPass(t *testing.T) {
	for name, tt := range map[string]struct {
		n     int
		id    string
		fresh bool
	}{
		"little":                       {maxPassUndone, strings.Repeat("長", 499), false},
		"much":                         {maxPassUndone + 1, "p", true},
		"six bytes each, as JSON does": {maxPassUndone, strings.Repeat("<", 1490), true},
	} {
		var undone []documents.Ref
		for i := range tt.n {
			undone = append(undone, documents.Ref{Collection: "things", ID: fmt.Sprint(i, tt.id)})
		}
		checkpoint := pass{Terms: someTerms, Began: passNow}.next(passNow, undone)
		got, err := passOf(checkpoint, someTerms, passNow)
		if (checkpoint == "") != tt.fresh || err != nil || !tt.fresh && (len(got.Undone) != tt.n || got.Undone[0] != undone[0].Path()) {
			t.Errorf("%s: a checkpoint of %d bytes, %+v, %v", name, len(checkpoint), got, err)
		}
	}
}

// FuzzPass: a saved checkpoint is refused as one that is none, or gives a state of these terms that is not from the future and
// can be saved again.
func FuzzPass(f *testing.F) {
	good := pass{Terms: someTerms, Began: passNow.Add(-time.Hour), Seen: passNow, Cursor: `[{"text":"a"}]`, Undone: []string{"things/a", "a/b/c", ""}}
	aged := good
	aged.Began = passNow.Add(-24 * time.Hour)
	for _, seed := range []string{"", "{}", "null", "[]", "{", good.checkpoint(), aged.checkpoint(), `{"undone":null,"began":"9999-12-31T23:59:59Z"}`, `{"terms":1}`, good.checkpoint() + "x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, saved string) {
		got, err := passOf(saved, someTerms, passNow)
		if err != nil {
			if !errors.Is(err, documents.ErrCursor) {
				t.Fatalf("checkpoint %q: %v is no ErrCursor", saved, err)
			}
			return
		}
		if got.Terms != someTerms || got.Began.After(passNow) || !got.Seen.IsZero() && !passNow.Before(got.Began.Add(24*time.Hour)) {
			t.Fatalf("checkpoint %q: %+v", saved, got)
		}
		again, err := passOf(got.checkpoint(), someTerms, passNow)
		check.OK(t, err)
		check.Same(t, saved+" again", got, again)
	})
}
