package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
	"github.com/firesweep/firesweep/shared/manifest"
)

// jobsOf returns the jobs among functions, without workers.
func jobsOf(all []manifest.Entry) []manifest.Entry {
	return slices.DeleteFunc(slices.Clone(all), func(e manifest.Entry) bool { return e.Trigger != manifest.Schedule })
}

// jobsNamed returns the jobs of these names, or all that the application uses if no name is given. The error says which name is no
// job.
func (a *application) jobsNamed(names []string) ([]manifest.Entry, error) {
	if len(names) == 0 {
		return a.used(), nil
	}
	return named(a.scheduled(), names)
}

// named returns the jobs of these names, also in the lower case of their Cloud Run services, as alerts write them. The error
// says which name is not among the jobs.
func named(jobs []manifest.Entry, names []string) ([]manifest.Entry, error) {
	var known []string
	for _, e := range jobs {
		known = append(known, e.Name)
	}
	var chosen []manifest.Entry
	for _, name := range names {
		i := slices.IndexFunc(known, func(k string) bool { return k == name || strings.ToLower(k) == name })
		if i < 0 {
			return nil, wrongUse("no job is called %q; the jobs are %s", name, strings.Join(known, ", "))
		}
		if slices.ContainsFunc(chosen, func(e manifest.Entry) bool { return e.Name == known[i] }) {
			return nil, wrongUse("%s is named twice", name)
		}
		chosen = append(chosen, jobs[i])
	}
	return chosen, nil
}

// bucketOf returns the bucket of the function that made a run.
func (a *app) bucketOf(runID string) string {
	job, _ := a.entryOfRun(runID)
	return config.For(job.Name, a.getenv)("STORAGE_BUCKET")
}

// completeJobs offers the names of jobs to a shell.
func (a *app) completeJobs(_ *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
	if err := a.load(false); err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var names []string
	for _, e := range a.scheduled() {
		if !slices.Contains(given, e.Name) {
			names = append(names, e.Name+"\t"+e.Description)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// entryOfRun returns the job or worker that a run's id begins with.
func (a *application) entryOfRun(runID string) (manifest.Entry, bool) {
	for _, e := range a.All {
		if strings.HasPrefix(runID, e.Name+"-") {
			return e, true
		}
	}
	return manifest.Entry{}, false
}

// settings reads the settings of a job that uses the given backends, from the variables that the function has.
func (a *app) settings(e manifest.Entry, uses ...config.Backend) (config.Config, error) {
	if _, err := a.project(); err != nil {
		return config.Config{}, err
	}
	cfg, err := config.Load(config.Previewing(config.For(e.Name, a.getenv)), a.Jobs[e.Name].Settings, uses...)
	if err != nil {
		return config.Config{}, wrongUse("%s: %w", e.Name, err)
	}
	return cfg, nil
}

// on opens backends of a function with the caller's credentials, calls f, and closes them.
func (a *app) on(ctx context.Context, e manifest.Entry, f func(restore.Project) error, uses ...config.Backend) error {
	cfg, err := a.settings(e, uses...)
	if err != nil {
		return err
	}
	p, closeAll, err := a.hooks.Open(ctx, cfg, uses, a.clock)
	if err != nil {
		return err
	}
	p.Jobs = a.Jobs
	return errors.Join(f(p), closeAll())
}

// moment parses the value of a flag such as --now: a time, or a duration from now.
func moment(flag, text string, now time.Time) (at time.Time, err error) {
	var d time.Duration
	switch {
	case text == "":
		return at, nil
	case text[0] == '+':
		d, err = age(text[1:])
		at = now.Add(d)
	case text[0] == '-':
		d, err = age(text[1:])
		at = now.Add(-d)
	default:
		at, err = time.Parse(time.RFC3339, text)
	}
	if at = at.UTC(); err != nil || at.Year() < 1 || at.Year() > 9999 {
		return time.Time{}, wrongUse("--%s is %q: it must be like 2026-01-31T15:00:00Z, +48h or -7d", flag, text)
	}
	return at, nil
}

// age parses a duration such as 90m, 12h or 30d.
func age(text string) (time.Duration, error) {
	hours, days := strings.CutSuffix(text, "d")
	if days {
		text = hours + "h"
	}
	d, err := time.ParseDuration(text)
	if days {
		d *= 24
	}
	if err == nil && (d < 0 || d > 100*365*24*time.Hour || strings.ContainsAny(text, "+-")) {
		err = wrongUse("%q is not an age", text)
	}
	return d, err
}
