package report

import (
	"fmt"
	"strings"

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

// Stop adds, before all else that went wrong, the limits that stopped passes of the plan, and says so in the status.
func (r *Report) Stop(limits []*cleanup.LimitError) {
	if len(limits) > 0 {
		r.Status = Aborted
	}
	failures := make([]Failure, len(limits))
	for i, e := range limits {
		text := harmless.Clip(harmless.Text(r.limited(*e)), maxLimitText)
		failures[i] = Failure{Target: r.Job, Action: CheckLimits, Error: text, Limit: e}
	}
	r.Failures = append(failures, r.Failures...)
}

// Forced reports whether a request's field force lifts a limit.
func Forced(limit string) bool {
	return limit == MaxActions || limit == MaxDuePercent || limit == RulesPercent
}

// Limited says, by which figures, that a limit was tripped; what to do about it, only where a document is missing.
func Limited(e cleanup.LimitError, database string) string {
	of, in := e.Collection, ""
	if e.Folder != "" { // most of what is due lies there
		in = fmt.Sprintf(", %d of them in %s", e.InFolder, e.Folder)
	}
	switch {
	case e.Limit == MaxActions:
		return fmt.Sprintf("the plan has more than %d actions", e.Most)
	case Forced(e.Limit):
		return fmt.Sprintf("%d of %d %s are due (%.1f %%%s), but at most %d %% may be", e.Due, e.Looked, of,
			100*float64(e.Due)/float64(max(1, e.Looked)), in, e.Most)
	case e.Field != "":
		return fmt.Sprintf("no document of %s has %s, by which the rule looks there, so nothing is kept because of it: most likely "+
			"the application calls the field something else", of, e.Field)
	case e.Limit == EmptyCollection:
		return fmt.Sprintf("%s holds no document at all, yet the rule looks for some there: make sure that database %s is the "+
			"right one (FIRESTORE_DATABASE, Terraform: databases), was not emptied, and keeps them under that name. "+
			"If it is rightly empty, put a document into it", of, database)
	case len(e.Unfound) > 0:
		return strings.Join(e.Unfound, "; ") + " Nothing is deleted this time. The next run deletes, by hand or by schedule: " +
			"correct the rule before it, unless it is right"
	}
	return e.Why
}

// limited says which limit stopped what, by which figures, and what to do about a function that is deployed.
func (r *Report) limited(e cleanup.LimitError) string {
	text := e.Limit + ": " + Limited(e, r.Database)
	if e.Pass != "" {
		text = "pass " + e.Pass + ": " + text
	}
	raise := map[string]string{
		MaxActions: "(Terraform: safety_limits.max_actions)", MaxDuePercent: "(Terraform: safety_limits.max_due_percent)",
		RulesPercent: "in the rule",
	}[e.Limit]
	switch {
	case raise != "":
		return fmt.Sprintf(`%s: look at the plan with {"dryRun":true,"force":true} (firesweep plan %s --force), then raise it %s `+
			`or run once with {"force":true}`, text, r.Job, raise)
	case e.Limit == EmptyCollection && e.Field == "" && e.Pass != "":
		return text + ", or leave the pass out with ORPHANS (Terraform: orphans)"
	}
	return text
}
