package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/firesweep/firesweep/scripts/firesweep/done"
	"github.com/firesweep/firesweep/scripts/screen"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/declared"
	"github.com/firesweep/firesweep/shared/digest"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/manifest"
	"github.com/firesweep/firesweep/shared/rule"
)

// forgotten is what became of a user: a receipt without any field's contents. docs/command.md documents it as JSON.
type forgotten struct {
	UID      string    `json:"uid"`
	Project  string    `json:"project"`
	Emulator string    `json:"emulator,omitempty"` // the emulator that stood for the project's Firestore; empty: it was Google's
	Rules    []string  `json:"rules"`              // that were turned round
	Plan     planned   `json:"plan"`
	Run      *shownRun `json:"run,omitempty"`   // nil: nothing was run
	Error    string    `json:"error,omitempty"` // what is not known of the run, or why there is none
}

func (a *app) forgetCommand() *cobra.Command {
	var o engine.PlanOptions
	var apply, yes bool
	c := &cobra.Command{
		Use:   "forget UID",
		Short: "Show what belongs to one user, and with --apply delete it",
		Long: `Show all that your rules say belongs to the user of this uid; with --apply, show
it, ask for the uid to be typed, delete it, and print a receipt that holds no
contents.

Rules that name an account (in gone, unless or with) or are about accounts are
turned round for this user, whatever their where and age say. A rule with
"schedule": "never" is for this command only. What names other users besides, is
in another place of that name, or is kept by an exception such as a legal hold
stays, and is named. Copies in archives go too. The account goes last.

It runs in this process, as 'firesweep run --here' does and with the same
rights, lease, limits and undo log. 'firesweep undo' brings the user back. The
second time there is nothing to do.`,
		Example: `  firesweep forget --project my-project UID
  firesweep forget --project my-project --apply UID
  firesweep forget --apply --yes --json UID > receipt.json`,
	}
	c.Flags().BoolVar(&apply, "apply", false, "do it; without this flag it is only shown")
	c.Flags().BoolVarP(&yes, "yes", "y", false, "with --apply: do not ask for the uid to be typed")
	c.Flags().BoolVar(&o.Force, "force", false, "lift the limits on numbers and shares")
	liftFlag(c, &o.Lift)
	c.RunE = func(c *cobra.Command, args []string) error {
		switch {
		case len(args) != 1:
			return wrongUse("name one user by the uid")
		case yes && !apply:
			return wrongUse("--yes needs --apply: without it nothing is changed")
		case apply && !yes && !a.screen.in:
			return wrongUse("it asks for the uid first, and standard input is not a terminal: use --yes")
		}
		if err := checkLift(o.Lift); err != nil {
			return err
		}
		job, names, err := a.forgets("forget"+digest.Of(args[0]), args[0])
		if err != nil {
			return err
		}
		for _, name := range names {
			for _, setting := range []string{"FIRESTORE_DATABASE", "STORAGE_BUCKET"} {
				if config.For(name, a.getenv)(setting) != a.getenv(setting) {
					return wrongUse("%s_%s differs from %s: a user is forgotten in one database and bucket", setting, name, setting)
				}
			}
		}
		cfg, err := a.settings(job, job.Uses()...)
		if err != nil {
			return err
		}
		rules, _ := a.jobsNamed(names) // there are such
		for _, of := range append(rules, job) {
			if _, _, err := a.ranOn(c.Context(), of, cfg.Bucket); err != nil {
				return err
			}
		}
		a.here = true
		r := forgotten{UID: args[0], Project: cfg.Project, Emulator: cfg.Emulators.Firestore, Rules: names}
		again := "firesweep forget --apply" + asGiven(c, "project", "rules", "force", "lift") + " " + screen.Quoted(r.UID)
		return a.forget(c.Context(), job, o, r, again, apply, yes)
	}
	return c
}

// forgets makes known the job that forgets a user, and returns it with the names of the rules. Each user has a job, so that no run
// does what another's left to do. Who it is does not matter for what its runs can have done.
func (a *application) forgets(name, uid string) (e manifest.Entry, names []string, err error) {
	e = manifest.Entry{Name: name, Trigger: manifest.Schedule, TimeoutSeconds: 540, Roles: map[config.Backend][]string{
		config.Firestore: {"roles/datastore.user"}, config.Auth: {"firesweepAccountDeleter"}}}
	var rules []rule.Rule
	for _, of := range a.used() {
		if of.Rule == nil || !of.DeletesAccounts() && !of.ReadsAccounts() {
			continue
		}
		if of.UsesStorage() {
			e.Roles[config.Storage] = []string{"firesweepObjectCleaner"}
		}
		rules, names = append(rules, *of.Rule), append(names, of.Name)
	}
	job, err := declared.Forget(name, uid, rules)
	if err != nil {
		return e, nil, wrongUse("%w", err)
	}
	a.Jobs = maps.Clone(a.Jobs)
	a.Jobs[name], a.All = job, append(slices.Clone(a.All), e)
	return e, names, nil
}

// forget shows what belongs to a user, and deletes it if that is asked for.
func (a *app) forget(ctx context.Context, job manifest.Entry, o engine.PlanOptions, r forgotten, again string, apply, yes bool) error {
	stop := a.progress(ctx, doing("looking for what belongs to the user"))
	r.Plan = a.planHere(ctx, job, o)
	stop()
	p := a.aside()
	if !a.json || apply && !yes {
		p.Say(screen.Bold, 0, 2, "What belongs to the user %s in %s, by %s:", r.UID, r.Project, strings.Join(r.Rules, ", "))
		p.planned(r.Plan, true)
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case !r.Plan.well(), len(r.Plan.Report.Plan) == 0:
		return a.show(r, func(p *printer) { p.Say("", 0, 2, "Nothing was changed.") }, !r.Plan.well())
	case !apply:
		return a.show(r, func(p *printer) {
			p.Say("", 0, 2, "Nothing was changed. Do it:")
			p.Command("%s", again)
		}, false)
	case !yes && a.ask("Type the uid to delete all of this: ") != r.UID:
		return errors.New("nothing was changed: the answer was not the uid")
	}
	if err := a.checkRights(ctx, []manifest.Entry{job}); err != nil {
		return err
	}
	stop = a.progress(ctx, doing("forgetting the user"))
	rep, err := here{app: a}.call(ctx, job.Name, order{Force: o.Force, Lift: o.Lift})
	stop()
	if rep != nil {
		did, unread := a.doneBy(context.WithoutCancel(ctx), job, rep.RunID, done.Wanted{Bucket: rep.Bucket})
		r.Run, err = &shownRun{rep, did}, errors.Join(err, unread)
	}
	if err == nil {
		err = a.leftOver(ctx, job, o, r)
	}
	if err != nil {
		r.Error = err.Error()
	}
	return a.show(r, func(p *printer) {
		p.Say(screen.Bold, 0, 2, "Receipt: the user %s in %s%s", r.UID, r.Project, prefixed(", on the emulator ", r.Emulator))
		if r.Error != "" {
			p.Say(screen.Red, 2, 2, "%s", r.Error)
		}
		if rep != nil {
			p.run(*r.Run, rep.RunID, nil)
			p.Say("", 2, 2, "Undo brings the user back, until its log is gone (UNDO_DAYS and a day).")
		}
	}, err != nil || rep.Status != report.Completed)
}

// leftOver returns an error if something of a plan that the run did not do is there still, or went by another's hand, so that nothing
// led to what belonged to it. The rest went with what another rule deletes.
func (a *app) leftOver(ctx context.Context, job manifest.Entry, o engine.PlanOptions, r forgotten) error {
	did, before := map[string]bool{}, r.Plan.Report
	if r.Run.Did != nil {
		for _, t := range r.Run.Did.Things {
			did[t.Target] = true
		}
	}
	others := slices.DeleteFunc(slices.Clone(before.Plan), func(p report.Planned) bool {
		return did[p.Target] || p.Rule == "" // the account, or what an earlier run left to do
	})
	known := r.Run.Did != nil && !before.Truncated
	if r.Run.Totals().Changed == 0 && (!known || len(others) == 0 || r.Run.Status != report.Completed) {
		return nil
	}
	defer a.progress(ctx, doing("looking for what changed"))()
	now := a.planHere(ctx, job, o)
	if !now.well() {
		return errors.New("some of these were not deleted, and whether they are there still is not known: do it again")
	}
	kept := 0
	for reason, n := range now.Report.Kept {
		kept += max(0, n-before.Kept[reason])
	}
	others = slices.DeleteFunc(others, func(p report.Planned) bool {
		return slices.ContainsFunc(now.Report.Plan, func(left report.Planned) bool { return left.Target == p.Target })
	})
	var left, went error
	if n := now.Report.Totals().Planned + kept; n > 0 && r.Run.Totals().Changed > 0 {
		left = fmt.Errorf("%d of these changed before they were to be deleted, and may be there still: do it again", n)
	}
	const unled = "meanwhile by another's hand, and what belonged to them was not looked for"
	if n := len(others) - kept; !known {
		went = errors.New("some of these may have gone " + unled)
	} else if n > 0 {
		went = fmt.Errorf("%d of these went %s", n, unled)
	}
	return errors.Join(left, went)
}
