package main

import (
	"context"
	"errors"
	"maps"
	"strings"
	"time"

	"github.com/firesweep/firesweep/emulator/sampledata"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/manifest"
)

// local are local backends for plans on sample data.
type local struct {
	environment map[string]string // of the functions, but for the project
	project     string            // the beginning of the projects' names
	close       func() error
}

// planOnSample plans a job on data made for it, in a project of its own. It uses the default settings, whatever the
// environment says.
func (a *app) planOnSample(ctx context.Context, e manifest.Entry, l *local) planned {
	environment := maps.Clone(l.environment)
	project := l.project + "-" + strings.ToLower(e.Name)
	bucket := project + ".firebasestorage.app"
	environment["GOOGLE_CLOUD_PROJECT"], environment["STORAGE_BUCKET"] = project, bucket
	// Authentication keeps milliseconds, and some of the data is exactly old enough.
	now := a.clock().UTC().Truncate(time.Second).Add(sampledata.Ahead(e))

	sample := func() sampledata.Sample { return sampledata.Job(e.Name, now, bucket) }
	if e.Rule != nil {
		sample = func() sampledata.Sample { return sampledata.Declared(*e.Rule, now) }
	}
	if err := load(ctx, project, bucket, sample()); err != nil {
		return planned{Job: e.Name, Error: err.Error()}
	}
	f, err := a.New(e, func(name string) string { return environment[name] })
	if err != nil {
		return planned{Job: e.Name, Error: err.Error()}
	}
	var log warnings
	f.Clock, f.Log = a.clock, &log
	report, err := f.Plan(ctx, engine.PlanOptions{Now: now})
	return plannedOf(e, report, err, log.lines())
}

// load puts sample data into a local project.
func load(ctx context.Context, project, bucket string, s sampledata.Sample) (err error) {
	p, err := sampledata.Open(ctx, project, bucket)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	return p.Load(ctx, s)
}
