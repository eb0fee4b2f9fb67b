package orphans_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/documents/wire"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/objects"
	"github.com/firesweep/firesweep/shared/orphans"
)

// In the job of these tests, files/{userId}/… belong to users, unless their metadata names another owner. Notes belong to
// books, by their bookId.
var (
	files = orphans.Objects{Folder: "files/", Judge: judgeFile}
	notes = orphans.Documents{
		Collection: "notes", Field: "bookId", Owners: "books", Judge: judgeNote, Rule: noteRule, KeptOdd: keptOdd,
	}
)

const (
	deleteFile, deleteNote    = "delete file", "delete note"
	keptOdd, keptUnnamed      = "bookId is not a string", "bookId names no document"
	keptOfBook, keptUnjudged  = "its book exists", "the file cannot be judged"
	keptByWish, keptOwnerless = "the file is to be kept", "belongs to one of users"
)

// judgeFile decides as the metadata says.
func judgeFile(o objects.Object, _ time.Time) orphans.Verdict {
	user := documents.Ref{Collection: "users", ID: cmp.Or(o.Metadata["of"], strings.Split(o.Name, "/")[1])}
	switch o.Metadata["is"] {
	case "kept":
		return orphans.Verdict{Decision: cleanup.Keep(keptByWish), Owner: user}
	case "odd":
		return orphans.Verdict{Decision: cleanup.Invalid(keptUnjudged), Owner: user}
	case "nobody's":
		return orphans.Verdict{Decision: cleanup.Do(deleteFile, "nobody's"), Owner: orphans.Nobody}
	case "forgotten":
		return orphans.Verdict{Decision: cleanup.Do(deleteFile, "the owner is forgotten")}
	default:
		return orphans.Verdict{Decision: cleanup.Do(deleteFile, ""), Owner: user}
	}
}

func judgeNote(note documents.Document, bookExists bool) cleanup.Decision {
	id, _ := note.Text("bookId")
	switch {
	case !documents.ValidID(id):
		return cleanup.Invalid(keptUnnamed)
	case bookExists:
		return cleanup.Keep(keptOfBook)
	}
	return cleanup.Do(deleteNote, "its book does not exist")
}

// note is a note, and whether its book exists.
type note struct {
	cleanup.Subject
	bookExists bool
}

var noteRule = cleanup.Rule[note]{
	Name: "note", Reach: cleanup.Reach{Items: "notes", Deletes: []string{"notes"}},
	Load: func(ctx context.Context, src cleanup.Source, subjects []cleanup.Subject) ([]note, error) {
		notes := make([]note, len(subjects))
		for i, s := range subjects {
			id, _ := s.Text("bookId")
			found, err := src.Get(ctx, []documents.Ref{{Collection: "books", ID: id}})
			if err != nil {
				return nil, err
			}
			notes[i] = note{Subject: s, bookExists: len(found) > 0}
		}
		return notes, nil
	},
	Judge: func(n note, _ cleanup.Run) cleanup.Decision { return judgeNote(n.Document, n.bookExists) },
	Change: func(n note, _ cleanup.Decision, _ cleanup.Run) cleanup.Change {
		return cleanup.Change{Writes: []documents.Write{{Op: documents.Delete, Ref: n.Ref()}}}
	},
}

// newFunction returns a function with these passes. It lifts the safety limit on shares, because tests have little that stays.
func newFunction(t *testing.T, passes ...orphans.Pass) *enginetest.Function {
	t.Helper()
	t.Parallel()
	job := cleanup.Job{Name: "testJob", Plan: orphans.Plan(passes...),
		Rules: []cleanup.AnyRule{noteRule}, Reach: orphans.Reach(passes...)}
	f := enginetest.New(t, engine.NewFunction(job, 5*time.Minute, []config.Backend{config.Firestore, config.Storage}))
	f.Now = time.Date(2026, 1, 10, 18, 0, 0, 0, time.UTC)
	f.Env["MAX_DUE_PERCENT"] = "100"
	return f
}

func put(t *testing.T, f *enginetest.Function, is string, names ...string) {
	t.Helper()
	for _, name := range names {
		f.Put(t, name, map[string]string{"is": is}, []byte("x"))
	}
}

// setNotes writes notes: by their paths, the books that they name.
func setNotes(t *testing.T, f *enginetest.Function, books map[string]any) {
	t.Helper()
	paths := slices.Sorted(maps.Keys(books))
	f.SetMany(t, len(paths), func(i int) (string, map[string]any) { return paths[i], map[string]any{"bookId": books[paths[i]]} })
}

func notesLeft(t *testing.T, f *enginetest.Function) []string {
	t.Helper()
	return slices.Sorted(maps.Keys(f.Documents(t, "notes")))
}

// TestOutOfTime: the next run continues where each run stopped: in the second page of objects, behind each pass, between
// owners.
func TestOutOfTime(t *testing.T) {
	other := files
	other.Folder = "others/"
	f := newFunction(t, files, other, notes)
	f.PutMany(t, 1002, func(i int) (string, map[string]string) {
		is := "nobody's"
		if i%100 == 0 || i == 1001 {
			is = "kept"
		}
		return fmt.Sprintf("files/u/%04d.png", i), map[string]string{"is": is}
	})
	put(t, f, "", "others/gone/a.png", "others/gone/b.png")
	f.Set(t, "users/another", map[string]any{"name": "x"}) // if the collection were empty, nothing would be deleted
	f.SetAlike(t, 60, "books/c%03d", map[string]any{"name": "x"})
	setNotes(t, f, map[string]any{"notes/0": "a", "notes/1": "c010x", "notes/2": "c030x", "notes/3": "c059x", "notes/4": "d"})
	wall, scanned := time.Now(), 0
	for partial := 0; ; partial++ {
		started := wall
		var asked atomic.Int64
		f.Clock = func() time.Time {
			if asked.Add(1) > 3 { // time for planning is up at the second checkpoint
				return started.Add(f.Timeout/2 + time.Second)
			}
			return started
		}
		got := f.Run(t, "")
		wall, scanned = wall.Add(time.Hour), scanned+got.Scanned
		if got.Status == report.Completed && partial >= 3 {
			break
		}
		if got.Status != report.Partial || partial > 20 {
			t.Fatalf("after %d partial runs: %+v", partial, got)
		}
	}
	enginetest.Want(t, "objects left", 12, len(f.Objects(t)))
	enginetest.Want(t, "notes left", 0, len(notesLeft(t, f)))
	enginetest.Want(t, "scanned, each once", 1002+2+5, scanned)
	enginetest.Want(t, "checkpoint", "", enginetest.Checkpoint(f.Documents(t, "cleanupJobs")["testJob"]))
}

// TestCheckpointsThatCannotBeUsed are from other versions: the run begins at the beginning.
func TestCheckpointsThatCannotBeUsed(t *testing.T) {
	f := newFunction(t, files, notes)
	others := []string{"x", `{"pass":-1,"name":"z"}`, `{"pass":2,"name":"z"}`, `{"pass":"files","name":"z"}`}
	for _, checkpoint := range others {
		f.Set(t, "cleanupJobs/testJob", enginetest.From(checkpoint))
		put(t, f, "nobody's", "files/u/a.png")
		enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done(deleteFile, 1))
	}
	f.Set(t, "cleanupJobs/testJob", enginetest.From(`{"pass":0,"name":"files/u/b.png"}`))
	put(t, f, "nobody's", "files/u/a.png", "files/u/b.png", "files/u/c.png")
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done(deleteFile, 1))
	enginetest.Want(t, "objects left", []string{"files/u/a.png", "files/u/b.png"}, f.Objects(t))
}

// TestPassesThatAreLeftOut are not gone through, and those behind them keep their checkpoints.
func TestPassesThatAreLeftOut(t *testing.T) {
	others, named := files, notes
	others.Name, others.Folder, named.Name = "others", "others/", "notes"
	first := files
	first.Name = "files"
	f := newFunction(t, first, others, named)
	f.Job.Settings = orphans.Settings(first, others, named)
	f.Env["ORPHANS"] = "notes, files"
	put(t, f, "nobody's", "files/u/a.png", "others/u/a.png")
	f.Set(t, "books/b", map[string]any{"n": 1})
	setNotes(t, f, map[string]any{"notes/of-b": "b", "notes/orphan": "gone"})
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, map[string]report.Counts{deleteFile: {Planned: 1, Done: 1}, deleteNote: {Planned: 1, Done: 1}})
	enginetest.Want(t, "objects left", []string{"others/u/a.png"}, f.Objects(t))

	f.Env["ORPHANS"] = "others"
	f.Set(t, "cleanupJobs/testJob", enginetest.From(`{"pass":2,"name":"a"}`))
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, map[string]report.Counts{}) // it went on behind the only one
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done(deleteFile, 1))
}

// TestOwnersOfManyDays: a run reads no more owners than MAX_OWNERS says. The next ones go on from there, also if the files before
// them are gone through anew, and behind the last owner all begin anew. A preview changes nothing of that.
func TestOwnersOfManyDays(t *testing.T) {
	files, notes := files, notes
	files.Name, notes.Name = "files", "notes"
	passes := []orphans.Pass{files, notes}
	f := newFunction(t, passes...)
	f.Job.Settings = orphans.Settings(passes...)
	f.Env["MAX_OWNERS"] = "1000"
	f.SetAlike(t, 2000, "books/b%04d", map[string]any{"n": 1})
	const left = "left for the next runs: one looks for notes of 1000 books at most (MAX_OWNERS)"
	for night, want := range []struct{ notes, left int }{{2, 1040}, {1, 80}, {2, 0}, {2, 1040}} {
		setNotes(t, f, map[string]any{"notes/1": "a", "notes/2": "b0500x", "notes/3": "b1500x", "notes/4": "b1990x", "notes/5": "z",
			"notes/of-b": "b0001"})
		put(t, f, "nobody's", "files/u/a.png")
		f.Now = f.Now.Add(24 * time.Hour)
		f.Run(t, `{"dryRun":true}`)
		got := f.Run(t, "")
		enginetest.WantReport(t, got, report.Completed,
			map[string]report.Counts{deleteFile: {Planned: 1, Done: 1}, deleteNote: {Planned: want.notes, Done: want.notes}})
		enginetest.Want(t, fmt.Sprint("left in night ", night), want.left, got.Kept[left])
		if got.Usage.FirestoreReads > 1100 {
			t.Errorf("night %d: %d reads", night, got.Usage.FirestoreReads)
		}
	}
}

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
	f.SetAlike(t, 100, "books/c%03d", map[string]any{"name": "x"})
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
	enginetest.WantKept(t, got, report.Completed, map[string]report.Counts{}, map[string]int{keptOdd: 30})
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
	f.SetAlike(t, 55, "notes/huge%02d", map[string]any{"bookId": strings.Repeat("h", 5_000)})
	setNotes(t, f, map[string]any{"notes/orphan0": "g", "notes/orphan1": "h", "notes/orphan2": "i"})
	enginetest.WantKept(t, f.Run(t, ""), report.Completed, enginetest.Done(deleteNote, 3), map[string]int{keptUnnamed: 55})
	enginetest.Want(t, "notes left", 55, len(notesLeft(t, f)))
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
			enginetest.Want(t, "status", tt.status, f.Run(t, "").Status)
			enginetest.Want(t, "objects left", 0, len(f.Objects(t)))
			enginetest.Want(t, "notes left", tt.left, notesLeft(t, f))
			if !slices.ContainsFunc(f.LogLines(t), func(line map[string]any) bool {
				return line["severity"] != "INFO" && strings.Contains(fmt.Sprint(line["message"]), "Firestore refuses it")
			}) {
				t.Error("the log does not say so")
			}
			refuse = false
			enginetest.Want(t, "the next run", report.Completed, f.Run(t, "").Status)
			enginetest.Want(t, "notes left then", odd, notesLeft(t, f))
		})
	}
}

func TestObjects(t *testing.T) {
	f := newFunction(t, files)
	for _, path := range []string{"users/u1", "users/写 真", "people/u2", "users/u1/users/u3"} {
		f.Set(t, path, map[string]any{"n": 1})
	}
	put(t, f, "", "files/u1/a.png", "files/u1/b.png", "files/写 真/a.png", "filesx/u12/a.png", "files/u1")
	for _, user := range []string{"...", "u12", "u2", "u3", "U1", "u1x"} {
		put(t, f, "", "files/"+user+"/gone.png")
	}
	put(t, f, "kept", "files/u12/kept.png", "files/__x__/kept.png")
	put(t, f, "odd", "files/u12/odd.png")
	put(t, f, "nobody's", "files/u1/gone.png", "files/__x__/gone.png")
	put(t, f, "", "files/__x__/a.png", "files/u1 /a.png", "files/undefined/a.png") // name no document
	put(t, f, "forgotten", "files/u12/forgotten.png")
	invalid := 4
	if f.EmbeddedStorage() { // the Firebase Emulator Suite does not allow such names
		put(t, f, "", "files//a.png", "files/./a.png", "files/../a.png")
		invalid += 3
	}
	left := slices.DeleteFunc(f.Objects(t), func(name string) bool { return strings.HasSuffix(name, "/gone.png") })
	preview := f.Run(t, `{"dryRun":true}`)
	if !slices.ContainsFunc(preview.Plan, func(a report.Planned) bool {
		return a.Target == "gs://"+f.Bucket+"/files/u12/gone.png" && a.Reason == "users/u12 does not exist"
	}) {
		t.Errorf("plan %+v", preview.Plan)
	}
	got := f.Run(t, "")
	enginetest.WantReport(t, got, report.Completed, enginetest.Done(deleteFile, 8))
	enginetest.Want(t, "objects left", left, f.Objects(t))
	enginetest.Want(t, "kept", map[string]int{
		keptOwnerless: 4, keptByWish: 2, keptUnjudged: 1, orphans.KeptInvalidOwner: invalid,
	}, got.Kept)
	enginetest.Want(t, "scanned", 4+6+2+1+2+invalid, got.Scanned)
}

func TestEmptyDatabaseEmptiesNoBucket(t *testing.T) {
	f := newFunction(t, files)
	delete(f.Env, "MAX_DUE_PERCENT")
	f.PutMany(t, 1000, func(i int) (string, map[string]string) { return fmt.Sprintf("files/u%04d/a.png", i), nil })
	for _, body := range []string{"", `{"dryRun":true}`} {
		enginetest.WantAborted(t, f.Run(t, body), "empty collection: users")
	}
	enginetest.WantAborted(t, f.Run(t, `{"force":true}`), "empty collection: users")
	enginetest.Want(t, "objects left", 1000, len(f.Objects(t)))
	f.Set(t, "users/somebody", map[string]any{"name": "x"})
	enginetest.WantAborted(t, f.Run(t, `{"dryRun":true}`), "MAX_DUE_PERCENT: 1000 of 1000 objects under files/")
	enginetest.WantReport(t, f.Run(t, `{"force":true}`), report.Completed, enginetest.Done(deleteFile, 1000))
	enginetest.Want(t, "objects left then", 0, len(f.Objects(t)))
}

// TestCostOfObjectsWhoseOwnersExist: a read per 30 owners, and a class A operation per 1000 objects.
func TestCostOfObjectsWhoseOwnersExist(t *testing.T) {
	f := newFunction(t, files)
	f.SetAlike(t, 600, "users/u%04d", map[string]any{"name": "x"})
	f.PutMany(t, 3000, func(i int) (string, map[string]string) { // objects of each owner lie in every page
		return fmt.Sprintf("files/x/%04d.png", i), map[string]string{"of": fmt.Sprintf("u%04d", i%600)}
	})
	enginetest.NewGolden(t, "owners").Run(t, "3,000 objects of 600 owners", f, "", "")
}

// TestPlansOfBoundedBytes: a run ends partial, in order, where its plan holds as much as it may, and the next one goes on from there.
func TestPlansOfBoundedBytes(t *testing.T) {
	const n, most, wantRuns = 2200, 700, 4
	f := newFunction(t, files)
	f.Hooks.PlanBytes = 1_500_000
	f.PutAlike(t, n, "files/u/%04d"+strings.Repeat("n", 900)+".png", map[string]string{"is": "nobody's"})
	list, err := f.Plan(t.Context(), engine.Options{})
	if err != nil || list.Status != report.Partial || len(list.Plan) > most || len(list.Plan) < most/2 || len(list.Warnings) != 1 {
		t.Errorf("the list is %s, %d long, with the warnings %q, %v", list.Status, len(list.Plan), list.Warnings, err)
	}
	done, runs := 0, 0
	for status := report.Partial; status == report.Partial && runs < 9; runs++ {
		got := f.Run(t, "")
		status, done = got.Status, done+got.Actions[deleteFile].Done
		if got.Actions[deleteFile].Done > most {
			t.Errorf("a run has done %+v, want at most %d", got.Actions, most)
		}
		if status == report.Partial && (len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "as much as the memory allows")) {
			t.Errorf("warnings %q", got.Warnings)
		}
	}
	if done != n || runs != wantRuns || len(f.Objects(t)) != 0 {
		t.Errorf("%d done in %d runs, want %d in %d; %d objects are left", done, runs, n, wantRuns, len(f.Objects(t)))
	}
}

// TestListingsAreCutWhereTheLastOneSaysSo: a run saves cuts, and the next one lists by them. A preview saves none. What somebody else
// wrote costs nothing but time.
func TestListingsAreCutWhereTheLastOneSaysSo(t *testing.T) {
	const n, job = 5200, "cleanupJobs/testJob"
	f := newFunction(t, files)
	if !f.EmbeddedStorage() {
		t.Skip("the Firebase Emulator Suite heeds no offsets")
	}
	f.PutAlike(t, n, "files/u/%04d.png", map[string]string{"is": "kept"})
	var mu sync.Mutex
	var offsets []string
	f.Hooks.Transport = enginetest.OnStorage(func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		if q := r.URL.Query(); q.Get("startOffset") != "" && q.Get("pageToken") == "" {
			offsets = append(offsets, q.Get("startOffset"))
		}
		return send()
	})
	saved := func() any { return f.Documents(t, "cleanupJobs")["testJob"]["cuts"] }
	own := []any{"0:files/u/395"}
	for _, run := range []struct {
		what, body   string
		before, want any // cuts
		offsets      []string
	}{
		{"a preview", `{"dryRun":true}`, nil, nil, nil},
		{"the first run", "", nil, own, nil},
		{"the second run", "", own, own, []string{"files/u/395"}},
		{"a preview by the cuts", `{"dryRun":true}`, own, own, []string{"files/u/395"}},
		{"after somebody wrote another type", "", 7, own, nil},
		{"after somebody wrote no cuts", "", []any{"x", ""}, own, nil},
		{"after somebody wrote what is no text", "", []any{7, map[string]any{"x": 1}}, own, nil},
		{"after somebody wrote other cuts", "", []any{"0:a", "0:files/", "6:u/1", "9:2", "0:z"}, []any{"0:a", "0:files/u/395", "0:z"},
			[]string{"files/", "files/u/1", "files/u/12"}},
	} {
		if run.before != nil {
			f.Set(t, job, map[string]any{"cuts": run.before})
		}
		offsets = nil
		enginetest.WantKept(t, f.Run(t, run.body), report.Completed, map[string]report.Counts{}, map[string]int{keptByWish: n})
		enginetest.Want(t, run.what+", saved", run.want, saved())
		slices.Sort(offsets)
		enginetest.Want(t, run.what+", offsets", run.offsets, offsets)
	}
}
