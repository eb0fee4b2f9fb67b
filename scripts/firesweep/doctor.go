package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/firesweep/firesweep/scripts/firesweep/advice"
	"github.com/firesweep/firesweep/scripts/screen"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/manifest"
)

// Levels of a finding, the worst first.
const (
	levelProblem = "problem" // makes a job fail, keeps it from running, or lets others control it
	levelUnknown = "unknown" // could not be checked
	levelWarning = "warning" // makes a mistake final, or should be known
	levelUnseen  = "unseen"  // does not exist here, so it is not checked
	levelFine    = "fine"
)

var levels = []string{levelProblem, levelUnknown, levelWarning, levelUnseen, levelFine}

// finding is the result of one check. docs/command.md documents it as JSON.
type finding struct {
	Level string `json:"level"`
	About string `json:"about"`        // e.g. "database (default)"
	Text  string `json:"text"`         // what was found
	Do    string `json:"do,omitempty"` // what to do about it
}

func (f finding) bad() bool { return f.Level == levelProblem || f.Level == levelUnknown }

// findings collects the results of checks.
type findings struct{ all []finding }

// of returns what adds findings about something.
func (f *findings) of(about string) subject { return subject{f, about} }

// subject is what findings are about.
type subject struct {
	*findings
	about string
}

func (s subject) add(level, do, format string, args ...any) {
	s.all = append(s.all, finding{Level: level, About: s.about, Text: fmt.Sprintf(format, args...), Do: do})
}

// patient is what the doctor checks.
type patient struct {
	*app
	findings
	jobs     []manifest.Entry
	configs  map[string]config.Config // by job
	project  string
	location string // of the deployment; empty: it is not checked
	at       far
}

func (a *app) doctorCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "doctor [JOB...]",
		Short: "Look for what would make a job fail or a mistake final",
		Long: `Check databases, their security rules, indexes, buckets and the jobs' records
for what would make a job fail or a mistake final, and say what to do about it.
With --location it also checks whether each job is deployed, paused or failing.
Nothing is written.

It needs roles/datastore.viewer, roles/firebaserules.viewer,
roles/storage.legacyBucketReader on the bucket and, with --location,
roles/cloudscheduler.viewer. Exit code 1 means that there is a problem, or
that something could not be checked.`,
		Example: `  firesweep doctor --project my-project --location asia-northeast1
  firesweep doctor cleanupReports
  firesweep doctor --json | jq '.findings[] | select(.level == "problem")'`,
	}
	location := locationFlag(c)
	c.RunE = func(c *cobra.Command, names []string) error {
		if strings.Contains(*location, "/") {
			return wrongUse("--location is %q: it must be a region, such as asia-northeast1", *location)
		}
		p, err := a.patient(*location, names)
		if err != nil {
			return err
		}
		stop := a.progress(c.Context(), p.at.now)
		p.examine(c.Context())
		stop()
		if c.Context().Err() != nil {
			return context.Cause(c.Context())
		}
		return a.show(map[string]any{"findings": p.all}, p.print, slices.ContainsFunc(p.all, finding.bad))
	}
	return c
}

// patient returns what is to be checked of jobs.
func (a *app) patient(location string, names []string) (*patient, error) {
	p := &patient{app: a, configs: map[string]config.Config{}, location: location}
	var err error
	if p.jobs, err = a.jobsNamed(names); err != nil {
		return nil, err
	}
	for _, job := range p.jobs {
		if p.configs[job.Name], err = a.settings(job, readOf(job)...); err != nil {
			return nil, err
		}
		p.project = p.configs[job.Name].Project
	}
	p.jobs, err = a.withGroups(p.jobs)
	return p, err
}

// begin shows which step begins: three for Google's services, and one for each job.
func (p *patient) begin(i int, name string) { p.at.step("looking at", name, i, 3+len(p.jobs)) }

// examine checks everything, and puts the worst findings first.
func (p *patient) examine(ctx context.Context) {
	if p.configs[p.jobs[0].Name].Emulators.Any() {
		p.of("emulators").add(levelUnseen, "", "Emulators have no mode, edition, point-in-time recovery, TTL, indexes, "+
			"soft delete or Cloud Scheduler: only the bundle's own records are checked.")
	} else {
		p.examineGoogle(ctx)
	}
	for i, job := range p.jobs {
		p.begin(3+i, job.Name)
		about := p.of(job.Name)
		if err := p.examineJob(ctx, about, job); err != nil {
			about.add(levelUnknown, advice.On(err.Error()), "Its runs cannot be read: %s", err)
		}
	}
	slices.SortStableFunc(p.all, func(a, b finding) int { return slices.Index(levels, a.Level) - slices.Index(levels, b.Level) })
}

// examineGoogle checks what Google's services tell.
func (p *patient) examineGoogle(ctx context.Context) {
	p.begin(0, "databases")
	p.examineDatabases(ctx)
	p.begin(1, "buckets")
	p.examineBuckets(ctx)
	p.begin(2, "Cloud Scheduler")
	p.examineScheduler(ctx)
}

// jobsBy groups the jobs by the key that a function returns for their settings. It leaves out those with the key "".
func (p *patient) jobsBy(of func(manifest.Entry, config.Config) string) map[string][]manifest.Entry {
	by := map[string][]manifest.Entry{}
	for _, job := range p.jobs {
		if key := of(job, p.configs[job.Name]); key != "" {
			by[key] = append(by[key], job)
		}
	}
	return by
}

// print prints findings for people.
func (f *findings) print(p *printer) {
	styles := map[string]string{levelProblem: screen.Red, levelUnknown: screen.Red, levelWarning: screen.Yellow,
		levelUnseen: screen.Faint}
	counts := map[string]int{}
	for _, f := range f.all {
		counts[f.Level]++
		p.Say(styles[f.Level], 0, 2, "%s: %s: %s", f.Level, f.About, f.Text)
		if f.Do != "" {
			p.Say("", 2, 3, "-> %s", f.Do)
		}
	}
	var words []string
	for _, level := range levels {
		if counts[level] > 0 {
			words = append(words, fmt.Sprintf("%d %s", counts[level], level))
		}
	}
	p.Line("")
	p.Say(screen.Bold, 0, 0, "%s", strings.Join(words, ", "))
}
