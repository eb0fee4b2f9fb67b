package orphans

import (
	"context"
	"time"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/objects"
	"github.com/firesweep/firesweep/shared/sweep"
)

// Objects are the objects of a folder, each of which belongs to a document.
type Objects struct {
	Folder string // with the slash at its end
	// Judge decides about an object by itself; it is pure. What it says is to be done is done if the owner does not exist.
	// [Nobody] owns an object for which no document needs to be missing.
	Judge func(o objects.Object, now time.Time) (d sweep.Decision, owner documents.Ref)
}

// Nobody is the owner of an object that is deleted whatever documents there are.
var Nobody documents.Ref

// KeptInvalidOwner is why an object is kept whose owner's id is invalid (docs/spec.md, Ids).
const KeptInvalidOwner = "the id in its metadata or path names no document"

// maxRemembered bounds how many owners a run remembers the existence of; beyond, some may be looked up twice.
const maxRemembered = 200_000

// object is an object with what is decided about it.
type object struct {
	objects.Object
	sweep.Decision
	owner documents.Ref
}

// plan goes through the folder's objects in the order of their names.
func (f Objects) plan(ctx context.Context, p *sweep.Planner, after string, save func(after string) error) error {
	exists := map[documents.Ref]bool{} // what has been looked up
	for page, err := range p.Objects.Pages(ctx, f.Folder, after) {
		if err != nil {
			return err
		}
		p.Scanned(len(page))
		judged := make([]object, len(page))
		for i, o := range page {
			judged[i] = f.judge(o, p.Now)
		}
		if len(exists) > maxRemembered {
			clear(exists)
		}
		if err := lookUp(ctx, p, judged, exists); err != nil {
			return err
		}
		for _, o := range judged {
			if err := propose(ctx, p, o, exists[o.owner]); err != nil {
				return err
			}
		}
		if err := save(page[len(page)-1].Name); err != nil {
			return err
		}
	}
	return nil
}

func (f Objects) judge(o objects.Object, now time.Time) object {
	d, owner := f.Judge(o, now)
	if d.Kind != "" && owner != Nobody && !documents.ValidID(owner.ID) {
		d = sweep.Invalid(KeptInvalidOwner)
	}
	return object{o, d, owner}
}

// lookUp asks for the existence of those owners that have not been looked up yet.
func lookUp(ctx context.Context, p *sweep.Planner, judged []object, exists map[documents.Ref]bool) error {
	ids := map[string][]string{} // by collection
	for _, o := range judged {
		if _, known := exists[o.owner]; o.Kind != "" && o.owner != Nobody && !known {
			exists[o.owner] = true
			ids[o.owner.Collection] = append(ids[o.owner.Collection], o.owner.ID)
		}
	}
	for collection, ids := range ids {
		missing, err := p.Documents.Missing(ctx, collection, ids)
		if err != nil {
			return err
		}
		for _, id := range missing {
			exists[documents.Ref{Collection: collection, ID: id}] = false
		}
		p.LookedUp(collection, len(ids), len(missing))
	}
	return nil
}

func propose(ctx context.Context, p *sweep.Planner, o object, ownerExists bool) error {
	target := "gs://" + p.Config.Bucket + "/" + o.Name
	switch {
	case o.Invalid:
		p.KeepInvalid(ctx, target, o.Reason, 1)
		return nil
	case o.Kind == "":
		p.Keep(o.Reason, 1)
		return nil
	case ownerExists:
		p.Keep("belongs to one of "+o.owner.Collection, 1)
		return nil
	}
	effect := sweep.DeleteObject{
		Deletion: objects.Deletion{Name: o.Name, Generation: o.Generation, Metageneration: o.Metageneration},
	}
	if o.owner != Nobody {
		effect.Absent = o.owner
	}
	return p.Propose(ctx, sweep.Action{Kind: o.Kind, Target: target, Reason: o.Reason, Effect: effect})
}
