package sweep

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/inorder"
)

// Place is where documents may be referred to: a field of a top-level collection's documents that holds an id, alone or in a list.
type Place struct{ Collection, Field string }

// String returns the place as [ParsePlaces] reads it.
func (p Place) String() string { return p.Collection + "." + p.Field }

// maxPlaces keeps a commit's transaction small: each place is a query. placesAtOnce of them are asked at once. If already the
// first refers to the document, asking them one by one would save up to placesAtOnce - 1 reads.
const (
	maxPlaces    = 50
	placesAtOnce = 10
)

var placePattern = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_-]*)\.([A-Za-z_][A-Za-z0-9_]*)$`)

// ParsePlaces parses pairs of a top-level collection and a field, such as "posts.userId,projects.owner_ids".
func ParsePlaces(text string) ([]Place, error) {
	var places []Place
	for pair := range strings.SplitSeq(text, ",") {
		m := placePattern.FindStringSubmatch(strings.TrimSpace(pair))
		if m == nil {
			return nil, fmt.Errorf("%q is not collection.field", pair)
		}
		for _, name := range m[1:] { // what cannot name a document cannot name a collection or a field either
			if !documents.ValidID(name) {
				return nil, fmt.Errorf("%q: Firestore takes no names of more than 1,500 bytes, and reserves those of the form __…__", pair)
			}
		}
		places = append(places, Place{Collection: m[1], Field: m[2]})
	}
	if len(places) > maxPlaces {
		return nil, fmt.Errorf("%d pairs are given, but at most %d are allowed", len(places), maxPlaces)
	}
	return places, nil
}

// Referred looks for documents that refer to one: by its id as a text, as a number if it is one, or by a reference. It
// returns the first of the places where it finds one, the zero Place if there is none. Places are asked side by side, ten at a
// time: mostly nothing refers to what is asked about, and then each has to be asked. known is false if the document's id is
// too long for a query, so that nobody can tell.
func Referred(ctx context.Context, src Source, ref documents.Ref, places []Place) (in Place, known bool, err error) {
	names := append(documents.NamesOf(ref.ID), src.Reference(ref))
	for _, name := range names {
		if !documents.Queryable(name) {
			return Place{}, false, nil
		}
	}
	for some := range slices.Chunk(places, placesAtOnce) {
		refers := make([]bool, len(some))
		ask := make([]func() error, len(some))
		for i, place := range some {
			ask[i] = func() (err error) {
				refers[i], err = place.names(ctx, src, names)
				return err
			}
		}
		for i, err := range inorder.All(ask...) {
			if err != nil || refers[i] {
				return some[i], true, err
			}
		}
	}
	return Place{}, true, nil
}

// names reports whether a document names another there, in any of some ways.
func (p Place) names(ctx context.Context, src Source, names []any) (bool, error) {
	q := documents.Query{Collection: p.Collection, Select: documents.NameOnly}
	for _, name := range names {
		q.Any = append(q.Any, []documents.Filter{{Field: p.Field, Op: "==", Value: name}},
			[]documents.Filter{{Field: p.Field, Op: "array-contains", Value: name}})
	}
	found, err := src.First(ctx, q, "", 1)
	return len(found) > 0, err
}
