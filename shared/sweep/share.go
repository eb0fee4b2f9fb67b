package sweep

import (
	"errors"
	"fmt"
)

// share holds what is due of a collection against the safety limit on its share.
func (p *Planner) share(c KeptCount, all, due int) {
	if c.Planned != nil {
		due = c.Planned(due)
	}
	p.Share("documents of "+c.Due.Collection, all, due, c.MaxDuePercent)
}

// Share holds how much of something is due against the safety limit on that, in percent; 0 stands for none. What is in the plural.
func (p *Planner) Share(what string, all, due, maxDuePercent int) {
	if maxDuePercent == 0 || all < p.run.limits.MinLookups || due*100 <= maxDuePercent*all {
		return
	}
	p.shares = append(p.shares, fmt.Sprintf("maxDuePercent: %d of %d %s are due (%.1f %%), but at most %d %% may be: look at the plan (firesweep plan %s --force), "+
		"then raise maxDuePercent in the rule or run once with {\"force\":true}", due, all, what, 100*float64(due)/float64(all), maxDuePercent, p.Job))
}

// shareUnknown fails the run where the share cannot be told, for then nobody knows whether the limit holds.
func (p *Planner) shareUnknown(c KeptCount) {
	if c.MaxDuePercent == 0 || c.MaxDuePercent == 100 || p.run.limits.Lifted {
		return
	}
	p.uncounted = errors.Join(p.uncounted, fmt.Errorf("the documents of %s could not be counted, so it is unknown whether more than %d %% of them are due: "+
		"if there are too many for Firestore to count, set maxDuePercent to 100 in the rule", c.Due.Collection, c.MaxDuePercent))
}
