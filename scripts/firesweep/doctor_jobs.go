package main

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/firesweep/firesweep/scripts/schedule"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/manifest"
)

// lookedThrough is how many of a job's last runs are searched for a success.
const lookedThrough = 20

// ended says how a run ended.
var ended = map[string]string{stateFailed: "failed", stateAborted: "was aborted", stateKilled: "was killed"}

// examineJob checks what the bundle keeps of a job's runs.
func (p *patient) examineJob(ctx context.Context, about subject, job manifest.Entry) error {
	record, err := p.record(ctx, job)
	if err != nil {
		return err
	}
	if err := errors.Join(record.Err, record.HeldTooLong(p.configs[job.Name], job.Name, p.clock())); err != nil {
		about.add(levelProblem, "Run the request in the message: nothing will change by itself.", "No run can begin: %s", err)
		return nil
	}
	st, err := p.standing(ctx, job, record, lookedThrough)
	if err != nil {
		return err
	}
	look := "Look at: firesweep show " + job.Name
	switch st.State {
	case stateMissing:
		about.add(levelProblem, "Look at the log: gcloud logging read labels.job="+job.Name, "It %s. %s", st.State, st.Detail)
	case stateFailed, stateAborted, stateKilled:
		about.add(levelProblem, look, "Its last run %s: %s", ended[st.State], st.Detail)
	case stateNever:
		about.add(levelUnseen, "", "No run is saved. %s", st.Detail)
		return nil
	}
	reports := st.Runs
	if record.Last != nil {
		reports = append(reports, record.Last)
	}
	i := slices.IndexFunc(reports, func(r *report.Report) bool {
		return r.Status == report.Completed || r.Status == report.Partial
	})
	if i < 0 {
		about.add(levelProblem, look, "None of its last %s was a success.", plural(len(st.Runs), "run"))
		return nil
	}
	last := reports[i]
	every := schedule.Longest(job)
	switch ago := p.clock().Sub(last.StartedAt); {
	case ago > lateAfter(job, every):
		about.add(levelProblem, look, "The last success was %s UTC, %s ago; it runs every %s.", when(last.StartedAt), short(ago), short(every))
	case last.PartialRuns >= 3 && !last.Continued:
		about.add(levelWarning, "Run it more often (Terraform: schedules) or longer (timeouts).",
			"It does not keep up: partial %d times in a row.", last.PartialRuns)
	default:
		about.add(levelFine, "", "The last success was %s UTC", when(last.StartedAt))
	}
	return nil
}

// examineScheduler checks the jobs of Cloud Scheduler.
func (p *patient) examineScheduler(ctx context.Context) {
	scheduler := p.of("Cloud Scheduler")
	if p.location == "" {
		scheduler.add(levelUnseen, "Add --location REGION.", "Whether jobs are deployed or paused was not checked.")
		return
	}
	_, there, err := p.deployedJobs(ctx, p.project, p.location)
	if err != nil {
		do := cmp.Or(p.remedy(ctx, err), "It needs roles/cloudscheduler.viewer. Make sure that the location is right.")
		scheduler.add(levelUnknown, do, "It cannot be read: %s", err)
		return
	}
	for _, job := range p.jobs {
		about := p.of(job.Name)
		switch own := there[job.Name]; {
		case own == nil:
			about.add(levelWarning, "If Terraform is to run it, enable it in your tfvars, then terraform apply.",
				"Cloud Scheduler does not know it in %s: it is not deployed there.", p.location)
		case own.State != enabled:
			about.add(levelWarning, "To resume it: firesweep resume --location "+p.location+" "+job.Name+". If paused in your tfvars names it, "+
				"correct that first: terraform apply would pause it again.",
				"Cloud Scheduler does not call it: it is %s.", own.State)
		case own.Status != nil && own.Status.Code != 0:
			about.add(levelProblem, "Look at the log: gcloud logging read labels.job="+job.Name, "Cloud Scheduler's last call, %s, failed with code %d. %s",
				own.LastAttemptTime, own.Status.Code, own.Status.Message)
		default:
			about.add(levelFine, "", "Cloud Scheduler calls it: %s %s", own.Schedule, own.TimeZone)
		}
	}
}
