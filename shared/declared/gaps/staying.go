package gaps

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/rule"
)

// At how many documents a run looks for collections that would stay below them: of those that are due, and of what is deleted
// with each of them by one relation.
const (
	lookedBelow     = 20
	lookedBelowWith = 2
)

// staying looks for collections below what a rule deletes that no relation deletes.
type staying struct {
	documents.Reader
	rule.Rule
	looked map[string]int            // by the key of a with
	stay   map[string]map[string]int // likewise, by the collection's name
}

// Staying names the collections below documents that are due, and below what is deleted with them, that would stay. key is where
// the rule says what is deleted with them.
func Staying(ctx context.Context, r documents.Reader, key string, of rule.Rule, due []string) (said []string, err error) {
	s := staying{r, of, map[string]int{}, map[string]map[string]int{}}
	n := min(lookedBelow, len(due))
	for i := range n { // all over the plan
		err = cmp.Or(err, s.look(ctx, key, of.With, due[i*len(due)/n], of.Place()))
	}
	for _, key := range slices.Sorted(maps.Keys(s.stay)) {
		for _, name := range slices.Sorted(maps.Keys(s.stay[key])) {
			said = append(said, fmt.Sprintf(`%s: %s below %d of %d documents would stay: add {"subcollection": %q}, or "**" for all that `+
				"is below", key, name, s.stay[key][name], s.looked[key], name))
		}
	}
	return said, err
}

// look looks below a document, with which what with says is deleted.
func (s *staying) look(ctx context.Context, key string, with []rule.Relation, at string, place rule.Place) error {
	d := documents.Document{Path: at}
	everything := func(w rule.Relation) bool { return w.Subcollection == rule.Everything }
	if slices.ContainsFunc(with, everything) || s.looked[key] == lookedBelow {
		return nil
	}
	names, err := s.Collections(ctx, d.Ref())
	if err != nil {
		return err
	}
	s.looked[key]++
	for _, name := range names {
		if !slices.ContainsFunc(with, func(w rule.Relation) bool { return w.Subcollection == name }) {
			if s.stay[key] == nil {
				s.stay[key] = map[string]int{}
			}
			s.stay[key][name]++
		}
	}
	for _, w := range with {
		if w.Remove || w.Account != "" || w.Objects != "" {
			continue
		}
		found, err := s.along(ctx, w, d, place)
		for _, path := range found[:min(lookedBelowWith, len(found))] {
			err = cmp.Or(err, s.look(ctx, w.Key+".with", w.With, path, w.Place(place)))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// along returns the paths of some documents that are deleted with one of a place by a relation.
func (s *staying) along(ctx context.Context, w rule.Relation, d documents.Document, of rule.Place) (paths []string, err error) {
	if w.Document != "" {
		whole, _, err := s.Get(ctx, d.Path)
		whole.Path = d.Path
		in, _ := s.ItemOf(whole)
		refs, _ := in.Fill(w.Document)
		for _, ref := range refs {
			paths = append(paths, ref.Path())
		}
		return paths, err
	}
	if w.Subcollection != "" { // below a document that there is not, too
		found, err := s.Listed(ctx, d.Path+"/"+w.Subcollection, lookedBelowWith)
		for _, ref := range found {
			paths = append(paths, ref.Path())
		}
		return paths, err
	}
	q, ok := w.Query(d.Ref(), of.Repeats(), func(ref documents.Ref) any { return s.Ref(ref.Path()) })
	if !ok {
		return nil, nil
	}
	found, err := s.First(ctx, q, "", lookedBelowWith)
	if errors.Is(err, documents.ErrTooMuch) {
		err = nil
	}
	for _, one := range found {
		paths = append(paths, one.Path)
	}
	return paths, err
}
