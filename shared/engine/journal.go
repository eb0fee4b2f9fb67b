package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/firesweep/firesweep/shared/digest"
	"github.com/firesweep/firesweep/shared/documents"
)

// The journal of a job is cleanupJobs/{job}/journal. Each commit of items writes an entry with its follow-ups: objects,
// accounts and further items. A later commit deletes the entry when they are done. So the next run finds what an
// interrupted run has left to do, and begins with it.
func journalOf(job string) string { return "cleanupJobs/" + job + "/journal" }

// journal is what a run knows of its job's journal.
type journal struct {
	mu   sync.Mutex
	n    int
	done []documents.Ref // entries with nothing left to follow
}

// maxForgotten is how many entries a commit forgets besides what it is for.
const maxForgotten = 20

// finished says that nothing is left to do of some entries.
func (j *journal) finished(entries ...documents.Ref) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.done = append(j.done, entries...)
}

// take returns entries to delete, and no longer counts them as there.
func (j *journal) take() []documents.Ref {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := min(len(j.done), maxForgotten)
	taken := append([]documents.Ref(nil), j.done[:n]...)
	j.done = j.done[n:]
	return taken
}

// newEntry returns the name of the run's next entry.
func (r *run) newEntry() documents.Ref {
	r.journal.mu.Lock()
	defer r.journal.mu.Unlock()
	r.journal.n++
	return documents.Ref{Collection: journalOf(r.job.Name), ID: fmt.Sprintf("%s-%06d", r.report.RunID, r.journal.n)}
}

// taskID identifies a worker's task; "" for a job.
func (r *run) taskID() string {
	if r.job.Task == nil {
		return ""
	}
	var parts []string
	for _, field := range r.job.Task.Fields {
		parts = append(parts, r.task[field])
	}
	return digest.Of(parts...)
}

// shard returns the number of the run's shard; 0 where it is of none.
func (r *run) shard() int {
	return r.number()
}

// entryOf returns what is written of a commit's changes, which are of one rule.
func (r *run) entryOf(attempt int64, rule string, changes []Change) map[string]any {
	var then, next []any
	for _, c := range changes {
		then = append(then, storedFollowUps(rule, c.Then)...)
		for _, item := range c.Next {
			next = append(next, map[string]any{"rule": item.Rule.name(), "path": item.Ref.Path(), "from": item.From})
		}
	}
	return map[string]any{
		"runId": r.id(), "shard": r.shard(), "attempt": attempt, "task": r.taskID(), "at": documents.ServerTimestamp,
		"open": len(then)+len(next) > 0, "then": then, "next": next,
	}
}

// storedFollowUps returns what the journal holds of a change's follow-ups. What objects have in common is stored once, so that
// they take no more room than in the document that named them. What the item's id tells is not stored: the owner, and the uid.
func storedFollowUps(rule string, all []FollowUp) []any {
	var stored []any
	var last FollowUp
	for _, f := range all {
		switch {
		case f.Recorded != nil:
			continue
		case f.Account != "":
			stored = append(stored, map[string]any{"rule": rule, "absent": f.Absent.Path(), "account": true})
		case len(stored) > 0 && f.joins(last):
			object := stored[len(stored)-1].(map[string]any)
			object["names"] = append(object["names"].([]any), f.Object.Name)
		default:
			stored = append(stored, map[string]any{
				"rule": rule, "absent": f.Absent.Path(), "names": []any{f.Object.Name}, "folder": f.Object.Folder,
				"ownerKey": f.Object.OwnerKey, "marked": f.Object.Marked,
			})
		}
		last = f
	}
	return stored
}

// joins reports whether a follow-up deletes an object, and differs from another in nothing but its name.
func (f FollowUp) joins(other FollowUp) bool {
	other.Object.Name = f.Object.Name
	return f.Object.Name != "" && f.Object == other.Object && f.Absent == other.Absent && other.Account == ""
}

// entry is a journal entry as it was read.
type entry struct {
	then []FollowUp
	next []Item
}

// ErrForeign says that a record is not one that this program wrote.
var ErrForeign = errors.New("it is not one that this program wrote: look at it and delete it")

// parseEntry reads what [run.entryOf] wrote. It refuses, with [ErrForeign], whatever the job's rules could not have asked for.
func (r *run) parseEntry(d documents.Document) (e entry, err error) {
	rules := r.job.rules()
	for _, v := range list(d.Data["then"]) {
		all, ok := followUpsOf(v)
		m, _ := v.(map[string]any)
		name, _ := m["rule"].(string)
		for _, f := range all {
			ok = ok && rules[name] != nil && rules[name].reach().follows(f, r.config)
		}
		if !ok {
			return e, fmt.Errorf("then holds what no rule of %s asks for: %w", r.job.Name, ErrForeign)
		}
		e.then = append(e.then, all...)
	}
	for _, v := range list(d.Data["next"]) {
		m, _ := v.(map[string]any)
		name, _ := m["rule"].(string)
		path, _ := m["path"].(string)
		from, isText := m["from"].(string)
		ref, err := documents.RefOf(path)
		if err != nil || !isText || len(m) != 3 || rules[name] == nil || !rules[name].reach().has(ref) {
			return e, fmt.Errorf("next holds what is no item of %s: %w", r.job.Name, ErrForeign)
		}
		e.next = append(e.next, Item{Rule: rules[name], Ref: ref, From: from})
	}
	return e, nil
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

// followUpsOf reads what [storedFollowUps] wrote of follow-ups that have all but the object's name in common.
func followUpsOf(v any) (all []FollowUp, ok bool) {
	m, _ := v.(map[string]any)
	absent, _ := m["absent"].(string)
	ref, err := documents.RefOf(absent)
	if err != nil {
		return nil, false
	}
	if m["account"] == true {
		return []FollowUp{{Account: ref.ID, Absent: ref}}, len(m) == 3
	}
	folder, isBool := m["folder"].(bool)
	key, isText := m["ownerKey"].(string)
	marked, isMarked := m["marked"].(bool)
	o := ObjectDeletion{Folder: folder, OwnerKey: key, Marked: marked}
	if key != "" {
		o.Owner = ref.ID
	}
	for _, name := range list(m["names"]) {
		o.Name, _ = name.(string)
		all = append(all, FollowUp{Object: o, Absent: ref})
	}
	return all, isBool && isText && isMarked && len(m) == 6 && len(all) > 0
}

// forget deletes the entries that no commit has taken along.
func (r *run) forget(ctx context.Context) error {
	for {
		done := r.journal.take()
		if len(done) == 0 {
			return nil
		}
		if err := r.records.Put(ctx, deletionsOf(done)); err != nil {
			return err
		}
	}
}

// deletionsOf returns the writes that delete documents.
func deletionsOf(refs []documents.Ref) []documents.Write {
	writes := make([]documents.Write, len(refs))
	for i, ref := range refs {
		writes[i] = documents.Write{Op: documents.Delete, Ref: ref}
	}
	return writes
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
