package resolvedinquiries

import (
	"testing"

	"github.com/firesweep/firesweep/shared/documents"
)

func FuzzProgress(f *testing.F) {
	f.Add("")
	for _, p := range []progress{
		{Stage: move, Moved: "undated"}, {Moved: "2026-01-10T18:00:00.000001Z-2"}, {Stage: copying, Round: 2, After: `[{"text":"<m>&"}]`},
		{Stage: finish}, {Stage: copying, Refused: true}, {Stage: move, Moved: "日本"},
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
		if err == nil && (p.Stage == move || p.Moved != "") && !documents.ValidID(p.Moved) {
			t.Errorf("%q is read as %+v", text, p)
		}
	})
}
