package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/api/cloudresourcemanager/v1"
	"google.golang.org/api/storage/v1"

	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/manifest"
	"github.com/firesweep/firesweep/shared/usage"
)

// runHere runs jobs in this process, or without --apply plans them and says how to run it.
func (a *app) runHere(c *cobra.Command, f runFlags, names []string) error {
	ctx := c.Context()
	if f.local || f.dryRun || *f.location != "" {
		return wrongUse("--here runs jobs in this process, and only plans without --apply: leave out --local, --location and --dry-run")
	}
	a.here = true
	jobs, err := a.toPlan(names, false)
	if err != nil {
		return err
	}
	for _, job := range jobs {
		if job.Worker != "" {
			return wrongUse("%s: %w: leave it out", job.Name, engine.ErrNeedsTasks)
		}
		if _, err := a.settings(job, job.Uses()...); err != nil {
			return err
		}
	}
	if !f.apply {
		if f.confirm != "" {
			return wrongUse("--confirm needs --apply: without it nothing is changed")
		}
		plan := func(ctx context.Context, job manifest.Entry, meter *usage.Meter) planned {
			o := engine.PlanOptions{Force: f.force, Lift: f.lift, Plan: f.approved[job.Name].approval(), Meter: meter}
			return a.planHere(ctx, job, o)
		}
		return a.planAll(ctx, planFlags{next: doHere(c, names)}, jobs, plan)
	}
	if err := f.checkLifted(jobs, a.screen); err != nil {
		return err
	}
	if err := a.confirm(ctx, jobs, f.confirm); err != nil {
		return err
	}
	if err := a.checkRights(ctx, jobs); err != nil {
		return err
	}
	return a.runAll(ctx, f, jobs, here{a, f.log})
}

// here runs jobs in this process.
type here struct {
	*app
	log bool // write the log of the runs to standard error
}

func (h here) call(ctx context.Context, job string, o order) (*report.Report, error) {
	e := h.All[slices.IndexFunc(h.All, func(e manifest.Entry) bool { return e.Name == job })]
	if o.DryRun {
		p := h.planHere(ctx, e, engine.PlanOptions{Force: o.Force, Lift: o.Lift, Plan: o.Plan})
		if p.Report == nil {
			return nil, errors.New(p.Error)
		}
		return p.Report, nil
	}
	log := io.Discard // what it warns of, the report says too
	if h.log {
		log = h.errs
	}
	f, err := h.function(e, log)
	if err != nil {
		return nil, err
	}
	rep, err := f.Run(ctx, engine.RunOptions{Force: o.Force, Lift: o.Lift, Plan: o.Plan, By: "run --here by " + who()})
	if err == nil && ctx.Err() == nil && rep.Status == report.Partial && !rep.Stopped {
		err = errors.New("it ended before all was done: run it again, and if it makes no progress, see its log with --log")
	}
	return rep, err
}

// confirm makes sure that somebody means this project, database and bucket: jobs that never ran there run only if the project's id is
// given, or typed. What has run is known from the jobs' own records. A bucket that nobody named must be that of the last run.
func (a *app) confirm(ctx context.Context, jobs []manifest.Entry, given string) error {
	project, err := a.project()
	if err != nil {
		return err
	}
	if given != "" && given != project {
		return wrongUse("--confirm is %q, and the project is %s", given, project)
	}
	var never, databases []string
	for _, job := range jobs {
		cfg, err := a.settings(job, job.Uses()...)
		if err != nil {
			return err
		}
		record, was, err := a.ranOn(ctx, job, cfg.Bucket)
		if err != nil {
			return err
		}
		name, storage := job.Name, job.Roles[config.Storage] != nil
		switch {
		case (record.Run != "" || record.Last != nil) && (was == "" || !storage || was == cfg.Bucket):
			continue
		case storage:
			name += " (on the bucket " + cfg.Bucket + ")"
		}
		if never = append(never, name); !slices.Contains(databases, cfg.Database) {
			databases = append(databases, cfg.Database)
		}
	}
	if len(never) == 0 || given != "" {
		return nil
	}
	which := fmt.Sprintf("%s never ran in %s, database %s", strings.Join(never, ", "), project, strings.Join(databases, ", "))
	if !a.screen.in {
		return wrongUse("%s, and standard input is not a terminal: give the project's id: --confirm %s", which, project)
	}
	if a.ask(which+". Type the project's id to run: ") != project {
		return errors.New("nothing was run: the answer was not the project's id")
	}
	return nil
}

// ranOn returns a job's record, and the bucket of its last run; "" if it had none. If that is another one than the bucket of a run that
// is to begin, somebody must have named this.
func (a *app) ranOn(ctx context.Context, job manifest.Entry, bucket string) (r record, was string, err error) {
	r, err = a.goodRecord(ctx, job)
	if was = r.Begun.Bucket; was == "" && r.Last != nil {
		was = r.Last.Bucket
	}
	if err == nil && was != "" && was != bucket && bucket == a.chosen && job.Roles[config.Storage] != nil {
		err = wrongUse("the last run of %s worked on the bucket %s, and not on %s: set STORAGE_BUCKET to the one that you mean",
			job.Name, was, bucket)
	}
	return r, was, err
}

// ask asks a question on standard error and returns the answer; "" if there is none.
func (a *app) ask(question string) string {
	if a.answers == nil {
		a.answers = bufio.NewReader(a.in)
	}
	fmt.Fprint(a.errs, question)
	answer, err := a.answers.ReadString('\n')
	if err != nil && answer == "" {
		fmt.Fprintln(a.errs)
	}
	return strings.TrimSpace(answer)
}

// rights are the permissions in the roles of the functions' accounts. Firestore's are not among them: without these a run fails at its
// first request, before it has done anything.
var rights = map[string][]string{
	"firesweepObjectCleaner":  {"storage.objects.delete", "storage.objects.get", "storage.objects.list"},
	"firesweepAccountDeleter": {"firebaseauth.configs.get", "firebaseauth.users.delete", "firebaseauth.users.get"},
	"firesweepAccountReader":  {"firebaseauth.configs.get", "firebaseauth.users.get"},
}

// checkRights fails if the caller may not do what the jobs do after their documents are gone. What Google does not answer is said, and
// the run tells.
func (a *app) checkRights(ctx context.Context, jobs []manifest.Entry) error {
	for _, job := range jobs {
		cfg, err := a.settings(job, job.Uses()...)
		if err != nil || cfg.Emulators.Any() {
			return err
		}
		for _, backend := range []config.Backend{config.Storage, config.Auth} {
			var wanted []string
			for _, role := range job.Roles[backend] {
				wanted = append(wanted, rights[role]...)
			}
			if len(wanted) == 0 {
				continue
			}
			where := "project " + cfg.Project
			if backend == config.Storage {
				where = "bucket " + cfg.Bucket
			}
			has, err := a.rightsOn(ctx, backend, cfg, wanted)
			if err != nil {
				fmt.Fprintf(a.errs, "firesweep: it is not known whether you have the rights of %s on %s: %s\n", job.Name, where, apiError(err))
				continue
			}
			lacks := slices.DeleteFunc(wanted, func(right string) bool { return slices.Contains(has, right) })
			if len(lacks) > 0 {
				return fmt.Errorf("nothing was run: %s needs on %s what your credentials lack: %s", job.Name, where,
					strings.Join(lacks, ", "))
			}
		}
	}
	return nil
}

// rightsOn returns which of the permissions the caller has on the bucket, or on the project for another backend.
func (a *app) rightsOn(ctx context.Context, backend config.Backend, cfg config.Config, wanted []string) ([]string, error) {
	if backend == config.Storage {
		service, err := storage.NewService(ctx, a.google(ctx, "storage", cfg.Project)...)
		if err != nil {
			return nil, err
		}
		answer, err := service.Buckets.TestIamPermissions(cfg.Bucket, wanted).Context(ctx).Do()
		if err != nil {
			return nil, err
		}
		return answer.Permissions, nil
	}
	service, err := cloudresourcemanager.NewService(ctx, a.google(ctx, "cloudresourcemanager", cfg.Project)...)
	if err != nil {
		return nil, err
	}
	ask := &cloudresourcemanager.TestIamPermissionsRequest{Permissions: wanted}
	answer, err := service.Projects.TestIamPermissions(cfg.Project, ask).Context(ctx).Do()
	if err != nil {
		return nil, err
	}
	return answer.Permissions, nil
}
