package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/undo"
)

const logIn = "Log in: gcloud auth application-default login."

// remedies say what to do about the statuses that Google's services answer.
var remedies = map[string]string{
	codes.PermissionDenied.String(): "A right is missing. Of your own credentials, firesweep run --help and plan --help name the roles; of a " +
		"deployed function's account, terraform plan shows which.",
	codes.FailedPrecondition.String(): "Is an index missing? Make it, and wait until it is built: firesweep check --indexes lists all " +
		"for firestore.indexes.json.",
	codes.Unauthenticated.String(): logIn,
	codes.Unavailable.String():     "Google's service cannot be reached: is this machine connected to the internet?",
}

// remedy says what to do about an error of Google's services, or on the way to them; "" if the error says it all.
func (a *app) remedy(ctx context.Context, err error) string {
	if err == nil {
		return ""
	}
	do := remedies[report.CodeOf(err)]
	switch onGoogle := a.getenv("GOOGLE_CLOUD_PROJECT") != "" && a.getenv("FIRESTORE_EMULATOR_HOST") == ""; {
	case do != "":
		return do
	case errors.As(err, new(*net.DNSError)):
		return remedies[codes.Unavailable.String()]
	case onGoogle && a.credentials(ctx) != nil:
		return logIn
	}
	return ""
}

// remedy prints what to do about an error, if that is known.
func (p *printer) remedy(do string) {
	if do != "" {
		p.Say("", 4, 2, "-> %s", do)
	}
}

// tripped says what a safety limit found in a database; "" where the failure's own text says all.
func tripped(t cleanup.Tripped, database string) string {
	percent := func() float64 { return 100 * float64(t.Due) / float64(max(1, t.All)) }
	switch t.Limit {
	case "MAX_ACTIONS":
		return fmt.Sprintf("more than %d items are due, and a run may do no more (MAX_ACTIONS).", t.Most)
	case "MAX_DUE_PERCENT", "maxDuePercent":
		return fmt.Sprintf("%d of %d %s are due (%.1f %%), and at most %d %% may be (maxDuePercent).", t.Due, t.All, t.Of, percent(), t.Most)
	case "MAX_MISSING_PERCENT":
		return fmt.Sprintf("%d of %d %s looked up do not exist (%.1f %%), and at most %d %% may be missing (MAX_MISSING_PERCENT). "+
			"Is database %s the right one?", t.Due, t.All, t.Of, percent(), t.Most, database)
	case "MAX_PER_OWNER":
		return fmt.Sprintf("%d items are due because %s does not exist, and at most %d may be because of one id (MAX_PER_OWNER). "+
			"Does the application write this id where it means none?", t.Due, t.Of, t.Most)
	case "empty":
		return fmt.Sprintf("%s holds no document, and documents are looked up there. Is its name right, and is database %s the right one?",
			t.Of, database)
	case "older":
		return fmt.Sprintf("the owners of the %d newest files do not exist in %s, and those of older files do. "+
			"Was database %s restored from a backup?", t.Due, t.Of, database)
	case "unwritten":
		return fmt.Sprintf("no document has %s, which decides what is kept. Does the application call it something else?", t.Of)
	}
	return ""
}

// wrong says what went wrong in a run.
func wrong(r *report.Report, f report.Failure) string {
	var limits []string
	for _, t := range f.Tripped {
		limits = append(limits, tripped(t, r.Database))
	}
	if f.Action != report.CheckLimits || len(limits) == 0 || slices.Contains(limits, "") {
		return report.Phrase(f.Action, f.Target) + ": " + f.Error
	}
	return "a safety limit stopped " + cmp.Or(prefixed("the pass ", f.Pass), "it") + ": " + strings.Join(limits, " ")
}

// failures prints what went wrong, and what to do about it. said was printed already.
func (p *printer) failures(r *report.Report, said ...report.Failure) {
	lift := []string{}
	for _, f := range r.Failures {
		if slices.ContainsFunc(said, func(s report.Failure) bool { return s.Target == f.Target && s.Error == f.Error }) {
			continue
		}
		p.Say(red, 2, 2, "%s", wrong(r, f))
		p.remedy(remedies[f.Code])
		for _, t := range f.Tripped {
			if t.Lift != "" {
				lift = append(lift, t.Lift)
			}
		}
	}
	if len(lift) == 0 {
		return
	}
	if planned := r.Totals().Planned; planned > 0 && len(r.Plan) < planned {
		p.Say("", 4, 2, "See all that is due: %s", p.cmd("plan", "--force", r.Job))
	}
	p.Say("", 4, 2, "If that is as it must be, run it once without the limit:")
	p.Command("%s", p.lifting(r, lift))
}

// lifting is the command that runs a job once without the limits that tripped, and those that were lifted already.
func (p *printer) lifting(r *report.Report, lift []string) string {
	args, all := []string{r.Job}, slices.Concat(r.Lift, lift)
	if r.Force || slices.Contains(all, "force") {
		args = append(args, "--force")
	}
	for i, name := range all {
		if name != "force" && !slices.Contains(all[:i], name) {
			args = append(args, "--lift", quoted(name))
		}
	}
	if r.Approved > 0 {
		args = append(args, "--plan FILE")
	}
	return p.cmd("run", args...)
}

// next prints what happens after a run, and what to do.
func (p *printer) next(r *report.Report) {
	const goesOn = "The next run continues from there."
	var says string
	switch {
	case r.Status == report.Completed && r.Approved > 0:
		says = "Of the plan, all that is still as it was approved is done. Other runs do what else is due."
	case r.Status == report.Partial && r.Stopped:
		says = "It was stopped. " + goesOn
	case r.Status == report.Partial:
		says = "It was out of time, or was interrupted. " + goesOn
	case r.Status == report.Skipped:
		says = "Another run was under way: " + p.cmd("runs", r.Job)
	case r.Status == report.Aborted && r.Done() > 0:
		says = "Nothing was done of what the limit stopped; the rest was done."
	case r.Status == report.Aborted:
		says = "Nothing was deleted or changed."
	case r.Status == report.Killed:
		says = "What it did is in its undo log. " + goesOn
	case r.Status == report.Failed:
		says = "The next run tries again what failed; everything else is done."
	default:
		return
	}
	p.Say("", 2, 2, "%s", says)
}

// undone names the steps of an undo in words.
var undone = map[undo.Step]string{
	undo.Nothing: "is as it was", undo.Recreate: "bring back", undo.Revert: "set fields back",
	undo.Replace: "set back", undo.Remove: "remove",
	undo.Conflict: "left: changed since", undo.Lost: "cannot be brought back", undo.Stays: "stays: it was sent",
}
