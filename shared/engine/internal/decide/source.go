package decide

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/documents/docsize"
	"github.com/firesweep/firesweep/shared/objects"
)

// Limits of what one commit reads, besides [cleanup.MaxRoom].
const (
	maxReadBytes = 4 << 20 // of them, in one commit
	maxNames     = 30      // of parents that one query asks for
)

// Source is what rules read from: the database while planning, the transaction in a commit. It reads each document once.
type Source struct {
	decider *Decider
	read    func(ctx context.Context, paths []string) (map[string]documents.Document, error)
	first   func(context.Context, documents.Query, documents.Cursor, int) ([]documents.Document, error)
	count   func(ctx context.Context, q documents.Query) (int, error)
	room    *int                     // for so many children more in the commit; nil: there is no commit
	deleted string                   // the uid of an account that counts as deleted, in a preview of what follows that
	due     func(documents.Ref) bool // in a preview, what the plan deletes besides; nil: nothing

	mu  sync.Mutex
	got map[documents.Ref]*documents.Document // nil: there is none
}

// Source returns what rules read from while planning.
func (d *Decider) Source() *Source {
	count := func(ctx context.Context, q documents.Query) (int, error) { return d.Documents.Count(ctx, q, 0) }
	return &Source{
		decider: d, read: d.Documents.GetAll, first: d.Documents.First, count: count, got: map[documents.Ref]*documents.Document{},
	}
}

// In returns what rules read from in a commit, which may hold so many children.
func (d *Decider) In(tx *documents.Transaction, children int) *Source {
	s := &Source{decider: d, room: &children, got: map[documents.Ref]*documents.Document{}}
	s.read, s.count = tx.GetAll, tx.Count
	s.first = func(ctx context.Context, q documents.Query, from documents.Cursor, limit int) ([]documents.Document, error) {
		return s.stream(ctx, tx, q, from, limit)
	}
	return s
}

// Run implements [cleanup.Source].
func (s *Source) Run() cleanup.Run { return s.decider.Run }

// Due implements [cleanup.Source].
func (s *Source) Due(ref documents.Ref) bool { return s.due != nil && s.due(ref) }

// Reference implements [cleanup.Source].
func (s *Source) Reference(ref documents.Ref) any { return s.decider.Documents.Ref(ref.Path()) }

// Outside implements [cleanup.Source].
func (s *Source) Outside() documents.Reader { return s.decider.Documents }

// Get implements [cleanup.Source].
func (s *Source) Get(ctx context.Context, refs []documents.Ref) (map[documents.Ref]documents.Document, error) {
	unread := map[string]documents.Ref{} // by path
	s.mu.Lock()
	for _, ref := range refs {
		if _, known := s.got[ref]; !known {
			unread[ref.Path()] = ref
		}
	}
	s.mu.Unlock()
	found, err := s.read(ctx, slices.Sorted(maps.Keys(unread)))
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for path, ref := range unread {
		s.got[ref] = nil
		if d, ok := found[path]; ok {
			s.got[ref] = &d
		}
	}
	there := make(map[documents.Ref]documents.Document, len(refs))
	for _, ref := range refs {
		if d := s.got[ref]; d != nil {
			there[ref] = *d
		}
	}
	return there, nil
}

// First implements [cleanup.Source].
func (s *Source) First(ctx context.Context, q documents.Query, from documents.Cursor, limit int) ([]documents.Document, error) {
	return s.first(ctx, q, from, limit)
}

// Lacking implements [cleanup.Source].
func (s *Source) Lacking(ctx context.Context, q documents.Query, field string) (bool, error) {
	all, err := s.count(ctx, q)
	if err != nil || all == 0 {
		return false, err
	}
	q.OrderBy = []string{field}
	having, err := s.count(ctx, q)
	return having < all, err
}

// Children implements [cleanup.Source]. It takes one query for up to 30 of the parents' names, as long as the room lasts. A query
// for several parents whose answer is cut off tells nothing about any of them, for it is in no order of theirs.
func (s *Source) Children(ctx context.Context, c cleanup.Children, parents []string) (map[string]cleanup.Belonging, error) {
	room := cmp.Or(s.room, new(cleanup.MaxRoom))
	all := make(map[string]cleanup.Belonging, len(parents))
	for len(parents) > 0 {
		n := inOneQuery(c, parents)
		asked := parents[:n]
		parents = parents[n:]
		limit := *room + 1
		found, err := s.first(ctx, c.Query(asked...), "", limit)
		cut := len(found) == limit
		if errors.Is(err, documents.ErrTooMuch) {
			cut, err = true, nil
		}
		if err != nil {
			return nil, err
		}
		if cut && len(asked) > 1 {
			continue // none of them is whole
		}
		found = found[:min(len(found), *room)]
		*room -= len(found)
		byParent := map[string][]documents.Document{}
		for _, d := range found {
			id := parentOf(c, d)
			byParent[id] = append(byParent[id], d)
		}
		for _, id := range asked {
			all[id] = cleanup.Belonging{Documents: byParent[id], Whole: !cut}
		}
	}
	return all, nil
}

// stream reads a query's documents in a transaction until they are so many, or hold so many bytes: whole where what is written is
// saved for undo.
func (s *Source) stream(
	ctx context.Context, tx *documents.Transaction, q documents.Query, from documents.Cursor, limit int,
) (all []documents.Document, err error) {
	size, whole := 0, s.decider.Saves && !q.ReadOnly
	if whole {
		q.Select = nil // of the same price
	}
	for d, err := range tx.Stream(ctx, q, from, limit) {
		if err != nil {
			return nil, err
		}
		if size += docsize.Of(d.Path, d.Data); size > maxReadBytes && len(all) > 0 {
			return all, documents.ErrTooMuch
		}
		all = append(all, d)
		if whole {
			s.mu.Lock()
			s.got[d.Ref()] = &d
			s.mu.Unlock()
		}
	}
	return all, nil
}

// Object implements [cleanup.Source].
func (s *Source) Object(ctx context.Context, name string) (o objects.Object, found bool, err error) {
	o, found, err = s.decider.Objects.Get(ctx, name)
	return o, found && o.Name == name, err // a service may answer with another object, whose name is alike
}

// Accounts implements [cleanup.Source].
func (s *Source) Accounts(ctx context.Context, uids []string) (map[string]bool, error) {
	exist, err := s.decider.People.Exist(ctx, uids)
	if err != nil {
		return nil, err
	}
	delete(exist, s.deleted)
	if slices.ContainsFunc(uids, func(uid string) bool { return !exist[uid] }) {
		return exist, s.decider.NoTenants(ctx)
	}
	return exist, nil
}

// NoTenants returns an error unless an account that is not found does not exist. It asks once a run.
func (d *Decider) NoTenants(ctx context.Context) error {
	d.tenants.once.Do(func() {
		may, err := d.People.Tenants(ctx)
		switch {
		case ctx.Err() != nil:
			d.tenants.err = ctx.Err()
		case err != nil: // which passes, if it is no lack of a permission: the run fails, and a retry of it asks again
			d.tenants.err = fmt.Errorf("some accounts were not found, and it is unknown whether they are tenants' (Identity "+
				"Platform), because Authentication does not say whether the project allows any: grant firebaseauth.configs.get "+
				"(terraform apply), or try again: %w", err)
		case may:
			d.tenants.err = &cleanup.LimitError{Limit: "tenants", Why: "the project allows tenants (Identity Platform), whose " +
				"accounts are not found and would count as gone: name a document in place of the account, such as " +
				`{"document": "users/{id}"} or, if no tenant has accounts, switch multi-tenancy off`}
		}
	})
	return d.tenants.err
}

// parentOf returns the parent that a document belongs to.
func parentOf(c cleanup.Children, d documents.Document) string {
	if c.Subcollection {
		return strings.TrimSuffix(d.Ref().Collection, "/"+c.Collection)
	}
	if c.NameOf == nil {
		id, _ := d.Text(c.Field)
		return id
	}
	id, _ := c.NameOf(d.Value(c.Field))
	return id
}

// inOneQuery returns how many of the parents one query asks for.
func inOneQuery(c cleanup.Children, parents []string) (n int) {
	if c.Subcollection {
		return 1
	}
	names := 0
	for n < len(parents) && (n == 0 || names+len(c.ValuesOf(parents[n])) <= maxNames) {
		names += len(c.ValuesOf(parents[n]))
		n++
	}
	return n
}
