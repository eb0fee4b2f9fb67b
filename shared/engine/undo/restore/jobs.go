package restore

import (
	"regexp"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/internal/decide"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/undo"
)

// reach is what a job and its rules can delete and change.
type reach struct {
	own   cleanup.Reach    // of the job itself, which deletes accounts by its rule for them
	all   []cleanup.Reach  // with those of its rules
	files []*regexp.Regexp // names of objects
}

func reachOf(j cleanup.Job) (r reach) {
	r.own = j.Reach
	r.own.Account = j.AccountRule != nil
	r.all = []cleanup.Reach{r.own}
	for _, rule := range j.Rules {
		r.all = append(r.all, rule.Reaches())
	}
	for _, one := range r.all {
		for _, f := range one.Objects {
			pattern := strings.ReplaceAll(regexp.QuoteMeta(f.Folder), regexp.QuoteMeta(decide.IDHole), "[^/]+")
			if f.Setting != nil { // which folders it names is not known here
				pattern = ""
			}
			r.files = append(r.files, regexp.MustCompile("^"+pattern+"(?s:.)"))
		}
	}
	return r
}

// object reports whether an object can have been one of those of any item.
func (r reach) object(name string) bool {
	return slices.ContainsFunc(r.files, func(f *regexp.Regexp) bool { return f.MatchString(name) })
}

func (r reach) some(has func(cleanup.Reach) bool) bool { return slices.ContainsFunc(r.all, has) }

// canHaveDone reports whether a run of the job can have done what a record of its undo log says for an item.
func (r reach) canHaveDone(record undo.Record, item string) bool {
	switch {
	case record.Object != nil:
		return r.object(record.Object.Name)
	case record.Account != nil:
		uid := record.Account.UID
		a, err := accounts.Parse(record.Account.Data)
		if err != nil || a.UID != uid {
			return false
		}
		if item == report.AccountTarget(uid) {
			return r.own.Account
		}
		ref, err := documents.RefOf(item) // a document's
		return err == nil && ref.ID == uid && r.some(func(one cleanup.Reach) bool { return one.Account && decide.Has(one, ref) })
	case record.Write != nil:
		ref, err := documents.RefOf(record.Write.Path)
		return err == nil && r.some(func(one cleanup.Reach) bool { return decide.Writes(one, record.Write.Op, ref) })
	}
	return true // an item, which is but a name
}

// covers reports whether the job could delete or change what a record is of, or judges it.
func (r reach) covers(record undo.Record) bool {
	switch {
	case record.Object != nil:
		return r.object(record.Object.Name)
	case record.Account != nil:
		return r.some(func(one cleanup.Reach) bool { return one.Account })
	case record.Write != nil:
		ref, err := documents.RefOf(record.Write.Path)
		return err == nil && r.some(func(one cleanup.Reach) bool {
			return decide.Has(one, ref) || decide.Writes(one, documents.Delete, ref) || decide.Writes(one, documents.Set, ref)
		})
	}
	return false
}
