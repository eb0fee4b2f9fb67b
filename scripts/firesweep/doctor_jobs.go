package main

import (
	"cmp"
	"context"
	"errors"
	"time"

	"google.golang.org/api/cloudscheduler/v1"

	"github.com/firesweep/firesweep/scripts/firesweep/advice"
	"github.com/firesweep/firesweep/scripts/schedule"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/manifest"
)

// lookedThrough is how many of a job's last runs are searched for a success.
const lookedThrough = 20

// ended says how a run ended.
var ended = map[string]string{stateFailed: "failed", stateAborted: "was aborted", stateKilled: "was killed"}

// examineRecords checks what the bundle keeps of its runs.
func (p *patient) examineRecords(ctx context.Context, f *findings) {
	s := p.newStore(p.getenv)
	defer s.close()
	for i, job := range p.jobs {
		p.begin(3+i, job.Name)
		if err := p.examineJob(ctx, f, s, job); err != nil {
			f.add(levelUnknown, job.Name, advice.On(job.Name, err.Error()), "Its runs cannot be read: %s", err)
		}
	}
}

func (p *patient) examineJob(ctx context.Context, f *findings, s *store, job manifest.Entry) error {
	now := p.clock()
	record, err := s.record(ctx, job)
	if err != nil {
		return err
	}
	timeout, err := job.Timeout(p.getenv)
	if err != nil {
		return err
	}
	if err := errors.Join(record.Err, record.TooLongFor(p.configs[job.Name], job.Name, timeout, now)); err != nil {
		f.add(levelProblem, job.Name, "Run the request in the message: nothing will change by itself.", "No run can begin: %s", err)
		return nil
	}
	st, err := s.standing(ctx, job, now, lookedThrough)
	if err != nil {
		return err
	}
	switch st.State {
	case stateMissing:
		f.add(levelProblem, job.Name, "Look at: firesweep runs --log "+job.Name, "It %s. %s", st.State, st.Detail)
	case stateFailed, stateAborted, stateKilled:
		f.add(levelProblem, job.Name, "Look at: firesweep show "+job.Name, "Its last run %s: %s", ended[st.State], st.Detail)
	case stateNever:
		f.add(levelUnseen, job.Name, "", "No run is saved. %s", st.Detail)
		return nil
	}
	reports := st.Runs
	if record.Last != nil {
		reports = append(reports, record.Last)
	}
	for _, r := range reports {
		if r.Status == report.Completed || r.Status == report.Partial {
			p.success(f, job, r, now)
			return nil
		}
	}
	f.add(levelProblem, job.Name, "Look at: firesweep show "+job.Name, "None of its last %s was a success.",
		plural(len(st.Runs), "run"))
	return nil
}

// success adds a finding on how long ago the last success was.
func (p *patient) success(f *findings, job manifest.Entry, r *report.Report, now time.Time) {
	every, err := schedule.Longest(job)
	if err != nil {
		f.add(levelUnknown, job.Name, "", "%s", err)
		return
	}
	ago := now.Sub(r.StartedAt)
	switch {
	case ago > lateAfter(job, every):
		f.add(levelProblem, job.Name, "Look at: firesweep show "+job.Name, "The last success was %s UTC, %s ago; it runs every %s.",
			when(r.StartedAt), short(ago), short(every))
	case r.PartialRuns >= 3 && !r.Continued:
		f.add(levelWarning, job.Name, "Run it more often (Terraform: schedules) or longer (timeouts).",
			"It does not keep up: partial %d times in a row.", r.PartialRuns)
	default:
		f.add(levelFine, job.Name, "", "The last success was %s UTC", when(r.StartedAt))
	}
}

// examineScheduler checks the jobs of Cloud Scheduler.
func (p *patient) examineScheduler(ctx context.Context, f *findings) {
	if p.location == "" {
		f.add(levelUnseen, "Cloud Scheduler", "Add --location REGION.", "Whether jobs are deployed or paused was not checked.")
		return
	}
	d, err := p.openScheduler(ctx, p.project(), p.location)
	var there map[string]*cloudscheduler.Job
	if err == nil {
		there, err = d.jobs(ctx)
	}
	if err != nil {
		do := cmp.Or(advice.On("", err.Error()), "It needs roles/cloudscheduler.viewer. Make sure that the location is right.")
		f.add(levelUnknown, "Cloud Scheduler", do, "It cannot be read: %s", err)
		return
	}
	for _, job := range p.jobs {
		own := there[job.Name]
		switch {
		case own == nil && job.Schedule == manifest.Never:
		case own == nil:
			f.add(levelWarning, job.Name, "If it should be, enable it in your tfvars, then terraform apply.",
				"Cloud Scheduler does not know it in %s: it is not deployed there.", p.location)
		case own.State != "ENABLED":
			f.add(levelWarning, job.Name, "To resume it: correct paused in your tfvars, then terraform apply.",
				"Cloud Scheduler does not call it: it is %s.", own.State)
		case own.Status != nil && own.Status.Code != 0:
			f.add(levelProblem, job.Name, "Look at: firesweep runs --log "+job.Name,
				"Cloud Scheduler's last call, %s, failed with code %d. %s",
				own.LastAttemptTime, own.Status.Code, own.Status.Message)
		default:
			f.add(levelFine, job.Name, "", "Cloud Scheduler calls it: %s %s", own.Schedule, own.TimeZone)
		}
	}
}
