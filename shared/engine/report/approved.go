package report

import (
	"strings"

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

// IsApproval reports whether a text has the form of a [Planned.Approval].
func IsApproval(text string) bool {
	return len(text) == itemDigits+versionDigits && strings.Trim(text, "0123456789abcdef") == ""
}
