// Package look finds out what a project holds, within a bound of reads, and proposes rules for what is commonly cleaned up. It
// only reads: a part of each collection, and the first files of each folder.
//
// look.go reads a sample of each collection, fields.go says what its fields hold, owners.go finds what belongs to documents that
// do not exist, and propose.go makes rules of all this.
package look

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

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
	FilePages = 20   // requests for files
	filePage  = 1000 // files of one

	sample = 100 // documents of a collection: the first, which are a fair choice where Firestore made the ids
	below  = 10  // documents below which is looked, and as many that do not exist, and documents of a collection below one
	spare  = 100 // reads for what is asked again, because the first answer broke off
)

// Project is what is looked at.
type Project struct {
	DB       documents.Reader
	Bucket   *objects.Reader  // nil: its files are not looked at
	Accounts *accounts.Reader // nil: they are not looked at
	Reads    int              // at most
	Now      time.Time
	Rules    functions.List // those that there are already
}

// Findings are what was found in a project, and what is proposed.
type Findings struct {
	Reads     int        `json:"reads"`
	Looked    []string   `json:"looked"` // at these collections and folders, such as chats/{chat}/messages, or avatars/
	Unseen    []string   `json:"unseen"` // what was not looked at, and why
	Proposals []Proposal `json:"proposals"`
}

// place is a collection, all those with the same name below the documents of another one, or a folder of files.
type place struct {
	path     string
	docs     []documents.Document // some documents or files, with their paths and when they were written
	complete bool                 // all of its documents are among docs
	names    int                  // of how many ids it is known whether the document exists
	missing  []string             // those of these ids whose documents do not exist, but have collections below them
	fields   []*field
	above    *place // the collection that it lies below; nil: none
	below    []*place
	owner    *owner // of a folder, or of a collection below another; nil: none is known
	objects  string // of a folder: the pattern of the names of its files, with the owner's id in it
	needed   bool   // other documents refer to it, or its ids are those of accounts
}

type looker struct {
	Project
	meter   usage.Meter
	listed  int      // reads that the meter does not count, of names of collections and documents
	top     []*place // the collections that are not below a document
	folders []*place
	found   Findings
}

// Look looks at a project. What may not be read of files and of accounts is among what is unseen.
func Look(ctx context.Context, p Project) (*Findings, error) {
	l := &looker{Project: p, found: Findings{Looked: []string{}, Unseen: []string{}, Proposals: []Proposal{}}}
	ctx = usage.NewContext(ctx, &l.meter)
	names, err := l.namesBelow(ctx, documents.Ref{})
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if slices.Contains(collections.Names(), name) {
			continue
		}
		if err := l.collection(ctx, name); err != nil {
			return nil, err
		}
	}
	if err := l.allFiles(ctx); err != nil {
		l.unseen("files: %s", err)
	}
	for _, c := range l.collections() {
		if c.above != nil {
			l.parents(ctx, c)
		}
	}
	l.needed(ctx)
	l.propose()
	for _, c := range slices.Concat(l.collections(), l.folders) {
		l.found.Looked = append(l.found.Looked, c.path)
	}
	l.found.Reads = l.used()
	return &l.found, context.Cause(ctx)
}

func (l *looker) unseen(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(l.found.Unseen, text) {
		l.found.Unseen = append(l.found.Unseen, text)
	}
}

func (l *looker) used() int { return int(l.meter.Usage().FirestoreReads) + l.listed }

// affords reports whether so many reads are left. If not, it says what is left out.
func (l *looker) affords(reads int, what string) bool {
	if l.used()+reads <= l.Reads-spare {
		return true
	}
	l.unseen("%s: the bound of reads is reached", what)
	return false
}

// collections returns all collections, each before those below its documents.
func (l *looker) collections() (all []*place) {
	for _, c := range l.top {
		all = append(append(all, c), c.below...)
	}
	return all
}

func (c *place) name() string { return c.path[strings.LastIndexByte(c.path, '/')+1:] }

// hole returns what stands for the ids of a collection in a path.
func (c *place) hole() string {
	name := strings.TrimSuffix(c.path, "s")
	if !plainName.MatchString(name) || slices.Contains([]string{"id", "uid", "parent"}, name) {
		name = "above"
	}
	return "{" + name + "}"
}

// namesBelow lists the collections below a document, or at the top.
func (l *looker) namesBelow(ctx context.Context, d documents.Ref) ([]string, error) {
	all, err := l.DB.Collections(ctx, d)
	l.listed += max(1, len(all))
	return all, err
}

// collection looks at a collection at the top: at the first ids that have a document or something below them, at these
// documents, and at what is below some. It leaves two fifths of the reads for the owners of files.
func (l *looker) collection(ctx context.Context, name string) error {
	if !l.affords(2*sample+4*below+l.Reads*2/5, name) {
		return nil
	}
	c := &place{path: name}
	l.top = append(l.top, c)
	page, err := l.DB.Listed(ctx, name, sample+1) // one more than is looked at tells whether these are all
	if err != nil {
		return err
	}
	c.complete, page = len(page) <= sample, page[:min(len(page), sample)]
	paths := make([]string, len(page))
	for i, ref := range page {
		paths[i] = ref.Path()
	}
	there, err := l.DB.GetAll(ctx, paths)
	if err != nil {
		return err
	}
	for i, ref := range page {
		if d, exists := there[paths[i]]; exists {
			c.docs = append(c.docs, d)
		} else {
			c.missing = append(c.missing, ref.ID)
		}
	}
	c.names, c.fields = len(page), fieldsOf(c.docs)
	for _, id := range slices.Concat(spread(c.missing, below), spread(idsOf(c.docs), below)) {
		if err := l.below(ctx, c, id); err != nil {
			return err
		}
	}
	slices.SortFunc(c.below, func(a, b *place) int { return strings.Compare(a.path, b.path) })
	for _, b := range c.below {
		b.fields = fieldsOf(b.docs)
	}
	return nil
}

// below looks at the collections below a document, which need not exist.
func (l *looker) below(ctx context.Context, c *place, id string) error {
	names, err := l.namesBelow(ctx, documents.Ref{Collection: c.path, ID: id})
	for _, name := range names {
		path := c.path + "/" + c.hole() + "/" + name
		if err != nil || !l.affords(below+l.Reads*2/5, path) {
			break
		}
		i := slices.IndexFunc(c.below, func(b *place) bool { return b.path == path })
		if i < 0 {
			i, c.below = len(c.below), append(c.below, &place{path: path, above: c})
		}
		var found []documents.Document
		found, err = l.DB.First(ctx, documents.Query{Collection: c.path + "/" + id + "/" + name}, "", below)
		c.below[i].docs = append(c.below[i].docs, found...)
	}
	return err
}

// needed marks the collections to whose documents others refer, as far as both were read, and those of people. No rule that
// looks at a document alone is proposed for them.
func (l *looker) needed(ctx context.Context) {
	of := map[string][]*place{} // the collections with a document of this id
	for _, c := range l.top {
		c.needed = l.haveAccounts(ctx, idsOf(c.docs))
		for _, d := range c.docs {
			of[d.ID()] = append(of[d.ID()], c)
		}
	}
	for _, c := range l.collections() {
		for _, d := range c.docs {
			for _, value := range documents.Leaves(d.Data) {
				ref, _ := documents.RefIn(value)
				id, _ := value.(string)
				for _, to := range of[cmp.Or(ref.ID, id)] {
					to.needed = to.needed || to != c && to != c.above
				}
			}
		}
	}
}

// spread returns at most n of all, at equal distances.
func spread[T any](all []T, n int) (some []T) {
	for i := range min(n, len(all)) {
		some = append(some, all[i*len(all)/min(n, len(all))])
	}
	return some
}
