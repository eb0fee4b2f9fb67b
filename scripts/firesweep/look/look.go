// Package look finds out what a project holds, within a bound of reads, and proposes rules for what is commonly cleaned up. It
// only reads: a part of each collection, the beginning of each folder, and the first accounts.
//
// bound.go keeps to the bound, look.go goes through the collections, fields.go says what their fields hold, links.go what their
// documents belong to, files.go looks at files and accounts, and propose.go makes proposals of all this.
package look

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/api/iterator"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/documents/retry"
	"github.com/firesweep/firesweep/shared/objects"
	"github.com/firesweep/firesweep/shared/rule"
)

// Most of what is looked at besides the bound.
const (
	Sample       = 100 // documents of a collection
	FilePages    = 20  // requests for files, of a thousand each
	AccountPages = 10  // requests for accounts, of a thousand each

	chunks      = 5  // into which a sample is spread
	named       = 20 // names that are listed to find documents that do not exist, yet have something below them
	deepest     = 3  // collections above one another
	lookedBelow = 5  // documents of a collection below which collections are looked for
)

// Project is what is looked at.
type Project struct {
	Documents *documents.Client // a connection with the dial options of Bound
	Bound     *Bound
	Bucket    *objects.Client  // nil: its files are not looked at
	Accounts  *accounts.Reader // nil: they are not looked at
	Now       time.Time
}

// Findings are what a project holds, as far as it was looked at.
type Findings struct {
	Collections []*Collection `json:"collections"`
	Folders     []*Folder     `json:"folders"`
	Accounts    *Accounts     `json:"accounts,omitempty"`
	Unseen      []string      `json:"unseen"` // what was not looked at, and why
}

// Collection is a collection, or all those with the same name below the documents of another one.
type Collection struct {
	Path    string   `json:"collection"` // such as chats, or chats/{chat}/messages
	Count   int      `json:"documents"`
	AtLeast bool     `json:"atLeast,omitempty"` // there may be more
	About   bool     `json:"about,omitempty"`   // the count is of all collections of that name, taken by their share of the sample
	Sampled int      `json:"sampled"`
	Bytes   int      `json:"bytes"` // of a document of the sample, on average
	Fields  []Field  `json:"fields"`
	Links   []*Link  `json:"links,omitempty"`
	Below   []string `json:"below,omitempty"`   // collections below its documents
	Missing int      `json:"missing,omitempty"` // documents that do not exist among the first names, but have collections below them

	docs []documents.Document
}

type looker struct {
	Project
	db    documents.Reader
	most  int                        // reads of the bound
	known map[string]map[string]bool // what exists and what does not, by what was looked in, by its id
	found *Findings
	cut   bool // not all could be looked up that something names
}

// Look looks at a project, in a context that Bound has metered. An error of the bucket or of the accounts is among what is unseen.
func Look(ctx context.Context, p Project) (*Findings, error) {
	l := &looker{Project: p, db: p.Documents.Reader(), most: p.Bound.Left(), known: map[string]map[string]bool{},
		found: &Findings{Collections: []*Collection{}, Folders: []*Folder{}, Unseen: []string{}}}
	if err := l.collections(ctx); err != nil {
		return nil, err
	}
	if err := l.accounts(ctx); err != nil {
		l.unseen("accounts: %s", err)
		l.Accounts = nil
	}
	if err := l.links(ctx); err != nil {
		return nil, err
	}
	if err := l.guests(ctx); err != nil {
		return nil, err
	}
	if err := l.files(ctx); err != nil {
		l.unseen("files: %s", err)
	}
	if l.cut {
		l.unseen("some of what documents and files name: the bound of reads is reached")
	}
	return l.found, context.Cause(ctx)
}

func (l *looker) unseen(format string, args ...any) {
	l.found.Unseen = append(l.found.Unseen, fmt.Sprintf(format, args...))
}

// collections looks at the collections, level by level. It leaves two fifths of the reads for what comes then.
func (l *looker) collections(ctx context.Context) error {
	paths, err := l.db.Collections(ctx, documents.Ref{})
	if err != nil {
		return err
	}
	own := collections.Names()
	paths = slices.DeleteFunc(paths, func(name string) bool { return slices.Contains(own, name) })
	for len(paths) > 0 {
		path := paths[0]
		paths = paths[1:]
		if l.Bound.Left()-Sample-named-lookedBelow < l.most*2/5 {
			l.unseen("%s: the bound of reads is reached", path)
			continue
		}
		c, err := l.collection(ctx, path)
		if err != nil {
			return err
		}
		l.found.Collections = append(l.found.Collections, c)
		for _, below := range c.Below {
			if strings.Count(path, "/")/2 < deepest-1 {
				paths = append(paths, path+"/{"+holeFor(path)+"}/"+below)
			}
		}
	}
	return nil
}

// holeFor returns what stands for the ids of a collection in a path below it.
func holeFor(path string) string {
	name := singular(last(path))
	if !plainName.MatchString(name) || slices.Contains([]string{"id", "uid", "parent"}, name) {
		name = "above"
	}
	for strings.Contains(path, "{"+name+"}") {
		name += "2"
	}
	return name
}

func last(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

func (l *looker) collection(ctx context.Context, path string) (*Collection, error) {
	c := &Collection{Path: path, Fields: []Field{}}
	group := strings.Contains(path, "{")
	q := documents.Query{Collection: path, Group: group}
	if group {
		q.Collection = last(path)
	}
	most := max(1, (l.Bound.Left()-l.most*2/5)/10) * entriesPerRead
	var err error
	if c.Count, err = l.db.CountUpTo(ctx, q, most); err != nil {
		return nil, err
	}
	c.AtLeast = c.Count == most
	if err := l.sample(ctx, c, q); err != nil {
		return nil, err
	}
	c.Fields = fieldsOf(c.docs)
	for _, d := range c.docs {
		c.Bytes += documents.Size(d.Path, d.Data) / len(c.docs)
	}
	looked := slices.Clone(c.docs)
	if looked = spread(looked, lookedBelow); !group {
		missing, err := l.missing(ctx, c)
		if err != nil {
			return nil, err
		}
		c.Missing = len(missing)
		looked = append(looked, spread(missing, lookedBelow)...)
	}
	for _, d := range looked {
		if l.Bound.Left() < 2 {
			break
		}
		names, err := l.db.Collections(ctx, d.Ref())
		if err != nil {
			return nil, err
		}
		c.Below = append(c.Below, names...)
	}
	slices.Sort(c.Below)
	c.Below = slices.Compact(c.Below)
	return c, nil
}

// starts are where the parts of a sample begin: equally far from each other among ids of letters and digits.
var starts = [chunks]string{"", "C", "O", "a", "m"}

// sample reads a part of a collection's documents: all, if there are few.
func (l *looker) sample(ctx context.Context, c *Collection, q documents.Query) error {
	seen := map[string]bool{}
	read := func(q documents.Query, n int) (found []documents.Document, err error) {
		if n = min(n, l.Bound.Left()); n == 0 {
			return nil, nil
		}
		found, err = l.db.First(ctx, q, "", n)
		found = slices.DeleteFunc(found, func(d documents.Document) bool { return seen[d.Path] })
		for _, d := range found {
			seen[d.Path] = true
			if _, ok := (rule.Rule{Collection: c.Path}).ItemOf(d); ok {
				c.docs = append(c.docs, d)
			}
		}
		c.Sampled += len(found)
		return found, err
	}
	if c.Count <= Sample {
		if _, err := read(q, Sample); err != nil {
			return err
		}
	} else {
		above, name, group := strings.Cut(c.Path, "}/")
		at := func(start string) []any {
			if group {
				first := above[:strings.IndexByte(above, '{')] + start
				for _, part := range strings.Split(name, "/") {
					first += "/" + strings.Trim(part, "{}")
				}
				return []any{l.db.Ref(first + "/0")}
			}
			return []any{start}
		}
		var rest documents.Query // of a part that has more: ids that begin alike are all in one
		for i, start := range starts {
			part := q
			part.OrderBy = []string{firestore.DocumentID}
			if i > 0 {
				part.From = at(start)
			}
			if i+1 < chunks {
				part.Until = at(starts[i+1])
			}
			found, err := read(part, Sample/chunks)
			if err != nil {
				return err
			}
			if len(found) == Sample/chunks {
				last := found[len(found)-1]
				rest = part
				if rest.From = []any{last.ID()}; group {
					rest.From = []any{l.db.Ref(last.Path)}
				}
			}
		}
		if left := Sample - c.Sampled; left > 0 && rest.From != nil {
			if _, err := read(rest, left+1); err != nil { // it begins with the last one that was read
				return err
			}
		}
	}
	if c.Sampled > len(c.docs) { // others have the same name
		c.Count, c.About = c.Count*len(c.docs)/c.Sampled, true
	}
	c.Sampled = len(c.docs)
	return nil
}

// missing returns documents that do not exist and have collections below them, among the first names of a collection.
func (l *looker) missing(ctx context.Context, c *Collection) (none []documents.Document, err error) {
	if l.Bound.Left() < 2*named {
		return nil, nil
	}
	there := map[string]bool{}
	for _, d := range c.docs {
		there[d.Path] = true
	}
	var paths []string
	err = retry.Do(ctx, func(ctx context.Context) error {
		var page []*firestore.DocumentRef
		_, err := iterator.NewPager(l.Documents.Firestore().Collection(c.Path).DocumentRefs(ctx), named, "").NextPage(&page)
		paths = nil
		for _, ref := range page {
			if path := c.Path + "/" + ref.ID; !there[path] {
				paths = append(paths, path)
			}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list the names of %s: %w", c.Path, err)
	}
	found, err := l.db.GetAll(ctx, paths)
	for _, path := range paths {
		if _, exists := found[path]; !exists {
			none = append(none, documents.Document{Path: path})
		}
	}
	return none, err
}

// spread returns at most n of all, at equal distances.
func spread[T any](all []T, n int) []T {
	if len(all) <= n {
		return all
	}
	some := make([]T, n)
	for i := range some {
		some[i] = all[i*len(all)/n]
	}
	return some
}
