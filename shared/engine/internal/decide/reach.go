package decide

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/objects"
)

// idHole stands for the item's id in [cleanup.Files].Folder.
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

// writes reports whether an operation on a document is within reach.
func writes(r cleanup.Reach, op documents.Op, ref documents.Ref) bool {
	if op == documents.Delete {
		return inAny(r.Deletes, ref)
	}
	return inAny(r.Writes, ref)
}

// hasObject reports whether objects that belong to an item with an id are within reach.
func hasObject(r cleanup.Reach, o cleanup.ObjectDeletion, id string, c config.Config) bool {
	name, err := objects.ObjectName("gs://b/"+o.Name, "b", "")
	if o.OwnerKey != "" && o.Owner != id || !o.Folder && (err != nil || name != o.Name) {
		return false
	}
	return slices.ContainsFunc(r.Objects, func(f cleanup.Files) bool {
		folder := strings.ReplaceAll(f.Folder, idHole, id)
		switch {
		case f.Owner != o.OwnerKey, f.Homes != (o.Home != ""), f.Homes && !isHome(f.Folder, o.Home):
			return false
		case o.Folder:
			return f.Whole && strings.Contains(f.Folder, idHole) && o.Name == folder
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
	case !Has(r, f.Absent) || !writes(r, documents.Delete, f.Absent) || f.Task != nil || f.Recorded != nil:
		return false
	case f.Account != "":
		return r.Account && f.Account == f.Absent.ID && f.Object == (cleanup.ObjectDeletion{})
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
			ok = f.Object == (cleanup.ObjectDeletion{}) && (f.Task != nil || r.Account && f.Account == item.ID)
			all = slices.Concat(all, f.Recorded.Done, f.Recorded.Failed)
		}
		if !ok {
			return outside("do a follow-up to " + d.TargetOf(f))
		}
	}
	for _, w := range all {
		if !writes(r, w.Op, w.Ref) {
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

// reaches returns what the job itself and its rules can do.
func reaches(j cleanup.Job) []cleanup.Reach {
	all := []cleanup.Reach{j.Reach}
	for _, rule := range rulesOf(j) {
		all = append(all, rule.Reaches())
	}
	return all
}

// Proposes returns an error if the job itself does not declare an item.
func Proposes(j cleanup.Job, i *Item) error {
	held := func(f cleanup.Files) bool { return objects.Folders{f.Folder}.Hold(i.Object.Name) }
	if i.Object != nil && !slices.ContainsFunc(j.Reach.Objects, held) || i.Account != nil && !j.Reach.Account {
		return fmt.Errorf("job %s would do this, %w", j.Name, ErrReach)
	}
	return nil
}

// CanHaveDone returns what reports whether a run of the job can have done what a record of its undo log says for an item, for as
// many records as there are. Folders that a setting names are not known here, so any object counts as one of those.
func CanHaveDone(j cleanup.Job) func(r undo.Record, item string) bool {
	reaches := reaches(j)
	held := heldBy(reaches)
	return func(record undo.Record, item string) bool {
		switch {
		case record.Object != nil:
			return held(record.Object.Name)
		case record.Account != nil && !isOf(*record.Account):
			return false
		case record.Account != nil && item == report.AccountTarget(record.Account.UID):
			return j.Reach.Account
		}
		return slices.ContainsFunc(reaches, func(r cleanup.Reach) bool {
			switch {
			case record.Write != nil:
				ref, err := documents.RefOf(record.Write.Path)
				return err == nil && writes(r, record.Write.Op, ref)
			case record.Account != nil: // a document's
				ref, err := documents.RefOf(item)
				return err == nil && r.Account && Has(r, ref) && ref.ID == record.Account.UID
			}
			return true // an item, which is but a name
		})
	}
}

// Covers returns what reports whether a job could delete or change what a record is of, or judges it.
func Covers(j cleanup.Job) func(undo.Record) bool {
	reaches := reaches(j)
	held := heldBy(reaches)
	return func(record undo.Record) bool {
		if record.Object != nil {
			return held(record.Object.Name)
		}
		return slices.ContainsFunc(reaches, func(r cleanup.Reach) bool {
			if record.Write == nil {
				return record.Account != nil && r.Account
			}
			ref, err := documents.RefOf(record.Write.Path)
			return err == nil && (Has(r, ref) || inAny(r.Deletes, ref) || inAny(r.Writes, ref))
		})
	}
}

// isOf reports whether what is recorded of an account is of the account that the record names.
func isOf(deleted undo.Account) bool {
	a, err := accounts.Parse(deleted.Data)
	return err == nil && a.UID == deleted.UID
}

// heldBy returns what reports whether an object can have been one of those within reach, of any item.
func heldBy(reaches []cleanup.Reach) func(name string) bool {
	var below []*regexp.Regexp
	for _, r := range reaches {
		for _, f := range r.Objects {
			if f.Setting != nil {
				return func(string) bool { return true }
			}
			pattern := strings.ReplaceAll(regexp.QuoteMeta(f.Folder), regexp.QuoteMeta(idHole), "[^/]+")
			below = append(below, regexp.MustCompile("^"+pattern+"(?s:.)"))
		}
	}
	return func(name string) bool {
		return slices.ContainsFunc(below, func(r *regexp.Regexp) bool { return r.MatchString(name) })
	}
}
