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
	Planned int      `json:"planned"`           // items
	Actions []string `json:"actions"`           // that would have been done to them
	Gone    int      `json:"gone"`              // of them: the document is not there any more, so nobody can tell
	Written int      `json:"written"`           // of them: written since, and due all the same
	Kept    []Kept   `json:"kept"`              // of them: would be kept today
	Reads   int64    `json:"reads"`             // documents
	Preview string   `json:"preview,omitempty"` // the run whose plan it was; empty: the job was planned as of then
	Cut     string   `json:"cut,omitempty"`     // why there is only a part of that plan; empty: there is all of it
}

// Kept is something that would have gone, and would be kept today.
type Kept struct {
	Target string   `json:"target"`
	Action string   `json:"action"`
	Reason string   `json:"reason"`           // why it was due
	Kept   string   `json:"kept"`             // why it would be kept
	Fields []string `json:"fields,omitempty"` // those that changed, of the first such items, in order
}

// maxFieldsOf is of how many items the changed fields are named. It takes two reads each.
const maxFieldsOf = 20

// Reasons of today that no rule says.
const (
	keptNow     = "it would not be found to be due"
	keptForElse = "something else would be done: "
)

// Backtest is a backtest that is being made.
type Backtest struct {
	Result
	Then, Today *decide.Decider // both with the earlier time as now; Then is nil where nobody knows what was there
	Since       time.Time       // what is written after it was written since

	due map[string]map[documents.Ref]due // by the rule's name
}

// due is an item that was due.
type due struct {
	cleanup.Item
	kind, reason string
	there        bool // its document is known to have existed
}

// Add adds an item that was due, once.
func (b *Backtest) Add(a decide.Action) {
	d := due{kind: a.Kind, reason: a.Reason, there: true}
	switch e := a.Effect.(type) {
	case decide.DeleteDocument:
		d.Rule, d.Ref = e.Rule, documents.Document{Path: e.Path}.Ref()
	case decide.Ruled:
		d.Item, d.there = e.Item, !e.Version.IsZero()
	}
	name := d.Rule.Named()
	if b.due == nil {
		b.due = map[string]map[documents.Ref]due{}
	}
	if b.due[name] == nil {
		b.due[name] = map[documents.Ref]due{}
	}
	if _, twice := b.due[name][d.Ref]; !twice {
		b.due[name][d.Ref] = d
		b.Planned++
	}
	if !slices.Contains(b.Actions, a.Kind) {
		b.Actions = append(b.Actions, a.Kind)
	}
}

// AddPreview adds what a preview planned, as far as its report holds it. The error names an item that no rule, or more than one,
// may have planned, or is [ErrNoHistory].
func (b *Backtest) AddPreview(r *report.Report) error {
	b.Preview, b.Since = r.RunID, r.StartedAt
	for _, p := range r.Plan {
		if p.Action == decide.FinishKind { // no rule judged it
			continue
		}
		ref, err := documents.RefOf(p.Target)
		rules := slices.DeleteFunc(slices.Clone(b.Today.Job.Rules), func(rule cleanup.AnyRule) bool { return !decide.Has(rule, ref) })
		if err != nil || len(rules) != 1 {
			return fmt.Errorf("the preview %s planned to %s, and %d rules of %s judge such a document: one must",
				r.RunID, report.Phrase(p.Action, p.Target), len(rules), r.Job)
		}
		item := decide.Ruled{Item: cleanup.Item{Rule: rules[0], Ref: ref}, Version: new(time.Time)}
		b.Add(decide.Action{Kind: p.Action, Reason: p.Reason, Effect: item})
	}
	planned := 0
	for _, c := range r.Actions {
		planned += c.Planned
	}
	switch {
	case r.Status != report.Completed:
		b.Cut = fmt.Sprintf("the preview ended %s: its report holds %d items, and nobody knows how many were due", r.Status, len(r.Plan))
	case len(r.Plan) < planned:
		b.Cut = fmt.Sprintf("the report of the preview holds the first %d items of %d", len(r.Plan), planned)
	}
	if b.Planned == 0 && b.Cut != "" {
		return fmt.Errorf("%w, and %s", ErrNoHistory, b.Cut)
	}
	return nil
}

// LookAgain has the rules judge what was due as it is today. spent says why nothing more may be read.
func (b *Backtest) LookAgain(ctx context.Context, spent func() error) (err error) {
	d := b.Today
	if d.Pins, err = d.ReadPins(ctx); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(b.due)) {
		of := b.due[name]
		refs := slices.SortedFunc(maps.Keys(of), func(a, b documents.Ref) int { return cmp.Compare(a.Path(), b.Path()) })
		for some := range slices.Chunk(refs, of[refs[0]].Rule.Together()) {
			if err := spent(); err != nil {
				return err
			}
			if err := b.judge(ctx, of, some); err != nil {
				return err
			}
		}
	}
	return nil
}

// judge judges some items of a rule.
func (b *Backtest) judge(ctx context.Context, of map[documents.Ref]due, refs []documents.Ref) error {
	d, src := b.Today, b.Today.Source()
	found, err := src.Get(ctx, refs)
	if err != nil {
		return err
	}
	var subjects []cleanup.Subject
	for _, ref := range refs {
		doc, there := found[ref]
		if of[ref].there && !there {
			b.Gone++
			continue
		}
		doc.Path = ref.Path()
		subjects = append(subjects, cleanup.Subject{Document: doc, Found: there, Room: cleanup.MaxRoom})
	}
	if len(subjects) == 0 {
		return nil
	}
	loaded, err := of[refs[0]].Rule.LoadAll(ctx, src, subjects)
	if err != nil {
		return err
	}
	for i, s := range subjects {
		was := of[s.Ref()]
		now, err := loaded.Judge(i, d.Run)
		if err != nil {
			return fmt.Errorf("%s: %w", s.Path, err)
		}
		kept := ""
		if b.Preview != "" && !s.Found && now.Kind != was.kind { // its report does not say whether there was a document
			b.Gone++
			continue
		}
		switch pinned := d.KeptBy(s.Path); {
		case pinned != nil:
			kept = pinned.Reason
		case now.Kind == "":
			kept = cmp.Or(now.Reason, keptNow)
		case now.Kind != was.kind:
			kept = keptForElse + now.Kind
		case s.UpdateTime.After(b.Since):
			b.Written++
		}
		if kept == "" {
			continue
		}
		item := Kept{Target: s.Path, Action: was.kind, Reason: was.reason, Kept: kept}
		if b.Then != nil && len(b.Kept) < maxFieldsOf {
			if item.Fields, err = b.changed(ctx, s.Path); err != nil {
				return err
			}
		}
		b.Kept = append(b.Kept, item)
	}
	return nil
}

// changed returns the fields of a document that are not what they were.
func (b *Backtest) changed(ctx context.Context, path string) (fields []string, err error) {
	before, _, err := b.Then.Documents.Get(ctx, path)
	if err != nil {
		return nil, err
	}
	after, _, err := b.Today.Documents.Get(ctx, path)
	if err != nil {
		return nil, err
	}
	all := maps.Clone(before.Data)
	maps.Copy(all, after.Data)
	for _, field := range slices.Sorted(maps.Keys(all)) {
		old, was := before.Data[field]
		value, is := after.Data[field]
		if was != is || !reflect.DeepEqual(old, value) {
			fields = append(fields, field)
		}
	}
	return fields, nil
}
