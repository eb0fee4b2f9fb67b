package undo

import (
	"maps"
	"slices"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/protobuf/proto"

	"github.com/firesweep/firesweep/shared/documents"
)

// Change is what a run's writes to one document come to.
type Change struct {
	Path   string
	Found  bool   // there was a document before
	Before Fields // as it was
	Exists bool   // the run left a document
	After  Fields // what it left: of a document that it only updated, the fields that it wrote; else all of it
	// Whole says that After is the whole document.
	Whole   bool
	Removed []string // fields that it removed; none if Whole
	Between []string // fields that it wrote more than once, and that somebody else wrote between
	Sent    bool     // it told somebody something, which is not taken back
}

// Net returns what the writes of one run come to for each document, in the order of its first write. The writes are in the order
// in which they were committed.
func Net(writes []Write) []Change {
	var order []string
	byPath := map[string]*Change{}
	for _, w := range writes {
		c := byPath[w.Path]
		if c == nil {
			c = &Change{Path: w.Path, Found: w.Found, Before: w.Before, Exists: w.Found}
			byPath[w.Path], order = c, append(order, w.Path)
		}
		c.add(w)
	}
	all := make([]Change, len(order))
	for i, path := range order {
		all[i] = *byPath[path]
	}
	return all
}

// add adds a later write.
func (c *Change) add(w Write) {
	c.Sent = c.Sent || w.Sent
	if w.Found != c.Exists { // somebody has deleted it or written it anew
		*c = Change{Path: c.Path, Found: w.Found, Before: w.Before, Exists: w.Found, Sent: c.Sent}
	}
	c.meet(w.Before)
	switch w.Op {
	case documents.Delete:
		for _, field := range c.Between {
			c.write(field, w.Before[field])
		}
		if len(c.Between) > 0 && c.Whole {
			c.Found, c.Before = true, w.Before
		}
		c.Exists, c.After, c.Removed, c.Between, c.Whole = false, nil, nil, nil, true
	case documents.Create, documents.Set:
		c.Exists, c.After, c.Removed, c.Whole = true, maps.Clone(w.After), nil, true
	case documents.Update:
		if c.After == nil {
			c.After = Fields{}
		}
		maps.Copy(c.After, w.After)
		for _, field := range w.Removed {
			delete(c.After, field)
			if !c.Whole {
				c.Removed = append(c.Removed, field)
			}
		}
	}
}

// meet compares what the run left with what its next write found. What somebody wrote meanwhile is what comes back; where the
// run had written the same field, nobody knows what would be right.
func (c *Change) meet(found Fields) {
	wrote, left := c.Wrote(), Fields{}
	if !c.Whole {
		maps.Copy(left, c.Before)
		maps.DeleteFunc(left, func(field string, _ *firestorepb.Value) bool { return slices.Contains(c.Removed, field) })
	}
	maps.Copy(left, c.After)
	for _, field := range written(left, slices.Collect(maps.Keys(found))) {
		switch {
		case equalValue(left[field], found[field]):
		case c.Whole || slices.Contains(wrote, field):
			c.Between = append(c.Between, field)
		default:
			c.write(field, found[field])
		}
	}
}

// write notes that a field had a value before; nil: none.
func (c *Change) write(field string, value *firestorepb.Value) {
	before := Fields{field: value}
	for name, was := range c.Before {
		if name != field {
			before[name] = was
		}
	}
	if c.Before = before; value == nil {
		delete(before, field)
	}
}

// Step is how an undo takes back what a run did to a document.
type Step string

// The steps.
const (
	Nothing  Step = ""         // it is as it was before the run
	Recreate Step = "recreate" // write it as it was; there must be none
	Revert   Step = "revert"   // give the fields that the run wrote the values that they had
	Replace  Step = "replace"  // write it as it was, over what the run left
	Remove   Step = "remove"   // delete what the run created
	Conflict Step = "conflict" // somebody has changed it since: it is left as it is
	Lost     Step = "lost"     // it is gone, and nothing keeps it any more
	Stays    Step = "stays"    // what was sent is not taken back
)

// Back reports whether a step brings something back.
func (s Step) Back() bool { return s == Recreate || s == Revert || s == Replace || s == Remove }

// Decide returns what to do, given the document as it is now, and the reason if that is a conflict.
func (c Change) Decide(now Fields, found bool) (step Step, why string) {
	switch {
	case c.Sent:
		return Stays, ""
	case found == c.Found && equal(now, c.Before):
		return Nothing, ""
	case !c.Exists && found:
		return Conflict, "somebody has created it since: move it away, then run undo once more"
	case !c.Exists:
		return Recreate, ""
	case !found:
		return Conflict, "somebody has deleted it since"
	case c.Whole && len(c.Between) > 0:
		return Conflict, "somebody has changed it while the run was under way"
	case !c.Found && equal(now, c.After):
		return Remove, ""
	case c.Whole && c.Found && equal(now, c.After):
		return Replace, ""
	case c.Whole:
		return Conflict, "somebody has changed it since"
	}
	reverted := true
	for _, field := range c.Wrote() {
		if !equalValue(now[field], c.After[field]) && !equalValue(now[field], c.Before[field]) {
			return Conflict, "somebody has changed " + field + " since"
		}
		reverted = reverted && equalValue(now[field], c.Before[field])
	}
	switch {
	case reverted:
		return Nothing, ""
	case len(c.Between) > 0:
		return Conflict, "somebody has changed " + c.Between[0] + " while the run was under way"
	}
	return Revert, ""
}

// Wrote returns the fields of a document that the run only updated, sorted.
func (c Change) Wrote() []string { return written(c.After, c.Removed) }

// Wrote returns the fields that an update wrote or removed, sorted.
func (w Write) Wrote() []string { return written(w.After, w.Removed) }

func written(after Fields, removed []string) []string {
	fields := append(slices.Collect(maps.Keys(after)), removed...)
	slices.Sort(fields)
	return slices.Compact(fields)
}

// equal compares documents. Numbers that are none are equal.
func equal(a, b Fields) bool { return maps.EqualFunc(a, b, equalValue) }

// equalValue compares values; a missing value is nil.
func equalValue(a, b *firestorepb.Value) bool { return (a == nil) == (b == nil) && proto.Equal(a, b) }
