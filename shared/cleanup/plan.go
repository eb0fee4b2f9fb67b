package cleanup

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/objects"
)

// Planner is what a job plans with: what is known of the run, readers, and the plan that is being made. Its methods are not for
// concurrent use.
type Planner struct {
	Run
	Documents documents.Reader
	Objects   objects.Reader  // of no use in a function that does not use Storage
	Accounts  accounts.Reader // of no use in a function that does not use Authentication
	Log       *slog.Logger

	Checkpoint string // where an earlier run ran out of time, as given to [Plan.SaveCheckpoint]; empty: start from the beginning

	LastWarnings []string // in the report of the job's last run

	// Cuts is where the job's last listings of objects may be cut ([objects.Cutter]), and in the end those of this plan.
	Cuts []string

	Plan
}

// Plan is what a job says of what it found, and asks of the engine.
type Plan interface {
	// SaveCheckpoint says that everything before this checkpoint has been planned, so that a run that is out of time can save it
	// for the next one. It returns [ErrOutOfTime] when planning must end here.
	SaveCheckpoint(text string) error
	// Continue sets where the next run starts after this one has finished in time. The default is the beginning. checkpoint is
	// called when all actions have been applied. It gets the items that rules judged and that were left undone, because something
	// failed or because they changed meanwhile: up to 1000 of them, without those that are gone.
	Continue(checkpoint func(undone []documents.Ref) string)

	// ConsiderEach judges documents by a rule, counts those that are kept and proposes the others. One that was not found has only
	// its path. It calls then after each, in their order, with what was decided: for a job that has to know what became of it, or
	// that marks its checkpoint after each, because what it does keeps no later run from finding it again.
	ConsiderEach(ctx context.Context, rule AnyRule, found []documents.Document, then func(documents.Document, Decision) error) error
	// ConsiderAccounts has the job's rule judge accounts and proposes those that are due, as far as its limit allows. If items
	// follow these, it returns an error if the project has tenants, or if that is unknown: the items of their accounts would count
	// as left.
	ConsiderAccounts(ctx context.Context, found []accounts.Account) (Considered, error)
	// ProposeItems proposes items that have been judged by other means, such as the documents that lead to them. The rule judges
	// them in the commit. It leaves out an item that the run has proposed in this way before, whatever leads to it. It also
	// leaves out an item that an interrupted run has not finished: that is finished first, and a later run proposes the item.
	ProposeItems(ctx context.Context, rule AnyRule, due []Proposal) error
	// ProposeObject proposes to delete an object. kind is what the report calls that.
	ProposeObject(ctx context.Context, kind, reason string, object DeleteObject) error
	// Planned returns how many actions have been proposed, besides what interrupted runs have left to do.
	Planned() int

	// Scanned says that n more items were looked at.
	Scanned(n int)
	// Keep says that n items are kept, as a decision says; target is the only one of them, or what they are of. What cannot be
	// judged is named in the log, up to 20 times for each reason, because somebody may want to fix it.
	Keep(ctx context.Context, target string, d Decision, n int)
	// CountNotDue counts the documents that a query for the due ones skips, at one read per 1000 of them, and names some of those
	// that have no usable age. One that is written meanwhile may be counted on the wrong side. Unless the job makes more of the
	// figures, they decide nothing, so a failed count fails nothing: the report says what was not counted. It returns at once: the
	// counts are made while the job goes on planning, and the run waits for them before it applies anything.
	CountNotDue(ctx context.Context, n NotDue)
	// CountAll counts the documents that queries of one collection match, for figures of the report. It returns false if any fails,
	// and the report says that the collection was not counted.
	CountAll(ctx context.Context, queries ...documents.Query) (n []int, ok bool)
	// Warn says in the report and in the log what is doubtful about the run as a whole.
	Warn(ctx context.Context, warning string)
	// Fail says that an item, or a part of the job, could not be planned. The rest continues; the run ends as failed.
	Fail(ctx context.Context, target, action string, err error)

	// Section plans a section, and judges that. An error that plan returns ends the job's planning, unless it says that too much
	// is proposed.
	Section(ctx context.Context, s Section, plan func() error) error
	// Count adds to what the section being planned has looked at, for the safety limits.
	Count(c Count)
}

// Count is what a pass looked at or counted of one collection, for the safety limits. Those of the same pass and collection add
// up.
type Count struct {
	Collection string // or other words, in the plural, for what was looked at

	Looked  int // items that were looked at or counted
	Due     int // of these
	Percent int // which may be due, where a rule says so; 0: MAX_DUE_PERCENT
	// Folder is one in which objects are due, such as that of whoever uploaded them, and InFolder how many so far.
	Folder   string
	InFolder int

	// Missing and Exists are how many of the ids that were looked up in the collection are nobody's and somebody's.
	Missing, Exists int
	// Field, where set, is one by which something was looked for there and that no document has.
	Field string

	// Why, where set, says why nothing of the pass may be done, in words of the job; see [LimitError].
	Why string
	// Unfound are warnings of the run, of what leads to nothing, for which nothing of the pass may be done this time. The next run
	// does it, for somebody has had the time to correct the rule.
	Unfound []string

	Unknown error // why the pass cannot be judged: nothing of it is done, and the run fails
}

// CountShare counts how many are due of all documents of a collection. Where these could not be counted, nobody knows whether a
// safety limit trips.
func (p *Planner) CountShare(what string, all int, counted bool, due, percent int) {
	c := Count{Collection: what, Looked: max(all, due), Due: due, Percent: percent}
	if !counted && percent != 100 {
		c.Unknown = fmt.Errorf("the %s could not be counted, so it is unknown whether too many of them are due: if there are too many "+
			"for Firestore to count, set maxDuePercent in the rule, or MAX_DUE_PERCENT, to 100", what)
	}
	p.Count(c)
}

// Consider judges documents by a rule, counts those that are kept and proposes the others.
func (p *Planner) Consider(ctx context.Context, rule AnyRule, found []documents.Document) error {
	if len(found) == 0 {
		return nil
	}
	return p.ConsiderEach(ctx, rule, found, func(documents.Document, Decision) error { return nil })
}

// ConsiderRefs reads documents and considers them, including those that do not exist.
func (p *Planner) ConsiderRefs(ctx context.Context, rule AnyRule, refs ...documents.Ref) error {
	paths, items := make([]string, len(refs)), make([]documents.Document, len(refs))
	for i, ref := range refs {
		paths[i] = ref.Path()
	}
	found, err := p.Documents.GetAll(ctx, paths)
	if err != nil {
		return err
	}
	for i, path := range paths {
		items[i] = found[path]
		items[i].Path = path
	}
	return p.Consider(ctx, rule, items)
}

// Sweep considers all documents that a query returns, from a cursor on, and saves after each page where it got to. If several
// rules judge them, each returns the zero [Decision] for items of the others.
func (p *Planner) Sweep(ctx context.Context, q documents.Query, from documents.Cursor, rules ...AnyRule) error {
	return p.EachPage(ctx, q, from, func(found []documents.Document) error {
		for _, rule := range rules {
			if err := p.Consider(ctx, rule, found); err != nil {
				return err
			}
		}
		return nil
	})
}

// EachPage calls consider with each page of the documents that a query returns, from a cursor on, and saves after it where the
// run got to.
func (p *Planner) EachPage(
	ctx context.Context, q documents.Query, from documents.Cursor, consider func([]documents.Document) error,
) error {
	for page, err := range p.Documents.Pages(ctx, q, from) {
		if err != nil {
			return err
		}
		p.Scanned(len(page.Documents))
		if err := consider(page.Documents); err != nil {
			return err
		}
		if err := p.SaveCheckpoint(string(page.Next)); err != nil {
			return err
		}
	}
	return nil
}

// CountOf is [Plan.CountAll] for one query.
func (p *Planner) CountOf(ctx context.Context, q documents.Query) (n int, ok bool) {
	all, ok := p.CountAll(ctx, q)
	return all[0], ok
}

// Proposal is an item that is due.
type Proposal struct {
	documents.Document // nothing but the path where that is all that is known
	Decision
}

// Section is a pass: a part of a plan that the safety limits judge by itself. One that trips a limit does nothing, and the others
// are done. A job without sections is judged as a whole.
type Section struct {
	Name string // as messages call it; empty: it is all that the job plans
	Next string // the checkpoint at which what comes after it begins
}

// NotDue describes what a query for the due ones skips: documents that are not due, which are one figure, and those without a
// usable age, which are another, because no query finds them.
type NotDue struct {
	All documents.Query // what is counted at all: a collection, or what of it the job is about
	Due documents.Query // what is due, ordered by its age last
	// Meets says which documents meet the conditions besides the age, where no index tells; nil: all do.
	Meets  func(documents.Document) bool
	Unset  bool   // that the age is missing is in order: none of these is looked for, to be named
	Behind any    // of ages that are numbers or texts: from which on they mean no time; nil: none is too large
	Null   string // why those whose age is null are kept, where that means something; empty: null is no usable age
	// Then is called before the limits judge the plan, unless it is nil: with how many documents there are, how many of them the
	// query finds, and some ages that are not usable; ok is false if they could not be counted.
	Then func(all, found int, odd []any, ok bool)
}
