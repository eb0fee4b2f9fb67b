package restore

import (
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/undo"
)

// Where means the items that hold a value in a field of a document as it was, and the objects and accounts that are named after
// it.
type Where struct{ Field, Value string }

// match notes what [Where] means in the records of an entry and which item led to which, and names the items of deleted documents
// that are named.
func (u *undoing) match(records []undo.Record) {
	for i, r := range records {
		if r.After != "" {
			u.after[r.Item] = r.After
		}
		item := undo.ItemOf(records, i)
		if u.Where != nil && r.Write != nil && undo.Is(r.Write.Before[u.Where.Field], u.Where.Value) {
			u.matched[r.Write.Path] = true
			u.matched[item] = u.matched[item] || r.Deletes() // what was written for an item may be of others, too
		}
		isNamed := func(only string) bool { return covers(only, r.Write.Path) }
		if r.Write != nil && r.Deletes() && item != "" && slices.ContainsFunc(u.Only, isNamed) && !slices.Contains(u.Only, item) {
			u.Only = append(u.Only, item)
		}
	}
	delete(u.matched, "")
}

// chosen returns the records that are to be taken back, and items. The others are empty, so that each record stays in its
// place. Those that no run of the job can have left are noted.
func (u *undoing) chosen(records []undo.Record) []undo.Record {
	chosen := slices.Clone(records)
	for i, r := range records {
		item := undo.ItemOf(records, i)
		switch {
		case r.Item != "":
			continue
		case !u.isChosen(u.targetOf(r), item):
		case r.Object != nil && u.Bucket == nil, r.Account != nil && u.Accounts == nil: // nothing to bring it back with
		case !u.reach.canHaveDone(r, item):
			u.refused[u.targetOf(r)] = true
		default:
			continue
		}
		chosen[i] = undo.Record{}
	}
	return chosen
}

// isChosen reports whether a thing is to be taken back by itself, with the item that it belongs to, or with what led to that.
func (u *undoing) isChosen(target, item string) bool {
	of := []string{target, item, u.after[item]}
	chosen := len(u.Only) == 0
	for _, only := range u.Only {
		if slices.ContainsFunc(of, func(one string) bool { return covers(only, one) }) {
			chosen, u.named[only] = true, true
		}
	}
	chosen = chosen && (u.Where == nil || slices.ContainsFunc(of, u.isMatched) || slices.Contains(parts(target), u.Where.Value))
	u.named[""] = u.named[""] || chosen
	return chosen
}

// isMatched reports whether a document is one that Where means, or below one.
func (u *undoing) isMatched(path string) bool {
	for i := range len(path) + 1 {
		if (i == len(path) || path[i] == '/') && u.matched[path[:i]] {
			return true
		}
	}
	return false
}

// covers reports whether a target is what was named, below the document that was, or in the collection or folder that was.
func covers(named, target string) bool {
	above, all := strings.CutSuffix(named, "/")
	if all || !strings.HasPrefix(named, report.ObjectPrefix) {
		return target == named || strings.HasPrefix(target, above+"/")
	}
	return target == named
}

// parts returns what an object or an account is named by.
func parts(target string) []string {
	if uid, isAccount := strings.CutPrefix(target, report.AccountPrefix); isAccount {
		return []string{uid}
	}
	if name, isObject := strings.CutPrefix(target, report.ObjectPrefix); isObject {
		return strings.Split(name, "/")[1:]
	}
	return nil
}

// targetOf returns the target that an outcome of a record names; empty if it has none.
func (u *undoing) targetOf(r undo.Record) string { return r.Target(u.Config.Bucket) }

// partial reports whether only a part of the run is to be taken back.
func (u *undoing) partial() bool { return len(u.Only) > 0 || u.Where != nil }
