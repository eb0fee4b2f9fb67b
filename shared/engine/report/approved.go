package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/firesweep/firesweep/shared/harmless"
)

// Binding is what a plan is for.
type Binding struct {
	Project  string `json:"project"`
	Database string `json:"database"`
	Bucket   string `json:"bucket,omitempty"` // none if the job does not use Storage
	Job      string `json:"job"`
	Entry    string `json:"entry"`   // a digest of the job's entry in the lists
	Version  string `json:"version"` // of Firesweep: [version.Release]
}

// Approval is a plan that somebody approved, to which a run is restricted; nil: none.
type Approval struct {
	Binding
	Made  time.Time                    `json:"made"`
	Items map[string]map[string]string `json:"items"` // by action and target, the version that the target had
}

// Approve returns the approval of all that is in a preview's plan, for what that is.
func (r *Report) Approve(of Binding) *Approval {
	a := &Approval{Binding: of, Made: r.StartedAt, Items: map[string]map[string]string{}}
	for _, p := range r.Plan {
		if a.Items[p.Action] == nil {
			a.Items[p.Action] = map[string]string{}
		}
		a.Items[p.Action][p.Target] = p.Version
	}
	return a
}

// Size returns how many items a plan has.
func (a *Approval) Size() (n int) {
	if a != nil {
		for _, targets := range a.Items {
			n += len(targets)
		}
	}
	return n
}

// An approved plan holds for a week. The clock of who made it may be a minute ahead.
const (
	maxAge    = 7 * 24 * time.Hour
	maxAhead  = time.Minute
	maxQuoted = 100 // how much of a text an error quotes
)

// Check returns why a plan is not for a function, or not any more.
func (a *Approval) Check(here Binding, now time.Time) error {
	switch {
	case a == nil:
		return nil
	case a.Binding != here:
		return fmt.Errorf("the plan is not for this: %s; make a plan for this, and have that approved", a.differs(here))
	case a.Made.After(now.Add(maxAhead)):
		return fmt.Errorf("the plan says that it was made at %s, which is in the future: make a new one, and have that approved",
			a.Made.Format(time.RFC3339))
	case now.Sub(a.Made) > maxAge:
		return fmt.Errorf("the plan of %s is too old, it was good until %s: make a new one, and have that approved",
			a.Made.Format(time.RFC3339), a.Made.Add(maxAge).Format(time.RFC3339))
	}
	return nil
}

// differs says in what a plan is for something else.
func (b Binding) differs(here Binding) string {
	var all []string
	for _, of := range []struct{ name, is, here string }{
		{"project", b.Project, here.Project}, {"database", b.Database, here.Database}, {"bucket", b.Bucket, here.Bucket},
		{"job", b.Job, here.Job}, {"version of Firesweep", b.Version, here.Version},
		{"rule was edited since, if only in its description: the digest", b.Entry, here.Entry},
	} {
		if of.is != of.here {
			all = append(all, fmt.Sprintf("its %s is %q, and here it is %q", of.name, harmless.Clip(of.is, maxQuoted), of.here))
		}
	}
	return strings.Join(all, ", ")
}
