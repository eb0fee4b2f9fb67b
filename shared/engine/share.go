package engine

import "fmt"

// share holds what is due of a collection against the safety limit on its share.
func (p *Planner) share(c KeptCount, all, due int) {
	if c.MaxDuePercent == 0 {
		return
	}
	if c.Planned != nil {
		due = c.Planned(due)
	}
	p.Share("documents of "+c.Due.Collection, all, due, c.MaxDuePercent)
}

// shareUnknown fails the run where the share cannot be told, for then nobody knows whether the limit holds.
func (p *Planner) shareUnknown(c KeptCount) {
	if c.MaxDuePercent == 0 || c.MaxDuePercent == 100 {
		return
	}
	p.Unknown(fmt.Errorf("the documents of %s could not be counted, so it is unknown whether more than %d %% of them are due: "+
		"if there are too many for Firestore to count, set maxDuePercent to 100 in the rule", c.Due.Collection, c.MaxDuePercent))
}
