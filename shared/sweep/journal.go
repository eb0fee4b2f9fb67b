package sweep

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/firesweep/firesweep/shared/digest"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/tasks"
)

// The journal of a job is cleanupJobs/{job}/journal. Each commit of items writes an entry with its follow-ups: objects,
// accounts, tasks and further items. A later commit deletes the entry when they are done. So the next run finds what an
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
	if r.part == nil {
		return 0
	}
	return r.part.Number
}

// entryOf returns what is written of a commit's changes.
func (r *run) entryOf(attempt int64, changes []Change) map[string]any {
	var then, next []any
	for _, c := range changes {
		then = append(then, storedFollowUps(c.Then)...)
		for _, item := range c.Next {
			next = append(next, map[string]any{"rule": item.Rule.name(), "path": item.Ref.Path(), "from": item.From})
		}
	}
	return map[string]any{
		"runId": r.id(), "shard": r.shard(), "attempt": attempt, "task": r.taskID(), "now": r.report.Now, "at": documents.ServerTimestamp,
		"open": len(then)+len(next) > 0, "then": then, "next": next,
	}
}

// storedFollowUps returns what the journal holds of a change's follow-ups. What objects have in common is stored once, so that
// they take no more room than in the document that named them.
func storedFollowUps(all []FollowUp) []any {
	var stored []any
	var last FollowUp
	for _, f := range all {
		switch {
		case f.Recorded != nil:
			continue
		case len(stored) > 0 && f.joins(last):
			object := stored[len(stored)-1].(map[string]any)["object"].(map[string]any)
			object["names"] = append(object["names"].([]any), f.Object.Name)
		default:
			stored = append(stored, f.stored())
		}
		last = f
	}
	return stored
}

// joins reports whether a follow-up deletes an object, and differs from another in nothing but its name.
func (f FollowUp) joins(other FollowUp) bool {
	other.Object.Name = f.Object.Name
	return f.Object.Name != "" && f.Object == other.Object && f.Absent == other.Absent && len(f.Done) == 0 && len(other.Done) == 0 &&
		other.Account == "" && other.Task == nil
}

// stored returns a follow-up as the journal holds it.
func (f FollowUp) stored() map[string]any {
	m := map[string]any{"absent": f.Absent.Path(), "done": storedWrites(f.Done)}
	switch {
	case f.Task != nil:
		key := make([]any, len(f.Task.Key))
		for i, part := range f.Task.Key {
			key[i] = part
		}
		m["task"] = map[string]any{"key": key, "body": f.Task.Body, "notBefore": f.Task.NotBefore}
	case f.Account != "":
		m["account"] = f.Account
	default:
		m["object"] = map[string]any{
			"names": []any{f.Object.Name}, "folder": f.Object.Folder, "ownerKey": f.Object.OwnerKey, "owner": f.Object.Owner,
			"marked": f.Object.Marked,
		}
	}
	return m
}

func storedWrites(writes []documents.Write) []any {
	stored := make([]any, len(writes))
	for i, w := range writes {
		stored[i] = map[string]any{"op": string(w.Op), "path": w.Ref.Path(), "data": w.Data}
	}
	return stored
}

// entry is a journal entry as it was read.
type entry struct {
	then []FollowUp
	next []Item
}

// parseEntry reads what [entryOf] wrote. rules are the job's, by name.
func parseEntry(d documents.Document, rules map[string]AnyRule) (e entry, err error) {
	problem := func(what string) error { return fmt.Errorf("no usable %s: %w", what, ErrForeign) }
	for _, v := range list(d.Data["then"]) {
		all, ok := followUpsOf(v)
		if !ok {
			return e, problem("then")
		}
		if now, ok := d.Data["now"].(time.Time); ok {
			for _, f := range all {
				if f.Task != nil {
					f.Task.Headers = decidedAt(now)
				}
			}
		}
		e.then = append(e.then, all...)
	}
	for _, v := range list(d.Data["next"]) {
		m, _ := v.(map[string]any)
		name, _ := m["rule"].(string)
		path, _ := m["path"].(string)
		from, isText := m["from"].(string)
		ref, err := documents.RefOf(path)
		if err != nil || !isText || rules[name] == nil {
			return e, problem("next")
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
	m, ok := v.(map[string]any)
	if !ok {
		return nil, false
	}
	var f FollowUp
	absent, _ := m["absent"].(string)
	if absent != "" {
		var err error
		if f.Absent, err = documents.RefOf(absent); err != nil {
			return nil, false
		}
	}
	if f.Done, ok = writesOf(m["done"]); !ok {
		return nil, false
	}
	if account, isAccount := m["account"].(string); isAccount {
		f.Account = account
		return []FollowUp{f}, account != ""
	}
	if t, isTask := m["task"].(map[string]any); isTask {
		f.Task, ok = taskOf(t)
		return []FollowUp{f}, ok
	}
	o, _ := m["object"].(map[string]any)
	f.Object.Folder, _ = o["folder"].(bool)
	f.Object.OwnerKey, _ = o["ownerKey"].(string)
	f.Object.Owner, _ = o["owner"].(string)
	f.Object.Marked, _ = o["marked"].(bool)
	for _, name := range list(o["names"]) {
		if f.Object.Name, _ = name.(string); !f.Object.valid() {
			return nil, false
		}
		all = append(all, f)
	}
	return all, len(all) > 0
}

func taskOf(stored map[string]any) (*tasks.Task, bool) {
	task := &tasks.Task{Body: stored["body"]}
	for _, part := range list(stored["key"]) {
		text, isText := part.(string)
		if !isText {
			return nil, false
		}
		task.Key = append(task.Key, text)
	}
	task.NotBefore, _ = stored["notBefore"].(time.Time)
	return task, len(task.Key) > 0
}

func writesOf(v any) (writes []documents.Write, ok bool) {
	for _, item := range list(v) {
		m, _ := item.(map[string]any)
		op, _ := m["op"].(string)
		path, _ := m["path"].(string)
		data, _ := m["data"].(map[string]any)
		ref, err := documents.RefOf(path)
		if err != nil || op == "" {
			return nil, false
		}
		writes = append(writes, documents.Write{Op: documents.Op(op), Ref: ref, Data: data})
	}
	return writes, true
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
	byName := make(map[string]AnyRule, len(j.Rules))
	for _, rule := range j.Rules {
		byName[rule.name()] = rule
	}
	return byName
}
