package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/firesweep/firesweep/scripts/firesweep/done"
	"github.com/firesweep/firesweep/scripts/screen"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/digest"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/manifest"
)

// A plan file says what jobs would do, item by item, for a person to approve. docs/command.md documents it. It holds no reasons,
// because these quote what is in the documents.
type planFile struct {
	Plans    []jobPlan `json:"plans"`
	Checksum string    `json:"checksum"` // of all else
}

// jobPlan is a job's part of it.
type jobPlan struct {
	report.Approval
	Items []planItem `json:"items"`
}

// planItem is one thing to do, and what it is done to.
type planItem struct {
	Target  string `json:"target"`
	Action  string `json:"action"`
	Version string `json:"version"` // tells whether the target is still what it was
}

// approval is what a function is told of the item.
func (i planItem) approval() string {
	return report.Planned{Target: i.Target, Action: i.Action, Version: i.Version}.Approval()
}

// approval is what a function is told of the plan; nil without one.
func (p *jobPlan) approval() *report.Approval {
	if p == nil {
		return nil
	}
	told := p.Approval
	told.Items = []string{}
	for _, item := range p.Items {
		told.Items = append(told.Items, item.approval())
	}
	return &told
}

// sum is the checksum of the file's content.
func (f planFile) sum() string {
	f.Checksum = ""
	text, err := json.Marshal(f)
	if err != nil { // nothing in it can fail
		panic(err)
	}
	return digest.Of(string(text))
}

// planAge is how old a plan may be that is carried out, unless another age is said.
const planAge = 7 * 24 * time.Hour

// writePlan writes the plans of jobs to a file. None is written where a run would not carry out all of them.
func (a *app) writePlan(to string, jobs []manifest.Entry, all []planned) error {
	f := planFile{Plans: []jobPlan{}}
	for i, p := range all {
		switch {
		case p.Report == nil || p.Report.Status != report.Completed:
			return fmt.Errorf("no plan was written to %s, because no run would carry out that of %s", to, p.Job)
		case len(p.Report.Plan) > report.MaxApproved:
			return fmt.Errorf("no plan was written to %s: that of %s has %d items, and a function takes at most %d: "+
				"leave that job out, and let it run without a plan file", to, p.Job, len(p.Report.Plan), report.MaxApproved)
		}
		made, err := a.approvalOf(jobs[i])
		if err != nil {
			return err
		}
		of := jobPlan{Items: []planItem{}, Approval: made}
		of.Made, of.Until = p.Report.Read, p.Report.Read.Add(planAge)
		for _, item := range p.Report.Plan {
			of.Items = append(of.Items, planItem{Target: item.Target, Action: item.Action, Version: item.Version})
		}
		f.Plans = append(f.Plans, of)
	}
	f.Checksum = f.sum()
	var text bytes.Buffer
	if err := encode(&text, f); err != nil {
		return err
	}
	if err := os.WriteFile(to, text.Bytes(), 0o600); err != nil {
		return fmt.Errorf("--out: %w", err) // which names the file
	}
	return nil
}

// approvalOf returns what a plan of a job must say that is made now.
func (a *app) approvalOf(job manifest.Entry) (made report.Approval, err error) {
	cfg, err := a.settings(job, config.Firestore)
	if err != nil {
		return made, err
	}
	f, err := a.New(job, a.getenv)
	if err != nil {
		return made, err
	}
	return f.Approval(cfg), nil
}

// readPlan reads a plan file, whatever somebody made of it.
func readPlan(from string) (f planFile, err error) {
	text, err := os.ReadFile(from)
	if err != nil {
		return f, wrongUse("--plan: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err = d.Decode(&f)
	if _, more := d.Token(); err == nil && !errors.Is(more, io.EOF) {
		err = errors.New("something follows the plan")
	}
	switch {
	case err != nil:
		return f, wrongUse("--plan: %s is not a plan that firesweep plan --out wrote: %w", from, err)
	case f.sum() != f.Checksum:
		return f, wrongUse("--plan: %s was altered since it was written: write a new one with firesweep plan --out, "+
			"and have that approved", from)
	}
	return f, nil
}

// approve reads the plan file, if there is one, and returns the jobs to run: without names, those of the file. The error says why
// the file is not for them.
func (a *app) approve(f *runFlags, names []string) ([]string, error) {
	oldest, err := age(cmp.Or(f.oldest, "7d"))
	switch {
	case f.plan == "" && f.oldest != "":
		return nil, wrongUse("--max-age needs --plan")
	case f.plan == "":
		return names, nil
	case err != nil:
		return nil, wrongUse("--max-age is %q: it must be like 12h or 30d", f.oldest)
	}
	file, err := readPlan(f.plan)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		for _, p := range file.Plans {
			names = append(names, p.Job)
		}
	}
	jobs, err := a.jobsNamed(names)
	if err != nil || len(names) == 0 {
		return names, err
	}
	f.approved = map[string]*jobPlan{}
	for _, job := range jobs {
		i := slices.IndexFunc(file.Plans, func(p jobPlan) bool { return p.Job == job.Name })
		if i < 0 {
			return nil, wrongUse("--plan: %s has no plan of %s", f.plan, job.Name)
		}
		p := &file.Plans[i]
		p.Until = p.Made.Add(oldest)
		f.approved[job.Name] = p
		if f.local { // the functions on this machine know their project
			continue
		}
		now, err := a.approvalOf(job)
		if err != nil {
			return nil, err
		}
		if err := p.approval().Check(now, a.clock()); err != nil {
			return nil, wrongUse("--plan: %s: %s: %w", f.plan, job.Name, err)
		}
	}
	return names, nil
}

// fellAway returns the items of the plan that a run did not do, and why: as many as its report names.
func (p *jobPlan) fellAway(r *report.Report) (all []done.Item) {
	if p == nil || r == nil || r.Approved == nil {
		return nil
	}
	for _, which := range r.Approved.Which {
		for _, item := range p.Items {
			if key, _ := report.SplitApproval(item.approval()); key == which.Item {
				all = append(all, done.Item{Target: item.Target, Action: item.Action, Reason: which.Reason})
			}
		}
	}
	return all
}

// fellAway prints what became of an approved plan.
func (p *printer) fellAway(a *report.Approved, all []done.Item) {
	if a == nil {
		return
	}
	p.Say("", 2, 2, "approved: %s; %d of them fell away", plural(a.Items, "item"), a.FellAway)
	for _, item := range all {
		p.Say(screen.Yellow, 4, 2, "%s: not done, %s", report.Phrase(item.Action, item.Target), item.Reason)
	}
	if more := a.FellAway - len(all); more > 0 {
		p.Say("", 4, 2, "and %d more", more)
	}
}
