// Package declared makes jobs of declared rules (shared/rule).
//
// documents.go goes through documents, judge.go decides about one by itself, related.go by what is related to it, and change.go
// says what to write. unfound.go tells what a rule leads to in vain. warning.go is for rules that warn first, objects.go for
// rules about objects, accounts.go for rules about accounts.
package declared

import (
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/orphans"
	"github.com/firesweep/firesweep/shared/rule"
)

// Job returns the job that a rule declares. The rule must have no problems, see [rule.Rule.Problems].
func Job(name string, r rule.Rule) cleanup.Job {
	if r.Objects != "" {
		pass := objectsOf(r).Pass("")
		return cleanup.Job{Name: name, Plan: planObjects(r, orphans.Plan(pass)), Reach: orphans.Reach(pass)}
	}
	if r.Accounts != "" {
		return cleanup.Job{Name: name, Plan: accountsOf{r}.plan, Accounts: true, AccountRule: accountsOf{r}.accountRule(),
			Rules: accountsOf{r}.along()}
	}
	c := ofDocuments(r)
	return cleanup.Job{Name: name, Plan: c.plan, Rules: []cleanup.AnyRule{c.sweepRule()}, Accounts: r.ReadsAccounts()}
}
