// Package backtest compares what a job would have done at an earlier time with what is there today. What its rules, with the now
// of that time, would keep by today's documents is what somebody would have missed.
package backtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/internal/decide"
	"github.com/firesweep/firesweep/shared/engine/report"
)

var (
	// ErrNoHistory says that Firestore does not keep the database as it was at that time.
	ErrNoHistory = errors.New("Firestore does not keep what was there at that time") //nolint:staticcheck // a name
	// ErrMaxReads says that a backtest ended at its bound.
	ErrMaxReads = errors.New("it has read as many documents as it may")
)

// WhyNot returns why a job cannot be planned as of an earlier time; empty if it can.
func WhyNot(job cleanup.Job) string {
	switch {
	case job.Task != nil:
		return "it does what another job hands to it"
	case len(job.Reach.Objects) > 0:
		return "it goes through files, and Cloud Storage cannot be read as it was"
	}
	return ""
}

// Result says what became of what a job would have done. docs/command.md documents it as JSON.
type Result struct {
	Planned int    `json:"planned"`           // items
	Gone    int    `json:"gone"`              // of them: not there any more, so nobody can tell
	Written int    `json:"written"`           // of them: written or used since, and due all the same
	Kept    []Kept `json:"kept"`              // of them: would be kept today
	Reads   int64  `json:"reads"`             // documents
	Preview string `json:"preview,omitempty"` // the run whose plan it was; empty: the job was planned as of then
	Cut     string `json:"cut,omitempty"`     // why there is only a part of that plan; empty: there is all of it
}

// Kept is something that would have gone, and would be kept today.
type Kept struct {
	report.Planned
	Kept string    `json:"kept"`          // why it would be kept
	Used time.Time `json:"used,omitzero"` // when it was last written; an account: used
}

// Backtest is a backtest that is being made.
type Backtest struct {
	Result
	Today *decide.Decider // with the earlier time as now
	Since time.Time       // what is written after it was written since
	Spent func() bool     // nothing more may be read
}

// Compare has the rules judge what a plan holds as it is today. The error names an item whose rule is not there any more, or is
// [ErrNoHistory] or [ErrMaxReads].
func (b *Backtest) Compare(ctx context.Context, r *report.Report) (err error) {
	due, people := map[documents.Ref]report.Planned{}, map[string]report.Planned{}
	for _, p := range r.Plan {
		uid, isAccount := strings.CutPrefix(p.Target, decide.AccountTarget(""))
		switch {
		case p.Action == decide.FinishKind: // no rule judged it
			continue
		case isAccount && b.Today.Job.AccountRule != nil:
			people[uid] = p
			continue
		}
		if p.Rule == "" && !isAccount {
			return errors.New("it is of an earlier version, whose previews do not name rules: wait until one of this version is old enough")
		}
		ref, err := documents.RefOf(p.Target)
		its := func(rule cleanup.AnyRule) bool { return rule.Named() == p.Rule && decide.Has(rule.Reaches(), ref) }
		if err != nil || !slices.ContainsFunc(b.Today.Job.Rules, its) {
			return fmt.Errorf("it was planned to %s by the rule %q, and %s has none that judges such a document now",
				report.Phrase(p.Action, p.Target), p.Rule, r.Job)
		}
		due[ref] = p
	}
	if b.Planned, b.Kept = len(due)+len(people), []Kept{}; b.Spent() {
		return ErrMaxReads
	}
	if planned := r.Totals().Planned; r.Status != report.Completed || len(r.Plan) < planned {
		b.Cut = fmt.Sprintf("the preview ended %s, and its report holds %d of the %d items that it had found", r.Status, len(r.Plan), planned)
	}
	if b.Planned == 0 && b.Cut != "" {
		return fmt.Errorf("%w, and %s", ErrNoHistory, b.Cut)
	}
	if b.Today.Pins, err = b.Today.ReadPins(ctx); err != nil {
		return err
	}
	refs := slices.SortedFunc(maps.Keys(due), func(a, b documents.Ref) int { return cmp.Compare(a.Path(), b.Path()) })
	for _, rule := range b.Today.Job.Rules {
		its := slices.DeleteFunc(slices.Clone(refs), func(ref documents.Ref) bool { return due[ref].Rule != rule.Named() })
		for some := range slices.Chunk(its, min(rule.Together(), itemsTogether)) {
			if b.Spent() {
				return ErrMaxReads
			}
			if err := b.judge(ctx, rule, some, due); err != nil {
				return err
			}
		}
	}
	for uids := range slices.Chunk(slices.Sorted(maps.Keys(people)), together) {
		if b.Spent() {
			return ErrMaxReads
		}
		if err := b.judgeAccounts(ctx, uids, people); err != nil {
			return err
		}
	}
	return nil
}

// itemsTogether is how many items are judged at once, at most.
const itemsTogether = 25

// together is how many accounts are judged at once: one call looks up that many.
const together = 100

// judgeAccounts judges some accounts.
func (b *Backtest) judgeAccounts(ctx context.Context, uids []string, due map[string]report.Planned) error {
	found, err := b.Today.People.Get(ctx, uids)
	if err != nil {
		return err
	}
	decisions, _, err := b.Today.Accounts(ctx, b.Today.Job.AccountRule, found)
	if err != nil {
		return err
	}
	b.Gone += len(uids) - len(found)
	for i, a := range found {
		used, _ := a.LastActive()
		b.became(due[a.UID], decisions[i], used)
	}
	return nil
}

// judge judges some items of a rule.
func (b *Backtest) judge(ctx context.Context, rule cleanup.AnyRule, refs []documents.Ref, due map[documents.Ref]report.Planned) error {
	var group []*decide.Asked
	for _, ref := range refs {
		group = append(group, &decide.Asked{Ruled: decide.Ruled{Item: cleanup.Item{Rule: rule, Ref: ref}}})
	}
	items, found, err := decide.Load(ctx, b.Today.Source(), group)
	if err != nil {
		return err
	}
	for i, ref := range refs {
		was, is := due[ref], found[ref]
		now, err := items.Judge(i, b.Today.Run)
		if err != nil {
			return fmt.Errorf("%s: %w", ref.Path(), err)
		}
		if group[i].Gone && now.Kind != was.Action && was.Version != decide.VersionAt(time.Time{}) { // a preview does not tell whether there was one
			b.Gone++
			continue
		}
		b.became(was, now, is.UpdateTime)
	}
	return nil
}

// became counts an item by what is decided about it now and when it was used last.
func (b *Backtest) became(was report.Planned, now cleanup.Decision, used time.Time) {
	why := ""
	switch pinned := b.Today.KeptBy(was.Target); {
	case pinned != nil:
		why = pinned.Reason
	case now.Kind == "":
		why = cmp.Or(now.Reason, "it would not be found to be due")
	case now.Kind != was.Action:
		why = "something else would be done: " + now.Kind
	case used.After(b.Since):
		b.Written++
	}
	if why != "" {
		b.Kept = append(b.Kept, Kept{report.Planned{Target: was.Target, Action: was.Action, Reason: was.Reason}, why, used})
	}
}
