// Package doubts says what a project's documents tell against a rule, before it deletes anything.
//
// fields.go doubts what the rule says of its items, and relations.go what it says of others. Of these, it says nothing:
// referrers.go looks for those that refer to what it deletes, and staying.go for what would stay.
package doubts

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/firesweep/firesweep/shared/declared/gaps"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/rule"
	"github.com/firesweep/firesweep/shared/usage"
)

// How many documents are read for a rule: at most, and of its collection.
const (
	mostReads = 300
	sampled   = 100
)

// looking is a look at a project for a rule.
type looking struct {
	rule.Rule
	documents.Reader
	meter  *usage.Meter
	end    int64                           // what the meter shows when nothing more may be read
	seen                                   // of the rule's collection
	along  map[string][]documents.Document // by a key of with: some of what is deleted along
	due    []string                        // what a plan deletes
	beside []rule.Rule
	list   gaps.Listing
	doubts []string
	unread bool  // there was more to read than may be
	failed error // the first error: something could not be looked at
}

// seen is what was seen of a place: the first of its documents.
type seen struct {
	at     rule.Place
	sample []documents.Document
	whole  bool // these are all
}

// Of returns what a project's documents tell against a rule, each in a sentence with the key and what would be right: names of
// collections and of fields that are not there, values that nobody has, also of what it keeps, ages of another form, a mark
// that is the application's field, conditions and exceptions that keep nearly everything or nothing, relations that find nothing,
// documents elsewhere that refer to what the rule deletes or have its ids, files to which only that refers, and collections below
// a document that would stay, unless a plan that deletes something has said these. planned are the paths, names or uids of that
// plan, and said its warnings, which are left out; beside are the application's rules. With files, those with the ids of what is
// deleted are looked for. What could not be looked at is said, too.
func Of(
	ctx context.Context, r documents.Reader, files gaps.Listing, of rule.Rule, beside []rule.Rule, planned []string,
	said ...string,
) []string {
	l := &looking{Rule: of, Reader: r, along: map[string][]documents.Document{}, due: planned, beside: beside, list: files,
		seen: seen{at: of.Place()}, meter: usage.FromContext(ctx)}
	ctx = usage.NewContext(ctx, l.meter)
	l.end = l.meter.Usage().FirestoreReads + mostReads
	l.tell(gaps.Unfound(ctx, r, files, of, slices.Concat(of.LooksFor(), of.Along(), of.Keeping()), true))
	if of.OfDocuments() && l.look(ctx) {
		l.below(ctx)
		l.all()
		l.fields(ctx)
		l.values(ctx)
		l.keeping(ctx)
		l.negated()
		l.forms(said)
		l.mark()
		l.relations(ctx)
	}
	if of.Deletes() {
		l.referrers(ctx)
	}
	if of.Deletes() && len(l.due) == 0 {
		var some []string
		for _, d := range l.sample[:min(len(l.sample), l.left()/(1+len(of.Along())))] {
			some = append(some, d.Path)
		}
		l.tell(gaps.Staying(ctx, r, "with", of, some))
	}
	if l.unread {
		l.say("there is more to look at than %d documents, which a plan reads for this", mostReads)
	}
	if l.failed != nil {
		l.say("not all of it could be looked at: %s", l.failed)
	}
	return slices.DeleteFunc(l.doubts, func(text string) bool { return slices.Contains(said, text) })
}

func (l *looking) say(format string, args ...any) {
	l.doubts = append(l.doubts, fmt.Sprintf(format, args...))
}

// tell takes doubts that others have found, and why they could not find all.
func (l *looking) tell(doubts []string, err error) {
	l.doubts, l.failed = append(l.doubts, doubts...), cmp.Or(l.failed, err)
}

// left is how many documents may still be read.
func (l *looking) left() int { return int(max(0, l.end-l.meter.Usage().FirestoreReads)) }

// first returns the first documents that a query finds; ok is false if that could not be read.
func (l *looking) first(ctx context.Context, q documents.Query, n int) (found []documents.Document, ok bool) {
	if l.left() < n {
		l.unread = true
		return nil, false
	}
	found, err := l.First(ctx, q, "", n)
	l.failed = cmp.Or(l.failed, err)
	return found, err == nil
}

// exist returns those of some documents that exist, and how many were looked up; ok is false if that could not be read.
func (l *looking) exist(ctx context.Context, refs []documents.Ref) (exist map[documents.Ref]documents.Document, n int, ok bool) {
	var paths []string
	for _, ref := range refs {
		paths = append(paths, ref.Path())
	}
	slices.Sort(paths)
	paths = slices.Compact(paths)
	if l.left() < len(paths) {
		l.unread = true
		return nil, 0, false
	}
	there, err := l.GetAll(ctx, paths)
	l.failed = cmp.Or(l.failed, err)
	exist = map[documents.Ref]documents.Document{}
	for _, d := range there {
		exist[d.Ref()] = d
	}
	return exist, len(paths), err == nil
}

// look reads the first documents of the rule's collection. It reports whether there are any to look at.
func (l *looking) look(ctx context.Context) bool {
	found, ok := l.first(ctx, l.at.Query(), sampled)
	l.whole = ok && len(found) < sampled
	l.sample = l.Among(found)
	if l.whole && len(l.sample) == 0 {
		l.say("the collection %s has no document: %s", l.Source(), l.meant(ctx, l.at, ""))
	}
	return len(l.sample) > 0
}

// meant asks for the right name of a field, or of a collection.
func (l *looking) meant(ctx context.Context, in rule.Place, field string) string {
	asks, err := gaps.Meant(ctx, l.Reader, in, field)
	l.failed = cmp.Or(l.failed, err)
	return asks
}

// below puts the collections that there are below some documents in the place of "**".
func (l *looking) below(ctx context.Context) {
	var with []rule.Relation
	for _, w := range l.With {
		if w.Subcollection != rule.Everything {
			with = append(with, w)
			continue
		}
		for _, d := range l.sample[:min(fewest, len(l.sample))] {
			for _, name := range l.names(ctx, d.Ref()) {
				one := rule.Relation{Key: w.Key + ", " + name, Subcollection: name}
				if !slices.ContainsFunc(slices.Concat(l.With, with), func(of rule.Relation) bool { return of.Subcollection == name }) {
					with = append(with, one)
				}
			}
		}
	}
	l.With = with
}
