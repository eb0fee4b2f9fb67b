package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// section is a section with what the limits judge it by.
type section struct {
	cleanup.Section
	first   int  // the index of its first action in the window
	planned int  // actions proposed
	dropped bool // nothing of it is done
	lookups map[string]cleanup.Lookups
	because map[documents.Ref]int // items that are due because of a missing document
	shares  map[string]share      // by what they are of
	fields  []fieldSeen
	uploads map[string]*uploads // by the owners' collection
	unknown error               // why it cannot be judged
}

func newSection(s cleanup.Section, first int) *section {
	return &section{Section: s, first: first, lookups: map[string]cleanup.Lookups{}, because: map[documents.Ref]int{},
		shares: map[string]share{}, uploads: map[string]*uploads{}}
}

// share is how much of what was looked at is due.
type share struct {
	all, due, percent int
	ofRule            bool // the percentage is the rule's own
}

// fieldSeen is a field whose absence makes items due.
type fieldSeen struct {
	documents.Query // of the documents
	field           string
	looked, written int
	unwritten       bool // all were looked at, and the field decides about others
}

// uploads are the owners of the newest objects, newest first, and whether any owner at all exists.
type uploads struct {
	newest []upload
	found  bool
}

type upload struct {
	owner  string
	at     time.Time
	exists bool
}

// add counts an object's upload. n is how many owners are remembered.
func (u *uploads) add(n int, next upload) {
	u.found = u.found || next.exists
	if len(u.newest) == n && !next.at.After(u.newest[n-1].at) {
		return
	}
	if i := slices.IndexFunc(u.newest, func(o upload) bool { return o.owner == next.owner }); i >= 0 {
		if !next.at.After(u.newest[i].at) {
			return
		}
		u.newest = slices.Delete(u.newest, i, i+1)
	}
	i, _ := slices.BinarySearchFunc(u.newest, next, func(a, b upload) int { return cmp.Or(b.at.Compare(a.at), -1) })
	u.newest = slices.Insert(u.newest, i, next)
	u.newest = u.newest[:min(n, len(u.newest))]
}

// cut reports whether the owners of the newest n objects are all missing although older ones exist.
func (u *uploads) cut(n int) bool {
	return u.found && len(u.newest) == n && !slices.ContainsFunc(u.newest, func(o upload) bool { return o.exists })
}

// Section implements [cleanup.Plan].
func (p *Planner) Section(ctx context.Context, s cleanup.Section) error {
	if err := p.judge(ctx); err != nil {
		return err
	}
	p.section = newSection(s, len(p.Actions))
	p.sections = append(p.sections, p.section)
	return nil
}

// Share implements [cleanup.Plan].
func (p *Planner) Share(what string, looked, due, percent int) {
	s := p.section.shares[what]
	s.all, s.due = s.all+looked, s.due+due
	s.percent, s.ofRule = cmp.Or(percent, p.ask.Limits.MaxDuePercent), percent != 0
	p.section.shares[what] = s
}

// DueBecause implements [cleanup.Plan].
func (p *Planner) DueBecause(missing documents.Ref) {
	if p.ask.Limits.Lifted {
		return
	}
	if p.section.because[missing]++; p.section.because[missing] == 1 {
		p.held += bytesOfItem + len(missing.ID)
	}
}

// FieldSeen implements [cleanup.Plan].
func (p *Planner) FieldSeen(q documents.Query, field string, looked, written int) {
	s := p.section
	i := slices.IndexFunc(s.fields, func(f fieldSeen) bool { return f.field == field })
	if i < 0 {
		i, s.fields = len(s.fields), append(s.fields, fieldSeen{Query: q, field: field})
	}
	s.fields[i].looked, s.fields[i].written = s.fields[i].looked+looked, s.fields[i].written+written
}

// Unwritten implements [cleanup.Plan].
func (p *Planner) Unwritten(collection, field string) {
	p.section.fields = append(p.section.fields, fieldSeen{Query: documents.Query{Collection: collection}, field: field, unwritten: true})
}

// Uploaded implements [cleanup.Plan].
func (p *Planner) Uploaded(owner documents.Ref, at time.Time, exists bool) {
	u := p.section.uploads[owner.Collection]
	if u == nil {
		u = &uploads{}
		p.section.uploads[owner.Collection] = u
	}
	u.add(p.ask.Limits.MinLookups, upload{owner.ID, at, exists})
}

// Unknown implements [cleanup.Plan].
func (p *Planner) Unknown(err error) { p.section.unknown = errors.Join(p.section.unknown, err) }

// judge drops the section that is being planned if it trips a safety limit. Of a job without sections, the error says so.
func (p *Planner) judge(ctx context.Context) error {
	s := p.section
	if s.dropped {
		return nil
	}
	tripped, err := p.trips(ctx, s)
	switch {
	case err != nil && s.Name == "":
		return err
	case err != nil:
		p.drop(s)
		p.Fail(ctx, s.Name, "check safety limits", err)
	case len(tripped) > 0 && s.Name == "":
		return &cleanup.LimitError{Tripped: tripped}
	case len(tripped) > 0:
		p.trip(s, tripped)
	}
	return nil
}

// trip drops a section because of safety limits.
func (p *Planner) trip(s *section, tripped []cleanup.Tripped) {
	p.drop(s)
	text := "pass " + s.Name + ": " + (&cleanup.LimitError{Tripped: tripped}).Error()
	if s.LeaveOut != "" {
		text += ". " + s.LeaveOut
	}
	p.Tripped = append(p.Tripped, report.Stop(p.Job, s.Name, text, tripped))
}

// drop takes a section's actions out of the plan.
func (p *Planner) drop(s *section) {
	s.dropped = true
	p.Size -= s.planned
	if p.Report.DryRun {
		return
	}
	i := slices.Index(p.sections, s)
	end := len(p.Actions)
	if i+1 < len(p.sections) {
		end = p.sections[i+1].first
	}
	n := end - s.first
	for _, a := range p.Actions[s.first:end] {
		p.held -= bytesOf(a)
	}
	p.Actions = slices.Delete(p.Actions, s.first, end)
	for _, later := range p.sections[i+1:] {
		later.first -= n
	}
	for k := range p.checkpoints {
		if c := &p.checkpoints[k]; c.actions > s.first {
			c.actions = max(s.first, c.actions-n)
		}
	}
	if i+1 == len(p.sections) { // out of time in it, the next run begins behind it, and comes back to it in its turn
		p.checkpoints = append(p.checkpoints, checkpoint{s.first, s.Next})
	}
}

// trips returns which safety limits a section trips.
func (p *Planner) trips(ctx context.Context, s *section) (tripped []cleanup.Tripped, err error) {
	limits := p.ask.Limits
	if s.unknown != nil && !limits.Lifted {
		return nil, s.unknown
	}
	for _, collection := range limits.suspicious(s.lookups) {
		empty, err := p.Documents.Empty(ctx, collection)
		if err != nil {
			return nil, fmt.Errorf("look whether a collection is empty: %w", err)
		}
		if empty {
			tripped = append(tripped, p.emptyCollection(collection))
		}
	}
	for _, collection := range slices.Sorted(maps.Keys(s.uploads)) {
		if u := s.uploads[collection]; u.cut(limits.MinLookups) && !limits.lifts(LiftOlder, collection) {
			tripped = append(tripped, p.olderDatabase(collection, u))
		}
	}
	for _, f := range s.fields {
		unwritten, err := p.unwritten(ctx, s, f)
		if err != nil {
			return nil, err
		}
		if unwritten {
			tripped = append(tripped, p.unwrittenField(f))
		}
	}
	if s.Name == "" {
		err = limits.Check(p.Size, s.lookups)
	} else { // the number of actions is the whole run's
		err = limits.Check(0, s.lookups)
	}
	var limit *cleanup.LimitError
	if errors.As(err, &limit) {
		tripped = append(tripped, limit.Tripped...)
	}
	if limits.Lifted {
		return tripped, nil
	}
	for _, what := range slices.Sorted(maps.Keys(s.shares)) {
		if of := s.shares[what]; limits.exceeds(of.due, of.all, of.percent) {
			tripped = append(tripped, p.tooMuchDue(what, of))
		}
	}
	if id, n := mostDue(s.because); n > limits.MaxPerOwner {
		tripped = append(tripped, p.oneOwner(id, n))
	}
	return tripped, nil
}

// unwritten reports whether nobody ever wrote a field whose absence makes items due: none of those that were looked at has
// it, and, in a collection, no other document either.
func (p *Planner) unwritten(ctx context.Context, s *section, f fieldSeen) (bool, error) {
	few := f.written > 0 || f.looked < p.ask.Limits.MinLookups
	if s.planned == 0 || few && !f.unwritten || p.ask.Limits.lifts(LiftUnwritten, f.name()) {
		return false, nil
	}
	if f.Group || f.unwritten { // an index of the field alone spans no group
		return true, nil
	}
	set := documents.Query{Collection: f.Collection, Where: []documents.Filter{{Field: f.field, Op: "!=", Value: nil}},
		OrderBy: []string{f.field}, Select: documents.NameOnly}
	others, err := p.Documents.First(ctx, set, "", 1)
	if err != nil {
		return false, fmt.Errorf("look whether anybody has written %s: %w", f.name(), err)
	}
	return len(others) == 0, nil
}

func (f fieldSeen) name() string { return f.Collection + "." + f.field }

// mostDue returns the missing document because of which most items are due.
func mostDue(because map[documents.Ref]int) (most documents.Ref, n int) {
	for ref, count := range because {
		if count > n || count == n && ref.Path() < most.Path() {
			most, n = ref, count
		}
	}
	return most, n
}

// What tripped, the figures, what else may be the reason, and how to lift it.

func (p *Planner) emptyCollection(collection string) cleanup.Tripped {
	text := fmt.Sprintf("empty collection: %s holds no document at all, yet ids name documents in it: make sure that "+
		"database %s is the right one (FIRESTORE_DATABASE, Terraform: databases), was not emptied, and keeps them "+
		"under that name. Only if it is rightly empty, %s", collection, p.Report.Database, byName(LiftEmpty, collection))
	return cleanup.Tripped{Limit: LiftEmpty, Of: collection, Lift: LiftEmpty + ":" + collection, Text: text}
}

func (p *Planner) olderDatabase(collection string, u *uploads) cleanup.Tripped {
	since := u.newest[len(u.newest)-1].at.UTC().Format(time.RFC3339)
	text := fmt.Sprintf("older database: the owners of the %d newest objects, uploaded from %s on, do not exist in %s, "+
		"but owners of older ones do: database %s may be restored from a backup, or not be the one of bucket %s, or an undo "+
		"brought objects back whose owners stay gone. "+
		"Only if those were rightly deleted, %s",
		len(u.newest), since, collection, p.Report.Database, p.Report.Bucket, byName(LiftOlder, collection))
	return cleanup.Tripped{Limit: LiftOlder, Of: collection, Due: len(u.newest), Lift: LiftOlder + ":" + collection, Text: text}
}

func (p *Planner) unwrittenField(f fieldSeen) cleanup.Tripped {
	what := fmt.Sprintf("none of %d documents of %s has %s, whose absence makes them due", f.looked, f.Collection, f.field)
	if f.unwritten {
		what = fmt.Sprintf("no document of %s has %s, by which the rule looks there, so nothing is kept because of it", f.Collection, f.field)
	}
	text := fmt.Sprintf("unwritten field: %s: most likely the application calls the field something else. Only if nobody ever had a "+
		"reason to write it, %s", what, byName(LiftUnwritten, f.name()))
	return cleanup.Tripped{Limit: LiftUnwritten, Of: f.name(), Lift: LiftUnwritten + ":" + f.name(), Text: text}
}

func (p *Planner) tooMuchDue(what string, of share) cleanup.Tripped {
	setting, raise := "MAX_DUE_PERCENT", "MAX_DUE_PERCENT (Terraform: safety_limits.max_due_percent)"
	if of.ofRule {
		setting, raise = "maxDuePercent", "maxDuePercent in the rule"
	}
	text := fmt.Sprintf("%s: %d of %d %s are due (%.1f %%), but at most %d %% may be: look at the plan (firesweep plan %s --force), "+
		"then raise %s or %s", setting, of.due, of.all, what, 100*float64(of.due)/float64(of.all), of.percent, p.Job, raise, forced)
	return cleanup.Tripped{Limit: setting, Of: what, Due: of.due, All: of.all, Most: of.percent, Lift: LiftAll, Text: text}
}

func (p *Planner) oneOwner(missing documents.Ref, n int) cleanup.Tripped {
	most := p.ask.Limits.MaxPerOwner
	text := fmt.Sprintf("MAX_PER_OWNER: %d items are due because %s does not exist, but at most %d may be because of one id: "+
		"perhaps the application writes that id where it means none. Look at the plan (firesweep plan %s --force), "+
		"then raise MAX_PER_OWNER (Terraform: safety_limits.max_per_owner) or %s",
		n, missing.Path(), most, p.Job, forced)
	return cleanup.Tripped{Limit: "MAX_PER_OWNER", Of: missing.Path(), Due: n, Most: most, Lift: LiftAll, Text: text}
}

// keptShare holds what is due of a collection against the safety limit on its share.
func (p *Planner) keptShare(c cleanup.KeptCount, all, due int) {
	if c.MaxDuePercent == 0 {
		return
	}
	if c.Planned != nil {
		due = c.Planned(due)
	}
	what := "documents of " + c.Due.Collection
	if c.Only {
		what += " that meet its conditions"
	}
	p.Share(what, all, due, c.MaxDuePercent)
}

// shareUnknown fails the run where the share cannot be told, for then nobody knows whether the limit holds.
func (p *Planner) shareUnknown(c cleanup.KeptCount) {
	if c.MaxDuePercent == 0 || c.MaxDuePercent == 100 {
		return
	}
	p.Unknown(fmt.Errorf("the documents of %s could not be counted, so it is unknown whether more than %d %% of them are due: "+
		"if there are too many for Firestore to count, set maxDuePercent to 100 in the rule", c.Due.Collection, c.MaxDuePercent))
}
