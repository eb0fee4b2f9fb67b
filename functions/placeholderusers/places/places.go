// Package places looks for documents that refer to one: in fields that hold its id, alone or in a list.
package places

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/flow"
)

// Place is where documents may be referred to: a field that holds an id, alone or in a list. Dots in its name lead into maps.
type Place struct {
	Collection string // a top-level collection, or the name of a collection group
	Group      bool
	Field      string
}

// String returns the place as [Parse] reads it.
func (p Place) String() string {
	if p.Group {
		return groupPrefix + p.Collection + "." + p.Field
	}
	return p.Collection + "." + p.Field
}

// maxPlaces keeps a commit's transaction small: each place is a query, and placesAtOnce of them are asked at once.
const (
	maxPlaces    = 50
	placesAtOnce = 12
)

// Form says what [Parse] reads, for people.
const Form = "places such as posts.userId, projects.owner.id (id in the map owner) or group:notes.author_id " +
	"(all collections named notes), separated by commas"

// Default are where users are referred to unless a setting says otherwise: all that the nine jobs take for ids of users, and what
// GitLab calls its authors and creators.
const Default = "posts.userId,comments.userId,reactions.userId,circles.ownerId,inquiries.userId," +
	"projects.owner_ids,projects.maintainer_ids,projects.creator_id,members.user_id,notes.author_id,group:notes.author.id"

const groupPrefix = "group:"

var placePattern = regexp.MustCompile(`^(group:)?([A-Za-z_][A-Za-z0-9_-]*)((?:\.[A-Za-z_][A-Za-z0-9_]*)+)$`)

// Parse parses a list of places, see [Form]. The error says of each that is wrong what is wrong with it.
func Parse(text string) ([]Place, error) {
	var places []Place
	var wrong []string
	for part := range strings.SplitSeq(text, ",") {
		place, err := parsePlace(strings.TrimSpace(part))
		if err == nil && slices.Contains(places, place) {
			err = fmt.Errorf("%s is there twice", place)
		}
		if err != nil {
			wrong = append(wrong, err.Error())
		}
		places = append(places, place)
	}
	if len(places) > maxPlaces {
		wrong = append(wrong, fmt.Sprintf("%d places are given, but at most %d are allowed", len(places), maxPlaces))
	}
	if len(wrong) > 0 {
		return nil, errors.New(strings.Join(wrong, "; "))
	}
	return places, nil
}

func parsePlace(text string) (Place, error) {
	m := placePattern.FindStringSubmatch(text)
	if m == nil {
		return Place{}, fmt.Errorf("%q is neither collection.field nor group:collection.field", text)
	}
	field := strings.TrimPrefix(m[3], ".")
	for _, name := range append(strings.Split(field, "."), m[2], field) { // what cannot name a document cannot name these either
		if !documents.ValidName(name) {
			const reserved = "%.100q: Firestore takes no names of more than 1,500 bytes, and reserves those of the form __…__"
			return Place{}, fmt.Errorf(reserved, text)
		}
	}
	return Place{Collection: m[2], Group: m[1] != "", Field: field}, nil
}

// Referred looks for documents that refer to one, in any of the ways of [documents.Ref.Keeping]. It returns the first of the
// places where it finds one, the zero Place if there is none. known is false if the document's id is too long for a query, so
// that nobody can tell.
func Referred(ctx context.Context, src cleanup.Source, ref documents.Ref, places []Place) (in Place, known bool, err error) {
	reference := src.Reference(ref)
	if !documents.Queryable(reference) { // which is longer than the id and the path
		return Place{}, false, nil
	}
	names := ref.Keeping(reference)
	refer, err := those(places, func(place Place) (bool, error) { return place.names(ctx, src, names) })
	if err != nil || len(refer) == 0 {
		return Place{}, true, err
	}
	return refer[0], true, nil
}

// Unwritten returns those of the places of which no document has the field, be it null. It costs one read a place.
func Unwritten(ctx context.Context, r documents.Reader, places []Place) ([]Place, error) {
	return those(places, func(place Place) (bool, error) {
		found, err := r.First(ctx, documents.Query{
			Collection: place.Collection, Group: place.Group, OrderBy: []string{place.Field}, Select: documents.NameOnly,
			From: []any{nil}, // the least value; an order by name besides would cost another read
		}, "", 1)
		return len(found) == 0, err
	})
}

// those returns the places of which ask says yes, in their order.
func those(places []Place, ask func(Place) (bool, error)) (yes []Place, err error) {
	said := make([]bool, len(places))
	errs := flow.Many(placesAtOnce, len(places), func(i int) (err error) {
		said[i], err = ask(places[i])
		return err
	})
	for i, place := range places {
		if said[i] {
			yes = append(yes, place)
		}
	}
	return yes, errors.Join(errs...)
}

// names reports whether a document names another there, in any of some ways.
func (p Place) names(ctx context.Context, src cleanup.Source, names []any) (bool, error) {
	q := documents.Query{Collection: p.Collection, Group: p.Group, Select: documents.NameOnly}
	for _, name := range names {
		q.Any = append(q.Any, []documents.Filter{{Field: p.Field, Op: "==", Value: name}},
			[]documents.Filter{{Field: p.Field, Op: "array-contains", Value: name}})
	}
	found, err := src.First(ctx, q, "", 1)
	return len(found) > 0, err
}
