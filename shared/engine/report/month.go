package report

import (
	"time"

	"github.com/firesweep/firesweep/shared/usage"
)

// Month is what a job's runs have used in a calendar month, in UTC. Previews and killed runs are not in it.
type Month struct {
	Of    string      `json:"of" firestore:"of"` // such as 2026-11
	Runs  int         `json:"runs" firestore:"runs"`
	Usage usage.Usage `json:"usage" firestore:"usage"`
}

// At returns the month that now is in: this one, or one of which nothing is known yet.
func (m Month) At(now time.Time) Month {
	if of := now.UTC().Format("2006-01"); m.Of != of {
		return Month{Of: of}
	}
	return m
}
