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
)

// run is one measurement.
type run struct {
	Case    string
	Items   int
	Seed    bool // the seed's algorithm
	Link    standin.Link
	Traffic standin.Traffic
	outcome
}

const project, bucket = "lab-project", "lab-project.firebasestorage.app"

// linkOf is a link that answers for Firestore after so long, and for a page of a listing after three times that.
func linkOf(firestore time.Duration, o options) standin.Link {
	return standin.Link{
		Firestore: firestore, Storage: firestore, Listing: 3 * firestore, Spread: o.spread, Errors: o.errors, Quota: o.quota, Seed: o.seed,
	}
}

// measure runs a job over a link in a process of its own, with the memory and one CPU that it is deployed with: on the stand-in, or on the local
// backends if there are some.
func measure(ctx context.Context, m measured, n int, link standin.Link, seed bool, on *local) (r run, err error) {
	o := order{Case: m.name, Job: m.job, Items: n, Now: time.Now().UTC(), Seed: seed}
	var services interface {
		Traffic() standin.Traffic
		Close() error
	}
	if on != nil {
		if m.task == nil {
			o.Now = o.Now.Add(2 * day) // or no object would be old enough
		}
		o.Google.Project, o.Google.Bucket = project, bucket
		services, o.Emulators, err = on.behind(ctx, m.world(n, o.Now), link)
	} else {
		var google *standin.Google
		if google, err = standin.Start(project, bucket, m.world(n, o.Now), link); err == nil {
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
	self, err := os.Executable()
	if err != nil {
		return run{}, fmt.Errorf("find this program: %w", err)
	}
	in, err := json.Marshal(o)
	if err != nil {
		return run{}, err
	}
	var out, said bytes.Buffer
	child := exec.CommandContext(ctx, self, childArgument)
	child.Stdin, child.Stdout, child.Stderr = bytes.NewReader(in), &out, &said
	child.Env = append(os.Environ(), "GOMAXPROCS=1", "GOMEMLIMIT="+memoryLimit(m.job))
	if err := child.Run(); err != nil {
		return run{}, fmt.Errorf("measure %s of %d: %w\n%s", m.name, n, err, said.String())
	}
	r = run{Case: m.name, Items: n, Seed: seed, Link: link, Traffic: services.Traffic()}
	if err := json.Unmarshal(out.Bytes(), &r.outcome); err != nil {
		return run{}, fmt.Errorf("measure %s of %d: %w", m.name, n, err)
	}
	return r, nil
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
