package decide

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/digest"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/internal/tell"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/runlog"
	"github.com/firesweep/firesweep/shared/flow"
	"github.com/firesweep/firesweep/shared/objects"
)

// ReadTodo returns what an earlier run left to do: what follows outside of Firestore, and documents. It refuses, with
// [tell.ErrForeign], whatever no rule of the job asks for, and objects of another bucket, where their names may be other
// documents'; what it returns then is for people to look at.
func (d *Decider) ReadTodo(doc documents.Document) (then, next []*Item, err error) {
	stored, err := runlog.ReadTodo(doc)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w (%w)", doc.Path, tell.ErrForeign, err)
	}
	bucket := cmp.Or(stored.Bucket, d.Run.Config.Bucket)
	if bucket != d.Run.Config.Bucket {
		err = fmt.Errorf("%s: it is to delete objects of the bucket %s, and STORAGE_BUCKET is %s: set that to %s, or "+
			"delete there what it names, and then it", doc.Path, bucket, d.Run.Config.Bucket, bucket)
	}
	rules := rulesOf(d.Job)
	refuse := func(what string) {
		const text = "%s: %s is nothing that a rule of %s asks for: %w"
		err = cmp.Or(err, fmt.Errorf(text, doc.Path, what, d.Job.Name, tell.ErrForeign))
	}
	for _, step := range stored.Steps {
		path := step.Absent.Path()
		of := &Item{Planned: report.Planned{Action: report.Finish, Target: path, Reason: path + " is deleted"}}
		f := step.FollowUp()
		if rules[step.Rule] == nil || !follows(rules[step.Rule].Reaches(), f, d.Run.Config) {
			refuse("to delete " + d.TargetOf(f))
		}
		then = append(then, &Item{Then: &f, By: rules[step.Rule], UID: f.Account, Of: of, At: stored.At})
	}
	for _, item := range stored.Next {
		if rules[item.Rule] == nil || !Has(rules[item.Rule].Reaches(), item.Ref) {
			refuse("to judge " + item.Ref.Path())
		}
		account := report.AccountTarget(item.UID) // if it follows from one
		of := &Item{UID: item.UID, Planned: report.Planned{Action: report.Finish, Target: account, Reason: account + " is deleted"}}
		next = append(next, NewItem(of, cleanup.Item{Rule: rules[item.Rule], Ref: item.Ref}))
	}
	return then, next, err
}

// JudgeAgain judges what an earlier run left to do outside of Firestore as things are by now, perhaps months later. That ends
// whose document is there again, or that its rule keeps.
func (d *Decider) JudgeAgain(ctx context.Context, then []*Item) {
	d.LookAgain(ctx, then)
	src := d.Source()
	for n, err := range flow.Many(judgedAtOnce, len(then), func(n int) error {
		i := then[n]
		if i.Fate.Kind != Done {
			return nil
		}
		why, err := i.By.WhyKept(ctx, src, *i.Then)
		if why != "" {
			i.Ends(Fate{Kind: Back, Reason: why, Because: why})
		}
		return err
	}) {
		then[n].Ends(FateOf(ctx, err))
	}
}

// judgedAtOnce is how much of what is left to do is judged side by side.
const judgedAtOnce = 16

// LookAgain looks up the documents whose absence is the reason to delete items. Those end whose documents are there again, and
// those of which that is unknown.
func (d *Decider) LookAgain(ctx context.Context, all []*Item) {
	ids := map[string][]string{} // by collection
	for _, i := range all {
		for _, ref := range i.absent() {
			if !slices.Contains(ids[ref.Collection], ref.ID) {
				ids[ref.Collection] = append(ids[ref.Collection], ref.ID)
			}
		}
	}
	for collection, ids := range ids {
		missing, err := d.Documents.Missing(ctx, collection, ids)
		for _, i := range all {
			for _, ref := range i.absent() {
				switch {
				case ref.Collection != collection:
				case err != nil:
					i.Ends(FateOf(ctx, err))
				case !slices.Contains(missing, ref.ID):
					i.Ends(i.IsBack())
				}
			}
		}
	}
}

// absent returns the documents whose absence is the reason to delete the item.
func (i *Item) absent() []documents.Ref {
	switch {
	case i.Object != nil:
		return i.Object.Absent
	case i.Then != nil && i.Then.Absent != (documents.Ref{}): // or documents of the application tell of it
		return []documents.Ref{i.Then.Absent}
	}
	return nil
}

// IsBack is the fate of what is deleted because a document is absent, when that is there again.
func (i *Item) IsBack() Fate {
	reason := "its document was restored since"
	if i.UID == "" {
		reason = "a file whose document was restored since"
	}
	return Fate{Kind: Back, Reason: reason, Because: "its document is there again"}
}

// KeepsObject returns why an object is kept to which a deleted document led, "" if it is not.
func KeepsObject(f cleanup.FollowUp, object objects.Object, at time.Time) string {
	o := f.Object
	owner, named := object.Metadata[o.OwnerKey]
	switch {
	case o.OwnerKey != "" && named && owner != f.Absent.ID:
		return "a file that belongs to another " + strings.TrimSuffix(o.OwnerKey, "Id")
	case o.Home != "" && !named && !strings.HasPrefix(object.Name, o.Home):
		return "a file without " + o.OwnerKey + " outside the folder of its document's author"
	case object.Created.After(at):
		return "a file that was uploaded again since"
	default:
		return ""
	}
}

// WorkersTask is the digest of what a worker is called with, by which it finds its own Todos; "" for a job.
func (d *Decider) WorkersTask() string {
	if d.Job.Task == nil {
		return ""
	}
	var parts []string
	for _, field := range d.Job.Task.Fields {
		parts = append(parts, d.Run.Task[field])
	}
	return digest.Of(parts...)
}
