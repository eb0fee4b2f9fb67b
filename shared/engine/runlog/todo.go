package runlog

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/undo"
)

// Todo is what follows a commit and is not done yet. What it has no field for nobody can forge: writes, tasks, an account of
// another name. It is there until all of it is done.
type Todo struct {
	Task   string // the worker's task; empty of a job
	Bucket string // of objects in Steps; empty if there are none
	Steps  []Step
	Next   []Item

	At time.Time // when it was written: what was made after it stays
}

// Step is something outside of Firestore: an account, or objects that have all but their names in common. Names are stored once,
// so that they take no more room than in the document that named them.
type Step struct {
	Rule    string        // that asks for it
	Absent  documents.Ref // the item, which is gone; if it is back, the step is left out
	Account bool          // the one whose uid is the item's id
	Objects []string
	// Folder says that each of Objects is a folder; OwnerKey is the key of metadata in which an object names its owner, the
	// item's id; one without it stays outside of Home, if that is set.
	Folder   bool
	OwnerKey string
	Home     string
}

// Item is something to judge next.
type Item struct {
	Rule string
	Ref  documents.Ref
}

// PendingOf is the query for what is left to do of a job, or of a worker's task. Each document may be large.
func PendingOf(job, task string) documents.Query {
	return documents.Query{Collection: TodosOf(job), Where: []documents.Filter{{Field: "task", Op: "==", Value: task}}, PageSize: 20}
}

// PendingOfRun is the query for the names of what is left to do of a run.
func PendingOfRun(job, run string) documents.Query {
	return documents.Query{Collection: TodosOf(job), Where: []documents.Filter{{Field: "run", Op: "==", Value: run}}, Select: documents.NameOnly}
}

// Empty reports whether nothing follows.
func (t Todo) Empty() bool { return len(t.Steps)+len(t.Next) == 0 }

func (t Todo) packed() ([]byte, error) {
	var all []undo.Fields
	for _, s := range t.Steps {
		all = append(all, s.fields())
	}
	for _, item := range t.Next {
		all = append(all, item.fields())
	}
	parts, err := PackFields(all)
	if err == nil && len(parts) > 1 {
		err = fmt.Errorf("what follows the commit takes %d documents: %w", len(parts), documents.ErrTooMuch)
	}
	if err != nil {
		return nil, err
	}
	return parts[0], nil
}

// ReadTodo reads what a commit left to do. It refuses whatever it would not have written itself; whether the job's rules can have
// asked for it, it does not know.
func ReadTodo(d documents.Document) (t Todo, err error) {
	t.At = timeOf(d)
	t.Task, _ = d.Data["task"].(string)
	t.Bucket, _ = d.Data["bucket"].(string)
	data, _ := d.Data["data"].([]byte)
	all, err := UnpackFields([][]byte{data})
	if err != nil {
		return t, err
	}
	for _, f := range all {
		if f[pathKey] != nil {
			ref, err := documents.RefOf(f[pathKey].GetStringValue())
			item := Item{Rule: f[ruleKey].GetStringValue(), Ref: ref}
			if err != nil || !same(item.fields(), f) {
				return t, fmt.Errorf("%w: it holds what is no item", errDamaged)
			}
			t.Next = append(t.Next, item)
			continue
		}
		ref, err := documents.RefOf(f[absentKey].GetStringValue())
		s := Step{
			Rule: f[ruleKey].GetStringValue(), Absent: ref, Account: f[accountKey].GetBooleanValue(), Folder: f[folderKey].GetBooleanValue(),
			OwnerKey: f[ownerKeyKey].GetStringValue(), Home: f[homeKey].GetStringValue(),
		}
		for _, name := range f[objectsKey].GetArrayValue().GetValues() {
			s.Objects = append(s.Objects, name.GetStringValue())
		}
		if err != nil || s.Account == (len(s.Objects) > 0) || !same(s.fields(), f) {
			return t, fmt.Errorf("%w: it holds what is no step", errDamaged)
		}
		t.Steps = append(t.Steps, s)
	}
	return t, nil
}

// The names of what a Todo holds.
const (
	ruleKey, absentKey, objectsKey  = "rule", "absent", "objects"
	folderKey, ownerKeyKey, homeKey = "folder", "ownerKey", "home"
)

func (s Step) fields() undo.Fields {
	return encoded(map[string]any{
		ruleKey: s.Rule, absentKey: s.Absent.Path(), accountKey: s.Account, objectsKey: s.Objects, folderKey: s.Folder,
		ownerKeyKey: s.OwnerKey, homeKey: s.Home,
	})
}

func (i Item) fields() undo.Fields {
	return encoded(map[string]any{ruleKey: i.Rule, pathKey: i.Ref.Path()})
}

func same(a, b undo.Fields) bool { return proto.Equal(mapValue(a), mapValue(b)) }
