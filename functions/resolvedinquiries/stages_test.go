package resolvedinquiries

import (
	"strings"
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/sweep"
	"github.com/firesweep/firesweep/shared/sweep/sweeptest"
)

func FuzzProgress(f *testing.F) {
	f.Add("")
	for _, p := range []progress{
		{Stage: move, Moved: undated}, {Moved: "2026-01-10T18:00:00.000001Z-2"}, {Stage: copying, Round: 2, After: `[{"text":"<m>&"}]`},
		{Stage: decide, Round: 3}, {Stage: finish}, {Stage: discard, Refused: true}, {Stage: back, Moved: "日本"},
	} {
		if got, err := parseProgress(p.String()); err != nil || got != p {
			f.Fatalf("%+v came back as %+v, %v", p, got, err)
		}
		f.Add(p.String())
	}
	for _, text := range []string{
		"{", "null", `{"stage":""}`, `{"stage":"move"}`, `{"stage":"back","moved":"a/b"}`, `{"stage":"copy","moved":".."}`, `{"stage":"other"}`,
		`{"stage":"finish","x":1}`, ` {"stage":"finish"}`, `{"stage":"finish"}{}`, `{"round":1.5}`, "{\"after\":\"\xff\"}",
	} {
		if p, err := parseProgress(text); err == nil {
			f.Fatalf("%q is read as %+v", text, p)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parseProgress(text)
		if err != nil {
			return
		}
		if text != "" && p.String() != text {
			t.Errorf("%q is read as %s", text, p)
		}
		s := state{Subject: sweep.Subject{Document: documents.Document{Path: "inquiries/i1"}, Room: 1}, at: p}
		for _, w := range s.change(sweep.Run{Now: now}).Writes {
			if !strings.HasPrefix(w.Ref.Path(), "archivedInquiries/i1") {
				t.Errorf("%q writes %s", text, w)
			}
		}
	})
}

// TestDecideOnWhatIsCopied: a message is, if its copy was written after it; two commits of the same time tell nothing.
func TestDecideOnWhatIsCopied(t *testing.T) {
	at := func(path string, when time.Time) documents.Document {
		return documents.Document{Path: path, UpdateTime: when}
	}
	const copies = "archivedInquiries/i1/messages/"
	for name, tt := range map[string]struct {
		copies []documents.Document
		want   stage
	}{
		"copied":                     {[]documents.Document{at(copies+"m", now.Add(tick))}, finish},
		"copied at the same time":    {[]documents.Document{at(copies+"m", now)}, copying},
		"not copied":                 {nil, copying},
		"copied, and one of another": {[]documents.Document{at(copies+"m", now.Add(tick)), at(copies+"x", now.Add(tick))}, copying},
	} {
		s := state{
			Subject: sweep.Subject{Document: documents.Document{Path: "inquiries/i1", Data: map[string]any{}}, Room: 9}, at: progress{Stage: decide, Round: 1},
			messages: []documents.Document{at("inquiries/i1/messages/m", now)}, copies: tt.copies,
		}
		if p, err := parseProgress(s.decide(sweep.Run{Now: now}).From); err != nil || p.Stage != tt.want {
			t.Errorf("%s: %+v, %v, want %s", name, p, err, tt.want)
		}
	}
}

// TestProgressThatCannotBeRead is a failure each time, until somebody looks.
func TestProgressThatCannotBeRead(t *testing.T) {
	f := newFunction(t)
	f.Set(t, "inquiries/i1", inquiry(8*day))
	const entry = "cleanupJobs/cleanupResolvedInquiries/journal/e1"
	f.Set(t, entry, map[string]any{
		"runId": "r", "attempt": 1, "task": "", "at": time.Now(), "open": true, "then": []any{},
		"next": []any{map[string]any{"rule": "inquiry", "path": "inquiries/i1", "from": `{"stage":"later"}`}},
	})
	for range 2 {
		got := f.Run(t, "")
		sweeptest.WantReport(t, got, sweep.Failed, map[string]sweep.Counts{"finish interrupted action": {Planned: 1, Failed: 1}})
		if !strings.Contains(got.Failures[0].Error, "which this program did not write") {
			t.Errorf("failures %+v", got.Failures)
		}
		wantIDs(t, f, "inquiries", "i1")
	}
	remove(t, f, entry)
	sweeptest.WantReport(t, f.Run(t, ""), sweep.Completed, archivedOnce)
}
