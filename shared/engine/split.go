package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/guard"
	"github.com/firesweep/firesweep/shared/tasks"
)

// shardHeader names the shard that a task is for: its number, of the run that was split.
const shardHeader = "Firesweep-Shard"

// partOf reads the header; nil if it is not there. continues is the run that the task continues.
func partOf(h http.Header, job, continues string) (*report.Part, error) {
	text := h.Get(shardHeader)
	if text == "" {
		return nil, nil
	}
	var p report.Part
	n, err := fmt.Sscanf(text, "%d/%d %s", &p.Number, &p.Shards, &p.Of)
	switch {
	case err != nil || n != 3 || p.Number < 0 || p.Number >= p.Shards || text != headerOf(p) || !isRunOf(p.Of, job):
		return nil, fmt.Errorf("header %s is %q, which is not a shard of a run of %s", shardHeader, clip(text, maxQuoted), job)
	case continues == "":
		return nil, fmt.Errorf("header %s needs header %s, which is missing", shardHeader, continuesHeader)
	}
	return &p, nil
}

func headerOf(p report.Part) string {
	return strconv.Itoa(p.Number) + "/" + strconv.Itoa(p.Shards) + " " + p.Of
}

// id is the run that undoing, stopping and the log know: that which was split, where this is a part of one.
func (r *run) id() string {
	if r.part != nil {
		return r.part.Of
	}
	return r.report.RunID
}

func (r *run) shardLease() shardLease { return shardLease{lease: r.lease(), part: *r.part} }

// splits returns the ranges that are handed to the function itself; none if the run does all by itself. What an earlier split run
// did not get to comes before all else, as a checkpoint does.
func (r *run) splits(ctx context.Context, last saved) []Range {
	if r.part != nil {
		return nil
	}
	if left := last.split.remaining(); len(left) > 0 {
		if r.config.ContinueFor > 0 {
			r.log.InfoContext(ctx, fmt.Sprintf("%s continues the %d shards that run %s left", r.job.Name, len(left), last.split.RunID))
			return left
		}
		r.log.WarnContext(ctx, fmt.Sprintf("%s starts from the beginning: run %s left %d shards, and without CONTINUE_FOR none can be handed over",
			r.job.Name, last.split.RunID, len(left)))
	}
	if !r.cuts() {
		return nil
	}
	ranges, err := r.cut(ctx)
	if err != nil {
		r.failed(ctx, r.job.Name, "split", err)
		return nil
	}
	if len(ranges) < 2 {
		return nil
	}
	return ranges
}

// maySplit reports whether the run may hand ranges to the function itself, so that it need not read what it plans by.
func (r *run) maySplit(last saved) bool {
	return len(last.split.remaining()) > 0 || r.cuts()
}

// cuts reports whether the run cuts what there is to go through.
func (r *run) cuts() bool { return r.job.Split != nil && r.config.Shards > 1 && r.continues == "" }

// cut asks the job where to cut; its panic is the run's failure.
func (r *run) cut(ctx context.Context) (ranges []Range, err error) {
	defer guard.Recover(&err)
	ranges, err = r.job.Split(ctx, r.planner(r.checkpoint), r.config.Shards)
	outOfTime := errors.Is(err, ErrOutOfTime)
	switch {
	case err != nil && !outOfTime:
		return nil, err
	case len(ranges) < 2, r.stop.told.Load():
		return nil, nil
	case outOfTime:
		r.log.WarnContext(ctx, r.job.Name+" had no time to find out how much there is: the last shard goes through all that was not looked at, "+
			"and may take much longer than the others; give the job more time (Terraform: timeouts)")
	}
	if len(ranges) > r.config.Shards {
		return nil, fmt.Errorf("the job made %d ranges, but at most %d are allowed", len(ranges), r.config.Shards)
	}
	ranges[0].Begin = r.checkpoint
	for i := range ranges[1:] { // what nobody goes through would be taken for looked at
		if ranges[i].End == "" || ranges[i].End != ranges[i+1].Begin {
			return nil, fmt.Errorf("range %d ends at %q, but the next one begins at %q", i, ranges[i].End, ranges[i+1].Begin)
		}
	}
	if end := ranges[len(ranges)-1].End; end != "" {
		return nil, fmt.Errorf("the last range ends at %q, not at the end", end)
	}
	return ranges, nil
}

// handOut hands the shards of a run to Cloud Tasks, those that skip says not. by is the run that does.
func (r *run) handOut(ctx context.Context, of string, now time.Time, shards int, skip func(number int) bool) error {
	var errs []error
	for n := range shards {
		if skip(n) {
			continue
		}
		part := report.Part{Of: of, Number: n, Shards: shards}
		errs = append(errs, r.next.Enqueue(ctx, tasks.Task{
			Key: []string{"shard", of, strconv.Itoa(n), r.report.RunID}, TargetURL: r.url, Deadline: r.timeout + taskMargin,
			Headers: map[string]string{
				nowHeader: now.Format(time.RFC3339Nano), continuesHeader: of, shardHeader: headerOf(part),
			},
		}))
	}
	return errors.Join(errs...)
}

// handOutAgain hands over the shards of a run that is under way which nobody has begun: perhaps whoever split it was killed, or could
// not reach Cloud Tasks. One that had been handed over ends where the other has come before it.
func (r *run) handOutAgain(ctx context.Context, s *split) {
	if s == nil || r.next == (tasks.Writer{}) {
		return
	}
	waiting := 0
	began := func(n int) bool { return s.Shards[n].Runs > 0 || s.Shards[n].Holder != "" }
	for n := range s.Shards {
		if !began(n) {
			waiting++
		}
	}
	if waiting == 0 || s.Seed.Stopped {
		return
	}
	if err := r.handOut(ctx, s.RunID, s.Seed.Now, len(s.Shards), began); err != nil {
		r.failed(ctx, r.job.Name, "hand over shards", err)
		r.report.Status = ""
		r.complete(0)
		return
	}
	r.log.InfoContext(ctx, fmt.Sprintf("%s handed over %d shards of run %s again: they had not begun", r.job.Name, waiting, s.RunID),
		slog.String("run", s.RunID), slog.Int("shards", waiting))
}
