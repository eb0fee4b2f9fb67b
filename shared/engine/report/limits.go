package report

import (
	"fmt"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/harmless"
)

// The safety limits.
const (
	MaxActions      = "MAX_ACTIONS"
	MaxDuePercent   = "MAX_DUE_PERCENT"
	RulesPercent    = "maxDuePercent" // the same, where a rule sets it
	EmptyCollection = "empty collection"
	NeverFound      = "never found" // what a rule deletes together with its items
)

// CheckLimits is the action of a failure that names a safety limit.
const CheckLimits = "check safety limits"

// Stop adds, before all else that went wrong, the limits that stopped the plan or passes of it, and says so in the status.
func (r *Report) Stop(limits []*cleanup.LimitError) {
	r.Status = Aborted
	failures := make([]Failure, len(limits))
	for i, e := range limits {
		failures[i] = Failure{Target: r.Job, Action: CheckLimits, Error: Clip(harmless.Text(r.limited(*e)), maxLimitText), Limit: e}
	}
	r.Failures = append(failures, r.Failures...)
}

// Forced reports whether a request's field force lifts a limit.
func Forced(limit string) bool {
	return limit == MaxActions || limit == MaxDuePercent || limit == RulesPercent
}

// MostIn says in which folder most of what is due lies, if in one.
func MostIn(e cleanup.LimitError) string {
	if e.Folder == "" {
		return ""
	}
	return fmt.Sprintf(", %d of them in %s", e.InFolder, e.Folder)
}

// limited says which limit stopped what, by which figures, and what to do.
func (r *Report) limited(e cleanup.LimitError) string {
	text := e.Limit + ": "
	if e.Pass != "" {
		text = "pass " + e.Pass + ": " + text
	}
	of, look := e.Collection, fmt.Sprintf(`look at the plan with {"dryRun":true,"force":true} (firesweep plan %s --force), then `, r.Job)
	leaveOut := ""
	if e.Pass != "" {
		leaveOut = ", or leave the pass out with ORPHANS (Terraform: orphans)"
	}
	const orForce = ` or run once with {"force":true}`
	switch {
	case e.Limit == MaxActions:
		return fmt.Sprintf("%sthe plan has more than %d actions: %sraise it (Terraform: safety_limits.max_actions)%s", text, e.Most, look, orForce)
	case Forced(e.Limit):
		raise := "raise it (Terraform: safety_limits.max_due_percent)"
		if e.Limit == RulesPercent {
			raise = "raise it in the rule"
		}
		return fmt.Sprintf("%s%d of %d %s are due (%.1f %%%s), but at most %d %% may be: %s%s%s", text, e.Due, e.Looked, of,
			100*float64(e.Due)/float64(max(1, e.Looked)), MostIn(e), e.Most, look, raise, orForce)
	case e.Field != "":
		return fmt.Sprintf("%sno document of %s has %s, by which the rule looks there, so nothing is kept because of it: most likely "+
			"the application calls the field something else", text, of, e.Field)
	case e.Limit == EmptyCollection:
		return fmt.Sprintf("%s%s holds no document at all, yet ids refer to documents in it: make sure that database %s is the right "+
			"one (FIRESTORE_DATABASE, Terraform: databases), was not emptied, and keeps them under that name. If it is rightly empty, put a "+
			"document into it%s", text, of, r.Database, leaveOut)
	}
	return text + e.Why
}
