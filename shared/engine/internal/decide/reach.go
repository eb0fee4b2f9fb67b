package decide

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/objects"
)

// IDHole stands for the item's id in [cleanup.Files].Folder.
const IDHole = "{id}"

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
	if len(want) != len(parts) || strings.Count(collection, "/")%2 != 0 || collections.IsOwn(collection) {
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

// Has reports whether a document may be an item.
func Has(r cleanup.Reach, item documents.Ref) bool { return in(r.Items, item.Collection) }

// Writes reports whether an operation on a document is within reach.
func Writes(r cleanup.Reach, op documents.Op, ref documents.Ref) bool {
	if op == documents.Delete {
		return inAny(r.Deletes, ref)
	}
	return inAny(r.Writes, ref)
}

// hasObject reports whether objects that belong to an item with an id are within reach.
func hasObject(r cleanup.Reach, o cleanup.ObjectDeletion, id string, c config.Config) bool {
	if !o.Folder && !objects.ValidName(o.Name) {
		return false
	}
	return slices.ContainsFunc(r.Objects, func(f cleanup.Files) bool {
		folder := strings.ReplaceAll(f.Folder, IDHole, id)
		switch {
		case f.Owner != o.OwnerKey, f.Homes != (o.Home != ""), f.Homes && !isHome(f.Folder, o.Home):
			return false
		case o.Folder:
			return f.Whole && strings.Contains(f.Folder, IDHole) && o.Name == folder
		case f.Setting != nil:
			return f.Setting(c).Hold(o.Name)
		}
		return objects.Folders{folder}.Hold(o.Name)
	})
}

// isHome reports whether a folder is one of those right in another, or that of nobody.
func isHome(in, folder string) bool {
	name, inside := strings.CutPrefix(folder, in)
	return folder == cleanup.NoHome || inside && len(name) > 1 && strings.IndexByte(name, '/') == len(name)-1
}

// follows reports whether a follow-up that a Todo holds of an item, which is gone, is within reach.
func follows(r cleanup.Reach, f cleanup.FollowUp, c config.Config) bool {
	switch {
	case !Has(r, f.Absent):
		return false
	case f.Account != "":
		return r.Account && !r.Recorded && f.Account == f.Absent.ID
	}
	return hasObject(r, f.Object, f.Absent.ID, c)
}

// ErrReach says that a job goes beyond what it declares.
var ErrReach = errors.New("which its Reach does not declare: this is a bug in the job")

// beyond returns an error if a change of an item goes beyond what the rule declares, or the job.
func (d *Decider) beyond(rule cleanup.AnyRule, item documents.Ref, c cleanup.Change) error {
	r, cfg := rule.Reaches(), d.Run.Config
	outside := func(what string) error {
		return fmt.Errorf("%s: rule %s would %s, %w", item.Path(), rule.Named(), what, ErrReach)
	}
	if rulesOf(d.Job)[rule.Named()] == nil { // a later run would not know what is left to do of it
		return fmt.Errorf("%s: rule %s is not among the Rules of %s: this is a bug in the job", item.Path(), rule.Named(), d.Job.Name)
	}
	if !Has(r, item) {
		return outside("judge it")
	}
	all := slices.Clone(c.Writes)
	for _, f := range c.Then {
		ok := f.Absent == item && follows(r, f, cfg)
		if f.Recorded != nil {
			ok = f.Task != nil || r.Account && r.Recorded && f.Account == item.ID
			all = slices.Concat(all, f.Recorded.Done, f.Recorded.Failed)
		}
		if !ok {
			return outside("do a follow-up to " + d.TargetOf(f))
		}
	}
	for _, w := range all {
		if !Writes(r, w.Op, w.Ref) {
			return outside(w.String())
		}
	}
	return nil
}

func rulesOf(j cleanup.Job) map[string]cleanup.AnyRule {
	byName := make(map[string]cleanup.AnyRule, len(j.Rules))
	for _, rule := range j.Rules {
		byName[rule.Named()] = rule
	}
	return byName
}

// Proposes returns an error if the job itself does not declare an item.
func Proposes(j cleanup.Job, i *Item) error {
	held := func(f cleanup.Files) bool { return objects.Folders{f.Folder}.Hold(i.Object.Name) }
	if i.Object != nil && !slices.ContainsFunc(j.Reach.Objects, held) {
		return fmt.Errorf("job %s would do this, %w", j.Name, ErrReach)
	}
	return nil
}
