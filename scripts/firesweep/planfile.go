package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/firesweep/firesweep/shared/digest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// A plan file names the items that jobs would do something about, for a person to approve. docs/command.md documents it.
type planFile struct {
	Plans    map[string]*report.Approval `json:"plans"`    // by job
	Checksum string                      `json:"checksum"` // of all else
}

// text is the file's content with its checksum.
func (f planFile) text() []byte {
	plans, _ := json.Marshal(f.Plans) // texts, and times that Firestore or JSON had
	f.Checksum = digest.Of(string(plans))
	var b bytes.Buffer
	_ = encode(&b, f)
	return b.Bytes()
}

// writePlan writes the plans of jobs to a file. None is written where a run would not carry out all of them.
func writePlan(to string, all []planned) error {
	for _, p := range all {
		if p.Report == nil || p.Report.Status != report.Completed {
			return fmt.Errorf("no plan was written to %s: a run carries out plans that are complete, and that of %s is not: "+
				"leave that job out", to, p.Job)
		}
	}
	f := planFile{Plans: approvals(all)}
	if err := os.WriteFile(to, f.text(), 0o600); err != nil {
		return fmt.Errorf("--out: %w", err) // which names the file
	}
	return nil
}

// approvals returns what may be done of plans that somebody has seen, by job.
func approvals(seen []planned) map[string]*report.Approval {
	all := map[string]*report.Approval{}
	for _, p := range seen {
		if p.Report != nil {
			all[p.Job] = p.Report.Approve(p.binding)
		}
	}
	return all
}

// readPlan reads a plan file, whatever somebody made of it.
func readPlan(from string) (f planFile, err error) {
	text, err := os.ReadFile(from)
	if err != nil {
		return f, wrongUse("--plan: %w: write it with firesweep plan --out", err) // which names the file
	}
	if err = json.Unmarshal(text, &f); err != nil {
		return f, wrongUse("--plan: %s is not a plan that firesweep plan --out wrote: %w", from, err)
	}
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")) // as Git may have written it
	if !bytes.Equal(f.text(), text) {
		return f, wrongUse("--plan: %s was altered since it was written: write a new one with firesweep plan --out, "+
			"and have that approved", from)
	}
	return f, nil
}

// approve reads the plan file, if there is one, and returns the jobs to run: without names, those of the file. The error says why
// the file is not for them.
func (a *app) approve(ctx context.Context, f *runFlags, names []string) ([]string, error) {
	if f.plan == "" {
		return names, nil
	}
	file, err := readPlan(f.plan)
	if err != nil {
		return nil, err
	}
	if f.approved = file.Plans; len(names) == 0 {
		names = slices.Sorted(maps.Keys(f.approved))
	}
	jobs, err := a.jobsNamed(names) // if the file has none, all: none of them has a plan
	if err != nil {
		return nil, wrongUse("--plan: %s: %w", f.plan, err)
	}
	for _, job := range jobs {
		p := f.approved[job.Name]
		if p == nil {
			return nil, wrongUse("--plan: %s has no plan of %s", f.plan, job.Name)
		}
		function, err := a.function(job, io.Discard)
		cfg, wrong := a.settings(ctx, job, readOf(job)...)
		if err = cmp.Or(err, wrong); err == nil {
			err = p.Check(function.Binding(cfg), a.clock())
		}
		if err != nil {
			return nil, wrongUse("--plan: %s: %s: %w", f.plan, job.Name, err)
		}
	}
	return names, nil
}
