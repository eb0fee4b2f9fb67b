package engine

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/engine/jobstate"
)

// Somebody who wants a run to stop writes its id into the field stop of cleanupJobs/{job}. The run looks for that, begins nothing
// more, and ends as if time were up. The run's end takes the mark away, and one that names another run stops nothing. So ends a
// run that has lost its lease, as a laptop's does that slept meanwhile.

// stopEvery is how often a run looks whether it is to stop, at most: three reads each time, and none in the first five seconds.
const stopEvery = 5 * time.Second

// stop is what a run knows of that.
type stop struct {
	ordered atomic.Bool // it is to stop
	lost    atomic.Bool // the lease
	looking sync.Mutex  // guards what follows
	look    func()      // nil for what cannot be told to stop
	looked  time.Time   // when somebody last looked
	warned  bool        // of a mark that names no run
}

// deadline says when a run must end.
type deadline struct {
	clock     func() time.Time
	timeout   time.Duration
	begun     time.Time // by the clock, with its monotonic reading
	planUntil time.Time // when planning must end, so that there is time to apply
	stopAt    time.Time // when no more work may be begun
	preview   bool
	canceled  func() bool
	stop      stop
}

// timeIsUp reports whether nothing more may be begun.
func (d *deadline) timeIsUp() bool {
	return d.canceled() || d.over(d.stopAt) || d.mustStop()
}

// Now returns the wall clock's time.
func (d *deadline) Now() time.Time { return d.clock() }

// CheckTime returns [cleanup.ErrOutOfTime] when no further step should be begun.
func (d *deadline) CheckTime() error {
	if d.timeIsUp() {
		return cleanup.ErrOutOfTime
	}
	return nil
}

// inTime returns [cleanup.ErrOutOfTime] when the run should have ended: its machine slept, or was frozen, since it looked at what
// it is about to delete.
func (d *deadline) inTime() error {
	if d.over(d.begun.Add(d.timeout)) {
		return cleanup.ErrOutOfTime
	}
	return nil
}

// PlanningTimeIsUp is earlier than [deadline.timeIsUp], for planning that took all the time would leave none to apply what was
// planned, run after run.
func (d *deadline) PlanningTimeIsUp() bool {
	if d.preview {
		return d.timeIsUp()
	}
	return d.canceled() || d.over(d.planUntil) || d.mustStop()
}

func (d *deadline) over(at time.Time) bool { return jobstate.Since(at, d.clock()) >= 0 }

// listen has the run look for an order to stop from now on.
func (r *run) listen(ctx context.Context) {
	if r.hooks.DeafToStop {
		return
	}
	r.stop.look, r.stop.looked = func() { r.lookForStop(ctx) }, r.begun
	r.stop.ordered.Store(r.state.IsStopping())
}

// mustStop reports whether the run was told to stop, or has lost its lease. It looks when it is asked, which is before every
// step, if nobody has for a while; those who ask meanwhile go on.
func (d *deadline) mustStop() bool {
	s := &d.stop
	if s.look != nil && !s.ordered.Load() && !s.lost.Load() && s.looking.TryLock() {
		defer s.looking.Unlock()
		if now := d.clock(); jobstate.Since(s.looked, now) >= stopEvery {
			s.looked = now
			s.look()
		}
	}
	return s.ordered.Load() || s.lost.Load()
}

// lookForStop reads the mark, and who holds the lease. Where it cannot be read, the next look tells.
func (r *run) lookForStop(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, stopEvery)
	defer cancel()
	s, _, err := jobstate.Read(ctx, r.clients.Documents.Reader(), r.job.Name)
	if err != nil {
		r.Logger.WarnContext(ctx, r.job.Name+" could not check whether to stop; it will check again: "+err.Error())
		return
	}
	r.decider.KeepAll(s) // somebody may have added to it meanwhile
	named, _ := s.Stop.(string)
	switch {
	case s.Holder != r.Report.RunID: // the release says so
		r.stop.lost.Store(true)
	case s.Stop == nil:
	case named == r.Report.RunID:
		r.Logger.InfoContext(ctx, r.job.Name+" was told to stop, and starts nothing more")
		r.stop.ordered.Store(true)
	case !strings.HasPrefix(named, r.job.Name+"-") && !r.stop.warned:
		r.stop.warned = true
		r.Logger.ErrorContext(ctx, fmt.Sprintf("%s continues: the field stop of %s does not name a run: to stop this one, "+
			"set it to the string %s", r.job.Name, r.statePath(), r.Report.RunID))
	}
}
