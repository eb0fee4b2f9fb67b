package documents

import (
	"context"
	"errors"
	"fmt"

	"cloud.google.com/go/firestore"
	"google.golang.org/api/iterator"

	"github.com/firesweep/firesweep/shared/documents/encode"
	"github.com/firesweep/firesweep/shared/documents/retry"
	"github.com/firesweep/firesweep/shared/guard"
)

// FirstWhole is [Reader.First] for a query with Select, and costs the same reads. It receives whole documents, one at a time, and
// leaves of each only the selected fields in Data. [Document.Original] keeps the whole of as many as fit into room bytes
// together.
func (r Reader) FirstWhole(ctx context.Context, q Query, from Cursor, n, room int) (found []Document, err error) {
	whole := q
	whole.Select = nil
	fq, err := whole.firestore(r.c.firestore, from)
	if err == nil {
		err = retry.Do(ctx, func(ctx context.Context) (err error) {
			found, err = wholeOf(fq.Limit(n).Documents(ctx), q.selected(), room)
			return err
		})
	}
	switch {
	case errors.Is(err, errUndecoded):
		return r.First(ctx, q, from, n)
	case err != nil:
		return nil, fmt.Errorf("query %s: %w", q.Collection, from.blamed(err))
	}
	return found, nil
}

// errUndecoded says that a document holds a value that the client library cannot decode. Queries for other fields do not see it.
var errUndecoded = errors.New("a value cannot be decoded")

// wholeOf receives all documents: whoever stops early is billed for the rest as well.
func wholeOf(it *firestore.DocumentIterator, fields []string, room int) (found []Document, err error) {
	defer it.Stop()
	for {
		s, err := it.Next()
		if errors.Is(err, iterator.Done) {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		var d Document
		if guard.Call(func() error { d = documentOf(s); return nil }) != nil { // the library panics
			return nil, errUndecoded
		}
		if original := encode.Pack(d.Data); len(original) <= room {
			d.Original, room = original, room-len(original)
		}
		d.Data = d.only(fields)
		found = append(found, d)
	}
}

// only returns the values of some fields. A dot in a name leads into a map, as in queries.
func (d Document) only(fields []string) map[string]any {
	data := make(map[string]any, len(fields))
	for _, field := range fields {
		parts := pathOf(field)
		last := len(parts) - 1
		value, there := d.Data[parts[0]]
		if last > 0 {
			value, there = d.Lookup(field)
		}
		if !there {
			continue
		}
		in := data
		for _, part := range parts[:last] {
			deeper, _ := in[part].(map[string]any)
			if deeper == nil {
				deeper = map[string]any{}
				in[part] = deeper
			}
			in = deeper
		}
		in[parts[last]] = value
	}
	return data
}
