package enginetest

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/firesweep/firesweep/shared/backends"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents/wire"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
)

// Restorer returns what undoes runs on the function's project, when clock says that it is; nil: now.
func (f *Function) Restorer(t testing.TB, clock func() time.Time) restore.Project {
	t.Helper()
	p := OpenRestorer(t, backends.Hooks{}, f.Getenv, clock, config.Firestore, config.Storage, config.Auth)
	p.Jobs = map[string]cleanup.Job{f.Job.Name: f.Job}
	return p
}

// OpenRestorer returns what undoes runs, with the permissions of an operator who may use these backends, when clock says that
// it is; nil: now.
func OpenRestorer(t testing.TB, hooks backends.Hooks, getenv func(string) string, clock func() time.Time,
	uses ...config.Backend) restore.Project {
	t.Helper()
	c, err := config.Load(getenv, nil, uses...)
	if err != nil {
		t.Fatal(err)
	}
	if clock == nil {
		clock = time.Now
	} else {
		hooks.Dial = append(hooks.Dial, AtTime(clock)...)
	}
	p, closeAll, err := restore.Open(t.Context(), hooks, c, uses, clock, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := closeAll(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// AtTime returns dial options by which Firestore reads when clock says that it is. By that, and not by its own clock, an undo
// judges whether a lease has ended.
func AtTime(clock func() time.Time) []grpc.DialOption {
	return wire.After(func(_ string, answer any, err error) error {
		switch a := answer.(type) {
		case *firestorepb.BatchGetDocumentsResponse:
			a.ReadTime = timestamppb.New(clock())
		case *firestorepb.RunQueryResponse:
			a.ReadTime = timestamppb.New(clock())
		}
		return err
	})
}

// LoggedRuns returns the ids of all runs that can be undone, the latest first, so a worker's before its job's. It finds them
// by their undo logs: a run that was killed has no other record.
func LoggedRuns(t testing.TB, db *firestore.Client) []string {
	t.Helper()
	entries, err := db.CollectionGroup(collections.Undo).Select().Documents(t.Context()).GetAll()
	if err != nil {
		t.Fatal(err)
	}
	began := map[string]time.Time{}
	for _, e := range entries {
		id := e.Ref.Parent.Parent.ID
		if at, known := began[id]; !known || e.CreateTime.Before(at) {
			began[id] = e.CreateTime
		}
	}
	return slices.SortedFunc(maps.Keys(began), func(a, b string) int {
		return cmp.Or(began[b].Compare(began[a]), strings.Compare(a, b))
	})
}

// WasSent reports whether a thing was sent to somebody, as a notification is.
func WasSent(name string) bool {
	return slices.ContainsFunc([]string{"notifications/", "mail/", "audit_events/", "task "}, func(p string) bool {
		return strings.HasPrefix(name, p) || strings.Contains(name, "/"+p)
	})
}
