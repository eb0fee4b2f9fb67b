package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/documents"
)

// Source is what a rule reads from: the database while planning, the transaction in a commit. Get and First may be called side by
// side; Children may not, because it shares out the room that the commit has left.
type Source interface {
	// Run is what is known of the run.
	Run() Run
	// Get reads documents and returns those that there are.
	Get(ctx context.Context, refs []documents.Ref) (map[documents.Ref]documents.Document, error)
	// Children reads the documents that belong to each of some parents.
	Children(ctx context.Context, c Children, parents []string) (map[string]Belonging, error)
	// First returns the first documents that a query matches from a cursor on, at most limit.
	First(ctx context.Context, q documents.Query, from documents.Cursor, limit int) ([]documents.Document, error)
	// Reference returns the value that refers to a document, for a query to compare with.
	Reference(ref documents.Ref) any
	// Accounts reports which accounts exist. No transaction holds them still, so a rule asks for them last.
	Accounts(ctx context.Context, uids []string) (exist map[string]bool, err error)
	// Collections returns the names of the collections below a document, be there such a document or not. No transaction holds them
	// still.
	Collections(ctx context.Context, document documents.Ref) ([]string, error)
}

// Children says which documents belong to a parent: those whose field names it.
type Children struct {
	Collection, Field string
	Select            []string // the fields to read besides Field
	Whole             bool     // all fields are read
	// Names returns the values by which the field may name a parent, and NameOf the parent that a value names; nil where
	// the field holds the parent's id as it is.
	Names  func(parent string) []any
	NameOf func(value any) (parent string, ok bool)
	// Subcollection says that the documents are those of the collection of that name below each parent. The parents are documents'
	// paths then, and there is no Field.
	Subcollection bool
	// From is where to continue with the documents of the only parent that is asked for: [Belonging.Next] of an earlier commit.
	From documents.Cursor
}

// Query returns the query for the documents that belong to some parents.
func (c Children) Query(parents ...string) documents.Query {
	if c.Subcollection {
		return documents.Query{Collection: parents[0] + "/" + c.Collection, Select: c.fields(documents.NameOnly)}
	}
	var names []any
	for _, parent := range parents {
		names = append(names, c.names(parent)...)
	}
	f := documents.Filter{Field: c.Field, Op: "in", Value: names}
	if len(names) == 1 {
		f = documents.Filter{Field: c.Field, Op: "==", Value: names[0]}
	}
	return documents.Query{Collection: c.Collection, Where: []documents.Filter{f}, Select: c.fields([]string{c.Field})}
}

// fields returns what to read, besides what is needed anyway.
func (c Children) fields(needed []string) []string {
	if c.Whole {
		return nil
	}
	return append(slices.Clone(needed), c.Select...)
}

// together returns how many of the parents one query asks for, which begins with one that can be asked for.
func (c Children) together(parents []string) (n int) {
	if c.Subcollection {
		return 1
	}
	names := 0
	for n < len(parents) && documents.Queryable(parents[n]) && (n == 0 || names+len(c.names(parents[n])) <= maxNames) {
		names += len(c.names(parents[n]))
		n++
	}
	return n
}

func (c Children) names(parent string) []any {
	if c.Names == nil {
		return []any{parent}
	}
	return c.Names(parent)
}

func (c Children) parentOf(d documents.Document) string {
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

// Belonging are the documents that belong to one parent.
type Belonging struct {
	Documents []documents.Document
	// Whole says that there are no more. A commit holds so many documents at most; a parent that has more is not whole, and
	// unless it is alone in its commit it may come with none of its documents.
	Whole bool
	// Next is where the others begin, of an only parent that is not whole.
	Next documents.Cursor
}

// Limits of what one commit reads and holds. Firestore's limits on a commit are 10 MiB and, in effect, its index entries.
const (
	maxChildren  = 400     // documents that belong to the parents of one commit
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

// fromReader reads from the database; its reader has the rest of [Source].
type fromReader struct {
	documents.Reader
	people
	run    Run
	gotten *gotten
}

func (r *run) readerSource() fromReader {
	return fromReader{Reader: r.documents.Reader, people: people{r.accounts.Reader}, run: r.known(), gotten: newGotten()}
}

// people has the accounts of [Source].
type people struct{ accounts accounts.Reader }

// Accounts implements [Source].
func (p people) Accounts(ctx context.Context, uids []string) (map[string]bool, error) {
	exist := map[string]bool{}
	for some := range slices.Chunk(uids, maxAccounts) {
		found, err := p.accounts.Get(ctx, some)
		if err != nil {
			return nil, err
		}
		for _, a := range found {
			exist[a.UID] = true
		}
	}
	return exist, nil
}

// Run implements [Source].
func (s fromReader) Run() Run { return s.run }

// Get implements [Source].
func (s fromReader) Get(ctx context.Context, refs []documents.Ref) (map[documents.Ref]documents.Document, error) {
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
func (s fromReader) Reference(ref documents.Ref) any { return s.Ref(ref.Path()) }

// Children implements [Source].
func (s fromReader) Children(ctx context.Context, c Children, parents []string) (map[string]Belonging, error) {
	left := maxChildren
	return childrenOf(c, parents, &left, func(q documents.Query, limit int) ([]documents.Document, error) {
		return s.First(ctx, q, c.From, limit)
	})
}

// fromTransaction reads in a commit's transaction.
type fromTransaction struct {
	people
	tx     *documents.Transaction
	reader documents.Reader // for what is not read
	run    Run
	gotten *gotten
	left   *int // children that the commit may still hold
	whole  bool // documents are read whole, because what is written is kept for undoing
}

func (r *run) transactionSource(tx *documents.Transaction, left int) fromTransaction {
	return fromTransaction{people: people{r.accounts.Reader}, tx: tx, reader: r.documents.Reader, run: r.known(), gotten: newGotten(), left: &left, whole: r.savesForUndo()}
}

// Run implements [Source].
func (s fromTransaction) Run() Run { return s.run }

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
func (s fromTransaction) Children(_ context.Context, c Children, parents []string) (map[string]Belonging, error) {
	return childrenOf(c, parents, s.left, func(q documents.Query, limit int) ([]documents.Document, error) { return s.read(q, c.From, limit) })
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

// childrenOfLongest reads the children of a parent whose id is too long for a query: they are among those that name an id
// which begins like it.
func childrenOfLongest(c Children, parent string, left *int, read func(documents.Query, int) ([]documents.Document, error)) (Belonging, error) {
	q, names := documents.Naming(c.Collection, c.Field, parent)
	q.Select = c.fields(q.Select)
	alike, err := read(q, maxAlike)
	if err != nil {
		return Belonging{}, err
	}
	found := slices.DeleteFunc(slices.Clone(alike), func(d documents.Document) bool { return !names(d) })
	if len(alike) == maxAlike && len(found) < *left {
		return Belonging{}, errManyAlike
	}
	whole := len(found) <= *left
	found = found[:min(len(found), *left)]
	*left -= len(found)
	return Belonging{Documents: found, Whole: whole}, nil
}

// childrenOf reads the children of some parents, with one query for up to 30 of their names, as long as left allows. A query
// for several parents whose answer is cut off tells nothing about any of them, for it is in no order of theirs.
func childrenOf(c Children, parents []string, left *int, read func(documents.Query, int) ([]documents.Document, error)) (map[string]Belonging, error) {
	all := make(map[string]Belonging, len(parents))
	for len(parents) > 0 {
		if id := parents[0]; !c.Subcollection && !documents.Queryable(id) {
			var err error
			if all[id], err = childrenOfLongest(c, id, left, read); err != nil {
				return nil, err
			}
			parents = parents[1:]
			continue
		}
		n := c.together(parents)
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
			id := c.parentOf(d)
			byParent[id] = append(byParent[id], d)
		}
		for _, id := range asked {
			all[id] = Belonging{Documents: byParent[id], Whole: !cut, Next: next}
		}
	}
	return all, nil
}
