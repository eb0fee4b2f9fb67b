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
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/usage"
)

// run is one measurement.
type run struct {
	Case    string
	Kind    string        // of names, in the case names; in the case shards, which part of the run it is
	Items   int           // 0: there is no data at all
	Answer  time.Duration // the link's
	Traffic standin.Traffic
	Job     string
	Status  report.Status
	Usage   usage.Usage
	Done    int // actions
	Elapsed time.Duration
	CPU     time.Duration
	Memory  int // bytes

	failures []report.Failure
}

const project, bucket = "lab-project", "lab-project.firebasestorage.app"

// measure runs a job over a link, in a process of its own.
func measure(ctx context.Context, m measured, p point) (run, error) {
	o := order{Case: m.name, Job: m.job, Items: p.items, Now: time.Now().UTC()}
	world := &standin.World{}
	if p.items > 0 {
		world = m.world(p.items, o.Now)
	}
	google, err := standin.Start(project, bucket, world, standin.Link{Answer: p.answer, Lookups: m.bears})
	if err != nil {
		return run{}, err
	}
	defer google.Close()
	o.Google = google.Address
	r, _, err := o.measure(ctx, google)
	if err == nil && r.Status != report.Completed {
		err = fmt.Errorf("the run of %s with %d ended as %s: %v", m.name, p.items, r.Status, r.failures)
	}
	r.Items, r.Answer = p.items, p.answer
	return r, err
}

// measure runs a job in a process of its own. It also returns the last report.
func (o order) measure(ctx context.Context, google *standin.Google) (r run, last *report.Report, err error) {
	came, err := o.inItsProcess(ctx)
	if err != nil {
		return run{}, nil, fmt.Errorf("measure %s of %d: %w", o.Case, o.Items, err)
	}
	r = run{
		Case: o.Case, Traffic: google.Traffic(), Job: o.Job, Status: report.Completed,
		Elapsed: came.Elapsed, CPU: came.CPU, Memory: came.Memory,
	}
	for _, last = range came.Reports {
		if last.Status != report.Completed {
			r.Status = last.Status
		}
		r.Done, r.Usage, r.failures = r.Done+last.Done(), r.Usage.Plus(last.Usage), append(r.failures, last.Failures...)
	}
	return r, last, nil
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
