package engine

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/firesweep/firesweep/shared/usage"
)

// Status is how a run ended.
type Status string

// The statuses.
const (
	Completed Status = "completed" // all that was due is done
	Partial   Status = "partial"   // out of time, or told to stop; the next run continues
	Skipped   Status = "skipped"   // another run holds the lease
	Aborted   Status = "aborted"   // a safety limit tripped; nothing was done of the plan, or of the passes that tripped it
	Failed    Status = "failed"    // at least one item, or the run itself, failed; retry is safe
	Killed    Status = "killed"    // it ended without a report, which whoever came next saved for it; the next run continues
)

// HTTPStatus returns the response status that tells Cloud Scheduler and Cloud Tasks whether to call again. Where the run is continued
// at once they need not, whatever failed: they would meet the run that continues it.
func (r *Report) HTTPStatus() int {
	switch r.Status {
	case Completed, Partial, Skipped:
		return http.StatusOK
	case Aborted:
		return http.StatusConflict
	default:
		if r.Continued {
			return http.StatusOK
		}
		return http.StatusInternalServerError
	}
}

// Limits of a report's lists.
const (
	maxFailures  = 20
	maxPlan      = 1000
	maxErrorText = 600  // bytes
	maxLimitText = 3000 // bytes of what safety limits say: the end says how to lift them
	maxProblem   = 300  // bytes of the log's field problem, which goes into an alert's message
	// maxLogPlanBytes keeps the summary under Cloud Logging's 256 KiB a line, for targets and reasons may be long.
	maxLogPlanBytes = 128 << 10
)

// RunRetention is how long cleanupRuns/{runId} is kept, by a TTL policy on expireAt.
const RunRetention = 90 * 24 * time.Hour

// Report is what a run did. It is the response, the run's one summary line in the log, and cleanupRuns/{runId}.
type Report struct {
	Job        string            `json:"job" firestore:"job"`
	RunID      string            `json:"runId" firestore:"runId"`
	Status     Status            `json:"status" firestore:"status"`
	DryRun     bool              `json:"dryRun" firestore:"dryRun"`
	Force      bool              `json:"force" firestore:"force"`                   // the limits on numbers and shares were lifted
	Lift       []string          `json:"lift,omitempty" firestore:"lift,omitempty"` // what was lifted by name, e.g. "empty:tasks"
	Database   string            `json:"database" firestore:"database"`
	Bucket     string            `json:"bucket,omitempty" firestore:"bucket,omitempty"`     // none if it does not use Storage
	Revision   string            `json:"revision,omitempty" firestore:"revision,omitempty"` // of the Cloud Run service; none elsewhere
	Version    string            `json:"version,omitempty" firestore:"version,omitempty"`   // of Firesweep; none in reports of earlier ones
	Now        time.Time         `json:"now" firestore:"now"`
	StartedAt  time.Time         `json:"startedAt" firestore:"startedAt"`
	DurationMs int64             `json:"durationMs" firestore:"durationMs"`
	Scanned    int               `json:"scanned" firestore:"scanned"`
	Actions    map[string]Counts `json:"actions" firestore:"actions"`
	Kept       map[string]int    `json:"kept" firestore:"kept"`
	// NotCounted are the collections whose figures under Kept and Scanned are incomplete, because a count failed.
	NotCounted []string `json:"notCounted,omitempty" firestore:"notCounted,omitempty"`
	// Warnings say what is doubtful about the run as a whole, such as a setting that names what nobody ever wrote.
	Warnings  []string  `json:"warnings,omitempty" firestore:"warnings,omitempty"`
	Failures  []Failure `json:"failures" firestore:"failures"`
	Plan      []Planned `json:"plan,omitempty" firestore:"plan,omitempty"`
	Truncated bool      `json:"truncated,omitempty" firestore:"truncated,omitempty"`
	// Continues says which runs this one continues, in a task of Cloud Tasks; nil if none. Continued says that another run
	// continues this one at once.
	Continues *Continuation `json:"continues,omitempty" firestore:"continues,omitempty"`
	Continued bool          `json:"continued,omitempty" firestore:"continued,omitempty"`
	// Shards are the parts of a run that was split, whose figures are the sums of theirs. Part is what the run of one is a part of:
	// what it did is in the report of the whole, and nowhere else.
	Shards []Shard `json:"shards,omitempty" firestore:"shards,omitempty"`
	Part   *Part   `json:"part,omitempty" firestore:"part,omitempty"`
	// PartialRuns is how many runs in a row, this one included, ended partial because they were out of time.
	PartialRuns int         `json:"partialRuns,omitempty" firestore:"partialRuns,omitempty"`
	Stopped     bool        `json:"stopped,omitempty" firestore:"stopped,omitempty"` // it was told to stop, and so is partial
	Usage       usage.Usage `json:"usage" firestore:"usage"`
	// Undone says that the run was taken back since; nil if it was not.
	Undone *Undone `json:"undone,omitempty" firestore:"undone,omitempty"`
	// Also is how many actions more than Actions says count for MAX_ACTIONS: each thing that an earlier run left to do counts.
	Also int `json:"-" firestore:"also,omitempty"`
}

// Undone says when a run was taken back.
type Undone struct {
	At      time.Time `json:"at" firestore:"at"`                               // the last time
	By      string    `json:"by,omitempty" firestore:"by,omitempty"`           // empty: not known
	Things  int       `json:"things" firestore:"things"`                       // that came back
	Partial bool      `json:"partial,omitempty" firestore:"partial,omitempty"` // only single things were to come back
}

// Counts says what became of the actions of one kind. What is planned and none of the others was left for the next run, or
// Cloud Storage does not let it go, which [Report.Kept] says.
type Counts struct {
	Planned int `json:"planned" firestore:"planned"`
	Done    int `json:"done" firestore:"done"`
	Changed int `json:"changed" firestore:"changed"` // no longer what was judged: left alone
	Failed  int `json:"failed" firestore:"failed"`
}

// Failure is one thing that went wrong.
type Failure struct {
	Target string `json:"target" firestore:"target"`
	Action string `json:"action" firestore:"action"`
	Error  string `json:"error" firestore:"error"`
}

// Planned is one entry of a dry run's plan.
type Planned struct {
	Target string `json:"target" firestore:"target"`
	Action string `json:"action" firestore:"action"`
	Reason string `json:"reason" firestore:"reason"`
	// Writes are the documents, objects, accounts and tasks that the action would write, e.g. "delete comments/c1".
	Writes []string `json:"writes,omitempty" firestore:"writes,omitempty"`
	More   bool     `json:"more,omitempty" firestore:"more,omitempty"` // there are more
}

func (r *Report) count(kind string, f func(*Counts)) {
	c := r.Actions[kind]
	f(&c)
	r.Actions[kind] = c
}

func (r *Report) fail(target, action string, err error) {
	if len(r.Failures) >= maxFailures {
		r.Truncated = true
		return
	}
	r.Failures = append(r.Failures, Failure{Target: target, Action: action, Error: clip(err.Error(), maxErrorText)})
}

func (r *Report) plan(a Action) {
	if len(r.Plan) == maxPlan {
		r.Truncated = true
		return
	}
	r.Plan = append(r.Plan, planned(a))
}

func planned(a Action) Planned {
	return Planned{Target: a.Target, Action: a.Kind, Reason: a.Reason, Writes: a.Writes, More: a.More}
}

// forLog returns the report with its plan cut to what one log line can hold.
func (r *Report) forLog() Report {
	out := *r
	size := 0
	for i, p := range r.Plan {
		if size += len(p.Target) + len(p.Action) + len(p.Reason) + 48 + len(strings.Join(p.Writes, "   ")); size > maxLogPlanBytes {
			out.Plan, out.Truncated = r.Plan[:i], true
			break
		}
	}
	return out
}

// problem says the first thing that is wrong with a failed run, or which safety limits an aborted one tripped; empty if nothing
// is.
func (r *Report) problem() string {
	if r.Status != Failed && r.Status != Aborted || len(r.Failures) == 0 {
		return ""
	}
	if r.Status == Aborted {
		var limits []string
		for _, f := range r.Failures {
			if f.Action == checkLimits {
				limits = append(limits, f.Error)
			}
		}
		return strings.Join(limits, "; ")
	}
	f := r.Failures[0]
	return phrase(f.Action, f.Target) + ": " + f.Error
}

// counted returns how many actions the run did, as MAX_ACTIONS counts them.
func (r *Report) counted() int {
	return r.done() + r.Also
}

// left returns how many planned actions the run did not get to.
func (r *Report) left() int {
	left := 0
	for _, c := range r.Actions {
		left += max(0, c.Planned-c.Done-c.Changed-c.Failed)
	}
	return left
}

// summary says the report in one sentence. The cause comes first, because lists of log lines show only the beginning.
func (r *Report) summary(why string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", r.Job, r.Status)
	if r.DryRun {
		b.WriteString(" (dry run)")
	}
	if r.Status == Aborted {
		if r.done() == 0 {
			b.WriteString(", nothing was deleted or changed")
		} else {
			b.WriteString(", only what tripped no safety limit was done")
		}
	}
	separator := ": "
	say := func(format string, args ...any) {
		b.WriteString(separator)
		fmt.Fprintf(&b, format, args...)
		separator = "; "
	}
	if problem := r.problem(); problem != "" {
		say("%s", problem)
	}
	if r.Status == Partial {
		say("%s, %d planned actions left", why, r.left())
	}
	if r.Continued {
		b.WriteString(", which continues at once")
	}
	for _, kind := range sortedKeys(r.Actions) {
		c := r.Actions[kind]
		if r.DryRun || r.Status == Aborted && c.Done == 0 {
			say("%s %d planned", kind, c.Planned)
		} else {
			say("%s %d of %d", kind, c.Done, c.Planned)
		}
		if c.Changed > 0 {
			fmt.Fprintf(&b, ", %d changed", c.Changed)
		}
		if c.Failed > 0 {
			fmt.Fprintf(&b, ", %d failed", c.Failed)
		}
	}
	kept := 0
	for _, n := range r.Kept {
		kept += n
	}
	say("kept %d", kept)
	if len(r.NotCounted) > 0 {
		fmt.Fprintf(&b, ", not counted: %s", strings.Join(r.NotCounted, ", "))
	}
	for _, warning := range r.Warnings {
		say("%s", warning)
	}
	say("%d ms", r.DurationMs)
	return b.String()
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// clip cuts a text to at most n bytes, the mark of the cut included, at the end of a character.
func clip(s string, n int) string {
	const mark = "…"
	if len(s) <= n {
		return s
	}
	s = s[:n-len(mark)]
	for len(s) > 0 && !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s + mark
}

// phrase says what is done to what. An action on accounts says by itself what its target is.
func phrase(action, target string) string {
	return action + " " + strings.TrimPrefix(target, accountTarget(""))
}
