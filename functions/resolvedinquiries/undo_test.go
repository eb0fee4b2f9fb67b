package resolvedinquiries

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents/wire"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
)

var (
	lastYear   = time.Date(2025, 6, 1, 0, 0, 0, 0, time.UTC)
	oldArchive = map[string]any{"archivedAt": lastYear, "subject": "last year's"}
)

// moved is where an archive that exists already is moved.
const moved = "archivedInquiries/i1/earlier/2025-06-01T00:00:00Z"

// world is inquiry i1 with messages, images and an archive of before.
type world struct {
	*enginetest.Function
	messages map[string]map[string]any // the messages that must exist

	commits atomic.Int64 // how many took effect
	dead    atomic.Bool  // the run is killed: no more commits take effect
}

func newWorld(t *testing.T) *world {
	t.Helper()
	f := enginetest.New(t, functions.New(Job))
	f.Now = now
	f.Clock = func() time.Time { return now }
	w := &world{Function: f, messages: map[string]map[string]any{}}
	there := enginetest.World{"inquiries/i1": inquiry(8 * day)}
	for i := range 5 {
		name := fmt.Sprintf("inquiries/%d.png", i/2) // two messages share one
		m := withImage(message(i), "gs://"+f.Bucket+"/"+name)
		m["content"] = strings.Repeat("long ", 500)
		id := fmt.Sprintf("m%d", i)
		w.messages[id], there["inquiries/i1/messages/"+id] = m, m
		f.Put(t, name, nil, nil)
	}
	f.Put(t, "inquiries/other.png", nil, nil)
	there["archivedInquiries/i1"] = oldArchive
	there.Write(t, f)
	return w
}

// check makes sure that nothing is lost, and that everything is where it must be after the last run.
func (w *world) check(t *testing.T) {
	t.Helper()
	in := map[string]map[string]map[string]any{} // documents by collection and id
	for _, d := range w.All(t) {
		_, collection, _ := strings.Cut(d.Ref.Parent.Path, "/documents/")
		if in[collection] == nil {
			in[collection] = map[string]map[string]any{}
		}
		in[collection][d.Ref.ID] = d.Data()
	}
	at := in["inquiries/i1/messages"]
	archive := in["archivedInquiries"]["i1"]
	everything := fmt.Sprint(archive["messages"], at)
	for id, m := range w.messages {
		if !strings.Contains(everything, fmt.Sprint(m)) {
			t.Errorf("message %s is lost", id)
		}
	}
	enginetest.Want(t, "inquiries", 0, len(in["inquiries"]))
	enginetest.Want(t, "objects", []string{"inquiries/other.png"}, w.Objects(t))
	enginetest.Want(t, "archivedAt", any(now), archive["archivedAt"])
	enginetest.Want(t, "the archive that was there", oldArchive, in[path.Dir(moved)][path.Base(moved)])
	for collection, left := range in {
		if collection != collections.Jobs && strings.HasPrefix(collection, collections.Jobs+"/") {
			t.Errorf("a run has left %s/%v", collection, ids(left))
		}
	}
}

// interrupt kills the run when the n-th commit took effect: it commits nothing more.
func (w *world) interrupt(n int64) {
	w.OnCommit(func(_ int, _ *firestorepb.CommitRequest, send func() error) error {
		if w.dead.Load() {
			return status.Error(codes.PermissionDenied, "the process is dead")
		}
		err := send()
		if err == nil && w.commits.Add(1) == n {
			w.dead.Store(true)
		}
		return err
	})
}

// newUndoWorld is [newWorld] with an undo log.
func newUndoWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	enginetest.NeedsSoftDelete(t, w.Project, w.Uses...)
	w.Env["UNDO_DAYS"] = "7"
	return w
}

// takeBack undoes a run and returns what it left as it is.
func (w *world) takeBack(t *testing.T, runID string, hooks restore.Hooks) (left []string, err error) {
	t.Helper()
	p := enginetest.OpenRestorer(t, hooks, w.Getenv, w.Clock, config.Firestore, config.Storage)
	p.Jobs = map[string]cleanup.Job{Job.Name: Job}
	err = p.Undo(t.Context(), runID, restore.Options{Apply: true}, func(o restore.Outcome) error {
		if o.Step == undo.Conflict {
			left = append(left, o.Target)
		}
		return nil
	})
	return slices.Sorted(slices.Values(left)), err
}

// contents returns the application's documents.
func (w *world) contents(t *testing.T) map[string]any {
	t.Helper()
	all := map[string]any{}
	for _, d := range w.All(t) {
		if !strings.Contains(d.Ref.Path, "/cleanup") {
			all[d.Ref.Path] = d.Data()
		}
	}
	return all
}

// wantSomewhere makes sure that every message is in the application's data, and so is the archive that was there.
func (w *world) wantSomewhere(t *testing.T) {
	t.Helper()
	everything := ""
	for _, data := range w.contents(t) {
		everything += fmt.Sprintln(data)
	}
	for id, m := range w.messages {
		if !strings.Contains(everything, fmt.Sprint(m)) {
			t.Errorf("message %s is lost", id)
		}
	}
	if !strings.Contains(everything, "last year's") {
		t.Error("the archive that was there has lost something")
	}
}

// TestUndoOfAKilledRun: what a later run has archived stays whole, although the one that was killed had begun it.
func TestUndoOfAKilledRun(t *testing.T) {
	undisturbed := newWorld(t)
	undisturbed.interrupt(0)
	undisturbed.Run(t, "")
	for n := range undisturbed.commits.Load() {
		t.Run(fmt.Sprint(n+1), func(t *testing.T) {
			t.Parallel()
			w := newUndoWorld(t)
			before := w.contents(t)
			w.interrupt(n + 1)
			killed := w.Run(t, "")
			w.dead.Store(false)
			later := now.Add(w.Timeout + time.Hour)
			w.Clock = func() time.Time { return later }
			last := w.Run(t, "")
			w.check(t)
			_, err := w.takeBack(t, killed.RunID, restore.Hooks{})
			if err != nil && !errors.Is(err, restore.ErrNoLog) { // it had written nothing yet
				t.Error(err)
			}
			w.wantSomewhere(t)
			for _, run := range []string{last.RunID, killed.RunID} {
				if left, err := w.takeBack(t, run, restore.Hooks{}); err != nil && !errors.Is(err, restore.ErrNoLog) || len(left) > 0 {
					t.Error(run, left, err)
				}
			}
			enginetest.Want(t, "what there was", before, w.contents(t))
		})
	}
}

// TestUndoBesideAnEdit: of what cannot come back as it was, the copies stay, and with a document what was deleted with it.
func TestUndoBesideAnEdit(t *testing.T) {
	for edited, want := range map[string][]string{
		"archivedInquiries/i1":      {"archivedInquiries/i1", moved},
		"inquiries/i1":              {"all"},
		"inquiries/i1/messages/m1":  {"all"},
		"archivedInquiries/another": nil,
	} {
		t.Run(edited, func(t *testing.T) {
			t.Parallel()
			w := newUndoWorld(t)
			run := w.Run(t, "")
			archive := w.Documents(t, "archivedInquiries")["i1"]
			data := maps.Clone(archive)
			data["note"] = "by hand"
			w.Set(t, edited, data)
			after, objects := w.contents(t), w.Objects(t)
			left, err := w.takeBack(t, run.RunID, restore.Hooks{})
			if err != nil {
				t.Error(err)
			}
			if slices.Equal(want, []string{"all"}) {
				enginetest.Want(t, "contents", after, w.contents(t))
				enginetest.Want(t, "objects", objects, w.Objects(t))
				enginetest.Want(t, "left", 2+1+len(w.messages)+3, len(left)) // archives, the inquiry, its messages, their images
			} else {
				enginetest.Want(t, "left", slices.Sorted(slices.Values(want)), left)
			}
			w.wantSomewhere(t)
			if edited != "archivedInquiries/i1" && want != nil {
				enginetest.Want(t, "archive", archive, w.Documents(t, "archivedInquiries")["i1"])
			}
		})
	}
}

// TestUndoThatFails before the first message is back has removed no copy of any.
func TestUndoThatFails(t *testing.T) {
	w := newUndoWorld(t)
	run := w.Run(t, "")
	var hooks restore.Hooks
	hooks.Dial = wire.Before(func(_ context.Context, _ string, message any) error {
		if sent, ok := message.(*firestorepb.CommitRequest); ok && slices.ContainsFunc(sent.GetWrites(), func(w *firestorepb.Write) bool {
			return strings.Contains(w.GetUpdate().GetName(), "/documents/inquiries/")
		}) {
			return status.Error(codes.PermissionDenied, "the process is dead")
		}
		return nil
	})
	if _, err := w.takeBack(t, run.RunID, hooks); status.Code(err) != codes.PermissionDenied {
		t.Error(err)
	}
	w.wantSomewhere(t)
	if left, err := w.takeBack(t, run.RunID, restore.Hooks{}); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
	wantIDs(t, w.Function, "archivedInquiries/i1/earlier")
	wantIDs(t, w.Function, "inquiries/i1/messages", ids(w.messages)...)
}
