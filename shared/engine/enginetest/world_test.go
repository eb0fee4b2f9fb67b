package enginetest_test

import (
	"context"
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
)

// spy is a test that records whether it failed.
type spy struct {
	*testing.T
	failed bool
}

func (s *spy) Errorf(string, ...any) { s.failed = true }

func (s *spy) Helper() {}

func TestWorld(t *testing.T) {
	job := cleanup.Job{Name: "testJob", Plan: func(context.Context, *cleanup.Planner) error { return nil }}
	f := enginetest.New(t, engine.NewFunction(job, time.Minute, []config.Backend{config.Firestore, config.Storage}))
	before := enginetest.World{"boxes/a": {"n": int64(1), "m": "x"}, "boxes/b": {"n": int64(2)}, "boxes/gone/things/x": {"n": int64(3)}}
	before.Write(t, f)
	f.Put(t, "posts/b", nil, nil)
	f.Put(t, "posts/a", nil, nil)
	f.Run(t, "") // writes the records of the job and the run
	before.Is(t, f, "posts/b", "posts/a")

	changes := enginetest.World{"boxes/b": nil, "boxes/c": {"n": int64(4)}}
	after := before.With(changes)
	differ := func(name string, w enginetest.World, objects ...string) {
		t.Helper()
		s := &spy{T: t}
		if w.Is(s, f, objects...); !s.failed {
			t.Errorf("%s: no difference", name)
		}
	}
	differ("documents written and deleted", after, "posts/a", "posts/b")
	differ("another object", before, "posts/a")
	changes.Write(t, f)
	after.Is(t, f, "posts/a", "posts/b")
	differ("a field", after.Changed("boxes/a", map[string]any{"m": nil, "n": int64(5)}), "posts/a", "posts/b")
	f.Set(t, "cleanupJobs/testJob/cleanupTodo/x", map[string]any{})
	differ("a Todo", after, "posts/a", "posts/b")
}
