package runlog

import (
	"fmt"
	"slices"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
)

// Todo is what follows a commit and is not done yet. What it has no field for nobody can forge: writes, tasks, an account of
// another name. It is there until all of it is done.
type Todo struct {
	Task   string `json:"-"` // the worker's task; empty of a job
	Bucket string `json:"-"` // of objects in Steps; empty if there are none
	Steps  []Step `json:"steps,omitempty"`
	Next   []Item `json:"next,omitempty"`

	At time.Time `json:"-"` // when it was written: what was made after it stays
}

// Step is something outside of Firestore: an account, or objects.
type Step struct {
	Rule    string                 `json:"rule"`              // that asks for it
	Absent  documents.Ref          `json:"absent"`            // the item, which is gone; if it is back, the step is left out
	Account bool                   `json:"account,omitempty"` // the one whose uid is the item's id
	Object  cleanup.ObjectDeletion `json:"object,omitzero"`
}

func (s Step) valid() bool {
	if s.Account {
		return s.Absent != documents.Ref{} && s.Object == cleanup.ObjectDeletion{}
	}
	return s.Absent != documents.Ref{} && s.Object.Name != ""
}

// FollowUp returns what the step asks for.
func (s Step) FollowUp() cleanup.FollowUp {
	f := cleanup.FollowUp{Object: s.Object, Absent: s.Absent}
	if s.Account {
		f.Account = s.Absent.ID
	}
	return f
}

// Item is something to judge next.
type Item struct {
	Rule string        `json:"rule"`
	Ref  documents.Ref `json:"path"`
	UID  string        `json:"uid,omitempty"` // of the account after which it is deleted
}

// PendingOf is the query for what is left to do of a job, or of a worker's task. Each document may be large.
func PendingOf(job, task string) documents.Query {
	return documents.Query{Collection: TodosOf(job), Where: []documents.Filter{{Field: "task", Op: "==", Value: task}}, PageSize: 20}
}

// PendingOfRun is the query for the names of what is left to do of a run.
func PendingOfRun(job, run string) documents.Query {
	ofRun := []documents.Filter{{Field: "run", Op: "==", Value: run}}
	return documents.Query{Collection: TodosOf(job), Where: ofRun, Select: documents.NameOnly}
}

// Empty reports whether nothing follows.
func (t Todo) Empty() bool { return len(t.Steps)+len(t.Next) == 0 }

func (t Todo) packed() ([]byte, error) {
	parts, err := Pack(t)
	if err == nil && len(parts) > 1 {
		err = fmt.Errorf("what follows the commit takes %d documents: %w", len(parts), documents.ErrTooMuch)
	}
	if err != nil {
		return nil, err
	}
	return parts[0], nil
}

// Forget returns the write after which a Todo has some of its steps no longer, by their indexes.
func Forget(d documents.Document, steps []int) (w documents.Write, err error) {
	t, err := ReadTodo(d)
	if err != nil {
		return w, err
	}
	for _, n := range slices.Backward(steps) {
		t.Steps = slices.Delete(t.Steps, n, n+1)
	}
	data, err := t.packed()
	return documents.Write{Op: documents.Update, Ref: d.Ref(), Data: map[string]any{"data": data}}, err
}

// ReadTodo reads what a commit left to do. It refuses whatever it would not have written itself; whether the job's rules can have
// asked for it, it does not know.
func ReadTodo(d documents.Document) (t Todo, err error) {
	t.At = timeOf(d)
	t.Task, _ = d.Data["task"].(string)
	t.Bucket, _ = d.Data["bucket"].(string)
	data, _ := d.Data["data"].([]byte)
	if err := unpack([][]byte{data}, &t); err != nil {
		return t, err
	}
	for _, item := range t.Next {
		if item.Ref == (documents.Ref{}) {
			return t, fmt.Errorf("%w: it holds what is no item", errDamaged)
		}
	}
	for _, s := range t.Steps {
		if !s.valid() {
			return t, fmt.Errorf("%w: it holds what is no step", errDamaged)
		}
	}
	return t, nil
}
