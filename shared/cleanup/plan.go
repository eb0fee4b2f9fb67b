package cleanup

import (
	"context"
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

	// Told are the warnings in the report of the job's last run: what it told about the rule.
	Told []string

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

	// Consider judges documents by a rule, counts those that are kept and proposes the others. A document that was not read has
	// only its path.
	Consider(ctx context.Context, rule AnyRule, found []documents.Document) error
	// ConsiderRefs reads documents and considers them, including those that do not exist.
	ConsiderRefs(ctx context.Context, rule AnyRule, refs ...documents.Ref) error
	// LoadAhead reads what a rule needs to judge documents. It may be called beside all other methods.
	LoadAhead(ctx context.Context, rule AnyRule, found []documents.Document) (Ahead, error)
	// ConsiderAccounts has the job's rule judge accounts and proposes those that are due, as far as its limit allows.
	ConsiderAccounts(ctx context.Context, found []accounts.Account) (Considered, error)
	// NoTenants returns an error if the project has tenants, or if that is unknown: their accounts are not found and would count
	// as gone.
	NoTenants(ctx context.Context) error
	// ProposeItems proposes items that have been judged by other means, such as the documents that lead to them. The rule judges
	// them in the commit. It leaves out an item that the run has proposed in this way before, whatever leads to it. It also
	// leaves out an item that an interrupted run has not finished: that is finished first, and a later run proposes the item.
	ProposeItems(ctx context.Context, rule AnyRule, due []Proposal) error
	// ProposeObject proposes to delete an object. kind is what the report calls that.
	ProposeObject(ctx context.Context, kind, reason string, object DeleteObject) error
	// First returns the first n documents of a query that are not kept because the job's record lists them or what is below them, and the kept
	// ones among them. Without this, those would keep a job that takes a few at a time from everything after them.
	First(ctx context.Context, q documents.Query, n int) ([]documents.Document, error)
	// Planned returns how many actions have been proposed, besides what interrupted runs have left to do.
	Planned() int

	// Scanned says that n more items were looked at.
	Scanned(n int)
	// Keep says that n items are kept for a reason that is in order, such as being too young.
	Keep(reason string, n int)
	// KeepInvalid says that n items, or the one named by target, are kept because they cannot be judged: a field is missing or of
	// the wrong type, an id is invalid. They are counted, and target is named in the log, because somebody may want to fix them.
	KeepInvalid(ctx context.Context, target, reason string, n int)
	// KeepJudged counts an item that is kept, as a decision says.
	KeepJudged(ctx context.Context, path string, d Decision)
	// CountKept counts the documents that a query for the due ones skips, at one read per 1000 of them, and names some of those
	// that cannot be judged. One that is written meanwhile may be counted on the wrong side. Unless MaxDuePercent asks for it, the
	// figures decide nothing, so a failed count fails nothing: the report says what was not counted. It returns at once: the
	// counts are made while the job goes on planning, and the run waits for them before it applies anything.
	CountKept(ctx context.Context, c KeptCount)
	// KeepOdd keeps the documents of a query whose field holds neither null nor a value from least up to behind, because they cannot
	// be judged. It counts all, by the index of the field, and names the first. It returns how many there are. Nothing depends on
	// that, so an error is only logged.
	KeepOdd(ctx context.Context, q documents.Query, field string, least, behind any, reason string) (n int)
	// CountAll counts the documents that queries of one collection match, for figures of the report. It tries once: a count that
	// takes too long takes as long again. It returns false if any fails, and the report says that the collection was not counted.
	CountAll(ctx context.Context, queries ...documents.Query) (n []int, ok bool)
	// Warn says in the report and in the log what is doubtful about the run as a whole.
	Warn(ctx context.Context, warning string)
	// Fail says that an item, or a part of the job, could not be planned. The rest continues; the run ends as failed.
	Fail(ctx context.Context, target, action string, err error)

	// Section begins a section of the plan. What comes before it is judged now.
	Section(ctx context.Context, s Section) error
	// Count adds to what the section being planned has looked at, for the safety limits.
	Count(c Count)
}

// Count is what a pass looked at or counted of one collection, for the safety limits. Those of the same pass and collection add
// up.
type Count struct {
	Pass       string // the engine fills it in
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

	Unknown error // why the pass cannot be judged: nothing of it is done, and the run fails
}

// Ahead is [Plan.Consider] for documents of which all is read. It calls then after each, in their order: for a job that has to
// know what became of it, or that marks its checkpoint after each, because what it does keeps no later run from finding it again.
type Ahead func(ctx context.Context, then func(documents.Document) error) error

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
// are done. A job that begins none is judged as a whole. Whatever proposes something in it may return a [*LimitError]: it has
// too many actions, and there is no point in reading on in it.
type Section struct {
	Name string // as messages call it
	Next string // the checkpoint at which what comes after it begins
}

// KeptCount describes the documents that a query for the due ones skips, and the reason each group of them is kept for.
type KeptCount struct {
	Due      documents.Query    // what is due: eligible, and old enough by the field it is ordered by last
	Among    []documents.Filter // what is counted at all; none: the whole collection
	Eligible []documents.Filter // Due's conditions on anything but age; none: age is the only one
	Young    documents.Filter   // the opposite of Due's condition on age

	// Only says that nothing is counted but what the index of Due holds: those that are eligible and have a usable age. What else is
	// kept would take further indexes.
	Only bool

	KeptOther   string // why those that are not eligible are kept
	Invalid     bool   // of those: they cannot be judged, and somebody may want to fix them
	KeptYoung   string // why the eligible ones that are too young are kept
	KeptNull    string // why the eligible ones whose age is null are kept; empty: null is no usable age
	KeptUnset   string // why the eligible ones whose age is missing or null are kept; empty: like those without a usable age
	KeptUndated string // why the eligible ones without a usable age are kept, which are invalid

	// Where the job judges only the first of the due ones: how many it judged, and why the others are kept.
	Judged    int
	KeptLater string // empty: it judges all

	// MaxDuePercent is a safety limit: at most this percentage of what is counted may be due; 0: no limit. Planned returns how
	// many of the due ones will be acted on, where they are judged by more than the query; nil: all.
	MaxDuePercent int
	Planned       func(due int) int
}
