package look

import (
	"context"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/documents"
)

// authentication is what a link leads to that leads to accounts; others lead to a collection.
const authentication = "Authentication"

// Numbers of values of a link.
const (
	leastLinked = 5 // fewer prove nothing
	mostLinked  = 100
)

// link is how documents or files refer to something else: by a field, or by what stands in their path.
type link struct {
	from   string // a field, or what stands for an id, in braces
	to     string
	looked int
	gone   map[string]bool // ids of these that do not exist
	odd    bool            // one that is gone is perhaps nobody's id, because it is not made like those that are there
	people bool            // of documents above: their ids are those of accounts, too
}

func (k *link) fact() Fact {
	if k.to == authentication {
		return Fact{k.from, fmt.Sprintf("%d of %d have no account", len(k.gone), k.looked)}
	}
	return Fact{k.from, fmt.Sprintf("%d of %d are not in %s", len(k.gone), k.looked, k.to)}
}

// certain reports whether some is gone and, for all that is known, was there: where many are not, perhaps nobody ever wrote them.
func (k *link) certain() bool {
	return k != nil && len(k.gone) > 0 && 4*len(k.gone) <= k.looked && !k.odd
}

// allLinks finds out what documents refer to.
func (l *looker) allLinks(ctx context.Context) (err error) {
	for _, c := range l.collections {
		if c.isBelow() {
			l.above(ctx, c)
		} else if c.people, err = l.link(ctx, "{id}", idsOf(c.docs), authentication); err != nil {
			return err
		}
		for _, f := range c.fields {
			if err := l.fieldLink(ctx, c, f); err != nil {
				return err
			}
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

// fieldLink finds out what a field refers to, by an id or a reference: an account, or a document of a collection at the top.
func (l *looker) fieldLink(ctx context.Context, c *place, f *field) (err error) {
	ids := map[string]bool{}
	for _, value := range f.values {
		if ref, ok := documents.ReferenceOf(value); ok {
			value = ref.ID
		}
		if id, isText := value.(string); isText && len(f.forms) == 0 && plainID.MatchString(id) && documents.ValidID(id) {
			ids[id] = true
		}
	}
	best, err := l.link(ctx, f.name, slices.Sorted(maps.Keys(ids)), authentication)
	for _, other := range l.collections {
		if other.isBelow() || other == c || strings.HasPrefix(c.path, other.path+"/") || err != nil {
			continue
		}
		var k *link
		if k, err = l.link(ctx, f.name, slices.Sorted(maps.Keys(ids)), other.path); k == nil {
			continue
		}
		if other.referred = true; best == nil || len(k.gone) < len(best.gone) {
			best = k
		}
	}
	if best != nil && best.looked >= leastLinked {
		c.links = append(c.links, best)
	}
	return err
}

// above finds out which documents do not exist that those of a collection lie below.
func (l *looker) above(ctx context.Context, c *place) {
	of := l.at(path.Dir(path.Dir(c.path)))
	k := &link{from: "{" + of.hole() + "}", to: of.path, looked: of.listed, gone: map[string]bool{}}
	for id, names := range of.missing {
		if slices.Contains(names, c.name()) {
			k.gone[id] = true
		}
	}
	if k.looked < leastLinked || 2*of.none >= of.listed {
		return
	}
	alive := l.accounts(ctx, slices.Sorted(maps.Keys(k.gone)))
	maps.DeleteFunc(k.gone, func(id string, _ bool) bool { return alive[id] })
	k.people, k.odd = of.people != nil || len(alive) > 0, l.blind
	c.owner = k
}

func parentOf(d documents.Document) string { return path.Base(path.Dir(path.Dir(d.Path))) }

// link looks ids up. It returns nil if no more than half of them are there.
func (l *looker) link(ctx context.Context, from string, ids []string, to string) (*link, error) {
	ids = spread(ids, mostLinked)
	there, err := l.there(ctx, to, ids)
	if err != nil || 2*len(there) <= len(ids) {
		return nil, err
	}
	k := &link{from: from, to: to, looked: len(ids), gone: map[string]bool{}}
	for _, id := range ids {
		if !there[id] {
			k.gone[id] = true
			k.odd = k.odd || !slices.ContainsFunc(slices.Collect(maps.Keys(there)), func(other string) bool { return alike(id, other) })
		}
	}
	return k, nil
}

var numbered = regexp.MustCompile(`^([A-Za-z]*).*[0-9]`)

// alike reports whether two ids are made in the same way: both are generated and have the same length, or they begin with the same
// letters and have a number. A word such as system is like nothing.
func alike(a, b string) bool {
	const generated = 16 // characters, and more
	one, other := numbered.FindStringSubmatch(a), numbered.FindStringSubmatch(b)
	return len(a) == len(b) && len(a) >= generated || one != nil && other != nil && one[1] == other[1]
}

// there returns those of some ids that exist; none if they were not looked up.
func (l *looker) there(ctx context.Context, to string, ids []string) (map[string]bool, error) {
	there := map[string]bool{}
	of := l.at(to)
	switch {
	case to == authentication:
		return l.accounts(ctx, ids), nil
	case of.complete:
		for _, id := range idsOf(of.docs) {
			if slices.Contains(ids, id) {
				there[id] = true
			}
		}
	case l.affords(len(ids)+len(ids)/30+1, "some of what documents and files refer to"):
		missing, err := l.db.Missing(ctx, to, ids)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			if !slices.Contains(missing, id) {
				there[id] = true
			}
		}
	}
	return there, nil
}

// at returns a collection by its path; an empty one if it was not looked at.
func (l *looker) at(path string) *place {
	if i := slices.IndexFunc(l.collections, func(c *place) bool { return c.path == path }); i >= 0 {
		return l.collections[i]
	}
	return &place{}
}

// accounts returns those of some uids that accounts have.
func (l *looker) accounts(ctx context.Context, uids []string) map[string]bool {
	if l.Accounts == nil {
		return nil
	}
	there, err := l.Accounts.Exist(ctx, uids)
	if err != nil {
		l.unseen("accounts: %s", err)
		l.Accounts, l.blind = nil, true
	}
	return there
}
