package engine

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/runlog"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/objects"
)

// Reach says what a rule can delete and write at most. A change outside of it is a bug in the job, and nothing of it is
// written: so the declaration cannot drift from the rule. What is stored for later runs and for undoing is checked against it
// as well, because others may have been able to write it.
//
// A collection is a pattern, in which * stands for one id, ** at the beginning for any documents above it or none, and ** at the
// end for any collection below a document: comments, circles/*/members, **/comments, teams/*/**. No pattern means a collection of the bundle's own records.
type Reach struct {
	Items   string   // the collection of the rule's items
	Deletes []string // collections that it deletes documents from; one without a Change deletes its items
	Writes  []string // collections in which it creates or changes documents
	Objects []Files  // that follow the deletion of an item
	Account bool     // it deletes the account whose uid is the item's id
}

// Files are objects that a rule may delete.
type Files struct {
	Folder string // ends with a slash; {id} stands for the id of the item
	// Setting returns the folders instead, where a setting of the function names them; nil for none.
	Setting func(config.Config) objects.Folders
	Owner   string // the key of custom metadata that must not name another owner; empty: there is none
	Whole   bool   // the folder may go as a whole; {id} is a part of it
}

// idHole stands for the item's id in [Files.Folder].
const idHole = "{id}"

// in reports whether a collection matches a pattern.
func in(pattern, collection string) bool {
	want, parts := strings.Split(pattern, "/"), strings.Split(collection, "/")
	if want[0] == "**" {
		want = want[1:]
		parts = parts[max(0, len(parts)-len(want)):]
	}
	if last := len(want) - 1; last > 0 && want[last] == "**" && len(parts) > last {
		want, parts = want[:last], parts[:last]
	}
	if len(want) != len(parts) || strings.Count(collection, "/")%2 != 0 || collections.IsRecord(collection) {
		return false
	}
	for i, part := range want {
		if part != "*" && part != parts[i] {
			return false
		}
	}
	return !slices.ContainsFunc(strings.Split(collection, "/"), func(part string) bool { return strings.Trim(part, ".") == "" })
}

func inAny(patterns []string, ref documents.Ref) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return in(pattern, ref.Collection) })
}

// has reports whether a document may be an item.
func (r Reach) has(item documents.Ref) bool { return inAny([]string{r.Items}, item) }

// write reports whether an operation on a document is within reach.
func (r Reach) write(op documents.Op, ref documents.Ref) bool {
	if op == documents.Delete {
		return inAny(r.Deletes, ref)
	}
	return inAny(r.Writes, ref)
}

// object reports whether objects that belong to an item with an id are within reach.
func (r Reach) object(o ObjectDeletion, id string, c config.Config) bool {
	name, err := objects.ObjectName("gs://b/"+o.Name, "b", "")
	if o.OwnerKey != "" && o.Owner != id || !o.Folder && (err != nil || name != o.Name) {
		return false
	}
	return slices.ContainsFunc(r.Objects, func(f Files) bool {
		folder := strings.ReplaceAll(f.Folder, idHole, id)
		switch {
		case f.Owner != o.OwnerKey:
			return false
		case o.Folder:
			return f.Whole && strings.Contains(f.Folder, idHole) && o.Name == folder
		case f.Setting != nil:
			return f.Setting(c).Hold(o.Name)
		}
		return objects.Folders{folder}.Hold(o.Name)
	})
}

// follows reports whether a follow-up that a Todo holds of an item, which is gone, is within reach.
func (r Reach) follows(f FollowUp, c config.Config) bool {
	switch {
	case !r.has(f.Absent) || !r.write(documents.Delete, f.Absent) || f.Task != nil || f.Recorded != nil:
		return false
	case f.Account != "":
		return r.Account && f.Account == f.Absent.ID && f.Object == (ObjectDeletion{})
	}
	return r.object(f.Object, f.Absent.ID, c)
}

// errReach says that a job goes beyond what it declares.
var errReach = errors.New("which its Reach does not declare: this is a bug in the job")

// problem returns an error if a rule's change of an item is not within reach.
func (r Reach) problem(rule string, item documents.Ref, c Change, cfg config.Config) error {
	outside := func(what string) error {
		return fmt.Errorf("%s: rule %s would %s, %w", item.Path(), rule, what, errReach)
	}
	if !r.has(item) {
		return outside("judge it")
	}
	writes := slices.Clone(c.Writes)
	for _, f := range c.Then {
		ok := f.Absent == item && r.follows(f, cfg)
		if f.Recorded != nil {
			ok = f.Object == (ObjectDeletion{}) && (f.Task != nil || r.Account && f.Account == item.ID)
			writes = slices.Concat(writes, f.Recorded.Done, f.Recorded.Failed)
		}
		if !ok {
			return outside("do a follow-up to " + f.name())
		}
	}
	for _, w := range writes {
		if !r.write(w.Op, w.Ref) {
			return outside(w.String())
		}
	}
	return nil
}

// todo is what an earlier run left to do, as the rules of the job can have asked for it.
type todo struct {
	shard int
	then  []FollowUp
	next  []Item
	at    time.Time // when it was left
}

// ErrForeign says that a record is not one that this program wrote.
var ErrForeign = errors.New("it is not one that this program wrote: look at it and delete it")

// readTodo reads what an earlier run left to do. It refuses, with [ErrForeign], whatever no rule of the job asks for; what it
// returns then is for people to look at.
func (r *run) readTodo(d documents.Document) (t todo, err error) {
	stored, err := runlog.ReadTodo(d)
	t.shard, t.at = stored.Shard, stored.At
	if err != nil {
		return t, fmt.Errorf("%s: %w (%w)", d.Path, ErrForeign, err)
	}
	rules := r.job.rules()
	refuse := func(what string) {
		err = cmp.Or(err, fmt.Errorf("%s: %s is nothing that a rule of %s asks for: %w", d.Path, what, r.job.Name, ErrForeign))
	}
	for _, step := range stored.Steps {
		for _, f := range followUpsOf(step) {
			if rules[step.Rule] == nil || !rules[step.Rule].reach().follows(f, r.config) {
				refuse("to " + f.String(r.config.Bucket))
			}
			t.then = append(t.then, f)
		}
	}
	for _, item := range stored.Next {
		if rules[item.Rule] == nil || !rules[item.Rule].reach().has(item.Ref) {
			refuse("to judge " + item.Ref.Path())
		}
		t.next = append(t.next, Item{Rule: rules[item.Rule], Ref: item.Ref, From: item.From})
	}
	return t, err
}

// followUpsOf returns the follow-ups that are one step.
func followUpsOf(s runlog.Step) (all []FollowUp) {
	if s.Account {
		return []FollowUp{{Account: s.Absent.ID, Absent: s.Absent}}
	}
	o := ObjectDeletion{Folder: s.Folder, OwnerKey: s.OwnerKey, Marked: s.Marked}
	if s.OwnerKey != "" {
		o.Owner = s.Absent.ID
	}
	for _, o.Name = range s.Objects {
		all = append(all, FollowUp{Object: o, Absent: s.Absent})
	}
	return all
}

func (j Job) rules() map[string]AnyRule {
	byName := make(map[string]AnyRule, len(j.Rules)+1)
	if j.Task != nil {
		byName[j.Task.Rule.name()] = j.Task.Rule
	}
	for _, rule := range j.Rules {
		byName[rule.name()] = rule
	}
	return byName
}

// problem returns an error if a change of an item goes beyond what the job declares.
func (j Job) problem(rule AnyRule, item documents.Ref, c Change, cfg config.Config) error {
	if j.rules()[rule.name()] == nil { // a later run would not know what is left to do of it
		return fmt.Errorf("%s: rule %s is not among the Rules of %s: this is a bug in the job", item.Path(), rule.name(), j.Name)
	}
	return rule.reach().problem(rule.name(), item, c, cfg)
}

// reaches returns what the job itself and its rules can do.
func (j Job) reaches() []Reach {
	all := []Reach{j.Reach}
	for _, rule := range j.rules() {
		all = append(all, rule.reach())
	}
	return all
}

// proposes returns an error if the job itself does not declare an action.
func (j Job) proposes(effect Effect) error {
	ok := true
	switch e := effect.(type) {
	case DeleteObject:
		ok = slices.ContainsFunc(j.Reach.Objects, func(f Files) bool { return objects.Folders{f.Folder}.Hold(e.Name) })
	case deleteAccount:
		ok = j.Reach.Account
	}
	if !ok {
		return fmt.Errorf("job %s would do this, %w", j.Name, errReach)
	}
	return nil
}

// CanHaveDone returns what reports whether a run of the job can have done what a record of its undo log says, for as many
// records as there are. Folders that a setting names are not known here, so any object counts as one of those.
func (j Job) CanHaveDone() func(undo.Record) bool {
	reaches, held := j.reaches(), []func(undo.Object) bool(nil)
	for _, r := range reaches {
		for _, f := range r.Objects {
			held = append(held, f.heldOnce())
		}
	}
	return func(record undo.Record) bool {
		if record.Object != nil {
			return slices.ContainsFunc(held, func(once func(undo.Object) bool) bool { return once(*record.Object) })
		}
		return slices.ContainsFunc(reaches, func(r Reach) bool {
			switch {
			case record.Write != nil:
				ref, err := documents.RefOf(record.Write.Path)
				return err == nil && r.write(record.Write.Op, ref)
			case record.Account != nil:
				return r.Account
			}
			return true // an item, which is but a name
		})
	}
}

// heldOnce returns what reports whether an object can have been one of these, of any item.
func (f Files) heldOnce() func(undo.Object) bool {
	if f.Setting != nil {
		return func(o undo.Object) bool { return !o.Folder }
	}
	pattern := strings.ReplaceAll(regexp.QuoteMeta(f.Folder), regexp.QuoteMeta(idHole), "[^/]+")
	folder, below := regexp.MustCompile("^"+pattern+"$"), regexp.MustCompile("^"+pattern+"(?s:.)")
	return func(o undo.Object) bool {
		if o.Folder {
			return f.Whole && folder.MatchString(o.Name)
		}
		return below.MatchString(o.Name)
	}
}
