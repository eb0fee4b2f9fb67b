// Package tell says in the report and in the log of a run what becomes of each thing. Many may use it at once.
package tell

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/engine/internal/state"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// MaxNamed is how many items a run names in the log for each reason; all are counted.
const MaxNamed = 20

// Teller has a run's report and log.
type Teller struct {
	Job    string
	Bucket string
	Worker bool
	Report *report.Report
	Logger *slog.Logger

	mu    sync.Mutex     // guards the report while items are being done, and what follows
	Wrote map[string]int // documents, by operation and the collection's id, as in "delete comments"
}

// Scanned implements [cleanup.Plan].
func (t *Teller) Scanned(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Report.Scanned += n
}

// Keep implements [cleanup.Plan].
func (t *Teller) Keep(reason string, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n > 0 {
		t.Report.Kept[reason] += n
	}
}

// KeepNamed says that one item is kept for a reason that is in order, and names it in the log. It is for workers, whose
// one item it is, and for what is on the list of what the job keeps.
func (t *Teller) KeepNamed(ctx context.Context, target, reason string) {
	t.Keep(reason, 1)
	t.Logger.InfoContext(ctx, target+": kept, "+reason, slog.String("target", target), slog.String("reason", reason))
}

// Warn implements [cleanup.Plan].
func (t *Teller) Warn(ctx context.Context, warning string) {
	t.Report.Warnings = append(t.Report.Warnings, warning)
	t.Logger.WarnContext(ctx, t.Job+": "+warning)
}

// Notice logs a warning about one item.
func (t *Teller) Notice(ctx context.Context, target string, n cleanup.Notice) {
	attributes := []any{slog.String("target", target)}
	for _, name := range slices.Sorted(maps.Keys(n.Fields)) {
		attributes = append(attributes, slog.Any(name, n.Fields[name]))
	}
	level := slog.LevelWarn
	if n.Error {
		level = slog.LevelError
	}
	t.Logger.Log(ctx, level, n.Message, attributes...)
}

// Counted changes the counts of one kind of action.
func (t *Teller) Counted(kind string, f func(*report.Counts)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Report.Count(kind, f)
}

// Forget forgets what an abandoned plan reported.
func (t *Teller) Forget() {
	r := t.Report
	r.Scanned, r.Actions, r.Kept, r.Plan = 0, map[string]report.Counts{}, map[string]int{}, nil
	r.NotCounted, r.Warnings = nil, nil
}

// Fail implements [cleanup.Plan]: something went wrong with one target.
func (t *Teller) Fail(ctx context.Context, target, action string, err error) {
	t.mu.Lock()
	t.Report.Fail(target, action, err)
	t.mu.Unlock()
	t.Logger.ErrorContext(ctx, report.Phrase(action, target)+": failed"+t.whoTriesAgain(err)+": "+err.Error(),
		slog.String("target", target), slog.String("action", action))
}

// whoTriesAgain says who tries again what failed.
func (t *Teller) whoTriesAgain(err error) string {
	var foreign *state.ForeignError
	switch {
	case errors.As(err, &foreign), errors.Is(err, cleanup.ErrForeign):
		return ", and so will every run until somebody fixes it"
	case t.Report.DryRun:
		return ""
	case t.Worker:
		return ", Cloud Tasks tries again"
	default:
		return ", the next run tries again"
	}
}
