package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/version"
)

// A run may be restricted to a plan that somebody approved: its request says which items those are, and the run does at most
// them, each only if the job proposes it still and it is still what it was. All else holds as in every run. So a request that somebody
// forged does nothing that the job would not do. Nobody continues such a run, because its state does not hold the plan.

// MaxApproved is how many items an approved plan may have: Cloud Scheduler, which calls the function, takes a job of 1 MB.
const MaxApproved = 10_000

// Approval is a plan that somebody approved, as a request holds it.
type Approval struct {
	Project  string    `json:"project"`
	Database string    `json:"database"`
	Job      string    `json:"job"`
	Entry    string    `json:"entry"`   // [Function.Entry]
	Version  string    `json:"version"` // of Firesweep: [version.Release]
	Made     time.Time `json:"made"`    // before anything was read for it, by Firestore's clock
	Until    time.Time `json:"until"`   // from then on it is too old
	Items    []string  `json:"items"`   // each a [report.Planned.Approval]
}

// parseApproval reads the plan of a request's body strictly.
func parseApproval(value any) (*Approval, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf(`field "plan": %w`, err)
	}
	var a *Approval
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	switch err := d.Decode(&a); {
	case err != nil:
		return nil, fmt.Errorf(`field "plan" is not an approved plan: %w`, err)
	case a == nil || a.Made.IsZero() || a.Until.IsZero() || a.Items == nil:
		return nil, errors.New(`field "plan" is not an approved plan: it lacks made, until or items`)
	}
	seen := map[string]bool{}
	for i, item := range a.Items {
		if !report.IsApproval(item) {
			return nil, fmt.Errorf(`field "plan": item %d is %q, which names no item`, i, report.Clip(item, maxQuoted))
		}
		key, _ := report.SplitApproval(item)
		if seen[key] {
			return nil, fmt.Errorf(`field "plan": item %d is an item twice`, i)
		}
		seen[key] = true
	}
	return a, nil
}

// ToApprove returns the approval of a plan of the function's job, which is good for so long. Its items are the caller's to add.
func (f *Function) ToApprove(project string, plan *report.Report, age time.Duration) Approval {
	return Approval{
		Project: project, Database: plan.Database, Job: f.Job.Name, Entry: f.Entry, Version: version.Release,
		Made: plan.Read, Until: plan.Read.Add(age),
	}
}

// Check returns why a plan is not for the function, or not any more.
func (f *Function) Check(a *Approval, cfg config.Config) error {
	for _, is := range []struct{ what, planned, here string }{
		{"job", a.Job, f.Job.Name},
		{"project", a.Project, cfg.Project},
		{"database", a.Database, cfg.Database},
		{"version of Firesweep", a.Version, version.Release},
		{"rule, or entry in the lists", a.Entry, f.Entry},
	} {
		if is.planned != is.here {
			return fmt.Errorf("the plan is for another %s, %q, and here is %q: make a plan for this one, and have that approved",
				is.what, report.Clip(is.planned, maxQuoted), is.here)
		}
	}
	switch {
	case !f.Clock().Before(a.Until):
		return fmt.Errorf("the plan of %s is too old, it was good until %s: make a new one, and have that approved",
			a.Made.Format(time.RFC3339), a.Until.Format(time.RFC3339))
	case len(a.Items) > MaxApproved:
		return fmt.Errorf("the plan has %d items, and at most %d are allowed", len(a.Items), MaxApproved)
	}
	return nil
}
