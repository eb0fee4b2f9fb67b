package declared

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/rule"
)

// keepers watches the collections of unless while a run plans. A collection that was misspelt, moved or emptied keeps nothing:
// without a document in it, nobody can tell it from one without exceptions.
type keepers struct {
	mu      sync.Mutex
	missing map[rule.Keepers]bool // of those looked up in, whether no document was found yet
	asked   []rule.Keepers        // whether it is empty
}

// lookedUp says that documents of a collection were looked up, and whether one was found.
func (k *keepers) lookedUp(in rule.Keepers, found bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.missing == nil {
		k.missing = map[rule.Keepers]bool{}
	}
	before, known := k.missing[in]
	k.missing[in] = !found && (before || !known)
}

// report reports each empty collection in which documents were looked up to the safety limit on empty collections. That costs
// one read for each collection in which none was found.
func (k *keepers) report(ctx context.Context, p *cleanup.Planner) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for in, missing := range k.missing {
		if !missing || slices.Contains(k.asked, in) {
			continue
		}
		k.asked = append(k.asked, in)
		empty, err := isEmpty(ctx, p.Documents, in)
		if err != nil {
			return err
		}
		if empty { // that most are missing is normal, unlike with owners of objects, so only this is reported
			p.LookedUp(in.Collection, 1, 1)
			p.Log.WarnContext(ctx, in.Collection+", which unless names, holds no document, so nothing is kept because of it: correct the "+
				"name in the rule or, if it is right, put any document into that collection", slog.String("target", in.Collection))
		}
	}
	return nil
}

// isEmpty reports whether there is no document at all that could keep something. It costs one read.
func isEmpty(ctx context.Context, r documents.Reader, in rule.Keepers) (bool, error) {
	q := documents.Query{Collection: in.Collection, Select: documents.NameOnly}
	if in.Group != "" {
		q.Collection, q.Group = in.Group, true
	}
	found, err := r.First(ctx, q, "", 1)
	return len(found) == 0, err
}

// EmptyKeepers returns the collections of a rule's unless that hold no document, as the rule writes them. Each costs one read.
func EmptyKeepers(ctx context.Context, r documents.Reader, of rule.Rule) (empty []string, err error) {
	for _, u := range of.Unless {
		in := u.Keepers()
		if slices.Contains(empty, in.Collection) {
			continue
		}
		none, err := isEmpty(ctx, r, in)
		if err != nil {
			return nil, err
		}
		if none {
			empty = append(empty, in.Collection)
		}
	}
	return empty, nil
}
