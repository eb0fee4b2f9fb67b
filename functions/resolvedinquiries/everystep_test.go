package resolvedinquiries

import (
	"context"
	"fmt"
	"path"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
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
	reopened bool

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

// reopen reopens the inquiry if it is there.
func (w *world) reopen(t *testing.T) {
	_, err := w.Firestore(t).Doc("inquiries/i1").Update(context.Background(), []firestore.Update{{Path: "status", Value: "open"}})
	w.reopened = err == nil
	if err != nil && status.Code(err) != codes.NotFound {
		t.Error(err)
	}
}

// write changes a message, and adds one before all others and one behind them.
func (w *world) write(t *testing.T) {
	changed := enginetest.World{}
	for id, m := range map[string]map[string]any{"m0": withImage(message(7), w.messages["m0"]["imageUrl"]), "a": message(8),
		"z": message(9)} {
		w.messages[id], changed["inquiries/i1/messages/"+id] = m, m
	}
	changed.Write(t, w.Function)
}

// check makes sure that nothing is lost, and that everything is at one of its possible places.
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
	if w.reopened {
		enginetest.Want(t, "messages of the inquiry", w.messages, at)
		enginetest.Want(t, "inquiries", []string{"i1"}, ids(in["inquiries"]))
		if objects := w.Objects(t); len(objects) != 1+(len(w.messages)+1)/2 {
			t.Errorf("objects %v", objects)
		}
	} else {
		everything := fmt.Sprint(archive["messages"], at)
		for id, m := range w.messages {
			if !strings.Contains(everything, fmt.Sprint(m)) {
				t.Errorf("message %s is lost", id)
			}
		}
		enginetest.Want(t, "inquiries", 0, len(in["inquiries"]))
		enginetest.Want(t, "objects", []string{"inquiries/other.png"}, w.Objects(t))
		enginetest.Want(t, "archivedAt", any(now), archive["archivedAt"])
		archive = in[path.Dir(moved)][path.Base(moved)]
	}
	enginetest.Want(t, "the archive that was there", oldArchive, archive)
	for collection, left := range in {
		if collection != collections.Jobs && strings.HasPrefix(collection, collections.Jobs+"/") {
			t.Errorf("a run has left %s/%v", collection, ids(left))
		}
	}
}

// interrupt calls act when the n-th commit took effect. If that kills the run, it commits nothing more.
func (w *world) interrupt(n int64, kill bool, act func()) {
	w.OnCommit(func(_ int, _ *firestorepb.CommitRequest, send func() error) error {
		if w.dead.Load() {
			return status.Error(codes.PermissionDenied, "the process is dead")
		}
		err := send()
		if err == nil && w.commits.Add(1) == n {
			w.dead.Store(kill)
			act()
		}
		return err
	})
}

// TestAtEveryStep lets users do something after each commit of a run that archives beside an archive, and kills it at every other.
// The next run ends with everything that must exist. What a kill alone comes to, emulator/reliability tries.
func TestAtEveryStep(t *testing.T) {
	undisturbed := newWorld(t)
	undisturbed.interrupt(0, false, nil)
	enginetest.WantReport(t, undisturbed.Run(t, ""), report.Completed, archivedOnce)
	undisturbed.check(t)
	for n := range undisturbed.commits.Load() {
		for i, act := range []func(*world, *testing.T){(*world).reopen, (*world).write} {
			kill := (int(n)+i)%2 == 0
			t.Run(fmt.Sprintf("%d,%s,killed=%v", n+1, []string{"reopened", "written to"}[i], kill), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.interrupt(n+1, kill, func() { act(w, t) })
				w.Run(t, "")
				if w.commits.Load() <= n {
					t.Fatal("the run wrote less")
				}
				w.dead.Store(false)
				w.Clock = func() time.Time { return now.Add(w.Timeout + time.Hour) } // when the lease of a dead run has expired
				if got := w.Run(t, ""); got.Status != report.Completed {
					t.Errorf("the run after: %s %+v", got.Status, got.Failures)
				}
				w.check(t)
			})
		}
	}
}
