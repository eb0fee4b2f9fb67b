package page

import (
	"context"
	"errors"

	"github.com/firesweep/firesweep/scripts/firesweep/advice"
	"github.com/firesweep/firesweep/scripts/firesweep/done"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
)

// maxListed is how many items, and how many changes, are shown of a run.
const maxListed = 500

// did is what a run did, as its undo log says.
type did struct {
	Kept    bool         `json:"kept"` // there is an undo log; without one, the run did nothing or UNDO_DAYS is 0
	Items   []done.Item  `json:"items"`
	Changes []done.Thing `json:"changes"`
	More    bool         `json:"more,omitempty"` // there are more than listed
}

// did answers with what a run did.
func (s *server) did(ctx context.Context, q struct{ Run string }) (d did, err error) {
	job := jobOf(q.Run)
	err = s.on(ctx, job, inFirestore, func(p restore.Project) error {
		bucket := config.For(job, s.Getenv)("STORAGE_BUCKET")
		log, err := done.Of(ctx, p, q.Run, done.Wanted{Bucket: bucket, Most: maxListed})
		d = did{
			Kept: err == nil, Items: log.Items, Changes: log.Things,
			More: log.ItemsTotal > len(log.Items) || log.ThingsTotal > len(log.Things),
		}
		return err
	})
	if errors.Is(err, restore.ErrNoLog) {
		return d, nil
	}
	return d, err
}

// advised is advice about a report.
type advised struct {
	Next     string   `json:"next"`
	Failures []string `json:"failures"` // for each failure; empty if the failure's own text says it all
}

// advice answers with what to do about a function's report, or about the error that the function answered instead.
func (s *server) advice(_ context.Context, q struct {
	Job      string
	Status   report.Status
	Stopped  bool
	Force    bool
	Lift     []string
	Failures []string
}) (advised, error) {
	a := advised{Failures: []string{}}
	r := &report.Report{Job: q.Job, Status: q.Status, Stopped: q.Stopped, Force: q.Force, Lift: q.Lift}
	for _, text := range q.Failures {
		r.Failures = append(r.Failures, report.Failure{Error: text})
		a.Failures = append(a.Failures, advice.Local(advice.On(text)))
	}
	if q.Status != "" {
		a.Next = advice.Next(r)
		if do, command := advice.Tripped(r); do != "" {
			a.Next += " " + do + " " + command
		}
		a.Next = advice.Local(a.Next)
	}
	return a, nil
}
