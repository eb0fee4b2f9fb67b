package orphans

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/flow"
	"github.com/firesweep/firesweep/shared/objects"
)

// Objects are the objects of a folder, each of which belongs to a document.
type Objects struct {
	Folder string // with the slash at its end
	// Judge decides about an object by its own attributes; it is pure.
	Judge   func(o objects.Object, now time.Time) Verdict
	Percent int // of the objects that may be due, where a rule says so; 0: MAX_DUE_PERCENT
	// Named, if set, tells which objects documents name. One that is named stays, whatever Judge says.
	Named func(context.Context, documents.Reader, cleanup.Run) (func(object string) bool, error)
}

// Verdict is what becomes of an object.
type Verdict struct {
	cleanup.Decision // whose reason comes after that the owner does not exist
	// Owners are the documents whose absence the decision waits for: if one of them exists, the object is kept. There are several
	// where its name can be read in several ways, the likeliest first. If it is [Nobody], the decision is carried out whatever
	// documents exist. If they are forgotten, the object is kept.
	Owners []documents.Ref
}

// waits reports whether the decision waits for the absence of owners.
func (v Verdict) waits() bool { return v.Kind != "" && v.Owners[0] != Nobody }

// Nobody is the owner of an object that is deleted whatever documents exist.
var Nobody = documents.Ref{ID: "nobody"}

// KeptInvalidOwner is the reason to keep an object whose owner's id is invalid (docs/contributing/spec.md, Ids).
const KeptInvalidOwner = "the id in its metadata or path names no document"

// What a run holds of objects whose turn has not come and of their owners, besides what the listing reads ahead.
const (
	pagesAhead      = 24       // that have their owners looked up at once
	bytesAhead      = 16 << 20 // of these pages
	bytesRemembered = 8 << 20  // of owners that were looked up; beyond, owners of scattered objects are looked up twice
	overhead        = 256      // bytes of an object besides its texts, or of an owner
)

// object is what is kept of an object until it is its turn.
type object struct {
	objects.Deletion
	Verdict
}

// page is a page of objects in the order of their names.
type page struct {
	judged []object
	asked  []documents.Ref // owners that no page before has asked for
	forget bool            // forget the owners that were looked up before
	bytes  int64
}

// Pass returns the pass through the objects. It proposes those that are due, in the order of their names. While it looks up the
// owners of some objects, it lists and judges the next ones.
func (f Objects) Pass(name string) Pass {
	return Pass{Name: name, Files: []cleanup.Files{{Folder: f.Folder}}, Plan: f.plan}
}

func (f Objects) plan(ctx context.Context, p *cleanup.Planner, in objects.Names, save func(after string) error) error {
	var named func(string) bool
	absent := map[documents.Ref]bool{} // owners that were looked up and do not exist
	room, cuts := semaphore.NewWeighted(bytesAhead), p.Cuts
	list := func(ctx context.Context) iter.Seq2[page, error] { return f.pages(ctx, p, in, cuts, room) }
	ask := func(ctx context.Context, page page) (map[documents.Ref]bool, error) {
		return page.lookUp(ctx, p.Documents)
	}
	var listed objects.Cutter
	var due inFolder
	err := flow.Each(ctx, pagesAhead, list, ask, func(page page, found map[documents.Ref]bool) error {
		defer room.Release(page.bytes)
		p.Scanned(len(page.judged))
		if page.forget {
			clear(absent)
		}
		for _, owner := range page.asked {
			absent[owner] = !found[owner]
		}
		for ref, there := range found {
			p.Count(cleanup.Count{Collection: ref.Collection, Missing: one(!there), Exists: one(there)})
		}
		judgedDue := func(o object) bool { return o.Kind != "" }
		if f.Named != nil && named == nil && slices.ContainsFunc(page.judged, judgedDue) {
			var err error
			if named, err = f.Named(ctx, p.Documents, p.Run); err != nil {
				return err
			}
		}
		for _, o := range page.judged {
			listed.See(o.Name)
			exists := named != nil && named(o.Name) || o.waits() && (!absent[o.Owners[0]] ||
				slices.ContainsFunc(o.Owners, func(ref documents.Ref) bool { return found[ref] }))
			if err := f.propose(ctx, p, o, exists, &due); err != nil {
				return err
			}
		}
		return save(page.judged[len(page.judged)-1].Name)
	})
	p.Cuts = listed.Cuts(cuts, f.Folder, in.From, err == nil)
	return err
}

// pages returns the folder's objects with their decisions, and which owners must be looked up, each once. It waits for room for
// each page.
func (f Objects) pages(
	ctx context.Context, p *cleanup.Planner, in objects.Names, cuts []string, room *semaphore.Weighted,
) iter.Seq2[page, error] {
	return func(yield func(page, error) bool) {
		known, remembered := map[documents.Ref]bool{}, 0
		judge := func(o objects.Object) object { return f.judge(o, p.Now) }
		for found, err := range objects.PagesOf(ctx, p.Objects, f.Folder, in, cuts, judge) {
			if err != nil {
				yield(page{}, err)
				return
			}
			next := page{judged: found, forget: remembered > bytesRemembered}
			if next.forget {
				clear(known)
				remembered = 0
			}
			for _, o := range found {
				next.bytes += int64(overhead + len(o.Name))
				for _, owner := range o.Owners {
					next.bytes += int64(overhead + len(owner.ID))
				}
				if o.waits() && !known[o.Owners[0]] {
					known[o.Owners[0]] = true
					remembered += overhead + len(o.Owners[0].ID)
					next.asked = append(next.asked, o.Owners[0])
				}
			}
			if err := room.Acquire(ctx, next.bytes); err != nil || !yield(next, nil) {
				return
			}
		}
	}
}

func (f Objects) judge(o objects.Object, now time.Time) object {
	v := f.Judge(o, now)
	invalid := func(owner documents.Ref) bool { return owner.Collection == "" || !documents.ValidID(owner.ID) }
	if v.Kind != "" && (len(v.Owners) == 0 || v.waits() && slices.ContainsFunc(v.Owners, invalid)) {
		v.Decision = cleanup.Invalid(KeptInvalidOwner)
	}
	if v.Kind == "" {
		v.Owners = nil
	}
	return object{objects.Deletion{Name: o.Name, Generation: o.Generation, Metageneration: o.Metageneration}, v}
}

// lookUp returns which of the owners of a page's objects there are: of each the first, and the others if that does not exist.
func (p page) lookUp(ctx context.Context, r documents.Reader) (map[documents.Ref]bool, error) {
	found, err := lookUp(ctx, r, p.asked)
	if err != nil {
		return nil, err
	}
	var further []documents.Ref
	for _, o := range p.judged {
		if o.waits() && !found[o.Owners[0]] {
			further = append(further, o.Owners[1:]...)
		}
	}
	others, err := lookUp(ctx, r, further)
	maps.Copy(found, others)
	return found, err
}

// lookUp returns which of some documents there are.
func lookUp(ctx context.Context, r documents.Reader, refs []documents.Ref) (map[documents.Ref]bool, error) {
	there, ids := map[documents.Ref]bool{}, map[string][]string{}
	for _, ref := range refs {
		if !there[ref] {
			there[ref], ids[ref.Collection] = true, append(ids[ref.Collection], ref.ID)
		}
	}
	for collection, some := range ids {
		missing, err := r.Missing(ctx, collection, some)
		if err != nil {
			return nil, err
		}
		for _, id := range missing {
			there[documents.Ref{Collection: collection, ID: id}] = false
		}
	}
	return there, nil
}

// one is 1 if something is so, or else 0.
func one(so bool) int { return map[bool]int{true: 1}[so] }

// inFolder counts the objects of one folder that are due, which follow each other.
type inFolder struct {
	folder string
	due    int
	alone  int // of all folders, those proposed for their age alone
}

func (i *inFolder) see(folder string) (string, int) {
	if folder != i.folder {
		*i = inFolder{folder: folder, alone: i.alone}
	}
	i.due++
	return i.folder, i.due
}

// propose counts an object for the safety limits, and proposes it if it is due.
func (f Objects) propose(ctx context.Context, p *cleanup.Planner, o object, exists bool, last *inFolder) error {
	what := "objects under " + cmp.Or(f.Folder, "/")
	kept, count := o.Decision, cleanup.Count{Collection: what, Looked: 1, Percent: f.Percent}
	switch {
	case o.Kind == "" || !exists:
	case o.waits():
		kept = cleanup.Keep("belongs to one of " + o.Owners[0].Collection)
	default:
		kept = cleanup.Keep("a document refers to it")
	}
	if kept.Kind == "" {
		target := ""
		if kept.Invalid { // few are
			target = "gs://" + p.Config.Bucket + "/" + o.Name
		}
		p.Count(count)
		p.Keep(ctx, target, kept, 1)
		return nil
	}
	count.Due = 1
	if below, _, deeper := strings.Cut(o.Name[len(f.Folder):], "/"); deeper {
		count.Folder, count.InFolder = last.see(f.Folder + below + "/")
	}
	p.Count(count)
	if !o.waits() && f.Named == nil { // somebody may have uploaded many, so that a limit trips
		if most := (p.Config.MaxActions + 1) / 2; last.alone >= most {
			p.Keep(ctx, "", cleanup.Keep(fmt.Sprintf("left to a later run: each run does %d", most)), 1)
			return nil
		}
		last.alone++
	}
	object, reason := cleanup.DeleteObject{Deletion: o.Deletion, Named: f.Named}, o.Reason
	if o.waits() {
		object.Absent = o.Owners
		owner := o.Owners[0]
		text := owner.String()
		if !strings.Contains(owner.Collection, "/") && strings.Contains(o.Name, owner.ID) { // which the target shows
			text = owner.Path()
		}
		reason = strings.TrimSuffix(text+" does not exist, "+reason, ", ")
	}
	return p.ProposeObject(ctx, o.Kind, reason, object)
}
