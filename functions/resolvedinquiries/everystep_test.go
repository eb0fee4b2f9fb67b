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
	"github.com/firesweep/firesweep/shared/sweep"
	"github.com/firesweep/firesweep/shared/sweep/sweeptest"
)

var (
	lastYear   = time.Date(2025, 6, 1, 0, 0, 0, 0, time.UTC)
	oldArchive = map[string]any{"archivedAt": lastYear, "subject": "last year's"}
)

// moved is where the archive that was there goes.
const moved = "archivedInquiries/i1/earlier/2025-06-01T00:00:00Z"

// world is inquiry i1 with messages, images and perhaps an archive that has messages too.
type world struct {
	*sweeptest.Function
	messages map[string]map[string]any // that there must be
	archive  bool
	reopened bool

	commits atomic.Int64 // that took effect
	dead    atomic.Bool  // no more of them do
}

func newWorld(t *testing.T, messages int, archive bool) *world {
	t.Helper()
	f := sweeptest.New(t, functions.New(jobWith(8<<10)))
	f.Now = now
	f.Clock = func() time.Time { return now }
	w := &world{Function: f, messages: map[string]map[string]any{}, archive: archive}
	f.Set(t, "inquiries/i1", inquiry(8*day))
	for i := range messages {
		name := fmt.Sprintf("inquiries/%d.png", i/2) // two messages share one
		m := withImage(message(i), "gs://"+f.Bucket+"/"+name)
		m["content"] = strings.Repeat("long ", 500)
		w.set(t, fmt.Sprintf("m%d", i), m)
		f.Put(t, name, nil, nil)
	}
	f.Put(t, "inquiries/other.png", nil, nil)
	if archive {
		f.Set(t, "archivedInquiries/i1", oldArchive)
		for i := range 3 {
			f.Set(t, fmt.Sprintf("archivedInquiries/i1/messages/m%d", i), map[string]any{"content": strings.Repeat("old ", 2000)})
		}
	}
	return w
}

func (w *world) set(t *testing.T, id string, m map[string]any) {
	t.Helper()
	w.messages[id] = m
	w.Set(t, "inquiries/i1/messages/"+id, m)
}

// reopen reopens the inquiry if it is there.
func (w *world) reopen(t *testing.T) {
	_, err := w.Firestore(t).Doc("inquiries/i1").Update(context.Background(), []firestore.Update{{Path: "status", Value: "open"}})
	w.reopened = err == nil
	if err != nil && status.Code(err) != codes.NotFound {
		t.Error(err)
	}
}

// write changes a message and adds one before and one behind all.
func (w *world) write(t *testing.T) {
	w.set(t, "m0", withImage(message(7), w.messages["m0"]["imageUrl"]))
	w.set(t, "a", message(8))
	w.set(t, "z", message(9))
}

// check makes sure that nothing is lost, and that all is at one of the places where it may be.
func (w *world) check(t *testing.T) {
	t.Helper()
	at := w.Documents(t, "inquiries/i1/messages")
	archive, copies := w.Documents(t, "archivedInquiries")["i1"], w.Documents(t, "archivedInquiries/i1/messages")
	inPlace, movedThere := copies, w.Documents(t, moved+"/messages")
	if w.reopened {
		sweeptest.Want(t, "messages of the inquiry", w.messages, at)
		wantIDs(t, w.Function, "inquiries", "i1")
		if len(w.Objects(t)) != 1+(len(w.messages)+1)/2 {
			t.Errorf("objects %v", w.Objects(t))
		}
		if !w.archive {
			sweeptest.Want(t, "archive", map[string]any(nil), archive)
			wantIDs(t, w.Function, "archivedInquiries/i1/messages")
		}
	} else {
		everything := fmt.Sprint(archive["messages"], copies, at)
		for id, m := range w.messages {
			if !strings.Contains(everything, fmt.Sprint(m)) {
				t.Errorf("message %s is lost", id)
			}
		}
		wantIDs(t, w.Function, "inquiries")
		sweeptest.Want(t, "objects", []string{"inquiries/other.png"}, w.Objects(t))
		sweeptest.Want(t, "archivedAt", any(now), archive["archivedAt"])
		archive, inPlace, movedThere = w.Documents(t, path.Dir(moved))[path.Base(moved)], movedThere, nil
	}
	if w.archive {
		sweeptest.Want(t, "the archive that was there", oldArchive, archive)
		sweeptest.Want(t, "its messages", []string{"m0", "m1", "m2"}, ids(inPlace))
		sweeptest.Want(t, "its messages elsewhere", 0, len(movedThere))
	}
	wantNothingBegun(t, w.Function)
}

// interrupt acts once the n-th commit took effect. A run that is killed by it commits nothing more.
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

// TestAtEveryStep kills a run after each of its commits, and has users do something then: whether the run is killed or not, the
// next one ends with all that there must be.
func TestAtEveryStep(t *testing.T) {
	acts := map[string]func(*world, *testing.T){
		"nothing": func(*world, *testing.T) {}, "reopened": (*world).reopen, "written to": (*world).write,
	}
	for name, tt := range map[string]struct {
		messages int
		archive  bool
	}{"in one document": {2, false}, "in parts": {5, false}, "in one beside an archive": {2, true}, "in parts beside an archive": {5, true}} {
		t.Run(name, func(t *testing.T) {
			undisturbed := newWorld(t, tt.messages, tt.archive)
			undisturbed.interrupt(0, false, nil)
			sweeptest.WantReport(t, undisturbed.Run(t, ""), sweep.Completed, archivedOnce)
			undisturbed.check(t)
			for n := range undisturbed.commits.Load() {
				for what, act := range acts {
					for _, kill := range []bool{true, false} {
						if !kill && what == "nothing" {
							continue
						}
						t.Run(fmt.Sprintf("%d,%s,killed=%v", n+1, what, kill), func(t *testing.T) {
							t.Parallel()
							w := newWorld(t, tt.messages, tt.archive)
							w.interrupt(n+1, kill, func() { act(w, t) })
							w.Run(t, "")
							if w.commits.Load() <= n {
								t.Fatal("the run wrote less")
							}
							w.dead.Store(false)
							w.Clock = func() time.Time { return now.Add(w.Timeout + time.Hour) } // when the lease of a dead run is over
							if got := w.Run(t, ""); got.Status != sweep.Completed {
								t.Errorf("the run after: %s %+v", got.Status, got.Failures)
							}
							w.check(t)
						})
					}
				}
			}
		})
	}
}
