package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/firesweep/firesweep/shared/digest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// A plan file says what jobs would do, item by item, for a person to approve. docs/command.md documents it.
type planFile struct {
	Plans    map[string]*jobPlan `json:"plans"`    // by job
	Checksum string              `json:"checksum"` // of all else
}

// jobPlan is a job's part of it. Its items have no reasons, because these quote what is in the documents.
type jobPlan struct {
	report.Approval
	Items []report.Planned `json:"items"`
}

// approval is what a function is told of the plan; nil without one.
func (p *jobPlan) approval() *report.Approval {
	if p == nil {
		return nil
	}
	told := p.Approval
	told.Items = map[string]string{}
	for _, item := range p.Items {
		key, version := item.Key()
		told.Items[key] = version
	}
	return &told
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
	f := planFile{Plans: map[string]*jobPlan{}}
	for _, p := range all {
		r := p.Report
		if r == nil || r.Status != report.Completed || len(r.Plan) > report.MaxApproved {
			return fmt.Errorf("no plan was written to %s: a run carries out plans that are complete, of at most %d items, and that of %s "+
				"is not: leave that job out", to, report.MaxApproved, p.Job)
		}
		of := &jobPlan{report.Approval{Binding: r.Binding, Made: r.Read}, []report.Planned{}}
		for _, item := range r.Plan {
			of.Items = append(of.Items, report.Planned{Target: item.Target, Action: item.Action, Version: item.Version})
		}
		f.Plans[p.Job] = of
	}
	if err := os.WriteFile(to, f.text(), 0o600); err != nil {
		return fmt.Errorf("--out: %w", err) // which names the file
	}
	return nil
}

// readPlan reads a plan file, whatever somebody made of it.
func readPlan(from string) (f planFile, err error) {
	text, err := os.ReadFile(from)
	if err == nil {
		err = json.Unmarshal(text, &f)
	}
	if err != nil {
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
func (a *app) approve(f *runFlags, names []string) ([]string, error) {
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
		return nil, err
	}
	for _, job := range jobs {
		p := f.approved[job.Name]
		if p == nil {
			return nil, wrongUse("--plan: %s has no plan of %s", f.plan, job.Name)
		}
		function, err := a.function(job, io.Discard)
		cfg, wrong := a.settings(job, readOf(job)...)
		if err = cmp.Or(err, wrong); err == nil {
			err = p.approval().Check(function.Binding(cfg), a.clock())
		}
		if err != nil {
			return nil, wrongUse("--plan: %s: %s: %w", f.plan, job.Name, err)
		}
	}
	return names, nil
}

// fellAway returns the items of the plan that a run did not do, and why: as many as its report names.
func (p *jobPlan) fellAway(r *report.Report) (all []report.Planned) {
	if p == nil || r == nil || r.Approved == nil {
		return nil
	}
	for _, item := range p.Items {
		key, _ := item.Key()
		if why := r.Approved.Which[key]; why != "" {
			all = append(all, report.Planned{Target: item.Target, Action: item.Action, Reason: why})
		}
	}
	return all
}

// fellAway prints what became of an approved plan.
func (p *printer) fellAway(a *report.Approved, all []report.Planned) {
	if a == nil {
		return
	}
	p.Say("", 2, 2, "approved: %s; %d of them fell away", plural(a.Items, "item"), a.FellAway)
	for _, item := range all {
		p.Say(yellow, 4, 2, "%s: not done, %s", report.Phrase(item.Action, item.Target), item.Reason)
	}
	if more := a.FellAway - len(all); more > 0 {
		p.Say("", 4, 2, "and %d more", more)
	}
}
