package documents_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/shared/documents"
)

// TestExchange adds 1 to a number, while somebody else writes to the document right after it was first read.
func TestExchange(t *testing.T) {
	p := backendstest.Start(t)
	type data = map[string]any
	for name, tt := range map[string]struct {
		before    data // nil: there is no document
		meanwhile func(path string)
		lost      bool // the first answer to a commit
		want      data
		calls     int
	}{
		"a document":            {before: data{"n": 1, "other": "x"}, want: data{"n": int64(2), "other": "x"}, calls: 1},
		"no document":           {want: data{"n": int64(1)}, calls: 1},
		"a lost answer":         {before: data{"n": 1}, lost: true, want: data{"n": int64(3)}, calls: 2}, // f is to know its own
		"a lost answer, anew":   {lost: true, want: data{"n": int64(2)}, calls: 2},
		"changed meanwhile":     {before: data{"n": 1}, meanwhile: func(path string) { p.Set(t, path, data{"n": 10}) }, want: data{"n": int64(11)}, calls: 2},
		"the same, set anew":    {before: data{"n": 1}, meanwhile: func(path string) { p.Set(t, path, data{"n": 1, "at": 2}) }, want: data{"n": int64(2), "at": int64(2)}, calls: 2},
		"made by somebody else": {meanwhile: func(path string) { p.Set(t, path, data{"n": 10}) }, want: data{"n": int64(11)}, calls: 2},
		"deleted meanwhile": {before: data{"n": 1}, meanwhile: func(path string) {
			if _, err := p.Firestore(t).Doc(path).Delete(t.Context()); err != nil {
				t.Error(err)
			}
		}, want: data{"n": int64(1)}, calls: 2},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := telling(t, p, "Commit", func(n int, send func() error) error {
				if err := send(); err != nil || !tt.lost || n > 1 {
					return err
				}
				return status.Error(codes.Unavailable, "the connection broke")
			})
			path := "things/" + name
			if tt.before != nil {
				p.Set(t, path, tt.before)
			}
			calls := 0
			err := w.Exchange(t.Context(), path, func(d documents.Document, _ bool) (map[string]any, error) {
				if calls++; calls == 1 && tt.meanwhile != nil {
					tt.meanwhile(path)
				}
				n, _ := d.Data["n"].(int64)
				return data{"n": n + 1}, nil
			})
			if err != nil || calls != tt.calls {
				t.Errorf("%v after %d calls, want %d", err, calls, tt.calls)
			}
			if diff := cmp.Diff(tt.want, p.Documents(t, "things")[name]); diff != "" {
				t.Errorf("document (-want +got):\n%s", diff)
			}
		})
	}
	w, _ := telling(t, p, "Commit", func(int, func() error) error {
		t.Error("something was written")
		return nil
	})
	no := errors.New("no")
	if err := w.Exchange(t.Context(), "things/a",
		func(documents.Document, bool) (map[string]any, error) { return nil, no }); !errors.Is(err, no) {
		t.Errorf("error %v", err)
	}
}
