package documents

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"cloud.google.com/go/firestore"
	"github.com/google/go-cmp/cmp"
)

// FuzzValidName: an id is accepted exactly if a document can have it, by Firestore's documented limits.
func FuzzValidName(f *testing.F) {
	for _, seed := range []string{"", "a", "日本語", "a/b", ".", "..", "...", "__", "___", "____", "__x__", "__x_", "__\n__", "__id7__", "__id-7__", "__id__", "__idx__", "\x00",
		"\xff", "%2F", " ",
		strings.Repeat("x", 1500), strings.Repeat("x", 1501), strings.Repeat("語", 500), strings.Repeat("語", 500) + "x"} {
		f.Add(seed)
	}
	reserved, numbered := regexp.MustCompile(`(?s)^__.*__$`), regexp.MustCompile(`^__id-?[0-9]+__$`)
	client := &firestore.Client{}
	f.Fuzz(func(t *testing.T, id string) {
		can := id != "" && utf8.ValidString(id) && len(id) <= 1500 && !strings.ContainsRune(id, '/') && id != "." && id != ".." &&
			(!reserved.MatchString(id) || numbered.MatchString(id))
		if got := ValidName(id); got != can {
			t.Fatalf("ValidName(%q) = %v, want %v", id, got, can)
		}
		if !can {
			return
		}
		ref := client.Doc("things/" + id)
		if ref == nil || ref.ID != id {
			t.Fatalf("things/%s names %v", id, ref)
		}
		if d := (Document{Path: "things/" + id}); d.ID() != id {
			t.Errorf("%q: ID() = %q", d.Path, d.ID())
		}
	})
}

// FuzzCursor: a saved cursor is refused with ErrCursor or can be used, and comes back when written again.
func FuzzCursor(f *testing.F) {
	for _, seed := range []string{"", "null", "[]", `[{"text":"a"}]`, `[{"time":"2026-01-10T15:00:00.123456Z"},{"text":"日本"}]`,
		`[{"int":1},{"real":1.5},{"text":"a"}]`,
		`[{},{"text":"a"}]`, `[{"bool":true},{"text":"a/b"}]`, `[{"time":"9999-12-31T23:59:59.999999999Z"},{"text":"a"}]`, `[{"time":"0000-01-01T00:00:00Z"},{"text":"a"}]`,
		`[{"text":"a","int":1},{"text":"b"}]`, `[{"text":1},{"text":"b"}]`, `[{"text":"a"}]x`} {
		f.Add(seed, 1)
		f.Add(seed, 2)
	}
	f.Fuzz(func(t *testing.T, saved string, want int) {
		if want < 1 || want > 4 {
			return
		}
		values, err := Cursor(saved).values(want, false)
		if err != nil {
			if !errors.Is(err, ErrCursor) {
				t.Fatalf("cursor %q: %v is no ErrCursor", saved, err)
			}
			return
		}
		id, _ := values[len(values)-1].(string)
		if len(values) != want || !ValidName(id) {
			t.Fatalf("cursor %q: %v", saved, values)
		}
		fields := []string{"a", "b", "c"}[:want-1]
		d := Document{Path: "things/" + id, Data: map[string]any{}}
		for i, field := range fields {
			if at, ok := values[i].(time.Time); ok && (at.UTC().Year() < 1 || at.UTC().Year() > 9999) {
				t.Fatalf("cursor %q: %s is no time of Firestore's", saved, at)
			}
			d.Data[field] = values[i]
		}
		again, err := Query{Collection: "things", OrderBy: fields}.After(d)
		if err != nil {
			t.Fatalf("cursor %q: written again: %v", saved, err)
		}
		same, err := again.values(want, false)
		if diff := cmp.Diff(values, same); err != nil || diff != "" {
			t.Errorf("cursor %q: again %v (-want +got):\n%s", saved, err, diff)
		}
	})
}
