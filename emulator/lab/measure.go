package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/firesweep/firesweep/emulator/lab/standin"
	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/usage"
)

// run is one measurement.
type run struct {
	Case    string
	Kind    string `json:",omitempty"` // of names, in the case names
	Items   int    // 0: there is no data at all
	Seed    bool   `json:",omitempty"` // the seed's algorithm
	Link    standin.Link
	Traffic standin.Traffic
	Job     string
	Status  engine.Status
	Usage   usage.Usage
	Done    int // actions
	Changed int `json:",omitempty"` // actions that were not done, because what was judged had changed
	Runs    int // that it took: each continued the one before
	Elapsed time.Duration
	CPU     time.Duration
	Memory  int64

	failures []engine.Failure
}

const project, bucket = "lab-project", "lab-project.firebasestorage.app"

// linkOf returns a link on which Firestore answers after so long, and a page of a listing after three times as long.
func linkOf(firestore time.Duration, o options) standin.Link {
	return standin.Link{
		Firestore: firestore, Storage: firestore, Listing: 3 * firestore, Spread: o.spread, Errors: o.errors, Quota: o.quota, Seed: o.seed,
	}
}

// measure runs a job over a link, in a process of its own, on the stand-in or, where they are given, on the local backends.
func measure(ctx context.Context, m measured, n int, link standin.Link, seed bool, on *local, heap string) (r run, err error) {
	o := order{Case: m.name, Job: m.job, Items: n, Now: time.Now().UTC(), Seed: seed, Heap: heap}
	link.Lookups = m.bears
	var services interface {
		Traffic() standin.Traffic
		Close() error
	}
	if on != nil && m.task == nil {
		o.Now = o.Now.Add(2 * day) // or no object would be old enough
	}
	world := standin.World{Written: written}
	if n > 0 {
		world = m.world(n, o.Now)
	}
	if on != nil {
		o.Google.Project, o.Google.Bucket = project, bucket
		services, o.Emulators, err = on.behind(ctx, world, link)
	} else {
		var google *standin.Google
		if google, err = standin.Start(project, bucket, world, link); err == nil {
			services, o.Google = google, google.Address
		}
	}
	if err != nil {
		return run{}, err
	}
	defer func() {
		if closed := services.Close(); err == nil {
			err = closed
		}
	}()
	came, err := o.inItsProcess(ctx)
	if err != nil {
		return run{}, fmt.Errorf("measure %s of %d: %w", m.name, n, err)
	}
	r = run{
		Case: m.name, Items: n, Seed: seed, Link: link, Traffic: services.Traffic(), Job: m.job, Status: came.Report.Status, Usage: came.Report.Usage,
		Runs: came.Runs, Elapsed: came.Elapsed, CPU: came.CPU, Memory: came.Memory, failures: came.Report.Failures,
	}
	for _, c := range came.Report.Actions {
		r.Done, r.Changed = r.Done+c.Done, r.Changed+c.Changed
	}
	return r, nil
}

// inItsProcess runs a job in a process of its own, with the memory and one CPU that it is deployed with.
func (o order) inItsProcess(ctx context.Context) (came outcome, err error) {
	self, err := os.Executable()
	if err != nil {
		return outcome{}, fmt.Errorf("find this program: %w", err)
	}
	in, err := json.Marshal(o)
	if err != nil {
		return outcome{}, err
	}
	var out, said bytes.Buffer
	child := exec.CommandContext(ctx, self, childArgument)
	child.Stdin, child.Stdout, child.Stderr = bytes.NewReader(in), &out, &said
	child.Env = append(os.Environ(), "GOMAXPROCS=1", "GOMEMLIMIT="+memoryLimit(o.Job))
	if err := child.Run(); err != nil {
		return outcome{}, fmt.Errorf("%w\n%s", err, said.String())
	}
	return came, json.Unmarshal(out.Bytes(), &came)
}

// memoryLimit is what Terraform sets as GOMEMLIMIT for a job: 85 % of its memory.
func memoryLimit(job string) string {
	for _, e := range functions.All() {
		if e.Name != job {
			continue
		}
		if mebibytes, err := strconv.Atoi(strings.TrimSuffix(e.Memory, "Mi")); err == nil {
			return fmt.Sprintf("%dMiB", mebibytes*85/100)
		}
	}
	return "off"
}
