// Package backtest compares what a job would have done at an earlier time with what is there today. What its rules, with the now
// of that time, would keep by today's documents is what somebody would have missed.
package backtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
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
	case job.Accounts || job.Reach.Account:
		return "it goes through accounts, and Authentication cannot be read as it was"
	}
	return ""
}

// Result says what became of what a job would have done. docs/command.md documents it as JSON.
type Result struct {
	Planned int    `json:"planned"`           // items
	Gone    int    `json:"gone"`              // of them: the document is not there any more, so nobody can tell
	Written int    `json:"written"`           // of them: written since, and due all the same
	Kept    []Kept `json:"kept"`              // of them: would be kept today
	Reads   int64  `json:"reads"`             // documents
	Preview string `json:"preview,omitempty"` // the run whose plan it was; empty: the job was planned as of then
	Cut     string `json:"cut,omitempty"`     // why there is only a part of that plan; empty: there is all of it
}

// Kept is something that would have gone, and would be kept today.
type Kept struct {
	report.Planned
	Kept   string   `json:"kept"`             // why it would be kept
	Fields []string `json:"fields,omitempty"` // those that changed, of the first such items, in order
}

// maxFieldsOf is of how many items the changed fields are named. It takes a read each.
const maxFieldsOf = 20

// Backtest is a backtest that is being made.
type Backtest struct {
	Result
	Today *decide.Decider // with the earlier time as now
	Since time.Time       // what is written after it was written since
	Spent func() bool     // nothing more may be read
}

// Compare has the rules judge what a plan holds as it is today. The error names an item that no rule, or more than one, may have
// planned, or is [ErrNoHistory] or [ErrMaxReads].
func (b *Backtest) Compare(ctx context.Context, r *report.Report) (err error) {
	due := map[documents.Ref]report.Planned{}
	for _, p := range r.Plan {
		if p.Action == decide.FinishKind { // no rule judged it
			continue
		}
		ref, err := documents.RefOf(p.Target)
		rules := slices.DeleteFunc(slices.Clone(b.Today.Job.Rules), func(rule cleanup.AnyRule) bool {
			return !decide.Has(rule.Reaches(), ref) || p.Rule != "" && p.Rule != rule.Named()
		})
		if err != nil || len(rules) != 1 {
			return fmt.Errorf("it was planned to %s, and %d rules of %s judge such a document: one must",
				report.Phrase(p.Action, p.Target), len(rules), r.Job)
		}
		p.Rule = rules[0].Named()
		due[ref] = p
	}
	if b.Planned, b.Kept = len(due), []Kept{}; b.Spent() {
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
		for some := range slices.Chunk(its, rule.Together()) {
			if b.Spent() {
				return ErrMaxReads
			}
			if err := b.judge(ctx, rule, some, due); err != nil {
				return err
			}
		}
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
		kept := Kept{Planned: report.Planned{Target: was.Target, Action: was.Action, Reason: was.Reason}}
		switch pinned := b.Today.KeptBy(ref.Path()); {
		case group[i].Gone && now.Kind != was.Action && was.Version != decide.VersionAt(time.Time{}): // a preview does not tell whether there was one
			b.Gone++
			continue
		case pinned != nil:
			kept.Kept = pinned.Reason
		case now.Kind == "":
			kept.Kept = cmp.Or(now.Reason, "it would not be found to be due")
		case now.Kind != was.Action:
			kept.Kept = "something else would be done: " + now.Kind
		default:
			if is.UpdateTime.After(b.Since) {
				b.Written++
			}
			continue
		}
		if b.Preview == "" && len(b.Kept) < maxFieldsOf {
			before, _, err := b.Today.Documents.Get(documents.AsOf(ctx, b.Since), ref.Path())
			if err != nil {
				return err
			}
			all := map[string]any{}
			maps.Copy(all, before.Data)
			maps.Copy(all, is.Data)
			maps.DeleteFunc(all, func(field string, _ any) bool { return reflect.DeepEqual(before.Data[field], is.Data[field]) })
			kept.Fields = slices.Sorted(maps.Keys(all))
		}
		b.Kept = append(b.Kept, kept)
	}
	return nil
}
