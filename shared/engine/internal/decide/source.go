package decide

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
)

// Limits of what one commit reads, besides [cleanup.MaxRoom].
const (
	maxReadBytes = 4 << 20 // of them, in one commit
	maxNames     = 30      // of parents that one query asks for
	maxAlike     = 1000    // documents that are looked through for those that name an id of 1,500 bytes
)

// gotten remembers what was read, so that each document is read once.
type gotten struct {
	mu        sync.Mutex
	documents map[documents.Ref]*documents.Document // nil: there is none
}

func newGotten() *gotten { return &gotten{documents: map[documents.Ref]*documents.Document{}} }

// note notes a document that was read.
func (g *gotten) note(d documents.Document) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.documents[d.Ref()] = &d
}

// of returns a document that was read; nil if there is none.
func (g *gotten) of(ref documents.Ref) *documents.Document {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.documents[ref]
}

// unread returns those of the references that have not been read, each once.
func (g *gotten) unread(refs []documents.Ref) []documents.Ref {
	g.mu.Lock()
	defer g.mu.Unlock()
	var unread []documents.Ref
	for _, ref := range refs {
		if _, known := g.documents[ref]; !known && !slices.Contains(unread, ref) {
			unread = append(unread, ref)
		}
	}
	return unread
}

// answer notes what was found of what was asked for, and returns what there is of refs.
func (g *gotten) answer(refs, asked []documents.Ref, found map[documents.Ref]documents.Document) map[documents.Ref]documents.Document {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, ref := range asked {
		g.documents[ref] = nil
		if d, ok := found[ref]; ok {
			g.documents[ref] = &d
		}
	}
	there := make(map[documents.Ref]documents.Document, len(refs))
	for _, ref := range refs {
		if d := g.documents[ref]; d != nil {
			there[ref] = *d
		}
	}
	return there
}

// FromReader reads from the database; its reader has the rest of [Source].
type FromReader struct {
	documents.Reader
	people
	run    cleanup.Run
	gotten *gotten
}

// Source returns what rules read from while planning.
func (d *Decider) Source() *FromReader {
	return &FromReader{Reader: d.Documents, people: people{d}, run: d.Run, gotten: newGotten()}
}

// people has the accounts of [cleanup.Source].
type people struct{ decider *Decider }

// Accounts implements [cleanup.Source].
func (p people) Accounts(ctx context.Context, uids []string) (map[string]bool, error) {
	found, err := p.decider.People.Get(ctx, uids)
	if err != nil {
		return nil, err
	}
	exist := make(map[string]bool, len(found))
	for _, a := range found {
		exist[a.UID] = true
	}
	if slices.ContainsFunc(uids, func(uid string) bool { return !exist[uid] }) {
		return exist, p.decider.NoTenants(ctx)
	}
	return exist, nil
}

// NoTenants returns an error unless an account that is not found does not exist. It asks once a run.
func (d *Decider) NoTenants(ctx context.Context) error {
	d.tenants.once.Do(func() {
		may, err := d.People.Tenants(ctx)
		var text string
		switch {
		case ctx.Err() != nil:
			d.tenants.err = ctx.Err()
			return
		case err != nil:
			text = "tenants: some accounts were not found, and it is unknown whether they are tenants' (Identity Platform), because " +
				"Authentication does not say whether the project allows any: grant firebaseauth.configs.get (terraform apply), or " +
				"try again: " + err.Error()
		case may:
			text = "tenants: the project allows tenants (Identity Platform), whose accounts are not found and would count as gone: name a " +
				`document in place of the account, such as {"document": "users/{id}"}, or, if no tenant has accounts, switch ` +
				"multi-tenancy off"
		default:
			return
		}
		d.tenants.err = &cleanup.LimitError{Tripped: []string{text}}
	})
	return d.tenants.err
}

// Run implements [Source].
func (s *FromReader) Run() cleanup.Run { return s.run }

// Get implements [Source].
func (s *FromReader) Get(ctx context.Context, refs []documents.Ref) (map[documents.Ref]documents.Document, error) {
	asked := s.gotten.unread(refs)
	paths := make([]string, len(asked))
	for i, ref := range asked {
		paths[i] = ref.Path()
	}
	byPath, err := s.GetAll(ctx, paths)
	if err != nil {
		return nil, err
	}
	found := make(map[documents.Ref]documents.Document, len(byPath))
	for _, d := range byPath {
		found[d.Ref()] = d
	}
	return s.gotten.answer(refs, asked, found), nil
}

// Reference implements [Source].
func (s *FromReader) Reference(ref documents.Ref) any { return s.Ref(ref.Path()) }

// Children implements [Source].
func (s *FromReader) Children(ctx context.Context, c cleanup.Children, parents []string) (map[string]cleanup.Belonging, error) {
	left := cleanup.MaxRoom
	return childrenOf(c, parents, &left, func(q documents.Query, limit int) ([]documents.Document, error) {
		return s.First(ctx, q, c.From, limit)
	})
}

// Seen returns a document that was read; nil if there is none.
func (s *FromReader) Seen(ref documents.Ref) *documents.Document { return s.gotten.of(ref) }

// fromTransaction reads in a commit's transaction.
type fromTransaction struct {
	people
	tx     *documents.Transaction
	reader documents.Reader // for what is not read
	run    cleanup.Run
	gotten *gotten
	left   *int // children that the commit may still hold
	whole  bool // documents are read whole, because what is written is kept for undoing
}

// In returns what rules read from in a commit, which may hold so many children.
func (d *Decider) In(tx *documents.Transaction, children int) cleanup.Source {
	return fromTransaction{
		people: people{d}, tx: tx, reader: d.Documents, run: d.Run, gotten: newGotten(), left: &children, whole: d.Saves,
	}
}

// Run implements [Source].
func (s fromTransaction) Run() cleanup.Run { return s.run }

// Get implements [Source].
func (s fromTransaction) Get(_ context.Context, refs []documents.Ref) (map[documents.Ref]documents.Document, error) {
	asked := s.gotten.unread(refs)
	found, err := s.tx.GetAll(asked)
	if err != nil {
		return nil, err
	}
	return s.gotten.answer(refs, asked, found), nil
}

// Collections implements [Source].
func (s fromTransaction) Collections(ctx context.Context, document documents.Ref) ([]string, error) {
	return s.reader.Collections(ctx, document)
}

// First implements [Source].
func (s fromTransaction) First(_ context.Context, q documents.Query, from documents.Cursor, limit int) ([]documents.Document, error) {
	return s.read(q, from, limit)
}

// Reference implements [Source].
func (s fromTransaction) Reference(ref documents.Ref) any { return s.reader.Ref(ref.Path()) }

// Children implements [Source].
func (s fromTransaction) Children(_ context.Context, c cleanup.Children, parents []string) (map[string]cleanup.Belonging, error) {
	return childrenOf(c, parents, s.left, func(q documents.Query, limit int) ([]documents.Document, error) {
		return s.read(q, c.From, limit)
	})
}

// read streams a query's documents until they are so many, or hold so many bytes.
func (s fromTransaction) read(q documents.Query, from documents.Cursor, limit int) ([]documents.Document, error) {
	var read []documents.Document
	size := 0
	if s.whole {
		q.Select = nil // of the same price
	}
	for d, err := range s.tx.Stream(q, from, limit) {
		if err != nil {
			return nil, err
		}
		if size += documents.Size(d.Path, d.Data); size > maxReadBytes && len(read) > 0 {
			return read, documents.ErrTooMuch
		}
		read = append(read, d)
		if s.whole {
			s.gotten.note(d)
		}
	}
	return read, nil
}

// errManyAlike is why what belongs to an id of 1,500 bytes is not told apart from what belongs to others.
var errManyAlike = errors.New("its id has 1,500 bytes, and too many documents name ids that begin alike: delete it by hand")

// reader reads the first documents that a query matches.
type reader func(q documents.Query, limit int) ([]documents.Document, error)

// childrenOfLongest reads the children of a parent whose id is too long for a query: they are among those that name an id
// which begins like it.
func childrenOfLongest(c cleanup.Children, parent string, left *int, read reader) (cleanup.Belonging, error) {
	q, names := naming(c.Collection, c.Field, parent)
	if q.Select = append(q.Select, c.Select...); c.Whole {
		q.Select = nil
	}
	alike, err := read(q, maxAlike)
	if err != nil {
		return cleanup.Belonging{}, err
	}
	found := slices.DeleteFunc(slices.Clone(alike), func(d documents.Document) bool { return !names(d) })
	if len(alike) == maxAlike && len(found) < *left {
		return cleanup.Belonging{}, errManyAlike
	}
	whole := len(found) <= *left
	found = found[:min(len(found), *left)]
	*left -= len(found)
	return cleanup.Belonging{Documents: found, Whole: whole}, nil
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

// together returns how many of the parents one query asks for, which begins with one that can be asked for.
func together(c cleanup.Children, parents []string) (n int) {
	if c.Subcollection {
		return 1
	}
	names := 0
	for n < len(parents) && documents.Queryable(parents[n]) && (n == 0 || names+len(c.ValuesOf(parents[n])) <= maxNames) {
		names += len(c.ValuesOf(parents[n]))
		n++
	}
	return n
}

// childrenOf reads the children of some parents, with one query for up to 30 of their names, as long as left allows. A query
// for several parents whose answer is cut off tells nothing about any of them, for it is in no order of theirs.
func childrenOf(c cleanup.Children, parents []string, left *int, read reader) (map[string]cleanup.Belonging, error) {
	all := make(map[string]cleanup.Belonging, len(parents))
	for len(parents) > 0 {
		if id := parents[0]; !c.Subcollection && !documents.Queryable(id) {
			var err error
			if all[id], err = childrenOfLongest(c, id, left, read); err != nil {
				return nil, err
			}
			parents = parents[1:]
			continue
		}
		n := together(c, parents)
		asked := parents[:n]
		parents = parents[n:]
		limit := *left + 1
		found, err := read(c.Query(asked...), limit)
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
		found = found[:min(len(found), *left)]
		*left -= len(found)
		var next documents.Cursor
		if cut && len(found) > 0 {
			if next, err = c.Query(asked...).After(found[len(found)-1]); err != nil {
				return nil, err
			}
		}
		byParent := map[string][]documents.Document{}
		for _, d := range found {
			id := parentOf(c, d)
			byParent[id] = append(byParent[id], d)
		}
		for _, id := range asked {
			all[id] = cleanup.Belonging{Documents: byParent[id], Whole: !cut, Next: next}
		}
	}
	return all, nil
}
