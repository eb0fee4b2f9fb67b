package documents_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/shared/documents"
)

// TestExchangeOfWhatIsKnown: a document that an exchange has left need not be read, unless it has changed since.
func TestExchangeOfWhatIsKnown(t *testing.T) {
	t.Parallel()
	p := backendstest.Start(t)
	type data = map[string]any
	for name, tt := range map[string]struct {
		meanwhile func(path string)
		lost      bool // the first answer to the commit
		want      []any
	}{
		"as it was left":    {want: []any{"left"}},
		"a lost answer":     {lost: true, want: []any{"left", "again"}},
		"changed since":     {meanwhile: func(path string) { p.Set(t, path, data{"is": "theirs"}) }, want: []any{"left", "theirs"}},
		"written as it was": {meanwhile: func(path string) { p.Set(t, path, data{"is": "left"}) }, want: []any{"left"}},
		"deleted since":     {meanwhile: func(path string) { p.Delete(t, path) }, want: []any{"left", nil}},
	} {
		t.Run(name, func(t *testing.T) {
			w := disturbed(t, p, func(n int, send func() error) error {
				if err := send(); err != nil || !tt.lost || n != 2 {
					return err
				}
				return status.Error(codes.Unavailable, "the connection broke")
			})
			path := "known/" + name
			at, err := w.Exchange(t.Context(), path, documents.Document{}, func(documents.Document, bool) (fields, also map[string]any, _ error) {
				return data{"is": "left"}, nil, nil
			})
			d, _, getErr := w.Get(t.Context(), path)
			ok(t, errors.Join(err, getErr))
			if at.IsZero() || !at.Equal(d.UpdateTime) {
				t.Fatalf("written at %s, read as of %s", at, d.UpdateTime)
			}
			if tt.meanwhile != nil {
				tt.meanwhile(path)
			}
			var seen []any
			known := documents.Document{Path: path, UpdateTime: at, Data: data{"is": "left"}}
			_, err = w.Exchange(t.Context(), path, known, func(d documents.Document, _ bool) (fields, also map[string]any, _ error) {
				seen = append(seen, d.Data["is"])
				return data{"is": "again"}, nil, nil
			})
			if diff := cmp.Diff(tt.want, seen); err != nil || diff != "" {
				t.Errorf("%v; seen (-want +got):\n%s", err, diff)
			}
			same(t, "in the end", any("again"), p.Documents(t, "known")[name]["is"])
		})
	}
}

// TestExchange adds 1 to a number, while somebody else writes to the document right after it was first read. It writes another
// document along with that, in the same commit, or alone. After a lost answer, the function is called again and is to know its own.
func TestExchange(t *testing.T) {
	t.Parallel()
	p := backendstest.Start(t)
	type data = map[string]any
	lost := status.Error(codes.Unavailable, "the connection broke")
	large := data{"x": strings.Repeat("x", 1<<20)}
	for name, tt := range map[string]struct {
		before, also data
		fields       bool // are written
		meanwhile    data // set by somebody else after the first read; empty: deleted
		lost         bool // the first answer to a commit
		thing, other data // in the end; nil: there is no such document
		calls        int
		fails        bool
	}{
		"a document":              {before: data{"n": 1, "x": 2}, also: data{"a": 1}, fields: true, thing: data{"n": int64(2), "x": int64(2)}, other: data{"a": int64(1)}, calls: 1},
		"no document":             {also: data{"a": 1}, fields: true, thing: data{"n": int64(1)}, other: data{"a": int64(1)}, calls: 1},
		"a lost answer":           {before: data{"n": 1}, also: data{"a": 1}, fields: true, lost: true, thing: data{"n": int64(3)}, other: data{"a": int64(2)}, calls: 2},
		"a lost answer, anew":     {fields: true, lost: true, thing: data{"n": int64(2)}, calls: 2},
		"the same, set anew":      {before: data{"n": 1}, fields: true, meanwhile: data{"n": 1, "at": 2}, thing: data{"n": int64(2), "at": int64(2)}, calls: 2},
		"deleted meanwhile":       {before: data{"n": 1}, fields: true, meanwhile: data{}, thing: data{"n": int64(1)}, calls: 2},
		"changed meanwhile":       {before: data{"n": 1}, also: data{"a": 1}, fields: true, meanwhile: data{"n": 10}, thing: data{"n": int64(11)}, other: data{"a": int64(2)}, calls: 2},
		"made meanwhile":          {also: data{"a": 1}, fields: true, meanwhile: data{"n": 10}, thing: data{"n": int64(11)}, other: data{"a": int64(2)}, calls: 2},
		"alone":                   {before: data{"n": 1}, also: data{"a": 1}, thing: data{"n": int64(1)}, other: data{"a": int64(1)}, calls: 1},
		"alone, lost":             {also: data{"a": 1}, lost: true, other: data{"a": int64(2)}, calls: 2},
		"alone, whatever becomes": {before: data{"n": 1}, also: data{"a": 1}, meanwhile: data{"n": 10}, thing: data{"n": int64(10)}, other: data{"a": int64(1)}, calls: 1},
		"nothing":                 {before: data{"n": 1}, thing: data{"n": int64(1)}, calls: 1},
		"what is refused":         {before: data{"n": 1}, also: large, fields: true, thing: data{"n": int64(1)}, calls: 1, fails: true},
	} {
		p.Reset(t)
		if tt.before != nil {
			p.Set(t, "things/t", tt.before)
		}
		w := disturbed(t, p, func(n int, send func() error) error {
			if err := send(); err != nil || !tt.lost || n > 1 {
				return err
			}
			return lost
		})
		calls := 0
		_, err := w.Exchange(t.Context(), "things/t", documents.Document{}, func(d documents.Document, _ bool) (fields, also map[string]any, err error) {
			switch calls++; {
			case calls > 1 || tt.meanwhile == nil:
			case len(tt.meanwhile) == 0:
				p.Delete(t, "things/t")
			default:
				p.Set(t, "things/t", tt.meanwhile)
			}
			if n, _ := d.Data["n"].(int64); tt.fields {
				fields = data{"n": n + 1}
			}
			if tt.also != nil {
				if also = (data{"others/o": tt.also}); tt.also["a"] != nil {
					also["others/o"] = struct {
						A int `firestore:"a"`
					}{calls}
				}
			}
			return fields, also, nil
		})
		if (err != nil) != tt.fails {
			t.Errorf("%s: %v", name, err)
		}
		if calls != tt.calls {
			t.Errorf("%s: %d calls, want %d", name, calls, tt.calls)
		}
		same(t, name+": documents", []data{tt.thing, tt.other}, []data{p.Documents(t, "things")["t"], p.Documents(t, "others")["o"]})
	}
	w := disturbed(t, p, func(int, func() error) error {
		t.Error("something was written")
		return nil
	})
	_, err := w.Exchange(t.Context(), "things/t", documents.Document{}, func(documents.Document, bool) (fields, also map[string]any, err error) {
		return data{"n": 1}, data{"others": data{}}, nil
	})
	if err == nil || !strings.Contains(err.Error(), "not a document's path") {
		t.Errorf("a collection's path: %v", err)
	}
	no := errors.New("no")
	if _, err := w.Exchange(t.Context(), "things/t", documents.Document{},
		func(documents.Document, bool) (fields, also map[string]any, _ error) { return nil, nil, no }); !errors.Is(err, no) {
		t.Errorf("error %v", err)
	}
}
