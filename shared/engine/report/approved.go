package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/firesweep/firesweep/shared/digest"
)

// Approved says what became of the items of a plan that somebody approved.
type Approved struct {
	Items    int               `json:"items" firestore:"items"`                           // of the plan
	FellAway int               `json:"fellAway,omitempty" firestore:"fellAway,omitempty"` // of them: not done, or not all of it
	Which    map[string]string `json:"which,omitempty" firestore:"-"`                     // the first of these, and why
}

// Key returns digits that stand for an item of a plan, and others for its version. They tell nobody what it is.
func (p Planned) Key() (item, version string) {
	return digest.Of(p.Action, p.Target), digest.Of(p.Version)[:16]
}

// MaxApproved is how many items an approved plan may have: Cloud Scheduler, which calls the function, takes a job of 1 MB.
const MaxApproved = 10_000

// Binding is what a plan is for.
type Binding struct {
	Project  string `json:"project"`
	Database string `json:"database"`
	Bucket   string `json:"bucket,omitempty"` // none if the job does not use Storage
	Job      string `json:"job"`
	Entry    string `json:"entry"`   // a digest of the job's entry in the lists
	Version  string `json:"version"` // of Firesweep: [version.Release]
}

// Approval is a plan that somebody approved, as a request holds it; nil: none, so that nothing is restricted.
type Approval struct {
	Binding
	Made  time.Time         `json:"made"`  // before anything was read for it, by Firestore's clock
	Items map[string]string `json:"items"` // versions by item, as [Planned.Key] has both
}

const (
	maxAge    = 7 * 24 * time.Hour // of an approved plan
	maxQuoted = 100                // how much of a text an error quotes
)

// Check returns why a plan is not for a function, or not any more.
func (a *Approval) Check(here Binding, now time.Time) error {
	switch {
	case a == nil:
		return nil
	case a.Binding != here:
		return fmt.Errorf("the plan is not for this: %s; make a plan for this, and have that approved", a.differs(here))
	case now.Sub(a.Made) > maxAge:
		return fmt.Errorf("the plan of %s is too old, it was good until %s: make a new one, and have that approved",
			a.Made.Format(time.RFC3339), a.Made.Add(maxAge).Format(time.RFC3339))
	case len(a.Items) > MaxApproved:
		return fmt.Errorf("the plan has %d items, and at most %d are allowed", len(a.Items), MaxApproved)
	}
	return nil
}

// differs says in what a plan is for something else.
func (b Binding) differs(here Binding) string {
	var all []string
	for _, of := range []struct{ name, is, here string }{
		{"project", b.Project, here.Project}, {"database", b.Database, here.Database}, {"bucket", b.Bucket, here.Bucket},
		{"job", b.Job, here.Job}, {"entry in the lists", b.Entry, here.Entry}, {"version of Firesweep", b.Version, here.Version},
	} {
		if of.is != of.here {
			all = append(all, fmt.Sprintf("its %s is %q, and here it is %q", of.name, Clip(of.is, maxQuoted), of.here))
		}
	}
	return strings.Join(all, ", ")
}
