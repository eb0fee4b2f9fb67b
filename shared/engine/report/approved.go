package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/firesweep/firesweep/shared/digest"
)

// Approved says what became of the items of a plan that somebody approved.
type Approved struct {
	Items    int    `json:"items" firestore:"items"`                           // of the plan
	FellAway int    `json:"fellAway,omitempty" firestore:"fellAway,omitempty"` // of them: nothing was done
	Which    []Fell `json:"which,omitempty" firestore:"-"`                     // the first of these
}

// Fell is an item of an approved plan that fell away.
type Fell struct {
	Item   string `json:"item"` // the first part of its [Planned.Approval]
	Reason string `json:"reason"`
}

// maxFell is how many items that fell away a report names.
const maxFell = 100

// Fell adds an item that fell away, up to as many as a report holds.
func (a *Approved) Fell(item, reason string) {
	a.FellAway++
	if len(a.Which) == maxFell {
		return
	}
	a.Which = append(a.Which, Fell{item, reason})
}

// Lengths of what an approval is made of, in hexadecimal digits: what is to be done to what, and its version.
const (
	itemDigits    = 24
	versionDigits = 16
)

// Approval returns 40 hexadecimal digits that stand for an item of a plan with its version. They tell nobody what it is.
func (p Planned) Approval() string {
	return digest.Of(p.Action, p.Target) + digest.Of(p.Version)[:versionDigits]
}

// SplitApproval returns the two parts of an [Planned.Approval].
func SplitApproval(text string) (item, version string) { return text[:itemDigits], text[itemDigits:] }

// isApproval reports whether a text has the form of a [Planned.Approval].
func isApproval(text string) bool {
	return len(text) == itemDigits+versionDigits && strings.Trim(text, "0123456789abcdef") == ""
}

// MaxApproved is how many items an approved plan may have: Cloud Scheduler, which calls the function, takes a job of 1 MB.
const MaxApproved = 10_000

// Approval is a plan that somebody approved, as a request holds it.
type Approval struct {
	Project  string    `json:"project"`
	Database string    `json:"database"`
	Job      string    `json:"job"`
	Entry    string    `json:"entry"`   // a digest of the job's entry in the lists
	Version  string    `json:"version"` // of Firesweep: [version.Release]
	Made     time.Time `json:"made"`    // before anything was read for it, by Firestore's clock
	Until    time.Time `json:"until"`   // from then on it is too old
	Items    []string  `json:"items"`   // each a [Planned.Approval]
}

// maxQuoted is how much of a text an error quotes.
const maxQuoted = 64

// ParseApproval reads the plan of a request's body, as JSON was decoded, strictly.
func ParseApproval(value any) (*Approval, error) {
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
		if !isApproval(item) {
			return nil, fmt.Errorf(`field "plan": item %d is %q, which names no item`, i, Clip(item, maxQuoted))
		}
		key, _ := SplitApproval(item)
		if seen[key] {
			return nil, fmt.Errorf(`field "plan": item %d is an item twice`, i)
		}
		seen[key] = true
	}
	return a, nil
}

// Check returns why a plan is not for a function, or not any more. here is what one that is made there now would have.
func (a *Approval) Check(here Approval, now time.Time) error {
	for _, is := range []struct{ what, planned, here string }{
		{"job", a.Job, here.Job},
		{"project", a.Project, here.Project},
		{"database", a.Database, here.Database},
		{"version of Firesweep", a.Version, here.Version},
		{"rule, or entry in the lists", a.Entry, here.Entry},
	} {
		if is.planned != is.here {
			return fmt.Errorf("the plan is for another %s, %q, and here is %q: make a plan for this one, and have that approved",
				is.what, Clip(is.planned, maxQuoted), is.here)
		}
	}
	switch {
	case !now.Before(a.Until):
		return fmt.Errorf("the plan of %s is too old, it was good until %s: make a new one, and have that approved",
			a.Made.Format(time.RFC3339), a.Until.Format(time.RFC3339))
	case len(a.Items) > MaxApproved:
		return fmt.Errorf("the plan has %d items, and at most %d are allowed", len(a.Items), MaxApproved)
	}
	return nil
}
