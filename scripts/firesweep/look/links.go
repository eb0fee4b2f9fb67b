package look

import (
	"context"
	"maps"
	"path"
	"regexp"
	"slices"

	"github.com/firesweep/firesweep/shared/documents"
)

// Numbers of values of a link.
const (
	leastLinked = 5 // fewer prove nothing
	mostLinked  = 100
)

// link is how documents or files refer to something else: by a field, or by what stands in their path.
type link struct {
	from   string // a field, or what stands for an id, in braces
	to     *place
	looked int
	gone   map[string]bool // ids of these that do not exist
	odd    bool            // one that is gone was perhaps never there
	people bool            // the ids are those of accounts, too
}

// certain reports whether some is gone and, for all that is known, was there: where many are not, perhaps nobody ever wrote them.
func (k *link) certain() bool {
	return k != nil && k.looked >= leastLinked && len(k.gone) > 0 && 4*len(k.gone) <= k.looked && !k.odd
}

// allLinks finds out what documents refer to.
func (l *looker) allLinks(ctx context.Context) error {
	for _, c := range l.collections() {
		if c.above != nil {
			l.parents(ctx, c)
		} else if all, _ := l.links(ctx, "{id}", idsOf(c.docs), l.people); len(all) > 0 {
			c.people = all[0]
		}
		to := []*place{l.people}
		for _, other := range l.top {
			if other != c && other != c.above {
				to = append(to, other)
			}
		}
		for _, f := range c.fields {
			all, err := l.links(ctx, f.name, f.ids(), to...)
			if err != nil {
				return err
			}
			for _, k := range all {
				k.to.referred = true
			}
			c.links = append(c.links, all[:min(len(all), 1)]...)
		}
	}
	return nil
}

func idsOf(docs []documents.Document) (ids []string) {
	for _, d := range docs {
		ids = append(ids, d.ID())
	}
	return ids
}

// plainID matches what may be an id, and is no text.
var plainID = regexp.MustCompile(`^[A-Za-z0-9_@.:-]{1,128}$`)

// ids returns what may be ids among the values of a field; of a reference, the last of its path.
func (f *field) ids() []string {
	ids := map[string]bool{}
	for _, value := range f.values {
		if ref, ok := documents.ReferenceOf(value); ok {
			value = ref.ID
		}
		if id, isText := value.(string); isText && len(f.forms) == 0 && plainID.MatchString(id) && documents.ValidID(id) {
			ids[id] = true
		}
	}
	return slices.Sorted(maps.Keys(ids))
}

// parents finds out which documents do not exist that those of a collection lie below.
func (l *looker) parents(ctx context.Context, c *place) {
	c.owner = &link{from: c.above.hole(), to: c.above, looked: c.above.names, gone: map[string]bool{},
		odd: 4*len(c.above.missing) > c.above.names}
	for _, d := range c.docs {
		if id := parentOf(d); slices.Contains(c.above.missing, id) {
			c.owner.gone[id] = true
		}
	}
	l.spare(ctx, c.owner)
	c.owner.people = c.owner.people || c.above.people != nil
}

func parentOf(d documents.Document) string { return path.Base(path.Dir(path.Dir(d.Path))) }

// spare takes out of what is gone who has an account, and perhaps no document yet.
func (l *looker) spare(ctx context.Context, k *link) {
	gone, _ := l.gone(ctx, l.people, slices.Sorted(maps.Keys(k.gone))) // what may not be read of accounts is unseen
	k.people, k.odd, k.gone = len(gone) < len(k.gone), k.odd || l.blind, gone
}

// links looks up to what ids lead, and returns where more than half of them are, the most first.
func (l *looker) links(ctx context.Context, from string, ids []string, to ...*place) (all []*link, err error) {
	ids = spread(ids, mostLinked)
	for _, of := range to {
		gone, err := l.gone(ctx, of, ids)
		if err != nil {
			return nil, err
		}
		there := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return gone[id] })
		odd := func(id string) bool {
			return !slices.ContainsFunc(there, func(other string) bool { return alike(id, other) })
		}
		if len(there) > len(gone) {
			all = append(all, &link{from: from, to: of, looked: len(ids), gone: gone,
				odd: slices.ContainsFunc(slices.Collect(maps.Keys(gone)), odd)})
		}
	}
	slices.SortStableFunc(all, func(a, b *link) int { return len(a.gone) - len(b.gone) })
	return all, nil
}

var numbered = regexp.MustCompile(`^([A-Za-z]*).*[0-9]`)

// alike reports whether two ids are made in the same way: both are generated and have the same length, or they begin with the
// same letters and have a number. A word such as system is like nothing.
func alike(a, b string) bool {
	const generated = 16 // characters, and more
	one, other := numbered.FindStringSubmatch(a), numbered.FindStringSubmatch(b)
	return len(a) == len(b) && len(a) >= generated || one != nil && other != nil && one[1] == other[1]
}

// gone returns those of some ids that do not exist; all if they were not looked up.
func (l *looker) gone(ctx context.Context, of *place, ids []string) (map[string]bool, error) {
	gone := map[string]bool{}
	for _, id := range ids {
		gone[id] = true
	}
	switch {
	case of == l.people && l.Accounts != nil:
		there, err := l.Accounts.Exist(ctx, ids)
		if err != nil {
			l.unseen("accounts: %s", err)
			l.Accounts, l.blind = nil, true
		}
		maps.DeleteFunc(gone, func(id string, _ bool) bool { return there[id] })
	case of == l.people:
	case of.complete:
		for _, d := range of.docs {
			delete(gone, d.ID())
		}
	case l.affords(len(ids)+len(ids)/30+1, "some of what documents and files refer to"):
		missing, err := l.db.Missing(ctx, of.path, ids)
		if err != nil {
			return nil, err
		}
		maps.DeleteFunc(gone, func(id string, _ bool) bool { return !slices.Contains(missing, id) })
	}
	return gone, nil
}
