package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/scripts/screen"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/manifest"
	"github.com/firesweep/firesweep/shared/version"
)

// A plan file says what jobs would do, item by item, for a person to approve. docs/command.md documents it. It holds no reasons,
// because these quote what is in the documents.
type planFile struct {
	Project  string    `json:"project"`
	Version  string    `json:"version"` // of Firesweep
	Plans    []jobPlan `json:"plans"`
	Checksum string    `json:"checksum"` // of all else
}

// jobPlan is a job's part of it.
type jobPlan struct {
	Job      string     `json:"job"`
	Database string     `json:"database"`
	Entry    string     `json:"entry"` // a digest of the job's entry in the lists, so of its rule
	Made     time.Time  `json:"made"`  // before anything was read for it, by Firestore's clock
	Items    []planItem `json:"items"`
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

// sum is the checksum of the file's content.
func (f planFile) sum() (string, error) {
	f.Checksum = ""
	text, err := json.Marshal(f)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}

// writePlan writes the plans of jobs to a file. None is written where a run would not carry out all of them.
func writePlan(to, project string, all []planned) error {
	f := planFile{Project: project, Version: version.Release, Plans: []jobPlan{}}
	entries := byName(functions.All())
	for _, p := range all {
		if p.Report == nil || p.Report.Status != report.Completed {
			return fmt.Errorf("no plan was written to %s, because no run would carry out that of %s", to, p.Job)
		}
		if n := len(p.Report.Plan); n > engine.MaxApproved {
			return fmt.Errorf("no plan was written to %s: that of %s has %d items, and a function takes at most %d: "+
				"leave that job out, and let it run without a plan file until it has fewer to do", to, p.Job, n, engine.MaxApproved)
		}
		of := jobPlan{Job: p.Job, Database: p.Report.Database, Entry: entries[p.Job].Digest(), Made: p.Report.Read, Items: []planItem{}}
		for _, item := range p.Report.Plan {
			of.Items = append(of.Items, planItem{Target: item.Target, Action: item.Action, Version: item.Version})
		}
		f.Plans = append(f.Plans, of)
	}
	var err error
	if f.Checksum, err = f.sum(); err != nil {
		return fmt.Errorf("write %s: %w", to, err)
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(f); err != nil {
		return fmt.Errorf("write %s: %w", to, err)
	}
	return os.WriteFile(to, text.Bytes(), 0o600) // the error names the file
}

func byName(entries []manifest.Entry) map[string]manifest.Entry {
	all := map[string]manifest.Entry{}
	for _, e := range entries {
		all[e.Name] = e
	}
	return all
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
	if err != nil {
		return f, wrongUse("--plan: %s is not a plan that firesweep plan --out wrote: %w", from, err)
	}
	if sum, err := f.sum(); err != nil || sum != f.Checksum {
		return f, wrongUse("--plan: %s was altered since it was written: write a new one with firesweep plan --out, "+
			"and have that approved", from)
	}
	return f, nil
}

// approvals returns what each of the named jobs may do by the file, all jobs in it if none is named. project is that of the run;
// empty if it is not known. The error says why the file is not for it.
func (f planFile) approvals(from, project string, names []string, now time.Time, oldest time.Duration) (map[string]*engine.Approval, error) {
	again := "make a plan here with firesweep plan --out, and have that approved"
	switch {
	case project != "" && f.Project != project:
		return nil, wrongUse("--plan: %s is for project %s, and this is %s: %s", from, f.Project, project, again)
	case f.Version != version.Release:
		return nil, wrongUse("--plan: %s was written by Firesweep %s, and this is %s: %s", from, f.Version, version.Release, again)
	}
	all, entries := map[string]*engine.Approval{}, byName(functions.All())
	for _, p := range f.Plans {
		if len(names) > 0 && !slices.Contains(names, p.Job) {
			continue
		}
		e, known := entries[p.Job]
		switch {
		case !known || e.Digest() != p.Entry:
			return nil, wrongUse("--plan: the rule or the entry of %s is another one than when %s was written: %s", p.Job, from, again)
		case now.Sub(p.Made) > oldest:
			return nil, wrongUse("--plan: the plan of %s in %s is of %s UTC, older than %s: %s, or allow it with --max-age",
				p.Job, from, when(p.Made), short(oldest), again)
		case len(p.Items) > engine.MaxApproved:
			return nil, wrongUse("--plan: the plan of %s in %s has %d items, and a function takes at most %d", p.Job, from,
				len(p.Items), engine.MaxApproved)
		}
		a := &engine.Approval{
			Project: f.Project, Database: p.Database, Job: p.Job, Entry: p.Entry, Version: f.Version, Made: p.Made,
			Until: p.Made.Add(oldest), Items: []string{},
		}
		for _, item := range p.Items {
			a.Items = append(a.Items, item.approval())
		}
		all[p.Job] = a
	}
	for _, name := range names {
		if all[name] == nil {
			return nil, wrongUse("--plan: %s has no plan of %s", from, name)
		}
	}
	return all, nil
}

// approve reads the plan file, if there is one, and returns the jobs to run: without names, those of the file.
func (f *runFlags) approve(getenv func(string) string, names []string, now time.Time) ([]string, error) {
	project := getenv("GOOGLE_CLOUD_PROJECT")
	oldest, err := age(cmp.Or(f.oldest, "7d"))
	switch {
	case f.plan == "" && f.oldest != "":
		return nil, wrongUse("--max-age needs --plan")
	case f.plan == "":
		return names, nil
	case f.local: // the functions on this machine have their own project, and compare it
		project = ""
	}
	if err != nil {
		return nil, wrongUse("--max-age is %q: it must be like 12h or 30d", f.oldest)
	}
	if f.approved, err = readPlan(f.plan); err != nil {
		return nil, err
	}
	if len(names) == 0 {
		names = f.approved.jobs()
	}
	f.approvals, err = f.approved.approvals(f.plan, project, names, now, oldest)
	return names, err
}

// jobs returns the names of the file's jobs.
func (f planFile) jobs() (names []string) {
	for _, p := range f.Plans {
		names = append(names, p.Job)
	}
	return names
}

// fellAway is an item of a plan that was not done.
type fellAway struct {
	Target string `json:"target"`
	Action string `json:"action"`
	Reason string `json:"reason"`
}

// fellAway returns the items of a job's plan that a run did not do: as many as its report names.
func (f planFile) fellAway(job string, r *report.Report) (all []fellAway) {
	if r == nil || r.Approved == nil {
		return nil
	}
	items := map[string]planItem{}
	for _, p := range f.Plans {
		for _, item := range p.Items {
			if p.Job == job {
				key, _ := report.SplitApproval(item.approval())
				items[key] = item
			}
		}
	}
	for _, which := range r.Approved.Which {
		item := items[which.Item]
		all = append(all, fellAway{item.Target, item.Action, which.Reason})
	}
	return all
}

// fellAway prints what became of an approved plan.
func (p *printer) fellAway(a *report.Approved, all []fellAway) {
	if a == nil {
		return
	}
	p.Say("", 2, 2, "approved: %s; %d of them fell away", plural(a.Items, "item"), a.FellAway)
	for _, item := range all {
		p.Say(screen.Yellow, 4, 2, "%s: not done, %s", strings.TrimSpace(report.Phrase(item.Action, item.Target)), item.Reason)
	}
	if more := a.FellAway - len(all); more > 0 {
		p.Say("", 4, 2, "and %d more", more)
	}
}
