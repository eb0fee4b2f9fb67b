// Package tell says in the report and in the log of a run what becomes of each thing. Many may use it at once.
package tell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/digest"
	"github.com/firesweep/firesweep/shared/engine/jobstate"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/harmless"
	"github.com/firesweep/firesweep/shared/logging"
)

// ErrForeign says that a record is not one that this program wrote.
var ErrForeign = errors.New("it is not one that this program wrote: look at it and delete it")

// MaxNamed is how many items a run names in the log for each reason; all are counted.
const MaxNamed = 20

// Teller has a run's report and log.
type Teller struct {
	Worker bool
	Report *report.Report
	Logger *slog.Logger

	mu      sync.Mutex     // guards the report while items are planned or done, and what follows
	Wrote   map[string]int // documents, by operation and the collection's id, as in "delete comments"; nil: nobody wants to know
	invalid map[where]*invalid
	about   int // see [report.Progress]

	Warned []string // digests of what the log warns of, or did of an earlier run
}

// where says where something is kept, and why, because it cannot be judged.
type where struct{ in, reason string }

// invalid is what is kept so.
type invalid struct {
	n     int
	named []string // up to [MaxNamed] items
}

// Expect says about how many items there are to look at.
func (t *Teller) Expect(about int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.about = about
}

// Progress returns how far the run is.
func (t *Teller) Progress() report.Progress {
	t.mu.Lock()
	defer t.mu.Unlock()
	counts := t.Report.Totals()
	return report.Progress{Looked: t.Report.Scanned, About: t.about, Due: counts.Planned, Done: counts.Done}
}

// Scanned implements [cleanup.Plan].
func (t *Teller) Scanned(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Report.Scanned += n
}

// Keep counts what is kept for a reason.
func (t *Teller) Keep(reason string, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n > 0 {
		t.Report.Kept[reason] += n
	}
}

// Kept says why something is kept, in the one way in which the log does.
func Kept(what, reason string) string { return what + ": kept, " + reason }

// Name names an item that cannot be judged, or a collection in which such items are, and counts n more of them.
func (t *Teller) Name(target, reason string, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	in, isItem := path.Base(target), true
	switch {
	case strings.Contains(target, "://"):
		in = "files"
	case strings.HasPrefix(target, report.AccountPrefix):
		in = "accounts"
	case strings.Count(target, "/")%2 == 1:
		in = path.Base(path.Dir(target))
	default:
		isItem = false
	}
	if t.invalid == nil {
		t.invalid = map[where]*invalid{}
	}
	i := t.invalid[where{in, reason}]
	if i == nil {
		i = &invalid{}
		t.invalid[where{in, reason}] = i
	}
	if i.n += n; isItem && len(i.named) < MaxNamed && !slices.Contains(i.named, target) {
		i.named = append(i.named, target)
	}
}

// what says of how many things, and of which, in as many characters as a message has room for.
func (i *invalid) what(in string) string {
	if len(i.named) == 0 {
		return fmt.Sprintf("%d of %s", i.n, in)
	}
	text, shown := harmless.Clip(i.named[0], logging.MaxMessage/2), 1
	for shown < len(i.named) && len(text)+len(i.named[shown]) <= logging.MaxMessage/2 {
		text += ", " + i.named[shown]
		shown++
	}
	if shown < i.n {
		text += fmt.Sprintf(" and %d more", i.n-shown)
	}
	return text
}

// TellWarnings logs what is kept because it cannot be judged, a line for each collection and reason, and what is doubtful about
// the run as a whole. What the last run warned of too, as before says, is one line.
func (t *Teller) TellWarnings(ctx context.Context, before []string) {
	var same []string
	say := func(message string, fields ...any) {
		id := digest.Of(append([]string{message}, fmt.Sprint(fields...))...)
		if t.Warned = append(t.Warned, id); slices.Contains(before, id) {
			same = append(same, message)
			return
		}
		t.Logger.WarnContext(ctx, message, fields...)
	}
	byName := func(a, b where) int { return cmp.Or(strings.Compare(a.in, b.in), strings.Compare(a.reason, b.reason)) }
	for _, w := range slices.SortedFunc(maps.Keys(t.invalid), byName) {
		i, reason := t.invalid[w], w.reason
		slices.Sort(i.named)
		say(Kept(i.what(w.in), reason), slog.String("in", w.in), slog.String("reason", reason), slog.Int("kept", i.n),
			slog.Any("targets", i.named))
	}
	for _, warning := range t.Report.Warnings {
		say(t.Report.Job + ": " + warning)
	}
	if len(same) > 0 {
		t.Logger.InfoContext(ctx, fmt.Sprintf("%s: %d warnings are the same as in the last run", t.Report.Job, len(same)),
			slog.Any("warnings", same))
	}
}

// KeepNamed says that one thing is kept for a reason that is in order, and names it in the log. It is for workers, whose one
// item it is, for what is on the list of what the job keeps, and for what is kept although its document is deleted.
func (t *Teller) KeepNamed(ctx context.Context, target, reason string) {
	t.Keep(reason, 1)
	t.Logger.InfoContext(ctx, Kept(target, reason), slog.String("target", target), slog.String("reason", reason))
}

// Warn implements [cleanup.Plan].
func (t *Teller) Warn(_ context.Context, warning string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Report.Warnings = append(t.Report.Warnings, harmless.Text(warning))
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
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.Report
	r.Scanned, r.Actions, r.Kept, r.Plan = 0, map[string]report.Counts{}, map[string]int{}, nil
	r.NotCounted, r.Warnings, r.Failures, r.Truncated, t.invalid = nil, nil, []report.Failure{}, false, nil
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
	var foreign *jobstate.ForeignError
	switch {
	case errors.As(err, &foreign), errors.Is(err, ErrForeign):
		return ", and so will every run until somebody fixes it"
	case t.Report.DryRun:
		return ""
	case t.Worker:
		return ", Cloud Tasks tries again"
	default:
		return ", the next run tries again"
	}
}
