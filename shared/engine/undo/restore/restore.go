// Package restore takes back what a run deleted or changed, from the run's undo log. It works with the credentials of whoever
// calls it; no function needs its rights.
//
// log.go reads the log and choice.go says what of it is meant; documents.go, objects.go and accounts.go take back what each
// kind of thing needs. lease.go keeps runs out meanwhile, hold.go holds the jobs that could delete it again, and undone.go
// notes what was done.
package restore

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/storage"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/internal/decide"
	"github.com/firesweep/firesweep/shared/engine/jobstate"
	"github.com/firesweep/firesweep/shared/engine/runlog"
	"github.com/firesweep/firesweep/shared/engine/undo"
)

// Project is what a run worked on.
type Project struct {
	Config    config.Config // says where that is
	DB        documents.Writer
	Firestore *firestore.Client      // of the same database, for what DB lacks; nothing of this package uses it
	Bucket    *storage.BucketHandle  // nil: objects are left
	Accounts  *accounts.Importer     // nil: accounts are left
	Clock     func() time.Time       // the operator's, for records and for how long something took: leases go by Firestore's
	Jobs      map[string]cleanup.Job // by name: what their runs can have done
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
	// Warn, if set, is told what things that come back will lack, and whether some will not.
	Warn func(text string)
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
	ErrDryRun     = errors.New("it was a preview, which writes nothing")
	ErrUnfinished = errors.New("the run has work left: let the job run once more, which finishes it; or take back all of the run")
	ErrUnderWay   = errors.New("the job is under way")
	ErrLeaseLost  = errors.New("the job's lease ended, because Firestore did not answer in time: nothing more is taken back; run undo again")
	ErrNotInLog   = errors.New("the undo log does not have it: look at the targets of firesweep undo without --only")
	ErrNoLog      = errors.New("the undo log has nothing of it: it is older than UNDO_DAYS, UNDO_DAYS was 0, or it changed nothing")
)

// Undo takes back a run, or says what would be. Each outcome is handed to each, one at a time in no order; its error ends it.
// What somebody has changed since is left as it is. What no run of the job can have done is left out, and [ErrRefused] in the
// end. It can be repeated: what is as it was before the run stays so.
func (p Project) Undo(ctx context.Context, runID string, o Options, each func(Outcome) error) error {
	job, err := p.jobOf(ctx, runID, o.WithoutReport)
	if err != nil && !errors.Is(err, ErrNoReport) {
		return fmt.Errorf("undo %s: %w", runID, err)
	}
	_, noLog := p.doneBy(ctx, runID)
	if err = cmp.Or(noLog, err); err != nil { // without a log, there is nothing to miss a report for
		return fmt.Errorf("undo %s: %w", runID, err)
	}
	u := &undoing{Project: p, Options: o, job: job, runID: runID, each: each,
		holder: undo.HolderPrefix + runID + "-" + rand.Text()[:8],
		writes: map[string]int{}, several: map[string]bool{}, stays: map[string]string{}, named: map[string]bool{}, matched: map[string]bool{},
		claimed: map[identifier]string{}, refused: map[string]bool{}, held: map[place]*jobstate.Hold{}, kept: map[place][]string{},
		came: map[string]bool{}, canHave: decide.CanHaveDone(p.Jobs[job]), covers: map[string]func(undo.Record) bool{}}
	for name, j := range p.Jobs {
		u.covers[name] = decide.Covers(j)
	}
	if !o.Apply {
		if err := u.free(ctx); err != nil {
			return fmt.Errorf("undo %s: %w", runID, err)
		}
		if _, err := u.survey(ctx); err != nil {
			return fmt.Errorf("undo %s: %w", runID, err)
		}
		return u.takeBack(ctx)
	}
	release, err := u.lease(ctx)
	if err != nil {
		return fmt.Errorf("undo %s: %w", runID, err)
	}
	t, err := u.survey(ctx)
	var todos []documents.Document
	for _, step := range []func(context.Context) error{
		func(ctx context.Context) (err error) { todos, err = u.leftToDo(ctx); return err },
		func(ctx context.Context) error { return u.everywhere(ctx, t, u.hold) },
		func(ctx context.Context) error { return u.everywhere(ctx, t, u.othersFree) }, // a run that begins now knows
		func(ctx context.Context) error { return u.takeAllBack(ctx, todos) },
	} {
		if err == nil {
			err = step(ctx)
		}
	}
	if err == nil || errors.Is(err, ErrRefused) || !u.began {
		err = errors.Join(err, u.everywhere(context.WithoutCancel(ctx), t, u.letGo))
	}
	return errors.Join(err, u.noteUndone(ctx, err), release())
}

// undoing is one call of [Project.Undo].
type undoing struct {
	Project
	Options
	job, runID string
	holder     string // as whom it holds the lease; the same undo in another process is another
	log        []runlog.Done
	writes     map[string]int                    // how many the log has of each document
	several    map[string]bool                   // items whose documents several commits changed
	stays      map[string]string                 // items that do not come back, because of a document that cannot
	named      map[string]bool                   // of Only, by something in the log
	matched    map[string]bool                   // documents and items that Where means
	claimed    map[identifier]string             // which account comes back, by what identifies it
	back       int                               // things that came back
	came       map[string]bool                   // these
	same       int                               // things that are as they were
	began      bool                              // something may be back
	held       map[place]*jobstate.Hold          // the jobs that this call holds, and who held them before; nil: nobody
	kept       map[place][]string                // what it has them keep, and nobody before
	covers     map[string]func(undo.Record) bool // by job: whether it could delete or change again what a record is of
	filesBack  sync.Once                         // says how files come back
	refused    map[string]bool                   // targets that no run of the job can have had
	canHave    func(r undo.Record, item string) bool

	telling sync.Mutex
	each    func(Outcome) error // called by one at a time, by tell

	leasing sync.Mutex
	renewed time.Time // when the lease last was; zero before it is taken
}

func (u *undoing) warn(text string) {
	u.telling.Lock()
	defer u.telling.Unlock()
	if u.Warn != nil {
		u.Warn(text)
	}
}

// tell hands outcomes to the caller.
func (u *undoing) tell(outcomes ...Outcome) error {
	u.telling.Lock()
	defer u.telling.Unlock()
	for _, o := range outcomes {
		if o.Step.Back() {
			u.back++
			u.came[o.Target] = true
		} else if o.Step == undo.Nothing {
			u.same++
		}
		if err := u.each(o); err != nil {
			return err
		}
	}
	return nil
}

// jobOf returns the job that a run was of. Its report must say so, unless it needs none.
func (p Project) jobOf(ctx context.Context, runID string, withoutReport bool) (string, error) {
	parts := strings.Split(runID, "-") // the job's name, the time, and what tells it from others
	if len(parts) != 3 || strings.Contains(runID, "/") {
		return "", fmt.Errorf("%w: a run's id is like cleanupReports-20260101T000000Z-0123abcd", ErrUnknown)
	}
	return parts[0], p.report(ctx, runID, parts[0], withoutReport)
}
