package copies

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
)

var now = time.Date(2026, 1, 10, 18, 0, 0, 0, time.UTC)

const tick = time.Microsecond // Firestore's resolution

// source holds documents in the order of their names.
type source struct {
	cleanup.Source
	all   []documents.Document
	most  int // how many one answer holds
	asked []int
	err   error
}

func (s *source) First(_ context.Context, q documents.Query, from documents.Cursor,
	limit int) (found []documents.Document, err error) {
	s.asked = append(s.asked, limit)
	behind := from == ""
	for _, d := range s.all {
		if d.Ref().Collection != q.Collection {
			continue
		}
		if behind && len(found) == s.most {
			return found, documents.ErrTooMuch
		}
		if behind && len(found) < limit {
			found = append(found, d)
		}
		if at, err := q.After(d); err != nil || at == from {
			behind = true
		}
	}
	return found, s.err
}

func (s *source) Get(_ context.Context, refs []documents.Ref) (map[documents.Ref]documents.Document, error) {
	found := map[documents.Ref]documents.Document{}
	for _, d := range s.all {
		if slices.Contains(refs, d.Ref()) {
			found[d.Ref()] = d
		}
	}
	return found, s.err
}

// add adds a document of 100 bytes. Its update time is so many ticks from now.
func (s *source) add(path string, ticks time.Duration) {
	d := documents.Document{Path: path, Data: map[string]any{"x": strings.Repeat("x", 65)}, UpdateTime: now.Add(ticks * tick)}
	s.all = append(s.all, d)
}

func idsOf(all []documents.Document) string {
	var ids []string
	for _, d := range all {
		ids = append(ids, d.ID())
	}
	slices.Sort(ids)
	return strings.Join(ids, " ")
}

func TestPart(t *testing.T) {
	for name, tt := range map[string]struct {
		there, most, limit, bytes int
		found                     int
		complete                  bool
		asked                     []int
	}{
		"nothing":                      {0, 100, 400, 1000, 0, true, []int{10}},
		"a few":                        {9, 100, 400, 10_000, 9, true, []int{10}},
		"as many as are asked for":     {10, 100, 400, 10_000, 10, true, []int{10, 20}},
		"many":                         {75, 100, 400, 10_000, 75, true, []int{10, 20, 40, 80}},
		"up to the limit":              {15, 100, 15, 10_000, 15, false, []int{10, 5}},
		"over the limit":               {16, 100, 15, 10_000, 15, false, []int{10, 5}},
		"under the limit":              {14, 100, 15, 10_000, 14, true, []int{10, 5}},
		"one":                          {3, 100, 1, 10_000, 1, false, []int{1}},
		"up to the bytes":              {5, 100, 400, 500, 5, true, []int{10}},
		"over the bytes with the last": {5, 100, 400, 499, 5, false, []int{10}},
		"over the bytes":               {5, 100, 400, 399, 4, false, []int{10}},
		"over the bytes, one by one":   {30, 2, 400, 999, 10, false, []int{10, 20, 40, 80, 160}},
		"no bytes are left":            {5, 100, 400, -1, 0, false, nil},
		"cut off":                      {7, 3, 400, 10_000, 7, true, []int{10, 20, 40}},
	} {
		s := &source{most: tt.most}
		for i := range tt.there {
			s.add(fmt.Sprintf("a/%03d", i), 0)
		}
		found, next, complete, err := Part(t.Context(), s, "a", "", tt.limit, tt.bytes)
		if diff := cmp.Diff([]any{tt.found, tt.complete, tt.asked, nil}, []any{len(found), complete, s.asked, err}); diff != "" {
			t.Errorf("%s: found, complete, asked for, error (-want +got):\n%s", name, diff)
		}
		if tt.found == 0 || tt.complete {
			continue
		}
		rest, _, _, err := Part(t.Context(), s, "a", next, 400, 1_000_000)
		if all := slices.Concat(found, rest); err != nil || idsOf(all) != idsOf(s.all) {
			t.Errorf("%s: with the rest %s, %v", name, idsOf(all), err)
		}
	}
	failed := &source{most: 10, err: errors.New("failed")}
	if _, _, _, err := Part(t.Context(), failed, "a", "", 400, 1000); !errors.Is(err, failed.err) {
		t.Errorf("an error became %v", err)
	}
}

// TestCurrent: a copy is current if it was written after the original's last change, and not if both have the same time.
func TestCurrent(t *testing.T) {
	s := &source{most: 100}
	for id, copied := range map[string]time.Duration{"after": 1, "before": -1, "same": 0, "pending": -1, "stray": 1} {
		if id != "stray" {
			s.add("a/"+id, 0)
		}
		s.add("b/"+id, copied)
	}
	s.add("a/missing", 0)
	s.add("c/same", 1)
	pending := []documents.Document{{Path: "a/pending"}}
	all, stale, err := Compare(t.Context(), s, "a", "b", pending)
	if diff := cmp.Diff([]any{false, "before same stray", nil}, []any{all, idsOf(stale), err}); diff != "" {
		t.Errorf("Compare (-want +got):\n%s", diff)
	}
	originals := slices.DeleteFunc(slices.Clone(s.all), func(d documents.Document) bool { return d.Ref().Collection != "a" })
	if changed, err := Changed(t.Context(), s, originals, "b"); err != nil || idsOf(changed) != "before missing pending same" {
		t.Errorf("Changed = %s, %v", idsOf(changed), err)
	}
	for what, remove := range map[string]string{"a missing copy": "a/missing", "a stray one": "b/stray"} {
		rest := &source{most: 100}
		for _, d := range s.all {
			if d.Path != remove && !slices.Contains([]string{"before", "same"}, d.ID()) {
				rest.all = append(rest.all, d)
			}
		}
		if all, _, err := Compare(t.Context(), rest, "a", "b", pending); all || err != nil {
			t.Errorf("all but %s: %v, %v", what, all, err)
		}
		rest.all = slices.DeleteFunc(rest.all, func(d documents.Document) bool { return d.ID() == "missing" || d.ID() == "stray" })
		all, stale, err := Compare(t.Context(), rest, "a", "b", pending)
		if diff := cmp.Diff([]any{true, "", nil}, []any{all, idsOf(stale), err}); diff != "" {
			t.Errorf("Compare of all (-want +got):\n%s", diff)
		}
	}
	s.err = errors.New("failed")
	_, _, err = Compare(t.Context(), s, "a", "b", nil)
	if _, errChanged := Changed(t.Context(), s, originals, "b"); !errors.Is(err, s.err) || !errors.Is(errChanged, s.err) {
		t.Errorf("an error became %v, %v", err, errChanged)
	}
}

func TestWrites(t *testing.T) {
	all := []documents.Document{{Path: "a/1", Data: map[string]any{"n": 1}}, {Path: "a/2"}}
	text := func(writes []documents.Write) (all []string) {
		for _, w := range writes {
			all = append(all, fmt.Sprint(w, w.Data))
		}
		return all
	}
	for name, tt := range map[string]struct {
		got  []documents.Write
		want []string
	}{
		"set":    {Set(all, "b/x/c"), []string{"set b/x/c/1 map[n:1]", "set b/x/c/2 map[]"}},
		"move":   {Move(all, "b"), []string{"delete a/1 map[]", "delete a/2 map[]", "create b/1 map[n:1]", "create b/2 map[]"}},
		"remove": {Move(all, ""), []string{"delete a/1 map[]", "delete a/2 map[]"}},
	} {
		if diff := cmp.Diff(tt.want, text(tt.got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestFree(t *testing.T) {
	s := &source{most: 1}
	s.add("a/1-3/below/x", 0) // there is no a/1-3 itself
	for _, want := range []string{"a/1", "a/1-2", "a/1-4"} {
		got, err := Free(t.Context(), s, documents.Ref{Collection: "a", ID: "1"}, "below")
		if err != nil || got.Path() != want {
			t.Errorf("Free = %s, %v, want %s", got.Path(), err, want)
		}
		s.add(want, 0)
	}
	s.err = errors.New("failed")
	if _, err := Free(t.Context(), s, documents.Ref{Collection: "a", ID: "1"}, "below"); !errors.Is(err, s.err) {
		t.Errorf("an error became %v", err)
	}
}
