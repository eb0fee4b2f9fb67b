// Package look finds out what a project holds, within a bound of reads, and proposes rules for what is commonly cleaned up. It
// only reads: a part of each collection, and the first files of each folder.
//
// look.go goes through the collections, fields.go says what their fields hold, links.go what documents refer to and what does not
// exist, files.go looks at files, and propose.go makes rules of all this.
package look

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/api/iterator"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/objects"
	"github.com/firesweep/firesweep/shared/usage"
)

// Most of what is looked at.
const (
	Reads     = 5000 // documents that are billed
	FilePages = 20   // requests for files, of a thousand each

	sample  = 100    // documents of a collection, twice as many at most
	counted = 20_000 // documents, a read for each thousand
	listed  = 200    // names of documents of a collection, of those too that do not exist and have collections below them
	below   = 10     // documents below which collections are looked for
	spare   = 100    // reads for what is asked again, because the first answer broke off
)

// Project is what is looked at.
type Project struct {
	Documents *documents.Client
	Bucket    *objects.Client  // nil: its files are not looked at
	Accounts  *accounts.Reader // nil: they are not looked at
	Reads     int              // at most
	Now       time.Time
	Rules     functions.List // those that there are already
}

// Findings are what a project holds, as far as it was looked at, and what is proposed.
type Findings struct {
	Reads     int        `json:"reads"`
	Places    []Place    `json:"places"`
	Unseen    []string   `json:"unseen"` // what was not looked at, and why
	Proposals []Proposal `json:"proposals"`
	More      int        `json:"more,omitempty"` // proposals that were left out, because these are enough at once
}

// Place is a collection, or a folder of files.
type Place struct {
	Path  string `json:"path"`  // such as chats/{chat}/messages, or avatars/
	Count string `json:"count"` // of what is there
	Facts []Fact `json:"facts"`
}

// Fact is what was found out of a field, or of what stands for ids in the path.
type Fact struct {
	Field string `json:"field"`
	Holds string `json:"holds"`
}

// place is a collection, all those with the same name below the documents of another one, or a folder of files.
type place struct {
	path, count string
	objects     string               // of a folder: the pattern of the names of its files
	docs        []documents.Document // some documents or files, with their paths and when they were written
	complete    bool                 // all of its documents are among docs
	fields      []*field
	below       []string            // names of collections below its documents
	listed      int                 // of how many names it is known whether the document exists
	none        int                 // how many of these do not
	missing     map[string][]string // some that do not, with the names of the collections below them
	links       []*link             // what its fields refer to
	owner       *link               // the documents above it, or those whose ids the files have
	people      *link               // the accounts that have its ids
	referred    bool                // others refer to it
}

type looker struct {
	Project
	db          documents.Reader
	meter       usage.Meter
	blind       bool // accounts may not be read, so nobody knows who has one
	names       int  // reads that the meter does not count, of names of collections and documents
	collections []*place
	folders     []*place
	found       Findings
}

// Look looks at a project. What may not be read of files and of accounts is among what is unseen.
func Look(ctx context.Context, p Project) (*Findings, error) {
	l := newLooker(p)
	err := l.all(ctx)
	return &l.found, err
}

func newLooker(p Project) *looker {
	return &looker{Project: p, db: p.Documents.Reader(), found: Findings{Unseen: []string{}, Proposals: []Proposal{}}}
}

func (l *looker) all(ctx context.Context) error {
	ctx = usage.NewContext(ctx, &l.meter)
	if err := l.allCollections(ctx); err != nil {
		return err
	}
	if err := l.allLinks(ctx); err != nil {
		return err
	}
	if err := l.allFiles(ctx); err != nil {
		l.unseen("files: %s", err)
	}
	l.propose()
	l.found.Reads, l.found.Places = l.used(), l.places()
	return context.Cause(ctx)
}

func (l *looker) unseen(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(l.found.Unseen, text) {
		l.found.Unseen = append(l.found.Unseen, text)
	}
}

func (l *looker) used() int { return int(l.meter.Usage().FirestoreReads) + l.names }

// affords reports whether so many reads are left. If not, it says what is left out.
func (l *looker) affords(reads int, what string) bool {
	if l.used()+reads <= l.Reads-spare {
		return true
	}
	l.unseen("%s: the bound of reads is reached", what)
	return false
}

// allCollections looks at the collections at the top, and at those below them.
func (l *looker) allCollections(ctx context.Context) error {
	top, err := l.namesBelow(ctx, documents.Ref{})
	if err != nil {
		return err
	}
	for _, name := range top {
		if !slices.Contains(collections.Names(), name) {
			if err := l.collection(ctx, &place{path: name}, nil); err != nil {
				return err
			}
		}
	}
	for _, above := range slices.Clone(l.collections) {
		for _, name := range above.below {
			if err := l.collection(ctx, &place{path: above.path + "/{" + above.hole() + "}/" + name}, above); err != nil {
				return err
			}
		}
	}
	slices.SortFunc(l.collections, func(a, b *place) int { return strings.Compare(a.path, b.path) })
	return nil
}

// namesBelow lists the collections below a document, or at the top.
func (l *looker) namesBelow(ctx context.Context, d documents.Ref) ([]string, error) {
	all, err := l.db.Collections(ctx, d)
	l.names += max(1, len(all))
	return all, err
}

// hole returns what stands for the ids of a collection in a path.
func (c *place) hole() string {
	name := strings.TrimSuffix(c.path, "s")
	if !plainName.MatchString(name) || slices.Contains([]string{"id", "uid", "parent"}, name) {
		return "above"
	}
	return name
}

func (c *place) isBelow() bool { return strings.Contains(c.path, "/") }
func (c *place) name() string  { return c.path[strings.LastIndexByte(c.path, '/')+1:] }

// collection looks at a collection, of those below the documents of another one. It leaves two fifths of the reads for what comes
// then.
func (l *looker) collection(ctx context.Context, c, above *place) error {
	if !l.affords(2*sample+2*listed+l.Reads*2/5, c.path) {
		return nil
	}
	l.collections = append(l.collections, c)
	q := documents.Query{Collection: c.name(), Group: above != nil}
	count, err := l.db.CountUpTo(ctx, q, counted)
	if c.count = fmt.Sprint(count); count == counted {
		c.count += " or more"
	}
	if c.complete = count <= sample && above == nil; err != nil {
		return err
	}
	switch {
	case above != nil:
		err = l.sampleBelow(ctx, c, above)
	case c.complete:
		c.docs, err = l.db.First(ctx, q, "", sample)
	default:
		err = l.sample(ctx, c, q)
	}
	if err != nil {
		return err
	}
	c.fields = fieldsOf(c.docs)
	for _, d := range spread(c.docs, below) {
		names, err := l.namesBelow(ctx, d.Ref())
		if err != nil {
			return err
		}
		c.below = append(c.below, names...)
	}
	if above == nil && (len(c.below) > 0 || len(c.docs) == 0) {
		err = l.findMissing(ctx, c)
	}
	slices.Sort(c.below)
	c.below = slices.Compact(c.below)
	return err
}

// starts are where the parts of a sample begin: equally far from each other among ids of letters and digits.
var starts = []string{"0", "C", "O", "a", "m"}

// sample reads documents from several parts of a collection. Ids that begin alike are all in one, so it reads more of the first.
func (l *looker) sample(ctx context.Context, c *place, q documents.Query) error {
	seen := map[string]bool{}
	for i := 0; i <= len(starts) && len(c.docs) < sample; i++ {
		part, most := q, sample
		if i < len(starts) {
			most /= len(starts)
			part.OrderBy, part.From = []string{firestore.DocumentID}, []any{starts[i]}
		}
		found, err := l.db.First(ctx, part, "", most)
		if err != nil {
			return err
		}
		for _, d := range found {
			if !seen[d.Path] {
				c.docs = append(c.docs, d)
			}
			seen[d.Path] = true
		}
	}
	return nil
}

// sampleBelow reads documents from below several of another collection, and from below those that do not exist.
func (l *looker) sampleBelow(ctx context.Context, c, above *place) error {
	ids := spread(idsOf(above.docs), below)
	for _, id := range slices.Sorted(maps.Keys(above.missing)) {
		if slices.Contains(above.missing[id], c.name()) {
			ids = append(ids, id)
		}
	}
	for _, id := range ids {
		q := documents.Query{Collection: above.path + "/" + id + "/" + c.name()}
		found, err := l.db.First(ctx, q, "", sample/below)
		if err != nil {
			return err
		}
		c.docs = append(c.docs, found...)
	}
	return nil
}

// findMissing looks for documents that do not exist and have collections below them, among the first names of a collection.
func (l *looker) findMissing(ctx context.Context, c *place) error {
	var page []*firestore.DocumentRef
	_, err := iterator.NewPager(l.Documents.Firestore().Collection(c.path).DocumentRefs(ctx), listed, "").NextPage(&page)
	if err != nil {
		return fmt.Errorf("list the names of %s: %w", c.path, err)
	}
	l.names += max(1, len(page))
	var ids []string
	for _, ref := range page {
		ids = append(ids, ref.ID)
	}
	none, err := l.db.Missing(ctx, c.path, ids)
	if err != nil {
		return err
	}
	c.listed, c.none, c.missing = len(ids), len(none), map[string][]string{}
	for _, id := range spread(none, below) {
		if c.missing[id], err = l.namesBelow(ctx, documents.Ref{Collection: c.path, ID: id}); err != nil {
			return err
		}
		c.below = append(c.below, c.missing[id]...)
	}
	return nil
}

// places returns what was found, a few facts of each.
func (l *looker) places() (all []Place) {
	const most = 6
	for _, c := range slices.Concat(l.collections, l.folders) {
		facts := []Fact{}
		for _, k := range append([]*link{c.owner, c.people}, c.links...) {
			if k != nil && len(k.gone) > 0 {
				facts = append(facts, k.fact())
			}
		}
		for _, states := range []bool{false, true} {
			for _, f := range c.fields {
				if text := f.fact(len(c.docs)); text != "" && (f.states != nil) == states {
					facts = append(facts, Fact{f.name, text})
				}
			}
		}
		same := func(other *place) bool { return other != c && other.name() == c.name() }
		if c.isBelow() && slices.ContainsFunc(l.collections, same) {
			c.count = "up to " + c.count // of all that have the name
		}
		all = append(all, Place{c.path, c.count, facts[:min(len(facts), most)]})
	}
	return all
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
