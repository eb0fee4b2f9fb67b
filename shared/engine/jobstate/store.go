package jobstate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/harmless"
)

// maxID is how many bytes a run's id has at most.
const maxID = 64

// IsRunOf reports whether a text may be the id of a job's run.
func IsRunOf(id, job string) bool {
	return strings.HasPrefix(id, job+"-") && len(id) <= maxID && !strings.Contains(id, "/")
}

// Store is where a job's record is, or one that is for all jobs.
type Store struct {
	Writer documents.Writer
	Job    string
}

// Known is a state as it is known to be stored.
type Known struct {
	State
	at time.Time
}

// A ForeignError says that the job's document holds what no run of the function wrote. It will not go away by itself: a person
// must delete it.
type ForeignError struct{ what string }

func (e *ForeignError) Error() string {
	return e.what + " in the Firebase console, or on emulators in their UI"
}

// Path returns the path of a job's document.
func Path(job string) string { return collections.Jobs + "/" + job }

// Change makes a transition, and makes it anew where somebody else was quicker. f gets the state and when it was read, by
// Firestore's clock, and returns the next one and further documents for the same commit. known is what is known to be stored,
// which saves a read unless it has changed; nil: nothing is. Change returns what it leaves. The error is that of f, or a
// [*ForeignError].
func (st Store) Change(
	ctx context.Context, known *Known, f func(s State, now time.Time) (_ State, also map[string]any, err error),
) (left Known, err error) {
	var d documents.Document
	if known != nil {
		d = documents.Document{Path: Path(st.Job), UpdateTime: known.at}
	}
	at, err := st.Writer.Exchange(ctx, Path(st.Job), d, func(d documents.Document, _ bool) (
		fields, also map[string]any, err error,
	) {
		var before State
		if known != nil && !known.at.IsZero() && d.UpdateTime.Equal(known.at) {
			before = known.State
		} else if before, err = Of(st.Job, d); err != nil {
			return nil, nil, err
		}
		if left.State, also, err = f(before, d.ReadTime); err != nil {
			return nil, nil, err
		}
		fields = changes(before, left.State)
		_, marked := d.Data["stop"] // perhaps with null
		if left.Stop == nil && len(fields) > 0 && (marked || before.Stop != nil) {
			fields["stop"] = documents.DeleteField
		}
		return fields, also, nil
	})
	left.at = at
	return left, err
}

// Save writes documents, whatever the state is.
func (st Store) Save(ctx context.Context, all map[string]any) error {
	unread := documents.Document{UpdateTime: time.Unix(0, 0)} // nothing is written that depends on it
	_, err := st.Writer.Exchange(ctx, Path(st.Job), unread, func(documents.Document, bool) (_, also map[string]any, _ error) {
		return nil, all, nil
	})
	return err
}

// Record is what cleanupJobs/{job} of a database says, or what is there for all jobs.
type Record struct {
	Job string
	State
	Now time.Time // when it was read, by Firestore's clock
	Err error     // it is not one that this program wrote, and no run begins; the state is empty then
}

// Records returns what all records of a database say, in the order of their names.
func Records(ctx context.Context, db documents.Reader) (all []Record, err error) {
	for page, err := range db.Pages(ctx, documents.Query{Collection: collections.Jobs}, "") {
		if err != nil {
			return nil, fmt.Errorf("read the jobs' records: %w", err)
		}
		for _, d := range page.Documents {
			r := Record{Job: d.ID(), Now: d.ReadTime}
			r.State, r.Err = Of(r.Job, d)
			all = append(all, r)
		}
	}
	return all, nil
}

// Read returns the state, with what is for all jobs, and when it was read, by Firestore's clock. It costs three reads. The error
// may be a [*ForeignError].
func Read(ctx context.Context, db documents.Reader, job string) (s State, now time.Time, err error) {
	d, _, err := db.Get(ctx, Path(job))
	if err != nil {
		return s, now, err
	}
	if s, err = Of(job, d); err == nil {
		s, err = Heed(ctx, db, job, s)
	}
	return s, d.ReadTime, err
}

// Heed returns a job's state with what is for all jobs, in two reads. The error may be a [*ForeignError].
func Heed(ctx context.Context, db documents.Reader, job string, s State) (State, error) {
	found, err := db.GetAll(ctx, []string{Path(AllJobs), Path(NewJobs)})
	if err != nil {
		return s, fmt.Errorf("read what holds all jobs: %w", err)
	}
	return s.heed(job, found)
}

func (s State) heed(job string, found map[string]documents.Document) (State, error) {
	all, err := Of(AllJobs, found[Path(AllJobs)])
	newJobs, wrong := Of(NewJobs, found[Path(NewJobs)])
	return s.Heed(job, all, newJobs), cmp.Or(err, wrong)
}

// ReadBy is [Read] in one request, by what reads documents by their paths, such as a transaction.
func ReadBy(
	ctx context.Context, get func(context.Context, []string) (map[string]documents.Document, error), job string,
) (s State, err error) {
	found, err := get(ctx, []string{Path(job), Path(AllJobs), Path(NewJobs)})
	if err == nil {
		s, err = Of(job, found[Path(job)])
	}
	if err != nil {
		return s, fmt.Errorf("read the job's record: %w", err)
	}
	return s.heed(job, found)
}

// Update is [Store.Change] for a transition that needs nothing but the state, and writes nothing more.
func (st Store) Update(ctx context.Context, f func(State) (State, error)) error {
	_, err := st.Change(ctx, nil, func(s State, _ time.Time) (State, map[string]any, error) {
		after, err := f(s)
		return after, nil, err
	})
	return err
}

// Hold has the job's runs do nothing from now on, or those of all jobs. What is under way goes on; what is held stays as it is.
func (st Store) Hold(ctx context.Context, h Hold) error {
	return st.Update(ctx, func(s State) (State, error) { return s.Hold(h), nil })
}

// Resume lets the job's runs begin again, or has a record that is for all jobs hold none.
func (st Store) Resume(ctx context.Context) error {
	err := st.Update(ctx, func(s State) (State, error) { return s.Resume(), nil })
	if err != nil || ForAll(st.Job) {
		return err
	}
	newJobs := Store{Writer: st.Writer, Job: NewJobs}
	return newJobs.Update(ctx, func(s State) (State, error) { return s.ResumeNew(st.Job), nil })
}

// Keep has all jobs keep items. A run that is under way knows within seconds.
func Keep(ctx context.Context, w documents.Writer, h Hold, paths ...string) error {
	items := make([]Kept, len(paths))
	for i, path := range paths {
		items[i] = Kept{Path: path, Hold: h}
	}
	return Store{Writer: w, Job: AllJobs}.Update(ctx, func(s State) (State, error) { return s.Keeping(items...) })
}

// Unkeep lets the jobs judge items again.
func Unkeep(ctx context.Context, w documents.Writer, paths ...string) error {
	return Store{Writer: w, Job: AllJobs}.Update(ctx, func(s State) (State, error) { return s.Unkeep(paths...), nil })
}

// Stop tells the run that is under way to stop, which it does within some seconds: it begins nothing more, and saves its report.
// It returns which run that is, and when its lease ends; none if none is under way.
func (st Store) Stop(ctx context.Context) (run string, until time.Time, err error) {
	_, err = st.Change(ctx, nil, func(s State, now time.Time) (State, map[string]any, error) {
		if run, until = "", s.Until; s.Leased(now) != "" {
			run = s.Run()
		}
		if run != "" {
			s.Stop = run
		}
		return s, nil, nil
	})
	return run, until, err
}

// TooLong returns a [*ForeignError] if somebody holds the lease for longer than anybody may, clocks that differ included, else
// nil.
func (s State) TooLong(job string, now time.Time) error {
	if s.Holder == "" || !s.Until.After(now.Add(Longest+Margin)) {
		return nil
	}
	return &ForeignError{fmt.Sprintf("run %s holds the lease until %s, longer than any run may: a clock was wrong, or an older "+
		"deployment is still under way: delete the field until of %s",
		harmless.Clip(s.Holder, maxID), s.Until.Format(time.RFC3339), Path(job))}
}

// Of reads a job's document. What nothing is decided by reads as nothing where it cannot be read. The error is a [*ForeignError].
func Of(job string, d documents.Document) (s State, err error) {
	foreign := func(field string) error {
		return &ForeignError{"the field " + field + " of " + Path(job) + " is not one that this program wrote: delete that field"}
	}
	for _, f := range s.fields() {
		value := d.Data[f.name]
		if value == nil {
			continue
		}
		text, err := json.Marshal(value)
		if err == nil {
			err = json.Unmarshal(text, f.into)
		}
		if err == nil && f.wrong != nil && f.wrong() {
			err = errors.New("it cannot be")
		}
		switch {
		case err == nil:
		case f.decides:
			return State{}, foreign(f.name)
		default:
			reflect.ValueOf(f.into).Elem().SetZero()
		}
	}
	if s.Holder != "" && !ByUndo(s.Holder) && (s.Run() == "" || !IsRunOf(s.Holder, job)) {
		return State{}, foreign("holder")
	}
	if s.Held != nil {
		s.Held.Record = job
	}
	return s, nil
}

// field is a field of the document.
type field struct {
	name    string
	into    any
	decides bool        // what the program does, so that it must be one that it wrote
	wrong   func() bool // nil: never
}

func (s *State) fields() []field {
	return []field{
		{"holder", &s.Holder, true, nil},
		{"until", &s.Until, true, nil},
		{"begun", &s.Begun, true, nil},
		{"checkpoint", &s.Checkpoint, true, nil},
		{"rewound", &s.Rewound, true, nil},
		{"leaves", &s.Leaves, false, nil},
		{"held", &s.Held, true, nil},
		{"keep", &s.Keep, true, func() bool { return s.wrongKeep() }},
		{"known", &s.Known, true, nil},
		{"stop", &s.Stop, false, nil},
		{"cuts", &s.Cuts, false, nil},
		{"warned", &s.Warned, false, nil},
		{"schedule", &s.Schedule, false, nil},
		{"lastReport", &s.Last, false, func() bool { return s.Last.RunID == "" }},
	}
}

// changes returns the fields in which two states differ.
func changes(before, after State) map[string]any {
	changed := map[string]any{}
	was, is := before.fields(), after.fields()
	for i, f := range is {
		a, b := reflect.ValueOf(was[i].into).Elem().Interface(), reflect.ValueOf(f.into).Elem().Interface()
		if !reflect.DeepEqual(a, b) {
			changed[f.name] = b
		}
	}
	return changed
}
