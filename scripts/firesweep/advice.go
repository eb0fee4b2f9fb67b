package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"

	"google.golang.org/api/googleapi"
	"google.golang.org/grpc/codes"

	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/undo"
)

const logIn = "Log in: gcloud auth application-default login."

// remedies say what to do about the statuses that Google's services answer.
var remedies = map[string]string{
	codes.PermissionDenied.String(): "A right is missing. Of your own credentials, firesweep run --help and plan --help name " +
		"the roles; of a deployed function's account, terraform plan shows which.",
	codes.FailedPrecondition.String(): "Is an index missing? Make it, and wait until it is built: firesweep check --indexes " +
		"lists all for firestore.indexes.json.",
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

// apiError returns an error of Google's APIs in one line.
func apiError(err error) error {
	var api *googleapi.Error
	if errors.As(err, &api) && api.Message != "" {
		return fmt.Errorf("%d: %s", api.Code, api.Message)
	}
	return err
}

// remedy prints what to do about an error, if that is known.
func (p *printer) remedy(do string) {
	if do != "" {
		p.Say("", 4, 2, "-> %s", do)
	}
}

// wrong says what went wrong in a run.
func wrong(r *report.Report, f report.Failure) string {
	if f.Limit != nil {
		return fmt.Sprintf("a safety limit stopped %s: %s (%s)", cmp.Or(prefixed("the pass ", f.Limit.Pass), "it"),
			cmp.Or(report.Limited(*f.Limit, r.Database), f.Error), f.Limit.Limit)
	}
	return report.Phrase(f.Action, f.Target) + ": " + f.Error
}

// failures prints what went wrong, and what to do about it. said was printed already.
func (p *printer) failures(r *report.Report, said ...report.Failure) {
	force := false
	for _, f := range r.Failures {
		if slices.ContainsFunc(said, func(s report.Failure) bool { return s.Target == f.Target && s.Error == f.Error }) {
			continue
		}
		p.Say(red, 2, 2, "%s", wrong(r, f))
		p.remedy(remedies[f.Code])
		force = force || f.Limit != nil && report.Forced(f.Limit.Limit)
	}
	if !force || r.Force {
		return
	}
	if planned := r.Totals().Planned; planned > 0 && len(r.Plan) < planned {
		p.Say("", 4, 2, "See all that is due: %s", p.cmd("plan", "--force", r.Job))
	}
	p.Say("", 4, 2, "If that is as it must be, run it once without the limit:")
	args := []string{r.Job, "--force"}
	if r.Approved > 0 {
		args = append(args, "--plan FILE")
	}
	p.Type("run", args...)
}

// next prints what a run left, what happens after it, and what to do.
func (p *printer) next(r *report.Report) {
	const goesOn = "The next run continues from there."
	var says, toNext, stopped string
	left, unplanned := r.Left(), r.Kept[report.KeptUnapproved]
	if left > 0 {
		toNext = fmt.Sprintf(" %d were left to the next run, or turned out to be kept.", left)
		stopped = fmt.Sprintf("%d were not done because of a safety limit, and nothing does them before somebody acts.", left)
	}
	switch {
	case r.Status == report.Completed && unplanned > 0:
		says = fmt.Sprintf("What was agreed to is done. Due as well, and not in the plan: %s. Do it: %s",
			plural(unplanned, "item"), p.cmd("run", r.Job))
	case r.Status == report.Completed && left > 0:
		says = plural(left, "item") + " turned out to be kept."
	case r.Status == report.Partial && r.Stopped:
		says = "It was stopped. " + goesOn + toNext
	case r.Status == report.Partial:
		says = "It was out of time, or was interrupted. " + goesOn + toNext
	case r.Status == report.Skipped && r.WasHeld:
		says = "It did nothing, because the job is held: " + p.cmd("runs", r.Job)
	case r.Status == report.Skipped:
		says = "It did nothing: another run was under way: " + p.cmd("runs", r.Job)
	case r.Status == report.Aborted && slices.ContainsFunc(r.Failures, stopsOnce):
		says = fmt.Sprintf("%d were not done this time. The next run does them: correct the rule before, or %s", left,
			p.cmd("hold", r.Job))
	case r.Status == report.Aborted && r.Done() > 0:
		says = stopped + " The rest was done."
	case r.Status == report.Aborted:
		says = "Nothing was deleted or changed. " + stopped
	case r.Status == report.Killed:
		says = "What it did is in its undo log. " + goesOn
	case r.Status == report.Failed:
		says = "The next run tries again what failed." + toNext
	default:
		return
	}
	p.Say("", 2, 2, "%s", says)
}

// undone names the steps of an undo in words.
var undone = map[undo.Step]string{
	undo.Nothing: "is as it was", undo.Recreate: "bring back", undo.Revert: "set fields back",
	undo.Replace: "set back", undo.Remove: "remove",
	undo.Conflict: "left", undo.Lost: "cannot be brought back", undo.Stays: "stays: it was sent",
}
