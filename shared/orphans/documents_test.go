package orphans_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/documents/wire"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// long returns an id of n bytes that begins and ends as given.
func long(n int, begin, end string) string {
	return begin + strings.Repeat("x", n-len(begin)-len(end)) + end
}

// TestDocuments has notes of books that exist, of books that are gone, and of none. Ids may have 1,500 bytes, of which a query
// can ask for 1,499.
func TestDocuments(t *testing.T) {
	f := newFunction(t, notes)
	books := []string{"null", "a", "c1", "c12", "c2", "m", "z", "丸", "😀", long(1499, "m10", ""), long(1499, "m99", ""), long(1500, "", "長")}
	gone := []string{"!", "C1", "b", "c", "c11", "c1x", "c13", "zz", "丸1", "あ", "😀😀", long(1499, "m10", "w"), long(1500, "m10", "長")}
	for i := range 60 { // neighbours, in more gaps than one query has
		books = append(books, long(1500, fmt.Sprintf("m%02d", i), "e"))
		gone = append(gone, long(1500, fmt.Sprintf("m%02d", i), "g"))
	}
	of := map[string]any{
		"notes/none": nil, "notes/empty": "", "notes/number": 7, "notes/list": []any{"gone"},
		"notes/slash": "a/b", "notes/dots": "..", "notes/reserved": "__g__", "notes/blank": "c1 ", "notes/undefined": "undefined",
	}
	for i, id := range books {
		f.Set(t, "books/"+id, map[string]any{"name": "x"})
		of[fmt.Sprintf("notes/of-book%02d", i)] = id
	}
	setNotes(t, f, of)
	f.Set(t, "notes/unset", map[string]any{"text": "hello"})
	f.Set(t, "notesx/gone", map[string]any{"bookId": "gone"})
	kept := notesLeft(t, f)
	of = map[string]any{}
	for i, id := range gone {
		of[fmt.Sprintf("notes/orphan%02d", i)] = id
	}
	setNotes(t, f, of)
	got := f.Run(t, "")
	enginetest.WantReport(t, got, report.Completed, enginetest.Done(deleteNote, len(gone)))
	enginetest.Want(t, "notes left", kept, notesLeft(t, f))
	enginetest.Want(t, "unnamed and odd, also where a book is called null", []int{6, 2}, []int{got.Kept[keptUnnamed], got.Kept[keptOdd]})
	enginetest.Want(t, "look-alikes left", 1, len(f.Documents(t, "notesx")))
}

func TestDocumentsWhoseOwnersExistAreNotRead(t *testing.T) {
	f := newFunction(t, notes)
	delete(f.Env, "MAX_DUE_PERCENT")
	f.SetMany(t, 100, func(i int) (string, map[string]any) {
		return fmt.Sprintf("books/c%03d", i), map[string]any{"name": "x"}
	})
	f.SetMany(t, 300, func(i int) (string, map[string]any) {
		return fmt.Sprintf("notes/p%04d", i), map[string]any{"bookId": fmt.Sprintf("c%03d", i%100)}
	})
	for i := range 30 {
		f.Set(t, fmt.Sprintf("notes/orphan%02d", i), map[string]any{"bookId": fmt.Sprintf("c050x%02d", i)})
	}
	got := enginetest.NewGolden(t, "notes").Run(t, "300 notes have owners, 30 have none", f, "", "")
	enginetest.WantReport(t, got, report.Completed, enginetest.Done(deleteNote, 30))
	enginetest.Want(t, "notes left", 300, len(notesLeft(t, f)))
}

func TestWrongCollectionOfOwnersDeletesNothing(t *testing.T) {
	f := newFunction(t, notes)
	delete(f.Env, "MAX_DUE_PERCENT")
	f.SetMany(t, 60, func(i int) (string, map[string]any) {
		return fmt.Sprintf("notes/p%02d", i), map[string]any{"bookId": fmt.Sprintf("c%d", i%20)}
	})
	got := f.Run(t, "")
	enginetest.WantAborted(t, got, "60 of 60 documents of notes are due")
	enginetest.Want(t, "notes left", 60, len(notesLeft(t, f)))
}

// TestFieldsOfOtherTypes has more odd documents than are named, and documents that say that they have no owner.
func TestFieldsOfOtherTypes(t *testing.T) {
	f := newFunction(t, notes)
	f.Set(t, "books/a", map[string]any{"name": "a"})
	odd := []any{
		false, true, 0, 7, 3.5, math.NaN(), math.Inf(-1), f.Now, []byte{}, []byte("a"), f.Firestore(t).Doc("books/gone"),
		[]any{}, []any{"gone"}, map[string]any{}, map[string]any{"id": "gone"},
	}
	of := map[string]any{"notes/null": nil, "notes/empty": "", "notes/member": "a"}
	for i := range 30 {
		of[fmt.Sprintf("notes/odd%02d", i)] = odd[i%len(odd)]
	}
	setNotes(t, f, of)
	f.Set(t, "notes/unset", map[string]any{"text": "hello"})
	got := f.Run(t, "")
	enginetest.WantReport(t, got, report.Completed, map[string]report.Counts{})
	enginetest.Want(t, "kept", map[string]int{keptOdd: 30}, got.Kept)
	enginetest.Want(t, "scanned", 30, got.Scanned)
	named := map[any]bool{}
	for _, line := range f.LogLines(t) {
		targets, _ := line["targets"].([]any)
		for _, target := range targets {
			if line["reason"] == keptOdd && strings.HasPrefix(target.(string), "notes/odd") {
				named[target] = true
			}
		}
	}
	enginetest.Want(t, "notes named", 20, len(named))
	enginetest.Want(t, "notes left", 34, len(notesLeft(t, f)))
}

// TestHugeFields has more than a page of strings of 5 KB each, before and after the orphans.
func TestHugeFields(t *testing.T) {
	f := newFunction(t, notes)
	f.Set(t, "books/another", map[string]any{"name": "so that not all are missing"})
	f.SetMany(t, 55, func(i int) (string, map[string]any) {
		return fmt.Sprintf("notes/huge%02d", i), map[string]any{"bookId": strings.Repeat("h", 5_000)}
	})
	setNotes(t, f, map[string]any{"notes/orphan0": "g", "notes/orphan1": "h", "notes/orphan2": "i"})
	got := f.Run(t, "")
	enginetest.WantReport(t, got, report.Completed, enginetest.Done(deleteNote, 3))
	enginetest.Want(t, "notes left", 55, len(notesLeft(t, f)))
	enginetest.Want(t, "kept", map[string]int{keptUnnamed: 55}, got.Kept)
}

// onQuery lets a test see and refuse queries for a collection's documents, and counts of them.
func onQuery(f *enginetest.Function, collection string, handle func(counts bool) error) {
	var mu sync.Mutex
	f.Hooks.Dial = append(f.Hooks.Dial, wire.Before(func(_ context.Context, _ string, m any) error {
		var q *firestorepb.StructuredQuery
		count, counts := m.(*firestorepb.RunAggregationQueryRequest)
		if q = count.GetStructuredAggregationQuery().GetStructuredQuery(); !counts {
			query, _ := m.(*firestorepb.RunQueryRequest)
			q = query.GetStructuredQuery()
		}
		if from := q.GetFrom(); len(from) == 1 && from[0].GetCollectionId() == collection {
			mu.Lock()
			defer mu.Unlock()
			return handle(counts)
		}
		return nil
	})...)
}

// TestQueriesThatFail: Firestore refuses the count of odd documents, which are more than are named and on which nothing depends, or
// the query for documents of missing owners. Objects are deleted all the same.
func TestQueriesThatFail(t *testing.T) {
	var odd []string
	all := map[string]any{"notes/orphan": "gone"}
	for i := range 21 {
		odd = append(odd, fmt.Sprintf("odd%02d", i))
		all["notes/"+odd[i]] = 7
	}
	for name, tt := range map[string]struct {
		counts bool // counts are refused, and nothing else
		status report.Status
		left   []string
	}{
		"counts":  {true, report.Completed, odd},
		"queries": {false, report.Failed, append(slices.Clone(odd), "orphan")},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFunction(t, files, notes)
			put(t, f, "nobody's", "files/u/a")
			f.Set(t, "books/another", map[string]any{"name": "so that not all are missing"})
			setNotes(t, f, all)
			refuse := true
			onQuery(f, "notes", func(counts bool) error {
				if refuse && counts == tt.counts {
					return status.Error(codes.InvalidArgument, "Firestore refuses it")
				}
				return nil
			})
			got := f.Run(t, "")
			enginetest.Want(t, "status", tt.status, got.Status)
			enginetest.Want(t, "objects left", 0, len(f.Objects(t)))
			enginetest.Want(t, "notes left", tt.left, notesLeft(t, f))
			if !slices.ContainsFunc(f.LogLines(t), func(line map[string]any) bool {
				return line["severity"] != "INFO" && strings.Contains(fmt.Sprint(line["message"]), "Firestore refuses it")
			}) {
				t.Error("the log does not say so")
			}
			refuse = false
			got = f.Run(t, "")
			enginetest.Want(t, "the next run", report.Completed, got.Status)
			enginetest.Want(t, "notes left then", odd, notesLeft(t, f))
		})
	}
}
