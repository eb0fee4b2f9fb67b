package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/firesweep/firesweep/shared/documents"
)

// Somebody who wants a run to stop writes its id into the field stop of cleanupJobs/{job}. The run looks for that, begins nothing
// more, and ends as if time were up. The run's end takes the mark away, and one that names another run stops nothing.

// stopField is that field.
const stopField = "stop"

// stopEvery is how often a run looks whether it is to stop, at most: a read each time, and none in the first five seconds.
const stopEvery = 5 * time.Second

// stop is what a run knows of that.
type stop struct {
	told    atomic.Bool // to stop
	looking sync.Mutex  // guards what follows
	look    func() bool // nil for what cannot be told to stop
	looked  time.Time   // when somebody last looked
	warned  bool        // of a mark that names no run
}

// toldToStop reports whether the run was told to stop. It looks when it is asked, which is before every step, if nobody has
// for a while; those who ask meanwhile go on.
func (r *run) toldToStop() bool {
	if r.stop.look == nil || r.stop.told.Load() || !r.stop.looking.TryLock() {
		return r.stop.told.Load()
	}
	defer r.stop.looking.Unlock()
	if now := r.clock(); now.Sub(r.stop.looked) >= stopEvery {
		r.stop.looked = now
		r.stop.told.Store(r.stop.look())
	}
	return r.stop.told.Load()
}

// lookForStop reads the mark. Where it cannot be read, the next look tells.
func (r *run) lookForStop(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, stopEvery)
	defer cancel()
	d, _, err := r.records.Get(ctx, r.lease().path())
	if err != nil {
		r.log.WarnContext(ctx, r.job.Name+" could not check whether to stop; it will check again: "+err.Error())
		return false
	}
	mark, set := d.Data[stopField]
	named, _ := mark.(string)
	switch {
	case !set || mark == nil:
	case named == r.id():
		r.log.InfoContext(ctx, r.job.Name+" was told to stop, and starts nothing more")
		return true
	case !strings.HasPrefix(named, r.job.Name+"-") && !r.stop.warned:
		r.stop.warned = true
		r.log.ErrorContext(ctx, fmt.Sprintf("%s continues: the field %s of %s does not name a run: to stop this one, set it to the string %s",
			r.job.Name, stopField, d.Path, r.id()))
	}
	return false
}

// ErrNotUnderWay says that a run to be stopped does not hold its job's lease any more.
var ErrNotUnderWay = errors.New("the run is not under way any more")

// Stop tells a run to stop, which it does within some seconds: it begins nothing more, and saves its report. The error is
// [ErrNotUnderWay] where the run has ended.
func Stop(ctx context.Context, w documents.Writer, job, runID string, now time.Time) error {
	_, err := w.Exchange(ctx, "cleanupJobs/"+job, func(d documents.Document, _ bool) (map[string]any, error) {
		holder, until, err := lease{job: job}.holder(d)
		if err != nil {
			return nil, err
		}
		if holder != runID || !now.Before(until) {
			return nil, ErrNotUnderWay
		}
		return map[string]any{stopField: runID}, nil
	})
	return err
}
