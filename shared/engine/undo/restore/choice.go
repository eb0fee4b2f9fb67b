package restore

import (
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/engine/internal/decide"
	"github.com/firesweep/firesweep/shared/engine/undo"
)

// Where means the documents whose saved contents have a value in a field, what lies below them, and the objects and accounts
// that are named after them or after the value.
type Where struct{ Field, Value string }

// match notes what [Where] means in a record.
func (u *undoing) match(r undo.Record) {
	if r.Write == nil || !undo.Is(r.Write.Before[u.Where.Field], u.Where.Value) {
		return
	}
	u.matched[r.Write.Path] = true
	u.ids[r.Write.Path[strings.LastIndexByte(r.Write.Path, '/')+1:]] = true
	u.ids[u.Where.Value] = true
}

// names reports whether a record is of a target, as an outcome names it.
func (u *undoing) names(r undo.Record, target string) bool {
	switch {
	case r.Object != nil && u.Bucket != nil:
		return covers(target, u.targetOf(r))
	case r.Item != "":
		return target == r.Item
	}
	return target == u.targetOf(r)
}

// targetOf returns the target that an outcome of a record names; empty if it has none.
func (u *undoing) targetOf(r undo.Record) string {
	switch {
	case r.Write != nil:
		return r.Write.Path
	case r.Object != nil && u.Bucket != nil:
		return u.objectTarget(r.Object.Name)
	case r.Account != nil:
		return decide.AccountTarget(r.Account.UID)
	}
	return ""
}

// chosen reports whether a target is among those to take back.
func (u *undoing) chosen(target string) bool {
	named := func(only string) bool { return covers(only, target) }
	return (len(u.Only) == 0 || slices.ContainsFunc(u.Only, named)) && (u.Where == nil || u.meant(target))
}

// covers reports whether a target is the one that was named, or in the folder of objects that was.
func covers(named, target string) bool {
	return target == named || strings.HasPrefix(named, "gs://") && strings.HasSuffix(named, "/") && strings.HasPrefix(target, named)
}

// meant reports whether [Where] means a target.
func (u *undoing) meant(target string) bool {
	if uid, isAccount := strings.CutPrefix(target, decide.AccountTarget("")); isAccount {
		return u.ids[uid]
	}
	if _, isObject := strings.CutPrefix(target, "gs://"); isObject {
		return slices.ContainsFunc(strings.Split(target, "/")[3:], func(part string) bool { return u.ids[part] })
	}
	for i := range len(target) + 1 {
		if (i == len(target) || target[i] == '/') && u.matched[target[:i]] {
			return true
		}
	}
	return false
}

// partial reports whether only a part of the run is to be taken back.
func (u *undoing) partial() bool { return len(u.Only) > 0 || u.Where != nil }
