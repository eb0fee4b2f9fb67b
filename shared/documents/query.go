package documents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"

	"github.com/firesweep/firesweep/shared/documents/retry"
)

// defaultPageSize is the [Query.PageSize] of queries that set none.
const defaultPageSize = 500

// Query describes a query. Documents come in the order of OrderBy and then of their names, ascending. The values of its
// conditions must be [Queryable].
type Query struct {
	Collection string     // a collection's path, which may end in [Everywhere]
	Group      bool       // a collection group: Collection is a name, and means all collections of that name
	Where      []Filter   // all must hold
	Any        [][]Filter // if set, all filters of at least one of these groups must hold too; 30 groups at most
	OrderBy    []string   // fields, ascending
	From       []any      // values of OrderBy to begin at. Of any type, unlike conditions, which match one type only. Not for Pages.
	Until      []any      // values of OrderBy to end before, likewise
	Select     []string   // the fields to fetch, or [Dotted] names; none means all. Fewer fields save memory, not reads.
	PageSize   int        // documents a page; 0 means defaultPageSize
	ReadOnly   bool       // nothing is written to what it finds, so no undo log needs it whole
}

// NameOnly is the Select of queries that need only the documents' names.
var NameOnly = []string{firestore.DocumentID}

// Dotted returns what stands in [Query.Select] for one field whose name has dots, which lead nowhere.
func Dotted(name string) string { return "`" + name + "`" }

// pathOf returns the way to a field of Select.
func pathOf(field string) firestore.FieldPath {
	if name, isDotted := strings.CutPrefix(field, "`"); isDotted {
		return firestore.FieldPath{strings.TrimSuffix(name, "`")}
	}
	return strings.Split(field, ".")
}

// Filter is one condition of a query, with Firestore's operators: "==", "<", "in" and so on.
type Filter struct {
	Field, Op string
	Value     any
}

// Page is a page of a query's documents.
type Page struct {
	Documents []Document
	Next      Cursor // continues after the last of them
}

// Cursor is a place between two documents in a query's order, in a form that can be saved and used by a later process. It
// stays valid when the documents beside it are deleted. The empty cursor is the beginning.
type Cursor string

// ErrCursor says that a text is not a cursor of the query, or lies outside of what it asks for by now.
var ErrCursor = errors.New("not a cursor of this query")

// Reader reads. It has no method that writes, so a planner cannot write.
type Reader struct{ c *Client }

// Pages runs the query from the cursor on, page by page, and ends after the last page or the first error. Nothing stays open
// between two pages, so the caller may take its time.
func (r Reader) Pages(ctx context.Context, q Query, from Cursor) iter.Seq2[Page, error] {
	return func(yield func(Page, error) bool) {
		size := q.PageSize
		if size == 0 {
			size = defaultPageSize
		}
		for {
			page, err := r.page(ctx, q, from, size)
			if err != nil {
				yield(Page{}, err)
				return
			}
			if len(page.Documents) == 0 || !yield(page, nil) || len(page.Documents) < size {
				return
			}
			from = page.Next
		}
	}
}

func (r Reader) page(ctx context.Context, q Query, from Cursor, size int) (page Page, err error) {
	page.Documents, err = r.First(ctx, q, from, size)
	if err == nil && len(page.Documents) > 0 {
		page.Next, err = q.After(page.Documents[len(page.Documents)-1])
	}
	return page, err
}

// failed returns the error of a query, which says what was tried.
func (q Query) failed(what string, err error) error {
	return fmt.Errorf("%s %s: %w", what, Shown(q.Collection), err)
}

// First returns the first documents that a query matches from a cursor on, at most n. It makes no cursor for the next page,
// so OrderBy may name fields of any type.
func (r Reader) First(ctx context.Context, q Query, from Cursor, n int) (found []Document, err error) {
	fq, err := q.firestore(r.c.firestore, from)
	if err == nil {
		found, err = r.all(ctx, fq.Limit(n))
	}
	if err != nil {
		return nil, q.failed("query", from.blamed(err))
	}
	return found, nil
}

// blamed returns an error of a query as an [ErrCursor] if it may be one: Google refuses a cursor beyond what the query asks for.
func (c Cursor) blamed(err error) error {
	if c != "" && retry.Code(err) == codes.InvalidArgument {
		return fmt.Errorf("%w: %w", ErrCursor, err)
	}
	return err
}

// all returns the documents that a query matches.
func (r Reader) all(ctx context.Context, q firestore.Query) (found []Document, err error) {
	err = retry.Do(ctx, func(ctx context.Context) error {
		snapshots, err := q.Documents(ctx).GetAll()
		found = make([]Document, len(snapshots))
		for i, s := range snapshots {
			if err == nil {
				found[i], err = r.documentOf(ctx, s)
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// Odd returns the queries for the documents of q whose field holds neither null nor a value from least up to but not including
// behind. In the field's index these lie before and after all others, so no others are read.
func (q Query) Odd(field string, least, behind any) [2]Query {
	q.OrderBy = []string{field}
	before, after := q, q
	before.From, before.Until = []any{false}, []any{least} // false comes right after null
	after.From = []any{behind}
	return [2]Query{before, after}
}

// Empty reports whether a collection has no document at all. It costs one read.
func (r Reader) Empty(ctx context.Context, collection string) (bool, error) {
	found, err := r.First(ctx, Query{Collection: collection, Select: NameOnly}, "", 1)
	return len(found) == 0, err
}

// Count returns how many documents the query matches; most, unless it is 0, is where Firestore stops reading, because nobody
// wants to know of more. Documents without a field of OrderBy do not count. It costs one read per 1000 index entries that
// Firestore reads, at least one. It fails if that takes Firestore more than a minute, as it does from some tens of millions on,
// so a job must not depend on it.
func (r Reader) Count(ctx context.Context, q Query, most int) (n int, err error) {
	fq, err := q.matching(r.c.firestore)
	if err == nil {
		if most > 0 {
			fq = fq.Limit(most)
		}
		err = retry.If(ctx, mayPass, func(ctx context.Context) (err error) {
			n, err = count(ctx, fq.NewAggregationQuery())
			return err
		})
	}
	if err != nil {
		return 0, q.failed("count", err)
	}
	return n, nil
}

// mayPass reports whether another attempt at a count may do better: where Firestore took its minute, or the caller's time is up,
// the same count would take as long again.
func mayPass(err error) bool {
	return retry.Transient(err) && retry.Code(err) != codes.DeadlineExceeded
}

func count(ctx context.Context, q *firestore.AggregationQuery) (int, error) {
	result, err := q.WithCount("n").Get(ctx)
	if err != nil {
		return 0, err
	}
	v, ok := result["n"].(*firestorepb.Value)
	if !ok {
		return 0, fmt.Errorf("the answer holds no count: %v", result)
	}
	return int(v.GetIntegerValue()), nil
}

// doc returns the reference to a document.
func (c *Client) doc(path string) (*firestore.DocumentRef, error) {
	if ref := c.firestore.Doc(path); ref != nil {
		return ref, nil
	}
	return nil, fmt.Errorf("%s is not a document's path", Shown(path))
}

// Get reads one document; found is false if there is none.
func (r Reader) Get(ctx context.Context, path string) (d Document, found bool, err error) {
	ref, err := r.c.doc(path)
	if err == nil {
		err = retry.Do(ctx, func(ctx context.Context) error {
			s, err := ref.Get(ctx)
			d, found, err = r.got(ctx, s, err)
			return err
		})
	}
	if err != nil {
		return Document{}, false, fmt.Errorf("read %s: %w", Shown(path), err)
	}
	return d, found, nil
}

// got returns the document of a snapshot. The client library makes the same error of a document that does not exist and of a
// database that does not exist, but only of the former it has a snapshot.
func (r Reader) got(ctx context.Context, s *firestore.DocumentSnapshot, err error) (d Document, found bool, _ error) {
	switch {
	case s != nil && !s.Exists():
		return Document{ReadTime: s.ReadTime}, false, nil
	case err != nil:
		return Document{}, false, err
	}
	d, err = r.documentOf(ctx, s)
	return d, true, err
}

// maxGet is how many names a request for documents has: with 5 kB each, it is smaller than the 10 MiB that Firestore allows.
// https://firebase.google.com/docs/firestore/quotas
const maxGet = 2000

// GetAll reads documents, up to 2,000 in one request, and returns those that exist, by path.
func (r Reader) GetAll(ctx context.Context, paths []string) (map[string]Document, error) {
	return r.getAll(ctx, paths, func(refs []*firestore.DocumentRef) (all []*firestore.DocumentSnapshot, err error) {
		for some := range slices.Chunk(refs, maxGet) {
			var found []*firestore.DocumentSnapshot
			if err = retry.Do(ctx, func(ctx context.Context) (err error) {
				found, err = r.c.firestore.GetAll(ctx, some)
				return err
			}); err != nil {
				return nil, err
			}
			all = append(all, found...)
		}
		return all, nil
	})
}

// getAll returns those documents that exist, by path, of those that read returns snapshots of.
func (r Reader) getAll(
	ctx context.Context, paths []string, read func([]*firestore.DocumentRef) ([]*firestore.DocumentSnapshot, error),
) (map[string]Document, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	refs := make([]*firestore.DocumentRef, len(paths))
	for i, path := range paths {
		var err error
		if refs[i], err = r.c.doc(path); err != nil {
			return nil, err
		}
	}
	snapshots, err := read(refs)
	if err != nil {
		return nil, fmt.Errorf("read %s and %d more: %w", Shown(paths[0]), len(paths)-1, err)
	}
	found := make(map[string]Document, len(snapshots))
	for _, s := range snapshots {
		if s.Exists() {
			d, err := r.documentOf(ctx, s)
			if err != nil {
				return nil, err
			}
			found[d.Path] = d
		}
	}
	return found, nil
}

// matching returns the query for what q matches, whole and without the order by name.
func (q Query) matching(c *firestore.Client) (firestore.Query, error) {
	var fq firestore.Query
	if q.Group {
		group := c.CollectionGroup(q.Collection)
		if group == nil || strings.Contains(q.Collection, "/") {
			return fq, errors.New("it is not a collection's name")
		}
		fq = group.Query
	} else {
		collection := c.Collection(q.Collection)
		if collection == nil {
			return fq, errors.New("it is not a collection's path")
		}
		fq = collection.Query
	}
	for _, f := range q.Where {
		fq = fq.Where(f.Field, f.Op, f.Value)
	}
	if len(q.Any) > 0 {
		var or firestore.OrFilter
		for _, group := range q.Any {
			var and firestore.AndFilter
			for _, f := range group {
				and.Filters = append(and.Filters, firestore.PropertyFilter{Path: f.Field, Operator: f.Op, Value: f.Value})
			}
			or.Filters = append(or.Filters, and)
		}
		fq = fq.WhereEntity(or)
	}
	for _, field := range q.OrderBy {
		fq = fq.OrderBy(field, firestore.Asc)
	}
	if len(q.From) > 0 {
		fq = fq.StartAt(q.From...)
	}
	if len(q.Until) > 0 {
		fq = fq.EndBefore(q.Until...)
	}
	return fq, nil
}

func (q Query) firestore(c *firestore.Client, from Cursor) (firestore.Query, error) {
	fq, err := q.matching(c)
	if err != nil {
		return fq, err
	}
	if len(q.From)+len(q.Until) == 0 { // with it, the bounds would have to name documents; Firestore adds this order by itself
		fq = fq.OrderBy(firestore.DocumentID, firestore.Asc)
	}
	if len(q.Select) > 0 {
		var paths []firestore.FieldPath
		for _, field := range q.selected() {
			paths = append(paths, pathOf(field))
		}
		fq = fq.SelectPaths(paths...)
	}
	if from != "" {
		values, err := from.values(len(q.OrderBy)+1, q.Group)
		if err != nil {
			return fq, err
		}
		if q.Group {
			values[len(q.OrderBy)] = c.Doc(values[len(q.OrderBy)].(string)) // RefOf has checked that it is a path
		}
		fq = fq.StartAfter(values...)
	}
	return fq, nil
}

// selected returns the fields of Select, and those that the cursor needs.
func (q Query) selected() []string {
	fields := slices.Clone(q.Select)
	for _, field := range q.OrderBy {
		if !slices.Contains(fields, field) {
			fields = append(fields, field)
		}
	}
	return fields
}

// cursorValue is one value of a cursor; exactly one field is set, none for null.
type cursorValue struct {
	Time *time.Time `json:"time,omitempty"`
	Text *string    `json:"text,omitempty"`
	Int  *int64     `json:"int,omitempty"`
	Real *float64   `json:"real,omitempty"`
	Bool *bool      `json:"bool,omitempty"`
}

// After returns the cursor behind a document that the query returned. It fails if the order is
// by a value that is none of time, string, number, boolean and null.
func (q Query) After(d Document) (Cursor, error) { return q.cursor(d, d.Value) }

// cursor returns the cursor behind a document that has some values in the fields of the order.
func (q Query) cursor(d Document, value func(field string) any) (Cursor, error) {
	values := make([]cursorValue, 0, len(q.OrderBy)+1)
	for _, field := range q.OrderBy {
		var cv cursorValue
		switch v := value(field).(type) {
		case time.Time:
			cv.Time = &v
		case string:
			cv.Text = &v
		case int64:
			cv.Int = &v
		case float64:
			cv.Real = &v
		case bool:
			cv.Bool = &v
		case nil:
		default:
			return "", fmt.Errorf("%s: a %T in %s cannot be a cursor", d.Ref(), v, field)
		}
		values = append(values, cv)
	}
	id := d.ID()
	if q.Group {
		id = d.Path
	}
	text, err := json.Marshal(append(values, cursorValue{Text: &id}))
	return Cursor(text), err
}

func (c Cursor) values(want int, paths bool) ([]any, error) {
	var values []cursorValue
	if err := json.Unmarshal([]byte(c), &values); err != nil {
		return nil, fmt.Errorf("%w: it is no list of values", ErrCursor)
	}
	if len(values) != want {
		return nil, fmt.Errorf("%w: it has %d values, the query's order needs %d", ErrCursor, len(values), want)
	}
	id := values[want-1].Text
	if id == nil || !paths && !ValidName(*id) {
		return nil, fmt.Errorf("%w: it does not end with a document's id", ErrCursor)
	}
	if paths {
		if _, err := RefOf(*id); err != nil {
			return nil, fmt.Errorf("%w: it does not end with a document's path", ErrCursor)
		}
	}
	out := make([]any, want)
	for i, v := range values {
		switch {
		case v.Time != nil:
			if year := v.Time.UTC().Year(); year < 1 || year > 9999 {
				return nil, fmt.Errorf("%w: it holds a time that Firestore cannot", ErrCursor)
			}
			out[i] = *v.Time
		case v.Text != nil:
			out[i] = *v.Text
		case v.Int != nil:
			out[i] = *v.Int
		case v.Real != nil:
			out[i] = *v.Real
		case v.Bool != nil:
			out[i] = *v.Bool
		}
	}
	return out, nil
}
