package load_test

import (
	"encoding/json"
	"errors"
	"flag"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"cloud.google.com/go/firestore"
	"golang.org/x/sync/errgroup"

	_ "github.com/firesweep/firesweep" // registers all functions: an undo asks what a job's runs can have done
	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/emulator/each"
	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
)

var shardKills = flag.Int("shard-kills", 6, "how many processes are killed while they do a shard, at most: some end before")

// processes is how many do the shards, and how many shards there are.
const processes = 8

// TestShards runs the job in shards, on processes of their own that are called by Cloud Tasks: undisturbed, and once more while
// processes are killed, the one that splits among them. Each time all that it did is taken back.
func TestShards(t *testing.T) {
	besideOthers(t, *objectCount == 100*smallest)
	w := world{Project: backendstest.Start(t), units: *objectCount / 100}
	if !w.EmbeddedFirestore() || !w.EmbeddedStorage() || w.Tasks() == nil {
		t.Skip("objects come back from the embedded Storage alone, and only the embedded Cloud Tasks can be told to deliver")
	}
	w.load(t)
	before := w.content(t)
	maps.Copy(w.Environment, map[string]string{
		"SHARDS": strconv.Itoa(
			processes), "CONTINUE_FOR": "6h", "CONTINUE_QUEUE": "continue", "UNDO_DAYS": "7", "TIMEOUT_SECONDS": "120",
		// Of what one shard has to itself, all may be missing: the ids without a document lie together.
		"MAX_MISSING_PERCENT": "100", "MAX_DUE_PERCENT": "100",
	})
	s := &sharded{world: w, balancer: newBalancer(t, processes, w.Environment),
		now: time.Now().Add(48 * time.Hour).UTC().Truncate(time.Second)}

	s.finish(t)
	s.wantDone(t)
	if n := len(s.reports(t)); n != 1 {
		t.Errorf("%d reports are saved, want that of the whole", n)
	}
	whole := s.last(t)
	logRun(t, "undisturbed, in shards", whole)
	s.wantWhole(t, whole)
	s.takeBack(t, before)

	s.body = asRestored // which the shards take from the run that was split
	for s.struck == 0 { // a process that is quick ends before it is killed
		s.kills = *shardKills
		s.splitAndDie(t)
		s.finish(t)
		t.Logf("killed: the process that split, and %d others in the middle of a shard; %d runs were split", s.struck,
			len(s.reports(t))-1)
		s.wantDone(t)
		s.wantNothingLeft(t)
		s.takeBack(t, before)
	}
}

// sharded is a world on which processes behind a balancer work.
type sharded struct {
	world
	*balancer
	now   time.Time     // of the next scheduled run
	body  string        // that it is called with
	hours time.Duration // that have gone by for Cloud Tasks
}

// schedule calls the function as Cloud Scheduler does, for a time a second after the last. The report is nil if the process was
// killed.
func (s *sharded) schedule(t *testing.T) *report.Report {
	t.Helper()
	s.now = s.now.Add(time.Second)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url, strings.NewReader(s.body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-CloudScheduler-ScheduleTime", s.now.Format(time.RFC3339))
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close() // it has been read
	if err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode == http.StatusBadGateway {
		return nil
	}
	var rep report.Report
	if err := json.Unmarshal(text, &rep); err != nil || rep.RunID == "" {
		t.Fatalf("%d %s: not a report", answer.StatusCode, text)
	}
	return &rep
}

// splitAndDie has a run split, whose process is killed when it has made two of its tasks.
func (s *sharded) splitAndDie(t *testing.T) {
	t.Helper()
	made := 0
	s.Tasks().FailCreates(func(*cloudtaskspb.Task) error {
		if made++; made <= 2 {
			return nil
		}
		s.killAlone()
		return errors.New("whoever asks is dead")
	})
	if report := s.schedule(t); report != nil {
		t.Fatalf("the process that splits was to be killed: %s", report.Status)
	}
	s.Tasks().FailCreates(nil)
	if n := len(s.Tasks().Pending("")); n != 2 {
		t.Fatalf("%d tasks, want the two that were made", n)
	}
}

// mostRounds is how often tasks that fail are tried again, or the job is run once more.
const mostRounds = 30

// finish runs the job, and delivers the tasks, until a run has completed and nothing is under way. A process that was killed
// leaves a lease. Its task comes again when that has expired, as it does by the queue's shortest backoff (terraform/tasks.tf): so
// time goes by only when no request is under way.
func (s *sharded) finish(t *testing.T) {
	t.Helper()
	for range mostRounds {
		s.deliver(t)
		s.expire(t)
		s.hours++
		if len(s.Tasks().Pending("")) > 0 {
			continue
		}
		if last := s.last(t); last != nil && last.Status == report.Completed && last.Now.Equal(s.now) {
			return
		}
		if rep := s.schedule(t); rep != nil && rep.Status != report.Partial && rep.Status != report.Skipped {
			t.Fatalf("a scheduled run, which is to split: %s, failures %v", rep.Status, rep.Failures)
		}
	}
	t.Fatalf("after %d rounds there still is something to do: %+v", mostRounds, s.last(t))
}

// deliver delivers the tasks that are due, as many at once as there are processes. Those that fail come again later.
func (s *sharded) deliver(t *testing.T) {
	t.Helper()
	until := time.Now().Add(s.hours * time.Hour)
	var places errgroup.Group
	for range processes {
		places.Go(func() error {
			_, _ = s.Tasks().Deliver(t.Context(), until) // what fails is pending
			return nil
		})
	}
	_ = places.Wait() // none returns one
}

// expire puts the end of all leases into the past, which is to have waited.
func (s *sharded) expire(t *testing.T) {
	t.Helper()
	ref := s.Firestore(t).Doc("cleanupJobs/" + job)
	d, err := ref.Get(t.Context())
	if err != nil {
		return // nobody has begun
	}
	ranges := d.Data()["ranges"].([]any)
	for _, one := range ranges {
		if one := one.(map[string]any); one["holder"] != "" {
			one["until"] = time.Now().Add(-time.Second)
		}
	}
	ends := []firestore.Update{{Path: "ranges", Value: ranges}}
	if _, err := ref.Update(t.Context(), ends, firestore.LastUpdateTime(d.UpdateTime)); err != nil {
		t.Fatalf("expire the leases, while nobody is at work: %v", err)
	}
}

// reports returns the reports that are saved, by when their runs began.
func (s *sharded) reports(t *testing.T) (all []*report.Report) {
	t.Helper()
	for id, data := range s.Documents(t, "cleanupRuns") {
		rep, err := report.Of(documents.Document{Path: "cleanupRuns/" + id, Data: data})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, rep)
	}
	slices.SortFunc(all, func(a, b *report.Report) int { return a.StartedAt.Compare(b.StartedAt) })
	return all
}

func (s *sharded) last(t *testing.T) *report.Report {
	t.Helper()
	all := s.reports(t)
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1]
}

// wantWhole checks the figures of an undisturbed run. Files of posts that go are deleted with their post, or as those of a post
// that is gone, whichever shard comes first.
func (s *sharded) wantWhole(t *testing.T, whole *report.Report) {
	t.Helper()
	_, posts := s.deletions()
	least := s.perPost()*s.posts()/10 + s.units
	for kind, most := range map[string]int{
		"delete post media":           least + s.perPost()*posts,
		"delete circle image":         perCircle * s.circles() / 10,
		"delete task attachment":      s.units / 2,
		"delete orphaned circle post": posts,
	} {
		n := most
		if kind == "delete post media" {
			n = least
		}
		c := whole.Actions[kind]
		if c.Done < n || c.Done+c.Changed > most {
			t.Errorf("%s: %+v, want from %d to %d", kind, c, n, most)
		}
		if c.Planned != c.Done+c.Changed || c.Failed > 0 {
			t.Errorf("%s: %+v, want all that was planned done or changed, and nothing failed", kind, c)
		}
	}
	if n := len(whole.Shards); n < 2 || n > processes {
		t.Errorf("%d shards, want from 2 to %d", n, processes)
	}
	if whole.Continued {
		t.Error("the whole goes on")
	}
	for i, shard := range whole.Shards {
		if shard.Status != report.Completed {
			t.Errorf("shard %d: %s, want completed", i, shard.Status)
		}
		if !shard.Through || shard.Left {
			t.Errorf("shard %d: %+v, want it through, and not left", i, shard)
		}
	}
}

// wantNothingLeft has the next run find nothing to do.
func (s *sharded) wantNothingLeft(t *testing.T) {
	t.Helper()
	s.schedule(t)
	s.finish(t)
	if last := s.last(t); len(last.Actions) > 0 || last.Status != report.Completed {
		t.Errorf("the next run: %s, %v", last.Status, last.Actions)
	}
}

// content is what can be deleted.
type content struct {
	objects map[string]map[string]string // metadata by name
	posts   map[string]map[string]any
}

func (w world) content(t *testing.T) content {
	t.Helper()
	c := content{objects: map[string]map[string]string{}, posts: w.Documents(t, "posts")}
	for o, err := range each.Of(w.Storage(t).Bucket(w.Bucket).Objects(t.Context(), nil)) {
		if err != nil {
			t.Fatal(err)
		}
		c.objects[o.Name] = o.Metadata
	}
	return c
}

// takeBack takes all runs back, the last first, and releases what came back.
func (s *sharded) takeBack(t *testing.T, before content) {
	t.Helper()
	getenv := func(name string) string { return s.Environment[name] }
	p := enginetest.OpenRestorer(t, restore.Hooks{}, getenv, nil, config.Firestore, config.Storage)
	p.Jobs = functions.Registered()
	for _, id := range enginetest.LoggedRuns(t, s.Firestore(t)) {
		err := p.Undo(t.Context(), id, restore.Options{Apply: true, WithoutReport: true}, func(o restore.Outcome) error {
			if o.Step == undo.Conflict || o.Step == undo.Lost {
				t.Errorf("%s: %s, says the undo, and nobody has", o.Target, o.Why)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	after := s.content(t)
	enginetest.Want(t, "objects, taken back", before.objects, after.objects)
	enginetest.Want(t, "posts, taken back", before.posts, after.posts)
	if _, err := p.Release(t.Context(), job); err != nil {
		t.Fatal(err)
	}
}
