package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/firesweep/firesweep/emulator/backends"
	"github.com/firesweep/firesweep/emulator/sampledata"
	"github.com/firesweep/firesweep/functions"
)

// serve runs everything until ctx ends.
func serve(ctx context.Context, out io.Writer, ports backends.Options, functionsPort int, sample bool) (err error) {
	l, err := start(ctx, ports, functionsPort)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.backends.Close()) }()
	if sample {
		if err := loadSample(ctx, time.Now()); err != nil {
			return err
		}
	}
	environment := l.backends.Environment()
	for _, name := range slices.Sorted(maps.Keys(environment)) {
		fmt.Fprintf(out, "export %s=%s\n", name, environment[name])
	}
	for _, e := range functions.All() {
		if e.Trigger != functions.Schedule {
			continue // it is called by Cloud Tasks
		}
		fmt.Fprintf(out, "curl -X POST '%s?dryRun=true'\n", l.url(e.Name))
	}
	fmt.Fprintln(out, "ready")
	select {
	case <-ctx.Done():
		return nil
	case err := <-l.failed:
		return fmt.Errorf("the functions' server ended: %w", err)
	case <-l.backends.Done():
		return fmt.Errorf("a backend ended: %w", l.backends.Err())
	}
}

// loadSample loads the sample data into the local project.
func loadSample(ctx context.Context, now time.Time) (err error) {
	project, err := openProject(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, project.Close()) }()
	return project.Load(ctx, sampledata.Of(now, os.Getenv("STORAGE_BUCKET")))
}

func openProject(ctx context.Context) (*sampledata.Project, error) {
	return sampledata.Open(ctx, os.Getenv("GOOGLE_CLOUD_PROJECT"), os.Getenv("STORAGE_BUCKET"))
}
