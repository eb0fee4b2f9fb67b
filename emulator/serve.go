package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/firesweep/firesweep/emulator/backends"
	"github.com/firesweep/firesweep/emulator/sampledata"
	"github.com/firesweep/firesweep/shared/manifest"
)

// serve runs everything until ctx ends.
func serve(ctx context.Context, out io.Writer, o options, sample bool) (err error) {
	others, err := useOthers(ctx, out)
	if err != nil {
		return err
	}
	o.Missing = true
	if sample && others { // the age of objects in another Storage cannot be chosen
		o.ahead = max(o.ahead, sampledata.WholeAhead)
	}
	l, err := start(ctx, o)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, l.close()); err == nil {
			fmt.Fprintln(out, "\nstopped: the functions and what was started for them, with all its data")
		}
	}()
	if sample {
		if err := l.loadSample(ctx); err != nil {
			return err
		}
	}
	environment := l.backends.Environment()
	for _, name := range []string{projectVariable, bucketVariable} { // firesweep needs them
		environment[name] = os.Getenv(name)
	}
	for _, name := range slices.Sorted(maps.Keys(environment)) {
		fmt.Fprintf(out, "export %s=%s\n", name, environment[name])
	}
	for _, e := range o.list.All {
		if e.Trigger != manifest.Schedule {
			continue // Cloud Tasks calls it
		}
		fmt.Fprintf(out, "curl -X POST '%s?dryRun=true'\n", l.url(e.Name))
	}
	as := ""
	if o.ahead != 0 {
		as = fmt.Sprintf(" (it plans and runs as of %s later)", o.ahead)
	}
	fmt.Fprintf(out, "Look at it: %s%s\n", l.url(""), as)
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

// probeTimeout is how long an emulator that the environment names may take to answer.
const probeTimeout = 2 * time.Second

// useOthers prints which emulators of the environment are used instead of new ones. It makes sure that they answer, because a
// variable may be left over from another day.
func useOthers(ctx context.Context, out io.Writer) (used bool, err error) {
	var gone []error
	for _, name := range []string{
		backends.FirestoreHost, backends.StorageHost, backends.FirebaseStorageHost, backends.AuthHost, backends.TasksHost,
	} {
		value := os.Getenv(name)
		if value == "" {
			continue
		}
		_, address, found := strings.Cut(value, "://")
		if !found {
			address = value
		}
		probe, cancel := context.WithTimeout(ctx, probeTimeout)
		connection, err := new(net.Dialer).DialContext(probe, "tcp", strings.TrimSuffix(address, "/"))
		cancel()
		if err != nil {
			gone = append(gone, fmt.Errorf("%s is %s in the environment, and nothing answers there: "+
				"unset it, or start that emulator (%w)", name, value, err))
			continue
		}
		_ = connection.Close() // that it opened is all that matters
		fmt.Fprintf(out, "using %s=%s of the environment\n", name, value)
		used = true
	}
	return used, errors.Join(gone...)
}

// loadSample loads the sample data into the local project. It makes the objects old enough for the jobs; in another Storage
// their age cannot be chosen.
func (l *local) loadSample(ctx context.Context) (err error) {
	project, err := openProject(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, project.Close()) }()
	bucket := os.Getenv(bucketVariable)
	if err := project.Load(ctx, sampledata.Of(time.Now(), bucket)); err != nil {
		return err
	}
	if storage := l.backends.Storage(); storage != nil {
		storage.Age(bucket, sampledata.WholeAhead)
	}
	return nil
}

func openProject(ctx context.Context) (*sampledata.Project, error) {
	return sampledata.Open(ctx, os.Getenv(projectVariable), os.Getenv(bucketVariable))
}
