// Package restore takes back what a run deleted or changed, from the run's undo log. It works with the credentials of whoever
// calls it; no function needs its rights.
//
// log.go reads the log and choice.go says what of it is meant; documents.go, objects.go and accounts.go take back what each
// kind of thing needs. lease.go keeps runs out meanwhile, hold.go holds the jobs that could delete it again, and undone.go
// notes what was done.
package restore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"cloud.google.com/go/storage"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/jobstate"
	"github.com/firesweep/firesweep/shared/engine/runlog"
	"github.com/firesweep/firesweep/shared/engine/undo"
)

// Project is what a run worked on.
type Project struct {
	Config   config.Config // says where that is
	DB       documents.Writer
	Bucket   *storage.BucketHandle  // nil: objects are left
	Accounts *accounts.Importer     // nil: accounts are left
	Clock    func() time.Time       // the operator's, for records and for how long something took: leases go by Firestore's
	Jobs     map[string]cleanup.Job // by name: what their runs can have done
	AtOnce   int                    // how many items come back side by side; 0: as many as are fast, in no order
}

// Options say what to take back.
type Options struct {
	Apply bool     // do it; otherwise say what would be done
	Only  []string // documents, objects (gs://bucket/name) and accounts (account uid) to take back; none: all
	Where *Where   // nil: any
	// Claims gives accounts their custom claims back, which may make them administrators. Otherwise they come back without.
	Claims bool
	// WithoutReport takes back a run that has no report.
	WithoutReport bool
	By            string // who does it, for the record; empty: not known
	// Elsewhere, if set, calls f with each other database of the project: the jobs there are about the same files and accounts.
	Elsewhere func(f func(Project) error) error
	// Progress, if set, is told how many entries of the log are done, of how many.
	Progress func(done, total int)
}

// Outcome says what was done to one thing, or would be. docs/command.md documents it as JSON.
type Outcome struct {
	Target string    `json:"target"` // a document's path, gs://bucket/name, or "account uid"
	Step   undo.Step `json:"step"`
	Why    string    `json:"why,omitempty"`  // of a conflict
	Note   string    `json:"note,omitempty"` // of an account: by what one can sign in to it once it is back, and its claims
}

// Errors that say why nothing is taken back.
var (
	ErrUnknown    = errors.New("there is no such run")
	ErrUnfinished = errors.New("the run has work left: let the job run once more, which finishes it; or take back all of the run")
	ErrUnderWay   = errors.New("the job is under way")
	ErrLeaseLost  = errors.New("the job's lease ended, because Firestore did not answer in time: " +
		"nothing more is taken back; run undo again")
	ErrNotInLog = errors.New("the undo log does not have it: undo alone lists it all, " +
		"as posts/abc, gs://bucket/a.png, account UID")
	ErrNoLog = errors.New("the undo log has nothing of it: it is older than UNDO_DAYS, UNDO_DAYS was 0, or it changed nothing")
)

// Undo takes back a run, or says what would be. Each outcome is handed to each, one at a time in no order; its error ends it.
// What somebody has changed since is left as it is. What no run of the job can have done is left out, and [ErrRefused] in the
// end. It can be repeated: what is as it was before the run stays so.
func (p Project) Undo(ctx context.Context, runID string, o Options, each func(Outcome) error) error {
	if err := p.undo(ctx, runID, o, each); err != nil {
		return fmt.Errorf("undo %s: %w", runID, err)
	}
	return nil
}

func (p Project) undo(ctx context.Context, runID string, o Options, each func(Outcome) error) error {
	parts := strings.Split(runID, "-") // the job's name, the time, and what tells it from others
	if len(parts) != 3 || strings.Contains(runID, "/") {
		return fmt.Errorf("%w: a run's id is like cleanupReports-20260101T000000Z-0123abcd", ErrUnknown)
	}
	job := parts[0]
	if _, known := p.Jobs[job]; !known {
		return fmt.Errorf("%w: there is no job %q, so nobody knows what it can have done", ErrUnknown, job)
	}
	if _, err := p.doneBy(ctx, runID); err != nil { // without a log, there is nothing to miss a report for
		return err
	}
	if err := p.report(ctx, runID, job, o.WithoutReport); err != nil {
		return err
	}
	o.Only = slices.Clone(o.Only) // to which [undoing.match] adds
	u := &undoing{Project: p, Options: o, job: job, runID: runID, each: each,
		holder: undo.HolderPrefix + runID + "-" + rand.Text()[:8], at: p.Clock().UTC().Truncate(time.Microsecond),
		records: map[string]int{}, writes: map[string]int{}, named: map[string]bool{}, matched: map[string]bool{},
		after: map[string]string{}, refused: map[string]bool{}, by: map[string]bool{job: true}, with: map[string][]string{},
		held: map[place]jobstate.State{}, ran: map[place]bool{}, came: map[string]bool{}, reach: reachOf(p.Jobs[job]),
		covers: map[string]func(undo.Record) bool{}}
	for name, j := range p.Jobs {
		u.covers[name] = reachOf(j).covers
	}
	if o.Apply {
		return u.apply(ctx)
	}
	if err := u.free(ctx, p, job); err != nil {
		return err
	}
	if err := u.survey(ctx); err != nil {
		return err
	}
	return u.takeBack(ctx)
}

// apply takes the run back, and keeps the jobs from doing it again.
func (u *undoing) apply(ctx context.Context) (err error) {
	if err := u.renew(ctx); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{
		u.survey,
		func(ctx context.Context) error { return u.everywhere(ctx, u.hold) },
		func(ctx context.Context) error { return u.everywhere(ctx, u.free) }, // a run that begins now knows
		u.takeAllBack,
	} {
		if err == nil {
			err = step(ctx)
		}
	}
	if err == nil || errors.Is(err, ErrRefused) || !u.began {
		err = errors.Join(err, u.everywhere(context.WithoutCancel(ctx), u.letGo))
	}
	return errors.Join(err, u.noteUndone(ctx, err), u.release(ctx))
}

// undoing is one call of [Project.Undo].
type undoing struct {
	Project
	Options
	job, runID string
	holder     string                            // as whom it holds the lease; the same undo in another process is another
	at         time.Time                         // since when it holds jobs, and has them keep what comes back
	reach      reach                             // of the job
	covers     map[string]func(undo.Record) bool // by job: whether it could delete or change again what a record is of

	// What the survey finds.
	log     []runlog.Done
	records map[string]int      // how many the log has of each item, and what belongs to it
	writes  map[string]int      // how many the log has of each document
	named   map[string]bool     // of Only, by something in the log; "" if anything there is meant
	matched map[string]bool     // documents and items that Where means
	after   map[string]string   // by item, the one that led to it
	by      map[string]bool     // the jobs that can delete or change some of what comes back
	shared  bool                // some of it is an object or an account, which the jobs of each database are about
	with    map[string][]string // of an undo of a part, by what comes back, what was done for it

	held    map[place]jobstate.State // of the records that this call has hold or keep something, as they were before
	ran     map[place]bool           // jobs that have a record
	began   bool                     // something may be back
	refused map[string]bool          // targets that no run of the job can have had
	came    map[string]bool          // targets that came back
	back    bool                     // something came back, or was as it was before the run
	stayed  int                      // things that cannot come back

	telling sync.Mutex
	each    func(Outcome) error // called by one at a time, by tell

	leasing sync.Mutex
	renewed time.Time // when the lease last was; zero before it is taken
}

// tell hands outcomes to the caller.
func (u *undoing) tell(outcomes ...Outcome) error {
	u.telling.Lock()
	defer u.telling.Unlock()
	for _, o := range outcomes {
		if o.Step == undo.Conflict || o.Step == undo.Lost {
			u.stayed++
		}
		if o.Step.Back() {
			u.came[o.Target] = true
		}
		u.back = u.back || o.Step.Back() || o.Step == undo.Nothing
		if err := u.each(o); err != nil {
			return err
		}
	}
	return nil
}
