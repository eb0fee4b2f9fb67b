package page

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/firestore"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/jobstate"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
	"github.com/firesweep/firesweep/shared/manifest"
)

// overview is what the first page shows.
type overview struct {
	Project string `json:"project"`
	Ahead   int    `json:"ahead"` // seconds that the page plans ahead, unless the user chooses another now
	// SoftDelete says whether Storage keeps deleted files. The Firebase Emulator Suite's does not.
	SoftDelete bool  `json:"softDelete"`
	Jobs       []job `json:"jobs"`
}

// job is a job or a worker.
type job struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Rule        string   `json:"rule,omitempty"`  // of a declared rule, in words
	Yours       bool     `json:"yours,omitempty"` // it is in functions/rules.json
	When        string   `json:"when,omitempty"`  // in words, with the time zone
	Schedule    string   `json:"schedule,omitempty"`
	Worker      string   `json:"worker,omitempty"`
	CalledBy    []string `json:"calledBy,omitempty"` // of a worker: the jobs whose tasks it does
	Uses        []string `json:"uses"`

	Database string    `json:"database,omitempty"`
	Problem  string    `json:"problem,omitempty"` // why its runs are not known
	UnderWay string    `json:"underWay,omitempty"`
	Last     *reported `json:"last,omitempty"`    // its last run
	Pinned   bool      `json:"pinned,omitempty"`  // what came back by undoing its runs is pinned
	UndoDays int       `json:"undoDays"`          // for how long a run can be taken back
	Waiting  *int      `json:"waiting,omitempty"` // of a worker: tasks that are not done; nil: not known
}

// reported is a run's report, with what to do next.
type reported struct {
	*report.Report
	Next string `json:"next,omitempty"`
}

func reportedOf(r *report.Report) *reported {
	if r == nil {
		return nil
	}
	return &reported{r, ""}
}

// jobs answers with all jobs and workers.
func (s *server) jobs(ctx context.Context, _ struct{}) (overview, error) {
	o := overview{
		Project: s.Getenv("GOOGLE_CLOUD_PROJECT"), Ahead: int(s.Ahead / time.Second), SoftDelete: s.Backends.Storage() != nil,
	}
	list, err := functions.With(functions.Rules())
	if err != nil {
		return o, err
	}
	for i, e := range list.All {
		j := job{
			Name: e.Name, Description: e.Description, Schedule: e.Schedule, Worker: e.Worker, Uses: []string{},
			Yours: i >= len(list.All)-len(list.Own),
		}
		if e.Rule != nil {
			j.Rule = e.Words()
		}
		for _, backend := range e.Uses() {
			j.Uses = append(j.Uses, string(backend))
		}
		if e.Trigger == manifest.Schedule {
			j.When = e.When()
		} else {
			for _, caller := range list.All {
				if caller.Worker == e.Name {
					j.CalledBy = append(j.CalledBy, caller.Name)
				}
			}
			j.Waiting = s.waiting(e.Name)
		}
		s.record(ctx, e, &j)
		o.Jobs = append(o.Jobs, j)
	}
	return o, nil
}

// waiting returns how many tasks of a worker are not done; nil if Cloud Tasks is not the embedded one.
func (s *server) waiting(worker string) *int {
	if s.Backends.Tasks() == nil {
		return nil
	}
	n := 0
	for _, task := range s.Backends.Tasks().Pending("") {
		if strings.HasSuffix(task.GetHttpRequest().GetUrl(), "/"+worker) {
			n++
		}
	}
	return &n
}

// record adds what the job's record, cleanupJobs/{job}, says.
func (s *server) record(ctx context.Context, e manifest.Entry, j *job) {
	cfg, err := s.settings(e, config.Firestore)
	if err != nil {
		j.Problem = err.Error()
		return
	}
	j.Database, j.UndoDays = cfg.Database, cfg.UndoDays
	err = s.on(ctx, e.Name, inFirestore, func(p restore.Project) error {
		record, _, err := p.DB.Get(ctx, collections.Jobs+"/"+j.Name)
		if err != nil {
			return err
		}
		state, err := jobstate.Of(cfg, j.Name, record)
		if err != nil {
			j.Problem = err.Error()
		}
		j.Last, j.UnderWay = reportedOf(state.Last), state.Leased(time.Now())
		pinned, err := p.Pinned(ctx)
		j.Pinned = slices.ContainsFunc(pinned, func(one undo.Pinned) bool { return strings.HasPrefix(one.RunID, j.Name+"-") })
		return err
	})
	if err != nil {
		j.Problem = err.Error()
	}
}

// Limits of the list of runs.
const (
	maxRuns   = 20
	maxRunIDs = 20_000 // how many ids of reports are read: more than a job that runs every ten minutes has in 90 days
)

// run is a run of a job or worker. A worker's run has no report.
type run struct {
	RunID  string    `json:"runId"`
	Report *reported `json:"report,omitempty"`
}

// runs answers with the last runs of a job or worker, newest first. Previews save nothing.
func (s *server) runs(ctx context.Context, q struct{ Job string }) ([]run, error) {
	found := []run{}
	err := s.on(ctx, q.Job, inFirestore, func(p restore.Project) error {
		ids, err := p.Logged(ctx) // also of runs with nothing but an undo log
		if err != nil {
			return err
		}
		ids = slices.DeleteFunc(ids, func(id string) bool { return !strings.HasPrefix(id, q.Job+"-") })
		reported, err := p.DB.First(ctx, documents.Query{
			Collection: collections.Runs, OrderBy: []string{firestore.DocumentID}, Select: documents.NameOnly,
			From: []any{q.Job + "-"}, Until: []any{q.Job + "."}, // which is next to a hyphen
		}, "", maxRunIDs)
		if err != nil {
			return err
		}
		for _, d := range reported {
			ids = append(ids, d.ID())
		}
		slices.SortFunc(ids, func(a, b string) int { return strings.Compare(b, a) }) // in an id, the time follows the name
		ids = slices.Compact(ids)
		ids = ids[:min(len(ids), maxRuns)]
		var paths []string
		for _, id := range ids {
			paths = append(paths, collections.Runs+"/"+id)
		}
		docs, err := p.DB.GetAll(ctx, paths)
		if err != nil {
			return err
		}
		for i, id := range ids {
			one := run{RunID: id}
			if d, exists := docs[paths[i]]; exists {
				rep, err := report.Of(d)
				if err != nil {
					return err
				}
				one.Report = reportedOf(rep)
			}
			found = append(found, one)
		}
		return nil
	})
	return found, err
}

// entry returns the job or worker of a name.
func entry(name string) (manifest.Entry, error) {
	all := functions.All()
	i := slices.IndexFunc(all, func(e manifest.Entry) bool { return e.Name == name })
	if i < 0 {
		return manifest.Entry{}, fmt.Errorf("there is no function %q", name)
	}
	return all[i], nil
}

// settings reads the settings of a function that uses the given backends.
func (s *server) settings(e manifest.Entry, uses ...config.Backend) (config.Config, error) {
	cfg, err := config.Load(config.For(e.Name, s.Getenv), functions.Registered()[e.Name].Settings, uses...)
	if err != nil {
		return config.Config{}, fmt.Errorf("%s: %w", e.Name, err)
	}
	return cfg, nil
}

// jobOf returns the function of a run's id.
func jobOf(runID string) string {
	job, _, _ := strings.Cut(runID, "-")
	return job
}

// inFirestore are the backends where what is known of runs is.
var inFirestore = []config.Backend{config.Firestore}

// on opens those backends of a job or worker that uses names, nil: all that it uses, calls f, and closes them.
func (s *server) on(ctx context.Context, job string, uses []config.Backend, f func(restore.Project) error) error {
	e, err := entry(job)
	if err != nil {
		return err
	}
	if uses == nil {
		uses = e.Uses()
	}
	cfg, err := s.settings(e, uses...)
	if err != nil {
		return err
	}
	p, closeAll, err := restore.Hooks{}.Open(ctx, cfg, uses, time.Now)
	if err != nil {
		return err
	}
	p.Jobs = functions.Registered()
	return errors.Join(f(p), closeAll())
}
