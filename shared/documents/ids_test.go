package documents

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"cloud.google.com/go/firestore"

	"github.com/firesweep/firesweep/emulator/check"
)

func TestIDOf(t *testing.T) {
	for _, tt := range []struct {
		value any
		want  string // "": it names nothing
	}{
		{"u1", "u1"}, {"42", "42"}, {"042", "042"}, {"-1", "-1"}, {"0", "0"}, {strings.Repeat("x", 1500), strings.Repeat("x", 1500)},
		{int64(42), "42"}, {int64(1), "1"}, {int64(math.MaxInt64), "9223372036854775807"},
		{int64(0), ""}, {int64(-1), ""}, {int64(math.MinInt64), ""}, {42.0, ""}, {math.NaN(), ""}, {math.Inf(1), ""},
		{nil, ""}, {true, ""}, {"", ""}, {"a/b", ""}, {"..", ""}, {"__x__", ""}, {strings.Repeat("x", 1501), ""},
		{[]any{"u1"}, ""}, {map[string]any{"id": "u1"}, ""}, {[]byte("u1"), ""},
	} {
		id, ok := IDOf(tt.value)
		if ok != (tt.want != "") || ok && id != tt.want {
			t.Errorf("IDOf(%.20v) = %.20q, %v, want %.20q", tt.value, id, ok, tt.want)
		}
	}
}

// TestMistakenIDs: what a program wrote by mistake, what has blanks at its ends, and Datastore's numbers name nothing, but a document
// may be called so.
func TestMistakenIDs(t *testing.T) {
	for id, want := range map[string]bool{
		"undefined": false, "null": false, "NaN": false, "true": false, "false": false, "[object Object]": false,
		"Undefined": true, "nullable": true, "nan": true, "True": true, "falsehood": true, "none": true, "public": true, "0": true,
		" ": false, " a": false, "a ": false, "a\t": false, "\na": false, "a\u3000": false, "\u00a0a": false, "a\u2009": false, "a b": true,
		"__id7__": false, "__id-7__": false,
	} {
		check.Same(t, "ValidID of "+id, want, ValidID(id))
		check.Same(t, "ValidName of "+id, true, ValidName(id))
		ref, err := RefOf("things/" + id)
		check.Same(t, "RefOf(things/"+id+")", []any{id, nil}, []any{ref.ID, err})
	}
	for _, id := range []string{"", ".", "..", "__x__", "__id__", "__id7x__", "a/b", "\xff", strings.Repeat("x", 1501)} {
		if ValidID(id) || ValidName(id) {
			t.Errorf("%.20q is said to be valid", id)
		}
	}
}

func TestIDIn(t *testing.T) {
	const database = "projects/p/databases/(default)"
	ref := func(path string) *firestore.DocumentRef { return &firestore.DocumentRef{Path: path} }
	d := Document{Path: "circles/c", Database: database}
	for _, tt := range []struct {
		value any
		want  string // "": it names nothing
	}{
		{"u1", "u1"}, {int64(42), "42"}, {int64(0), ""}, {42.0, ""}, {true, ""}, {nil, ""}, {" u1", ""}, {"null", ""}, {"users/u1", ""},
		{[]any{"u1"}, ""}, {map[string]any{"id": "u1"}, ""},
		{ref(database + "/documents/users/u1"), "u1"},
		{ref(database + "/documents/users/null"), ""},
		{ref(database + "/documents/people/u1"), ""},
		{ref(database + "/documents/users2/u1"), ""},
		{ref(database + "/documents/users/u1/users/u2"), ""},
		{ref(database + "/documents/teams/t/users/u1"), ""},
		{ref("projects/p/databases/other/documents/users/u1"), ""},
		{ref("projects/q/databases/(default)/documents/users/u1"), ""},
		{(*firestore.DocumentRef)(nil), ""},
	} {
		id, ok := d.IDIn("users", tt.value)
		if ok != (tt.want != "") || ok && id != tt.want {
			t.Errorf("IDIn(users, %v) = %q, %v, want %q", tt.value, id, ok, tt.want)
		}
	}
	id, ok := d.IDIn("teams/t/users", ref(database+"/documents/teams/t/users/u1"))
	check.Same(t, "in a subcollection", []any{"u1", true}, []any{id, ok})
	_, ok = (Document{}).IDIn("users", ref("/documents/users/u1"))
	check.Same(t, "a document of no database refers to one", false, ok)
}

func TestShown(t *testing.T) {
	for id, want := range map[string]string{
		"p1": "posts/p1", "a_B-9": "posts/a_B-9", strings.Repeat("x", 128): "posts/" + strings.Repeat("x", 128),
		"":                       "posts/[0 bytes, SHA-256 e3b0c44298fc…]",
		"ken@example.com":        "posts/[15 bytes, SHA-256 3d36523e9029…]",
		"I am ken":               "posts/[8 bytes, SHA-256 DIGEST…]",
		"p1\n":                   "posts/[3 bytes, SHA-256 DIGEST…]",
		"丸":                      "posts/[3 bytes, SHA-256 DIGEST…]",
		"a.b.c":                  "posts/[5 bytes, SHA-256 DIGEST…]",
		strings.Repeat("x", 129): "posts/[129 bytes, SHA-256 DIGEST…]",
	} {
		sum := sha256.Sum256([]byte(id))
		want = strings.Replace(want, "DIGEST", hex.EncodeToString(sum[:])[:12], 1)
		check.Same(t, id+" is shown as", want, Ref{Collection: "posts", ID: id}.String())
	}
}

func TestNames(t *testing.T) {
	same := func(what string, want, got []any) {
		t.Helper()
		if !slices.Equal(want, got) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	referenceTo := func(r Ref) any { return &firestore.DocumentRef{Path: "projects/p/databases/d/documents/" + r.Path()} }
	for id, number := range map[string]any{
		"u1": nil, "42": int64(42), "0": int64(0), "-7": int64(-7), "9223372036854775807": int64(math.MaxInt64),
		"042": nil, "+42": nil, "-0": nil, "4_2": nil, "42a": nil, "42.0": nil, "9223372036854775808": nil, "٤٢": nil,
	} {
		want := []any{id}
		if number != nil {
			want = append(want, number)
		}
		ref := Ref{Collection: "things", ID: id}
		reference := referenceTo(ref)
		want = append(want, reference)
		same("names of "+id, want, ref.Names(reference))
		for _, text := range []string{"things/ID", "/things/ID", "things/ID/", " ID", "ID ", "ID\n", " things/ID", "things/ID ", "things/ID\n",
			"projects/p/databases/d/documents/things/ID"} {
			want = append(want, strings.Replace(text, "ID", id, 1))
		}
		same("what keeps "+id, want, ref.Keeping(reference))
	}
	longest := Ref{Collection: "things", ID: strings.Repeat("x", 1499)}
	same("names of the longest id that a query can ask for", []any{longest.ID}, longest.Names(referenceTo(longest)))
	same("what keeps it", []any{longest.ID}, longest.Keeping(referenceTo(longest)))
}

func TestNumbers(t *testing.T) {
	for name, tt := range map[string]struct {
		value    any
		number   float64
		isNumber bool
		whole    int64
		isWhole  bool
	}{
		"whole":               {int64(3), 3, true, 3, true},
		"negative":            {int64(-3), -3, true, -3, true},
		"the largest":         {int64(math.MaxInt64), math.MaxInt64, true, math.MaxInt64, true},
		"whole, as a real":    {-3.0, -3, true, -3, true},
		"the largest exact":   {0x1p53, 0x1p53, true, 1 << 53, true},
		"one of several":      {0x1p53 + 2, 0x1p53 + 2, true, 0, false},
		"a fraction":          {0.5, 0.5, true, 0, false},
		"infinite":            {math.Inf(1), 0, false, 0, false},
		"infinitely negative": {math.Inf(-1), 0, false, 0, false},
		"not a number":        {math.NaN(), 0, false, 0, false},
		"a text":              {"3", 0, false, 0, false},
		"a truth value":       {true, 0, false, 0, false},
		"null":                {nil, 0, false, 0, false},
	} {
		d := Document{Data: map[string]any{"n": tt.value}}
		number, isNumber := d.Number("n")
		whole, isWhole := d.Whole("n")
		if isNumber != tt.isNumber || isNumber && number != tt.number {
			t.Errorf("%s: number %v, %v", name, number, isNumber)
		}
		if isWhole != tt.isWhole || whole != tt.whole {
			t.Errorf("%s: whole %v, %v", name, whole, isWhole)
		}
	}
}

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
		check.Same(t, "ValidName of "+id, can, ValidName(id))
		if !can {
			return
		}
		ref := client.Doc("things/" + id)
		if ref == nil || ref.ID != id {
			t.Fatalf("things/%s names %v", id, ref)
		}
		check.Same(t, "id", id, Document{Path: "things/" + id}.ID())
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
		check.OK(t, err)
		check.Same(t, saved+", again", values, same)
	})
}
