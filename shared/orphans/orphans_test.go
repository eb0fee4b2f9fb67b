package orphans_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
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
	f.SetMany(t, 60, func(i int) (string, map[string]any) {
		return fmt.Sprintf("books/c%03d", i), map[string]any{"name": "x"}
	})
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
	f.SetMany(t, 2000, func(i int) (string, map[string]any) { return fmt.Sprintf("books/b%04d", i), map[string]any{"n": 1} })
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
