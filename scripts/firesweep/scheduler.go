package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"path"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/api/cloudscheduler/v1"
	"google.golang.org/api/googleapi"

	"github.com/firesweep/firesweep/shared/engine/report"
)

// deployed calls deployed functions. These take calls from inside Google only, so it creates a temporary job of Cloud
// Scheduler for each call and reads the report from the log.
type deployed struct {
	*app
	jobs   *cloudscheduler.ProjectsLocationsJobsService
	log    *cloudLog
	parent string // projects/{project}/locations/{location}
}

// Times of a call.
const (
	pollEvery   = 5 * time.Second  // between two reads of the log
	logLag      = time.Minute      // how long a line may take to appear in the log
	deleteTime  = 30 * time.Second // for deleting the temporary job
	defaultWait = 3 * time.Minute  // Cloud Scheduler's attempt deadline if a job sets none
)

func locationFlag(c *cobra.Command) *string {
	return c.Flags().String("location", "", "the `REGION` of Cloud Scheduler")
}

// openDeployed returns a caller of the functions of a project's region.
func (a *app) openDeployed(ctx context.Context, location string) (*deployed, error) {
	log, err := a.openLog(ctx)
	if err != nil {
		return nil, err
	}
	d, err := a.openScheduler(ctx, log.project, location)
	if err == nil {
		d.log = log
	}
	return d, err
}

// openScheduler returns what can look at the jobs of Cloud Scheduler in a project's region, and has no log.
func (a *app) openScheduler(ctx context.Context, project, location string) (*deployed, error) {
	scheduler, err := cloudscheduler.NewService(ctx, a.google(ctx, "cloudscheduler", project)...)
	if err != nil {
		return nil, fmt.Errorf("open Cloud Scheduler of %s: %w", project, err)
	}
	jobs := scheduler.Projects.Locations.Jobs
	return &deployed{app: a, jobs: jobs, parent: "projects/" + project + "/locations/" + location}, nil
}

// deployedJobs returns the jobs of Cloud Scheduler in a project's region, by name, and what they are managed with.
func (a *app) deployedJobs(ctx context.Context, project, location string) (*deployed, map[string]*cloudscheduler.Job, error) {
	d, err := a.openScheduler(ctx, project, location)
	if err != nil {
		return nil, nil, err
	}
	there, err := d.there(ctx)
	return d, there, err
}

// there returns the jobs of Cloud Scheduler in the region, by name.
func (d *deployed) there(ctx context.Context) (map[string]*cloudscheduler.Job, error) {
	there := map[string]*cloudscheduler.Job{}
	err := d.jobs.List(d.parent).Pages(ctx, func(page *cloudscheduler.ListJobsResponse) error {
		for _, job := range page.Jobs {
			there[path.Base(job.Name)] = job
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list the jobs of Cloud Scheduler in %s: %w", d.parent, apiError(err))
	}
	return there, nil
}

// call lets Cloud Scheduler call a job's function once and returns its report. Afterwards the temporary job is deleted, unless
// the error says otherwise.
func (d *deployed) call(ctx context.Context, job string, o order) (rep *report.Report, err error) {
	own, err := d.jobs.Get(d.parent + "/jobs/" + job).Context(ctx).Do()
	if err != nil {
		var api *googleapi.Error
		if errors.As(err, &api) && api.Code == http.StatusNotFound {
			//nolint:staticcheck // a name
			return nil, fmt.Errorf("Cloud Scheduler has no job %s in %s: is it deployed there? See --location", job, d.parent)
		}
		return nil, fmt.Errorf("read the job %s of Cloud Scheduler: %w", job, apiError(err))
	}
	if own.HttpTarget == nil || own.HttpTarget.OidcToken == nil {
		return nil, fmt.Errorf("the job %s of Cloud Scheduler in %s does not call a function of Firesweep: "+
			"terraform apply creates it again", job, d.parent)
	}
	wait := defaultWait
	if own.AttemptDeadline != "" {
		if wait, err = time.ParseDuration(own.AttemptDeadline); err != nil {
			return nil, fmt.Errorf("read the attempt deadline of %s: %w", job, err)
		}
	}
	once := d.once(job, own, o, d.clock())
	// The job may exist although creating it failed or was not answered.
	defer func() { err = errors.Join(err, d.remove(ctx, once.Name)) }()
	made, err := d.jobs.Create(d.parent, once).Context(ctx).Do()
	if err != nil {
		return nil, fmt.Errorf("make a job of Cloud Scheduler for one call "+
			"(it needs roles/cloudscheduler.admin and the right to act as %s): %w",
			own.HttpTarget.OidcToken.ServiceAccountEmail, apiError(err))
	}
	// By Google's clock, which the log uses: this machine's may be ahead of it.
	since := d.clock()
	if at, err := time.Parse(time.RFC3339Nano, made.UserUpdateTime); err == nil {
		since = at
	}
	if _, err := d.jobs.Run(once.Name, &cloudscheduler.RunJobRequest{}).Context(ctx).Do(); err != nil {
		return nil, fmt.Errorf("run the job %s of Cloud Scheduler: %w", path.Base(once.Name), apiError(err))
	}
	fmt.Fprintf(d.errs, "%s: called; its report may take a minute or two to appear in the log\n", job)
	return d.await(ctx, job, o, since, wait+logLag)
}

// once returns a temporary job of Cloud Scheduler that calls as the job's own does. If it is ever left behind, it is due on a
// leap day, and then makes the same call once more.
func (d *deployed) once(job string, own *cloudscheduler.Job, o order, now time.Time) *cloudscheduler.Job {
	name := "once"
	if o.DryRun {
		name = "dry-run"
	}
	return &cloudscheduler.Job{
		Name:     fmt.Sprintf("%s/jobs/%s-%s-%d", d.parent, job, name, now.UnixMilli()),
		Schedule: "0 0 29 2 *", TimeZone: "UTC", AttemptDeadline: own.AttemptDeadline,
		RetryConfig: &cloudscheduler.RetryConfig{RetryCount: 0, ForceSendFields: []string{"RetryCount"}},
		HttpTarget: &cloudscheduler.HttpTarget{
			Uri: own.HttpTarget.Uri, HttpMethod: http.MethodPost, Headers: map[string]string{"Content-Type": "application/json"},
			Body: base64.StdEncoding.EncodeToString(o.body()),
			OidcToken: &cloudscheduler.OidcToken{
				ServiceAccountEmail: own.HttpTarget.OidcToken.ServiceAccountEmail, Audience: own.HttpTarget.OidcToken.Audience,
			},
		},
	}
}

// remove deletes the temporary job, also after an interruption. It is no error if the job does not exist.
func (d *deployed) remove(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deleteTime)
	defer cancel()
	_, err := d.jobs.Delete(name).Context(ctx).Do()
	var api *googleapi.Error
	if err == nil || errors.As(err, &api) && api.Code == http.StatusNotFound {
		return nil
	}
	return fmt.Errorf("delete the job %s of Cloud Scheduler: %w; delete it by hand: gcloud scheduler jobs delete %s",
		path.Base(name), apiError(err), name)
}

// await reads the log until it has the report of the call, or a line that says why the call began no run.
func (d *deployed) await(ctx context.Context, job string, o order, since time.Time, wait time.Duration) (*report.Report, error) {
	reports := fmt.Sprintf(`jsonPayload.report.job=%q AND jsonPayload.report.force=%t`, job, o.Force)
	if o.DryRun {
		reports += ` AND jsonPayload.report.dryRun=true`
	}
	filter := fmt.Sprintf(`(%s) OR (labels.job=%q AND jsonPayload.message:("did not run" OR "refused a request" OR "panicked"))`,
		reports, job)
	until := d.clock().Add(wait)
	defer d.progress(ctx, d.waiting("the report of "+job, until))()
	for d.clock().Before(until) {
		if err := d.sleep(ctx, pollEvery); err != nil {
			return nil, fmt.Errorf("wait for %s, which keeps running: see firesweep runs %s: %w", job, job, err)
		}
		entries, err := d.log.read(ctx, filter, since, false, 1)
		switch {
		case err != nil:
			return nil, err
		case len(entries) == 0:
		case entries[0].Report == nil:
			return nil, errors.New(entries[0].Message)
		default:
			return entries[0].Report, nil
		}
	}
	return nil, fmt.Errorf("no report of %s appeared in the log within %s. "+
		"If a run was under way, the call was refused: try again when it has ended. "+
		"Look at: firesweep runs --log --since 1h %s", job, short(wait), job)
}
