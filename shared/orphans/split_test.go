package orphans_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/orphans"
)

// inShards is a function that is served over HTTP, so that Cloud Tasks can call it for its shards.
func inShards(t *testing.T, shards int, passes ...orphans.Pass) *enginetest.Function {
	t.Helper()
	f := newFunction(t, passes...)
	if f.Tasks() == nil {
		t.Skip("only the embedded Cloud Tasks can be told to deliver")
	}
	f.Env["SHARDS"], f.Env["CONTINUE_FOR"], f.Env["CONTINUE_QUEUE"] = fmt.Sprint(shards), "1h", "continue"
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	f.Host = server.Listener.Addr().String()
	return f
}

// run calls the function and all of its shards, and returns the report of the whole.
func run(t *testing.T, f *enginetest.Function) *report.Report {
	t.Helper()
	split := f.Run(t, "")
	if _, err := f.Tasks().Deliver(t.Context(), time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return savedReport(t, f, split.RunID)
}

func savedReport(t *testing.T, f *enginetest.Function, id string) *report.Report {
	t.Helper()
	text, err := json.Marshal(f.Documents(t, "cleanupRuns")[id])
	if err != nil {
		t.Fatal(err)
	}
	var rep report.Report
	if err := json.Unmarshal(text, &rep); err != nil {
		t.Fatal(err)
	}
	return &rep
}

// TestWhereverItIsCut: shards have the same result as one run, whatever names they are cut at: names of objects, names before and
// behind them, and a place between two passes.
func TestWhereverItIsCut(t *testing.T) {
	const shards = 6
	f := inShards(t, shards, files, notes)
	random := rand.New(rand.NewPCG(3, 3)) //nolint:gosec // it makes test data
	ids := []string{"-", "0", "A", "Z", "a", "b", "b1", "c", "z", "zz", "丸", "😀"}
	objects := map[string]string{}
	set := map[string]map[string]any{}
	for i, id := range ids {
		if i%2 == 0 {
			set["books/"+id] = map[string]any{"name": "x"}
			set["users/"+id] = map[string]any{"name": "x"}
		}
		for n := range 3 {
			objects[fmt.Sprintf("files/%s/%d", id, n)] = ""
			set[fmt.Sprintf("notes/of-%d-%d", i, n)] = map[string]any{"bookId": id}
		}
	}
	set["notes/odd"], set["notes/none"] = map[string]any{"bookId": 7}, map[string]any{"bookId": ""}
	write := func() {
		for name, is := range objects {
			put(t, f, is, name)
		}
		for path, data := range set {
			f.Set(t, path, data)
		}
	}
	write()
	delete(f.Env, "SHARDS")
	whole := f.Run(t, "")
	wantFiles, wantNotes := f.Objects(t), notesLeft(t, f)
	if whole.Status != report.Completed {
		t.Fatalf("in one run: %+v", whole)
	}
	if len(wantFiles) == len(objects) || len(wantFiles) == 0 {
		t.Fatalf("one run leaves %d of %d files, want some", len(wantFiles), len(objects))
	}
	places := []string{`{"pass":1,"name":""}`}
	for _, id := range ids {
		for _, name := range []string{id, id + "-", id + "/1"} {
			places = append(places, place(t, 0, "files/"+name))
		}
	}
	var mu sync.Mutex
	var cuts []string
	f.Job.Split = func(context.Context, *cleanup.Planner, int) ([]cleanup.Bounds, error) {
		mu.Lock()
		defer mu.Unlock()
		var all []cleanup.Bounds
		begin := ""
		for _, cut := range append(slices.Clone(cuts), "") {
			all = append(all, cleanup.Bounds{Begin: begin, End: cut})
			begin = cut
		}
		return all, nil
	}
	f.Env["SHARDS"] = fmt.Sprint(shards)
	for range 8 {
		picked := map[int]bool{}
		for len(picked) < shards-1 {
			picked[random.IntN(len(places))] = true
		}
		var chosen []string
		for _, i := range slices.Sorted(maps.Keys(picked)) {
			chosen = append(chosen, places[i])
		}
		slices.SortFunc(chosen, comparePlaces)
		mu.Lock()
		cuts = chosen
		mu.Unlock()
		write()
		got := run(t, f)
		if got.Status != report.Completed || len(got.Shards) != shards {
			t.Fatalf("cut at %v: %+v", chosen, got)
		}
		enginetest.Want(t, fmt.Sprint("actions, cut at ", chosen), whole.Actions, got.Actions)
		enginetest.Want(t, fmt.Sprint("kept, cut at ", chosen), whole.Kept, got.Kept)
		enginetest.Want(t, fmt.Sprint("files left, cut at ", chosen), wantFiles, f.Objects(t))
		enginetest.Want(t, fmt.Sprint("notes left, cut at ", chosen), wantNotes, notesLeft(t, f))
	}
}

func place(t *testing.T, pass int, name string) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{"pass": pass, "name": name, "included": true})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func comparePlaces(a, b string) int {
	var x, y struct {
		Pass int
		Name string
	}
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		panic("a place cannot be read")
	}
	switch {
	case x.Pass != y.Pass:
		return x.Pass - y.Pass
	case x.Name < y.Name:
		return -1
	}
	return 1
}

// TestSplitsWhatThereIs: a run decides by itself where to cut objects and owners' ids.
func TestSplitsWhatThereIs(t *testing.T) {
	f := inShards(t, 3, files, notes)
	f.PutMany(t, 3300, func(i int) (string, map[string]string) {
		return fmt.Sprintf("files/u%d/%04d.png", i%7, i), map[string]string{"is": []string{"nobody's", "kept"}[min(i%50, 1)]}
	})
	f.SetMany(t, 1200, func(i int) (string, map[string]any) {
		return fmt.Sprintf("books/%c%03d", 'a'+rune(i%26), i), map[string]any{"name": "x"}
	})
	setNotes(t, f, map[string]any{"notes/1": "0", "notes/2": "b", "notes/3": "m", "notes/4": "zz", "notes/5": "a000"})
	got := run(t, f)
	want := map[string]report.Counts{deleteFile: {Planned: 66, Done: 66}, deleteNote: {Planned: 4, Done: 4}}
	enginetest.WantReport(t, got, report.Completed, want)
	if len(got.Shards) != 3 || got.Kept[keptByWish] != 3300-66 {
		t.Fatalf("%d shards, kept %v", len(got.Shards), got.Kept)
	}
	for i, shard := range got.Shards[:2] { // the third has the books, which do not count as scanned
		if shard.Scanned != 1500 {
			t.Errorf("shard %d looked at %d things, want a third of 4,500", i, shard.Scanned)
		}
	}
	enginetest.Want(t, "objects and notes left", []int{3300 - 66, 1}, []int{len(f.Objects(t)), len(notesLeft(t, f))})
}

// TestSplitsWhatIsLeft: a run that continues behind a checkpoint divides what lies behind it.
func TestSplitsWhatIsLeft(t *testing.T) {
	f := inShards(t, 2, files, notes)
	f.PutMany(t, 3000, func(i int) (string, map[string]string) {
		return fmt.Sprintf("files/u/%04d", i), map[string]string{"is": "kept"}
	})
	f.Set(t, "cleanupJobs/testJob", enginetest.From(`{"pass":0,"name":"files/u/0899"}`))
	got := run(t, f)
	if len(got.Shards) != 2 {
		t.Fatalf("%d shards, want 2", len(got.Shards))
	}
	if got.Shards[0].Scanned != 1050 || got.Shards[1].Scanned != 1050 {
		t.Errorf("of 2,100 objects: %+v", got.Shards)
	}
}

func TestLittleIsNotSplit(t *testing.T) {
	f := inShards(t, 16, files, notes)
	put(t, f, "nobody's", "files/a/1", "files/b/2")
	got := run(t, f)
	enginetest.WantReport(t, got, report.Completed, enginetest.Done(deleteFile, 2))
	enginetest.Want(t, "shards", 0, len(got.Shards))
}

// TestPassesThatAreLeftOut are neither gone through nor given to shards, and those behind them keep their checkpoints.
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
	for _, shards := range []int{0, 3} {
		t.Run(fmt.Sprint(shards, " shards"), func(t *testing.T) {
			files, notes := files, notes
			files.Name, notes.Name = "files", "notes"
			passes := []orphans.Pass{files, notes}
			var f *enginetest.Function
			call := func() *report.Report { return f.Run(t, "") }
			if shards == 0 {
				f = newFunction(t, passes...)
			} else {
				f = inShards(t, shards, passes...)
				call = func() *report.Report { return run(t, f) }
			}
			f.Job.Settings = orphans.Settings(passes...)
			f.Env["MAX_OWNERS"] = "1000"
			f.SetMany(t, 2000, func(i int) (string, map[string]any) { return fmt.Sprintf("books/b%04d", i), map[string]any{"n": 1} })
			tonight := func() {
				setNotes(t, f, map[string]any{"notes/1": "a", "notes/2": "b0500x", "notes/3": "b1500x", "notes/4": "b1990x", "notes/5": "z",
					"notes/of-b": "b0001"})
				f.PutMany(t, 2000*min(shards, 1), func(i int) (string, map[string]string) {
					return fmt.Sprintf("files/%04d.png", i), map[string]string{"is": "kept"}
				})
				put(t, f, "nobody's", "files/u/a.png")
				f.Now = f.Now.Add(24 * time.Hour)
			}
			const left = "left for the next runs: one looks for notes of 1000 books at most (MAX_OWNERS)"
			for night, want := range []struct{ notes, left int }{{2, 1040}, {1, 80}, {2, 0}, {2, 1040}} {
				tonight()
				if shards == 0 {
					f.Run(t, `{"dryRun":true}`)
				}
				got := call()
				enginetest.WantReport(t, got, report.Completed,
					map[string]report.Counts{deleteFile: {Planned: 1, Done: 1}, deleteNote: {Planned: want.notes, Done: want.notes}})
				enginetest.Want(t, fmt.Sprint("left in night ", night), want.left, got.Kept[left])
				enginetest.Want(t, "shards", shards > 0, len(got.Shards) > 0)
				if got.Usage.FirestoreReads > 1100 {
					t.Errorf("night %d: %d reads", night, got.Usage.FirestoreReads)
				}
			}
		})
	}
}
