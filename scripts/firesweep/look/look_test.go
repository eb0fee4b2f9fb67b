package look

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/shared/documents"
)

func open(t *testing.T, p *backendstest.Project, bound *Bound) *documents.Client {
	t.Helper()
	db := documents.Database{Project: p.ID, ID: firestore.DefaultDatabaseID, EmulatorHost: p.Environment["FIRESTORE_EMULATOR_HOST"]}
	c, err := documents.Open(t.Context(), db, append(documents.ReadOnly(), bound.DialOptions()...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() }) // everything has been read
	return c
}

// TestBound: what a request costs counts, and one that may cost more than is left is not sent.
func TestBound(t *testing.T) {
	t.Parallel()
	p := backendstest.Start(t)
	p.SetMany(t, 1500, func(n int) (string, map[string]any) { return fmt.Sprintf("a/%04d", n), map[string]any{"n": n} })
	all, few := documents.Query{Collection: "a"}, documents.Query{Collection: "a", OrderBy: []string{"n"},
		Where: []documents.Filter{{Field: "n", Op: "<", Value: 3}}}
	for name, tt := range map[string]struct {
		do   func(ctx context.Context, r documents.Reader) (any, error)
		most int // that it may cost
		cost int // it has
	}{
		"a query":                 {func(ctx context.Context, r documents.Reader) (any, error) { return r.First(ctx, all, "", 7) }, 7, 7},
		"a query that finds less": {func(ctx context.Context, r documents.Reader) (any, error) { return r.First(ctx, few, "", 7) }, 7, 4}, // and its entries
		"a query that finds nothing": {func(ctx context.Context, r documents.Reader) (any, error) {
			return r.First(ctx, documents.Query{Collection: "b"}, "", 7)
		}, 7, 1},
		"some documents, one of which is missing": {func(ctx context.Context, r documents.Reader) (any, error) {
			return r.GetAll(ctx, []string{"a/0001", "a/x"})
		}, 2, 2},
		"a count":                 {func(ctx context.Context, r documents.Reader) (any, error) { return r.CountUpTo(ctx, all, 5000) }, 5, 2},
		"a count that ends early": {func(ctx context.Context, r documents.Reader) (any, error) { return r.CountUpTo(ctx, all, 1000) }, 1, 1},
		"the collections below a document": {func(ctx context.Context, r documents.Reader) (any, error) {
			return r.Collections(ctx, documents.Ref{Collection: "a", ID: "0001"})
		}, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enough, less := NewBound(tt.most), NewBound(tt.most-1)
			if _, err := tt.do(enough.Metered(t.Context()), open(t, p, enough).Reader()); err != nil || enough.Used() != tt.cost {
				t.Errorf("with %d: %v, %d used, want %d", tt.most, err, enough.Used(), tt.cost)
			}
			_, err := tt.do(less.Metered(t.Context()), open(t, p, less).Reader())
			if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("it may cost %d reads, and %d are left", tt.most, tt.most-1)) || less.Used() != 0 {
				t.Errorf("with %d: %v, %d used", tt.most-1, err, less.Used())
			}
		})
	}
	endless := NewBound(1 << 20)
	if _, err := open(t, p, endless).Reader().Count(t.Context(), all); err == nil || endless.Used() != 0 {
		t.Errorf("a count without a limit: %v, %d used", err, endless.Used())
	}
}

// TestLookKeepsToItsBound: looking ends well whatever the bound is.
func TestLookKeepsToItsBound(t *testing.T) {
	t.Parallel()
	p := backendstest.Start(t)
	p.SetMany(t, 900, func(n int) (string, map[string]any) {
		path := fmt.Sprintf("%c/%c%d", 'a'+n%3, "AKZakz"[n%6], n)
		if n%2 == 0 {
			path += fmt.Sprintf("/below/%d", n)
		}
		return path, map[string]any{"createdBy": fmt.Sprintf("%c%d", "AKZakz"[n%6], n)}
	})
	for _, most := range []int{1, 5, 120, 300, 500, 700, 2000} {
		bound := NewBound(most)
		found, err := Look(bound.Metered(t.Context()), Project{Documents: open(t, p, bound), Bound: bound, Now: time.Now()})
		sampled := 0
		for _, c := range found.Collections {
			sampled += c.Sampled
		}
		if err != nil || bound.Used() < max(1, sampled) || bound.Used() > most {
			t.Errorf("%d: %v, %d used, %d looked at", most, err, bound.Used(), sampled)
		}
	}
}

// TestSampleIsSpread: documents from all parts of a large collection are looked at, also of a subcollection.
func TestSampleIsSpread(t *testing.T) {
	t.Parallel()
	p := backendstest.Start(t)
	p.SetMany(t, 520, func(n int) (string, map[string]any) {
		return fmt.Sprintf("rooms/%c%03d/seats/%d", 'A'+n%26, n, n), map[string]any{"n": n}
	})
	p.SetMany(t, 520, func(n int) (string, map[string]any) {
		return fmt.Sprintf("rooms/%c%03d", 'A'+n%26, n), map[string]any{"n": n}
	})
	bound := NewBound(5000)
	found, err := Look(bound.Metered(t.Context()), Project{Documents: open(t, p, bound), Bound: bound, Now: time.Now()})
	if err != nil || len(found.Collections) != 2 {
		t.Fatalf("%+v, %v", found, err)
	}
	for _, c := range found.Collections {
		letters := map[byte]bool{}
		for _, d := range c.docs {
			letters[d.Path[len("rooms/")]] = true
		}
		// The ids begin with capital letters: the parts that begin with small ones are empty, and another makes up for them.
		if c.Count != 520 || c.AtLeast || c.About || c.Sampled != Sample || !letters['A'] || !letters['C'] || !letters['O'] {
			t.Errorf("%s: %d documents, %d looked at, %v", c.Path, c.Count, c.Sampled, letters)
		}
	}
}

func TestAlike(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"Jx7yTq0Zb1cDeFgHiJkL", "abcdefghijklmnopqrst", true}, {"Jx7yTq0Zb1cDeFgHiJkL", "abcdefghijklmnopqrs", false},
		{"user-17", "user-3", true}, {"user-17", "system", false}, {"hana", "system", false}, {"17", "3", true}, {"a1b", "1ab", false},
		{"users/u1", "users/u22", true},
	} {
		if got := alike(tt.a, tt.b); got != tt.want {
			t.Errorf("%q, %q: %t", tt.a, tt.b, got)
		}
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"fcmTokens": "fcm token", "last_seen_at": "last seen at", "userID": "user id", "Entries": "entry", "projects-invites": "project invite",
		"status": "status", "address": "address", "": "", "123": "",
	} {
		if got := strings.Join(words(name), " "); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

// TestSameName: collections of the same name below different ones are counted by their share.
func TestSameName(t *testing.T) {
	t.Parallel()
	p := backendstest.Start(t)
	for n := range 40 {
		above := []string{"clubs", "teams", "teams", "teams"}[n%4]
		p.Set(t, fmt.Sprintf("%s/%c%d/notes/n", above, 'A'+n, n), map[string]any{"n": n})
		p.Set(t, fmt.Sprintf("%s/%c%d", above, 'A'+n, n), map[string]any{"n": n})
	}
	bound := NewBound(5000)
	found, err := Look(bound.Metered(t.Context()), Project{Documents: open(t, p, bound), Bound: bound, Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, c := range found.Collections {
		got[c.Path] = c.Count
		if c.About != strings.Contains(c.Path, "/") || c.Sampled != c.Count {
			t.Errorf("%s: about %t, %d looked at", c.Path, c.About, c.Sampled)
		}
	}
	want := map[string]int{"clubs": 10, "teams": 30, "clubs/{club}/notes": 10, "teams/{team}/notes": 30}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestFields: what fields hold, and which of them hold times.
func TestFields(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var docs []documents.Document
	for n := range 20 {
		data := map[string]any{
			"stamp": at, "ms": at.UnixMilli(), "s": at.Unix(), "iso": at.Format(time.RFC3339), "phone": int64(4915112345678), "count": int64(n),
			"mixed": []any{at, at.UnixMilli()}[n%2], "state": []string{"a", "b"}[n%2], "free": fmt.Sprint("text ", n), "none": nil,
			"on": map[string]any{"off": n > 0}, "by id": 1, "owners": map[string]any{},
		}
		for i := range 11 {
			data["owners"].(map[string]any)[fmt.Sprint("u", i)] = true
		}
		if n < 10 {
			data["half"] = "x"
		}
		docs = append(docs, documents.Document{Path: fmt.Sprint("a/", n), Data: data})
	}
	got := map[string]string{}
	for _, f := range fieldsOf(docs) {
		got[f.Name] = fmt.Sprint(f.Types, f.Percent, f.As, f.Values)
	}
	for name, want := range map[string]string{
		"stamp": "[timestamp] 100 [timestamp] map[]", "ms": "[number] 100 [milliseconds] map[]", "s": "[number] 100 [seconds] map[]",
		"iso": "[text] 100 [text] map[]", "phone": "[number] 100 [] map[]", "count": "[number] 100 [] map[]",
		"mixed": "[number timestamp] 100 [timestamp milliseconds] map[]", "state": "[text] 100 [] map[a:10 b:10]", "free": "[text] 100 [] map[]",
		"none": "[] 0 [] map[]", "on": "[map] 100 [] map[]", "on.off": "[true or false] 100 [] map[false:1 true:19]", "by id": "",
		"owners": "[map] 100 [] map[]", "owners.u1": "", "half": "[text] 50 [] map[x:10]",
	} {
		if got[name] != want {
			t.Errorf("%s: %s, want %s", name, got[name], want)
		}
	}
}
