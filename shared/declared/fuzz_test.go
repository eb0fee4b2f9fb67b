package declared_test

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/firesweep/firesweep/emulator/sampledata"
	"github.com/firesweep/firesweep/shared/declared"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/manifest"
	"github.com/firesweep/firesweep/shared/rule"
)

var saysWhere = regexp.MustCompile(`^rules\.json:\d+: rules\[0\], cleanupThings: `)

// FuzzRule: a valid rule makes a job and words, and comes back unchanged when it is written and read. On data that is made
// from the rule, exactly what should be due is due. An invalid rule makes no job.
func FuzzRule(f *testing.F) {
	blocks, err := sampledata.ExampleTexts(rules)
	if err != nil {
		f.Fatal(err)
	}
	for _, block := range blocks {
		var e map[string]json.RawMessage
		if err := json.Unmarshal([]byte(block), &e); err != nil {
			f.Fatal(err)
		}
		for _, own := range []string{"name", "schedule", "timeZone", "description", "run"} {
			delete(e, own)
		}
		text, err := json.Marshal(e)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, seed := range []string{
		``, `null`, `{}`, `[]`, `{"age":null}`, `{"age":{"field":"a","days":1}}`, `{"collection":"a","age":{"field":"a.b","hours":1},"where":[{"field":"a.c","==":true}]}`,
		`{"collection":"a/b/c","age":{"field":"at","months":1200},"where":[{"field":"n","in":[1,1.0,1e3,"x",true]}]}`,
		`{"collection":"a","age":{"field":"a","hours":1},"unless":[{"document":"b/{id}-{c.d}/e/f"}],"with":[{"objects":"a/{id}/**","field":"a[].b"},{"objects":"{id}/**"}]}`,
		`{"collection":"a","age":{"field":"a","hours":1},"where":[{"field":"b","is":"not true"},{"field":"c","==":1.5}],"set":{"b":true,"c":null,"d":"{now}"}}`,
		`{"collection":"a/{x}/b","age":{"field":"at","days":1},"warn":{"days":2,"field":"w","create":"c/{x}/d","data":{"e":["{id} {f.g} {date}",1,null],"h":{}}}}`,
		`{"objects":"a/b/**","age":{"months":3},"gone":[{"document":"c/d/e/{metadata.k}"}]}`,
		`{"collection":"a/{x}/b","age":[{"field":"at","as":["text","seconds"],"days":0},{"by":"updateTime","hours":1}],"unless":[{"field":"k","==":true}]}`,
		`{"collection":"a","age":"any","gone":[{"subcollection":"s"},{"account":"{id}"}],"with":[{"subcollection":"**"},{"document":"b/{id}"}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !json.Valid(text) { // the text could close the rule and add other keys
			if _, err := manifest.ParseRules(manifest.File{Name: "rules.json", Text: text}); err == nil {
				t.Errorf("%q is a list", text)
			}
			return
		}
		e, err := entryOf(text)
		if err != nil {
			if e.Rule != nil {
				t.Errorf("refused, and yet a rule: %+v", e.Rule)
			}
			for line := range strings.Lines(err.Error()) {
				if !saysWhere.MatchString(line) {
					t.Errorf("the problem %q does not say where", line)
				}
			}
			return
		}
		r := *e.Rule
		if job := declared.Job(e.Name, r); job.Plan == nil || job.Name != e.Name {
			t.Errorf("no job of %s", text)
		}
		words := r.Words()
		if strings.Contains(words, "%!") || !strings.Contains(words, " ago") && !strings.Contains(words, "past") && !strings.Contains(words, "of any age") {
			t.Errorf("%s is %q", text, words)
		}
		if strings.Contains(words, "  ") && !strings.Contains(string(text), " ") {
			t.Errorf("%s has two blanks in %q", text, words)
		}
		wantFittingIndexes(t, e)
		wantFittingData(t, r)

		written, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		again, err := entryOf(written)
		if err != nil {
			t.Fatalf("%s became %s: %v", text, written, err)
		}
		if diff := cmp.Diff(e, again, cmpopts.EquateEmpty()); diff != "" { // an empty list is the same as none
			t.Errorf("%s became %s (-want +got):\n%s", text, written, diff)
		}
	})
}

// entryOf parses an entry with a rule as the functions do.
func entryOf(rule []byte) (manifest.Entry, error) {
	inner, isObject := strings.CutPrefix(strings.TrimSpace(string(rule)), "{")
	if inner = strings.TrimSpace(strings.TrimSuffix(inner, "}")); !isObject {
		return manifest.Entry{}, errors.New("rules.json:1: rules[0], cleanupThings: no rule")
	} else if inner != "" {
		inner = "," + inner
	}
	text := []byte(`{"rules":[{"name":"cleanupThings","schedule":"0 4 * * *"` + inner + "\n}]}")
	entries, err := manifest.ParseRules(manifest.File{Name: "rules.json", Text: text})
	if err != nil {
		return manifest.Entry{}, err
	}
	if entries[0].Rule == nil { // null
		return manifest.Entry{}, errors.New("rules.json:1: rules[0], cleanupThings: no rule")
	}
	return entries[0], nil
}

// wantFittingIndexes checks that each index has fields, each once.
func wantFittingIndexes(t *testing.T, e manifest.Entry) {
	for _, index := range e.AllIndexes() {
		seen := map[string]bool{}
		for _, field := range index.Fields {
			if field.FieldPath == "" || seen[field.FieldPath] {
				t.Errorf("index %+v", index)
			}
			seen[field.FieldPath] = true
		}
		if len(index.Fields) == 0 || index.CollectionGroup == "" {
			t.Errorf("index %+v", index)
		}
	}
}

// wantFittingData checks which documents are due among those made from a rule. For objects and accounts, other tests run the
// rule.
func wantFittingData(t *testing.T, r rule.Rule) {
	now := time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)
	long := now.AddDate(-101, 0, 0)
	s := sampledata.Declared(r, now)
	if len(s.Documents) == 0 || r.Objects != "" || r.Accounts != "" {
		return
	}
	due, kept := 0, 0
	for _, d := range s.Documents {
		ref, err := documents.RefOf(d.Path)
		if err != nil {
			t.Errorf("data at %q: %v", d.Path, err)
			continue
		}
		_, bound := r.ItemOf(documents.Document{Path: d.Path})
		in := r.IsGroup() && bound && strings.HasSuffix(ref.Collection, "/"+r.Name()) || ref.Collection == r.Collection
		if !in || d.Before == nil || !strings.HasPrefix(ref.ID, r.Name()+"-") {
			continue // it goes along, is in an archive, or keeps others
		}
		judged := declared.Judge(r, documents.Document{Path: d.Path, Data: asRead(d.Before), UpdateTime: long, CreateTime: long}, now)
		goes := !cmp.Equal(d.Before, d.After)
		switch {
		case goes && judged.Kind == "":
			t.Errorf("%s should go, and is kept: %+v", d.Path, judged)
		case goes:
			due++
		case judged.Kind != "" && !strings.Contains(ref.ID, "-kept-"):
			t.Errorf("%s should stay, and goes: %+v", d.Path, judged)
		default:
			kept++
		}
	}
	if due == 0 || kept == 0 {
		t.Errorf("data with %d that go and %d that stay", due, kept)
	}
}

// asRead returns a document's fields as Firestore returns them.
func asRead(fields map[string]any) map[string]any {
	out := map[string]any{}
	for name, value := range fields {
		switch v := value.(type) {
		case map[string]any:
			out[name] = asRead(v)
		case time.Time:
			out[name] = v.Truncate(time.Microsecond)
		default:
			out[name] = v
		}
	}
	return out
}
