package restore

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cloud.google.com/go/firestore"

	"github.com/firesweep/firesweep/shared/digest"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/internal/decide"
	"github.com/firesweep/firesweep/shared/engine/undo"
)

// pinning is what an undo may have to pin, in the order of the log.
type pinning struct {
	seen  map[string]bool
	named map[string]bool // of Only, by something in the log
	all   []toPin
	of    map[string][]string // the items for which something was done to a target
}

type toPin struct {
	target string
	with   string // the item that it is pinned and released with; empty: it is one
}

func (p *pinning) add(target, with string) {
	if target == "" || p.seen[target] {
		return
	}
	p.seen[target] = true
	p.all = append(p.all, toPin{target, with})
}

// place is a document that says what is pinned.
type place struct{ database, path string }

// everywhere calls f with what may have to be pinned in each database: files and accounts in all.
func (u *undoing) everywhere(ctx context.Context, p pinning, f func(context.Context, Project, pinning) error) error {
	if err := f(ctx, u.Project, p); err != nil || u.Elsewhere == nil {
		return err
	}
	p.all = slices.DeleteFunc(slices.Clone(p.all), func(one toPin) bool {
		return !strings.HasPrefix(one.target, "gs://") && !strings.HasPrefix(one.target, decide.AccountTarget(""))
	})
	if len(p.all) == 0 {
		return nil
	}
	return u.Elsewhere(func(other Project) error { return f(ctx, other, p) })
}

// pinsOf adds what the undo of an entry may have to pin: its items, and with each what was deleted for it. Of single targets
// these themselves are pinned, for an object, say, that comes back without its document may be an item too.
func (u *undoing) pinsOf(p *pinning, records []undo.Record) {
	for _, r := range records {
		for _, target := range u.Only {
			if !u.names(r, target) {
				continue
			}
			p.named[target] = true
			if own := u.targetOf(r); covers(target, own) { // else the job would keep all of the folder, whatever went
				target = own
			}
			p.add(target, "")
		}
		p.add(r.Item, "")
	}
	for i, r := range records {
		item, target := undo.ItemOf(records, i), u.targetOf(r)
		if item == "" {
			continue
		}
		if r.Deletes() {
			p.add(target, item)
		}
		p.of[target] = append(p.of[target], item)
	}
}

// pin makes every job keep from now on what comes back. It is called before anything is back. A target's place in the log says
// which document names it, so what is pinned already stays pinned when this is done again, or for other targets.
func (u *undoing) pin(ctx context.Context, in Project, p pinning) error {
	var targets, with []any
	var names []toPin
	number, n, bytes := 1, 0, 0 // of the document, and what it would name if all were chosen
	write := func() error {
		if len(targets)+len(with) == 0 {
			return nil
		}
		if err := u.stillOurs(ctx); err != nil {
			return err
		}
		pinned := map[string]any{
			undo.TargetsField: firestore.ArrayUnion(targets...), undo.WithField: firestore.ArrayUnion(with...),
			"runId": u.runID, "by": u.By, "at": u.Clock(), "why": "it came back by undoing a run",
		}
		path := fmt.Sprintf("%s/%s-%06d", undo.PinnedIn, u.runID, number)
		_, err := in.DB.Exchange(ctx, path, documents.Document{}, func(d documents.Document, found bool) (fields, also map[string]any, err error) {
			var before undo.Pinned
			if found {
				before, err = undo.PinnedOf(d)
			}
			u.again = u.again || found
			all := before.All()
			u.pinned[place{in.Config.Database, path}] = slices.DeleteFunc(slices.Clone(names), func(one toPin) bool { return slices.Contains(all, one.target) })
			return pinned, nil, err
		})
		if err != nil {
			return fmt.Errorf("pin %d things that come back: %w", len(targets)+len(with), err)
		}
		return nil
	}
	for _, one := range p.all {
		size := len(one.target) + len(one.with)
		if n == undo.MaxPinned || n > 0 && bytes+size > undo.MaxPinnedBytes {
			if err := write(); err != nil {
				return err
			}
			number, n, bytes, targets, with, names = number+1, 0, 0, nil, nil, nil
		}
		n, bytes = n+1, bytes+size
		if !u.chosen(one.target) {
			continue
		}
		names = append(names, one)
		switch {
		case one.with == "" || !u.chosen(one.with):
			targets = append(targets, one.target)
		default:
			with = append(with, undo.With(one.target, one.with))
		}
	}
	return write()
}

// unpin releases the items that this undo pinned, with what is pinned with them, for which nothing came back: what an earlier one
// brought back may have been released since.
func (u *undoing) unpin(ctx context.Context, in Project, p pinning) error {
	came := func(target string) bool { return u.came.Keep(target) || u.came.Within(target) }
	of := map[string]bool{}
	for target, items := range p.of {
		for _, item := range items {
			of[item] = of[item] || came(target)
		}
	}
	for at, some := range u.pinned {
		var names []string
		for _, one := range some {
			if item := cmp.Or(one.with, one.target); !of[item] && !came(item) {
				names = append(names, one.target)
			}
		}
		if len(names) == 0 || at.database != in.Config.Database {
			continue
		}
		if _, err := in.releaseFrom(ctx, at.path, names); err != nil {
			return fmt.Errorf("release what %s names and did not come back: %w", at.path, err)
		}
	}
	return nil
}

// Pinned returns what is pinned, in the order of the names of the documents that say so.
func (p Project) Pinned(ctx context.Context) ([]undo.Pinned, error) {
	found, err := p.all(ctx, documents.Query{Collection: undo.PinnedIn})
	if err != nil {
		return nil, fmt.Errorf("read what is pinned: %w", err)
	}
	all := make([]undo.Pinned, len(found))
	for i, d := range found {
		if all[i], err = undo.PinnedOf(d); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Pin makes every job keep targets, as [undo.CheckTarget] knows them, and what belongs to them. A run that is under way may not
// know: underWay are those.
func (p Project) Pin(ctx context.Context, why, by string, targets ...string) (underWay []string, err error) {
	for _, target := range targets {
		if err := undo.CheckTarget(target); err != nil {
			return nil, err
		}
	}
	for _, target := range targets {
		err := p.DB.Put(ctx, []documents.Write{{
			Op: documents.Set, Ref: documents.Ref{Collection: undo.PinnedIn, ID: digest.Of(target)},
			Data: map[string]any{
				undo.TargetsField: []string{target}, undo.WithField: nil, "why": why, "by": by, "at": p.Clock(), "runId": "",
			},
		}})
		if err != nil {
			return nil, fmt.Errorf("pin %s: %w", target, err)
		}
	}
	holders, err := p.underWay(ctx)
	return slices.Sorted(maps.Values(holders)), err
}

// Release lets the jobs judge again what is pinned: what undoing a run pinned, if of is its id, or any run of a job, if of is
// its name; all, if of is empty. If targets are given, only those of it. It returns those of them that were not pinned.
func (p Project) Release(ctx context.Context, of string, targets ...string) (notPinned []string, err error) {
	notPinned = slices.Clone(targets)
	found, err := p.all(ctx, documents.Query{Collection: undo.PinnedIn})
	if err != nil {
		return nil, fmt.Errorf("read what is pinned: %w", err)
	}
	jobs := map[string]bool{} // whose runs' items are released
	for _, d := range found {
		runID, _ := d.Data["runId"].(string)
		job, _, _ := strings.Cut(runID, "-")
		if of != "" && of != runID && of != job {
			continue
		}
		released, err := p.releaseFrom(ctx, d.Path, targets)
		if err != nil {
			return nil, fmt.Errorf("release what %s names: %w", d.Path, err)
		}
		notPinned = slices.DeleteFunc(notPinned, func(target string) bool { return slices.Contains(released, target) })
		if len(released) > 0 && job != "" {
			jobs[job] = true
		}
	}
	for job := range jobs {
		if err := p.fromTheBeginning(ctx, job); err != nil {
			return nil, err
		}
	}
	return notPinned, nil
}

// releaseFrom takes targets, all if none is given, out of a document that names what is pinned, and returns which it named.
func (p Project) releaseFrom(ctx context.Context, path string, targets []string) (released []string, err error) {
	// It keeps what an earlier attempt found: the answer to that may have been lost.
	_, err = p.DB.Transact(ctx, false, func(_ context.Context, tx *documents.Transaction) error {
		ref := documents.Document{Path: path}.Ref()
		found, err := tx.GetAll(ctx, []string{path})
		d, there := found[path]
		if err != nil || !there {
			return err
		}
		pinned, err := undo.PinnedOf(d)
		if err != nil {
			return err
		}
		ours := func(target string) bool { return len(targets) == 0 || slices.Contains(targets, target) }
		left := slices.DeleteFunc(pinned.Targets, func(target string) bool {
			if ours(target) {
				released = append(released, target)
			}
			return ours(target)
		})
		with := slices.DeleteFunc(pinned.With, func(text string) bool {
			something, target := undo.CutWith(text)
			if ours(something) {
				released = append(released, something)
			}
			return ours(something) || ours(target)
		})
		if len(left)+len(with) == 0 {
			return tx.Apply(documents.Write{Op: documents.Delete, Ref: ref})
		}
		return tx.Apply(documents.Write{Op: documents.Update, Ref: ref, Data: map[string]any{
			undo.TargetsField: append([]string{}, left...), undo.WithField: append([]string{}, with...)}})
	})
	return released, err
}
