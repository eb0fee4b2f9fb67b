package look

import (
	"context"
	"errors"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/rule"
)

// Account is what a link leads to that names an account; others lead to a collection.
const Account = "account"

const (
	parentHole = "{parent}"
	idHole     = "{id}"
)

// Numbers of values of a link.
const (
	leastLinked = 5 // fewer prove nothing
	probed      = 10
	mostLinked  = 100
)

// Link is how documents or files name something else: by a field, by their own id, or by what stands in their path.
type Link struct {
	From   string   `json:"from"` // a field, {id}, {parent}, or what stands for ids in the path
	To     []string `json:"to"`   // collections, or account: at least half of the first values are there
	Looked int      `json:"looked"`
	Gone   int      `json:"gone"`            // in none of them
	Odd    string   `json:"odd,omitempty"`   // a value that is gone and not made like those that are there: perhaps nobody's id
	Alive  int      `json:"alive,omitempty"` // of the owners of files that are gone, those who have an account

	looked, gone map[string]bool // values
}

// whose are words for people in names of fields and collections.
var (
	whose = []string{"user", "owner", "author", "uid", "member", "creator", "created", "sender", "recipient", "customer",
		"account", "player", "profile", "people", "person", "by"}
	people = []string{"user", "member", "player", "profile", "account"} // names of their collections
)

// links finds out what documents belong to.
func (l *looker) links(ctx context.Context) error {
	var problems []error
	add := func(c *Collection, from string, targets ...string) {
		if ctx.Err() == nil && len(targets) > 0 {
			problems = append(problems, l.add(ctx, c, from, targets))
		}
	}
	for _, c := range l.found.Collections {
		depth := strings.Count(c.Path, "/")
		if depth == 0 {
			add(c, idHole, Account)
			continue
		}
		if add(c, parentHole, ""); depth == 2 {
			add(c, path.Base(path.Dir(c.Path)), Account)
		}
	}
	for _, c := range l.found.Collections { // by now it is known which are those of people
		for _, f := range c.Fields {
			add(c, f.Name, l.targets(c, f)...)
		}
	}
	return errors.Join(problems...)
}

// owners returns the collections whose ids are those of accounts, or that are named for people.
func (l *looker) owners() (all []string) {
	for _, c := range l.found.Collections {
		byID := slices.ContainsFunc(c.Links, func(k *Link) bool { return k.From == idHole })
		if !strings.Contains(c.Path, "/") && (byID || slices.Contains(people, singular(c.Path))) {
			all = append(all, c.Path)
		}
	}
	return all
}

// targets returns what a field may name, by its type and its name.
func (l *looker) targets(c *Collection, f Field) (all []string) {
	if slices.Contains(f.Types, "reference") {
		for _, d := range c.docs {
			if ref, ok := documents.ReferenceOf(d.Value(f.Name)); ok && !slices.Contains(all, ref.Collection) {
				all = append(all, ref.Collection)
			}
		}
		if len(all) != 1 || strings.Contains(all[0], "/") {
			return nil // a rule's path has one collection
		}
		return all
	}
	name := f.Name[strings.LastIndexByte(f.Name, '.')+1:]
	isID := slices.Contains(append([]string{"id", "ref", "key"}, whose...), head(name))
	if len(f.As) > 0 || len(f.Values) > 0 || !slices.Contains(f.Types, "text") && !slices.Contains(f.Types, "number") || !isID {
		return nil
	}
	ofPeople := has(name, whose...)
	if ofPeople {
		all = append(all, Account)
	}
	for _, other := range l.found.Collections {
		named := has(name, singular(strings.ToLower(other.Path)))
		if !strings.Contains(other.Path, "/") && named || ofPeople && slices.Contains(l.owners(), other.Path) {
			all = append(all, other.Path)
		}
	}
	return all
}

// add adds a link to a collection, if its values are ids of something.
func (l *looker) add(ctx context.Context, c *Collection, from string, targets []string) error {
	values := map[string]bool{}
	for _, d := range c.docs {
		if value := valueOf(c.Path, d, from); value != "" {
			values[value] = true
		}
	}
	link, err := l.link(ctx, from, slices.Sorted(maps.Keys(values)), targets)
	if link != nil {
		c.Links = append(c.Links, link)
	}
	return err
}

// valueOf returns the id by which a document names something; "" if there is none.
func valueOf(of string, d documents.Document, from string) string {
	item, _ := (rule.Rule{Collection: of}).ItemOf(d)
	switch {
	case from == idHole:
		return item.ID
	case from == parentHole:
		return item.Parent
	case strings.HasPrefix(from, "{"):
		return item.Bound[strings.Trim(from, "{}")]
	}
	value := d.Value(from)
	if ref, ok := documents.ReferenceOf(value); ok {
		return ref.ID
	}
	id, _ := documents.IDOf(value)
	return id
}

// link looks values up in each target. nil if none of the targets has at least half of the first.
func (l *looker) link(ctx context.Context, from string, values, targets []string) (*Link, error) {
	if len(values) < leastLinked {
		return nil, nil
	}
	values = spread(values, mostLinked)
	k := &Link{From: from, Looked: len(values), looked: map[string]bool{}, gone: map[string]bool{}}
	exists := map[string]bool{}
	for _, target := range targets {
		there, all, err := l.existing(ctx, target, spread(values, probed))
		if err == nil && all && 2*len(there) >= min(len(values), probed) {
			there, all, err = l.existing(ctx, target, values)
		} else {
			all = false
		}
		if err != nil {
			return nil, err
		}
		if all {
			k.To = append(k.To, target)
			maps.Copy(exists, there)
		}
	}
	if k.To == nil {
		return nil, nil
	}
	for _, value := range values {
		k.looked[value] = true
		if exists[value] {
			continue
		}
		k.gone[value] = true
		k.Gone++
		if !slices.ContainsFunc(slices.Collect(maps.Keys(exists)), func(id string) bool { return alike(id, value) }) {
			k.Odd = value
		}
	}
	return k, nil
}

var runs = regexp.MustCompile(`[A-Za-z]+|[0-9]+`)

// alike reports whether two ids are made in the same way: both are generated and have the same length, or they have letters and
// digits at the same places. A word such as system is like nothing.
func alike(a, b string) bool {
	a, b = path.Base(a), path.Base(b)
	const generated = 16 // characters, and more
	if len(a) == len(b) && len(a) >= generated {
		return true
	}
	form := func(id string) string {
		return runs.ReplaceAllStringFunc(id, func(run string) string {
			if run[0] <= '9' {
				return "9"
			}
			return "a"
		})
	}
	return form(a) == form(b) && strings.Contains(form(a), "9")
}

// existing returns those of some ids that there are in a collection, or among the accounts. If the target is empty, the ids are
// whole paths. all is false if nothing was looked up: the bound does not allow
// it, or there are no accounts.
func (l *looker) existing(ctx context.Context, target string, ids []string) (there map[string]bool, all bool, err error) {
	known := l.known[target]
	if known == nil {
		known = map[string]bool{}
		l.known[target] = known
	}
	unknown := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { _, looked := known[id]; return looked })
	switch {
	case target == Account && l.Accounts == nil:
		return nil, false, nil
	case target == Account:
		found, err := l.Accounts.Get(ctx, unknown)
		if err != nil {
			return nil, false, err
		}
		for _, a := range found {
			known[a.UID] = true
		}
	case l.Bound.Left() < len(unknown)+l.most/10:
		l.cut = true
		return nil, false, nil
	default:
		paths := slices.Clone(unknown)
		for i := range paths {
			paths[i] = strings.TrimPrefix(target+"/"+paths[i], "/")
		}
		found, err := l.db.GetAll(ctx, paths)
		if err != nil {
			return nil, false, err
		}
		for i, path := range paths {
			_, known[unknown[i]] = found[path]
		}
	}
	there = map[string]bool{}
	for _, id := range ids {
		if known[id] {
			there[id] = true
		} else {
			known[id] = false
		}
	}
	return there, true, nil
}
