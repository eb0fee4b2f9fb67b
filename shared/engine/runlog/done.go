package runlog

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/undo"
)

// Done is what one commit did, and what was deleted after it.
type Done struct {
	At    time.Time // when it was written
	parts []string  // the paths of its documents
}

// List returns what a run did, in the order in which it was done. The records are read later, a commit's at a time.
func List(ctx context.Context, db documents.Reader, run string) ([]Done, error) {
	byName := map[string]*Done{}
	q := documents.Query{Collection: DoneOf(run), Select: []string{"at", "expireAt", "records"}}
	for page, err := range db.Pages(ctx, q, "") {
		if err != nil {
			return nil, fmt.Errorf("read the undo log: %w", err)
		}
		for _, d := range page.Documents {
			expires, ok := d.Data["expireAt"].(time.Time)
			if ok && !d.ReadTime.Before(expires) || d.Data["records"] == int64(0) {
				continue // Firestore deletes it within a day; or nothing was saved for undo
			}
			name := d.Path[:strings.LastIndexByte(d.Path, '-')+1] // without the number of the part
			if byName[name] == nil {
				byName[name] = &Done{At: timeOf(d)}
			}
			byName[name].parts = append(byName[name].parts, d.Path)
		}
	}
	all := make([]Done, 0, len(byName))
	for _, d := range byName {
		all = append(all, *d)
	}
	slices.SortFunc(all, func(a, b Done) int { return cmp.Or(a.At.Compare(b.At), strings.Compare(a.parts[0], b.parts[0])) })
	return all, nil
}

// orElse says what to do about an entry that tells nothing, or else no undo of its run goes on.
const orElse = "delete what of it somebody else wrote, or all of it, to take back the rest"

// Records returns what was done; what stayed is empty. The error names the documents of an entry that this program did not write
// so.
func (d Done) Records(ctx context.Context, db documents.Reader) ([]undo.Record, error) {
	found, err := db.GetAll(ctx, d.parts)
	if err != nil {
		return nil, fmt.Errorf("read the undo log: %w", err)
	}
	var packed [][]byte
	stayed := map[int]bool{}
	for _, path := range d.parts {
		part := found[path]
		data, _ := part.Data["data"].([]byte)
		packed = append(packed, data)
		places, _ := part.Data[stayedField].([]any)
		for _, place := range places {
			n, _ := place.(int64)
			stayed[int(n)] = true
		}
		if n, _ := part.Data["parts"].(int64); n != int64(len(found)) {
			return nil, fmt.Errorf("%s: %d documents of %d parts: %s", strings.Join(d.parts, ", "), len(found), n, orElse)
		}
	}
	records, err := Unpack(packed)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; if no later version did: %s", strings.Join(d.parts, ", "), err, orElse)
	}
	return without(records, stayed), nil
}

// without empties the records of an entry that are in some places, from 1, and the items to which no others belong. So each
// stays in its place.
func without(records []undo.Record, stayed map[int]bool) []undo.Record {
	has, left := map[int]bool{}, map[int]bool{} // by the place of an item, whether records belong to it, and any that did not stay
	for i, r := range records {
		has[r.Of] = true
		left[r.Of] = left[r.Of] || !stayed[i+1]
	}
	for i, r := range records {
		if stayed[i+1] || r.Item != "" && has[i+1] && !left[i+1] {
			records[i] = undo.Record{}
		}
	}
	return records
}
