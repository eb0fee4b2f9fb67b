// Package report is what a run says of itself: in its answer, in the log, in cleanupRuns/{runId}, and of the last run in
// cleanupJobs/{job}.
package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"google.golang.org/api/googleapi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/harmless"
	"github.com/firesweep/firesweep/shared/usage"
)

// Status is how a run ended.
type Status string

// The statuses.
const (
	Completed Status = "completed" // all that was due is done
	Partial   Status = "partial"   // out of time, or told to stop; the next run continues
	Skipped   Status = "skipped"   // another run holds the lease, or somebody holds the job
	Aborted   Status = "aborted"   // a safety limit tripped; nothing was done of the plan, or of the passes that tripped it
	Failed    Status = "failed"    // at least one item, or the run itself, failed; retry is safe
	Killed    Status = "killed"    // it ended without a report, which whoever came next saved for it; the next run continues
)

// HTTPStatus returns the response status that tells Cloud Scheduler and Cloud Tasks whether to call again.
func (r *Report) HTTPStatus() int {
	switch r.Status {
	case Completed, Partial, Skipped:
		return http.StatusOK
	case Aborted:
		return http.StatusConflict
	default:
		return http.StatusInternalServerError
	}
}

// Finish is the action of doing what an interrupted run has left to do.
const Finish = "finish interrupted action"

// KeptUnapproved is why a run keeps what is due and not in the plan to which it is restricted.
const KeptUnapproved = "not in the approved plan"

// Limits of a report's lists.
const (
	maxFailures  = 20
	maxPlan      = 1000
	maxErrorText = 600  // bytes
	maxLimitText = 3000 // bytes of what a safety limit says: the end says what to do
	// maxLogPlanBytes keeps the summary under Cloud Logging's 256 KiB a line, for targets and reasons may be long.
	maxLogPlanBytes = 128 << 10
)

// RunRetention is how long cleanupRuns/{runId} is kept, by a TTL policy on expireAt.
const RunRetention = 90 * 24 * time.Hour

// Report is what a run did. It is the response, the run's one summary line in the log, and cleanupRuns/{runId}.
type Report struct {
	Job        string            `json:"job" firestore:"job"`
	Entry      string            `json:"-" firestore:"entry,omitempty"` // a digest of the job's entry in the lists, for undo
	RunID      string            `json:"runId" firestore:"runId"`
	Status     Status            `json:"status" firestore:"status"`
	DryRun     bool              `json:"dryRun" firestore:"dryRun"`
	Force      bool              `json:"force" firestore:"force"` // the limits on numbers and shares were lifted
	Database   string            `json:"database" firestore:"database"`
	Bucket     string            `json:"bucket,omitempty" firestore:"bucket,omitempty"`     // none if it does not use Storage
	Revision   string            `json:"revision,omitempty" firestore:"revision,omitempty"` // Cloud Run's; none elsewhere
	Schedule   string            `json:"schedule,omitempty" firestore:"schedule,omitempty"` // Cloud Scheduler's; none elsewhere
	Version    string            `json:"version,omitempty" firestore:"version,omitempty"`   // of Firesweep; earlier ones said none
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
	// PartialRuns is how many runs in a row, this one included, ended partial because they were out of time.
	PartialRuns int         `json:"partialRuns,omitempty" firestore:"partialRuns,omitempty"`
	Stopped     bool        `json:"stopped,omitempty" firestore:"stopped,omitempty"` // it was told to stop, and so is partial
	Usage       usage.Usage `json:"usage" firestore:"usage"`
	// Undone says that the run was taken back since; nil if it was not.
	Undone *Undone `json:"undone,omitempty" firestore:"undone,omitempty"`
	// Approved is how many items the plan has that the run is restricted to; 0: it is not restricted, or to nothing.
	Approved int  `json:"approved,omitempty" firestore:"approved,omitempty"`
	WasHeld  bool `json:"wasHeld,omitempty" firestore:"wasHeld,omitempty"` // it was skipped because somebody held the job
}

// Undone says when a run was taken back.
type Undone struct {
	At      time.Time `json:"at" firestore:"at"`                               // the last time
	By      string    `json:"by,omitempty" firestore:"by,omitempty"`           // empty: not known
	Partial bool      `json:"partial,omitempty" firestore:"partial,omitempty"` // only single things were to come back
}

// Counts says what became of the actions of one kind. What is planned and none of the others was left for the next run, or
// Cloud Storage does not let it go, which [Report.Kept] says. Some of that may be begun.
type Counts struct {
	Planned int `json:"planned" firestore:"planned"`
	Done    int `json:"done" firestore:"done"`
	Changed int `json:"changed" firestore:"changed"` // no longer what was judged: left alone
	Failed  int `json:"failed" firestore:"failed"`
	Begun   int `json:"begun,omitempty" firestore:"begun,omitempty"` // some of it was done: the next run does the rest
}

// Progress is how far a run or a plan is.
type Progress struct {
	Looked int // items that were looked at
	About  int // as many as the last run looked at; 0: nobody knows
	Due    int
	Done   int
}

// Failure is one thing that went wrong.
type Failure struct {
	Target string `json:"target" firestore:"target"`
	Action string `json:"action" firestore:"action"`
	Error  string `json:"error" firestore:"error"`
	// Code is the status that Google answered, by its name in gRPC, such as PermissionDenied; empty if none.
	Code string `json:"code,omitempty" firestore:"code,omitempty"`
	// Limit is the safety limit that stopped the plan, or a pass of it; nil where something else went wrong.
	Limit *cleanup.LimitError `json:"limit,omitempty" firestore:"limit,omitempty"`
}

// CodeOf returns the status that one of Google's services answered; "" if none did.
func CodeOf(err error) string {
	var http *googleapi.Error
	code := codes.Unknown
	if errors.As(err, &http) {
		code = map[int]codes.Code{401: codes.Unauthenticated, 403: codes.PermissionDenied}[http.Code]
	} else if s, is := status.FromError(err); is {
		code = s.Code()
	}
	if code == codes.OK || code == codes.Unknown {
		return ""
	}
	return code.String()
}

// Planned is one entry of a dry run's plan.
type Planned struct {
	Target string `json:"target" firestore:"target"`
	Action string `json:"action" firestore:"action"`
	Reason string `json:"reason,omitempty" firestore:"reason"`
	// With counts what the action's first commit does besides to the target, with what follows that at once: by what is done to
	// what, such as "delete document of comments", "delete file", "write document of mail" or "queue task", or why something that
	// belongs to it is kept: "keep another document of shows refers to it". A file or an account counts if a document names it,
	// though it may not be there, or belong to somebody else. What several items share counts for each of them.
	With map[string]int `json:"with,omitempty" firestore:"with,omitempty"`
	More bool           `json:"more,omitempty" firestore:"more,omitempty"` // more follows, or it was not worked out
	Kept string         `json:"kept,omitempty" firestore:"kept,omitempty"` // why a run keeps it, or some of that, all the same
	// Version tells whether the target is still what it was, and nothing of what is in it; empty where nobody asked for it.
	Version string `json:"version,omitempty" firestore:"-"`
}

// Document returns the document that keeps the report, by its path.
func (r *Report) Document() map[string]any {
	return map[string]any{collections.Runs + "/" + r.RunID: struct {
		Report
		ExpireAt time.Time `firestore:"expireAt"`
	}{*r, r.StartedAt.Add(RunRetention)}}
}

// Of reads the report that cleanupRuns/{runId} holds.
func Of(doc documents.Document) (*Report, error) {
	// The report has the same field names in JSON, which reads them leniently.
	text, err := json.Marshal(doc.Data)
	if err != nil {
		return nil, fmt.Errorf("read report %s: %w", doc.Path, err)
	}
	var r Report
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("read report %s: %w", doc.Path, err)
	}
	if r.RunID == "" {
		return nil, fmt.Errorf("read report %s: it has no runId", doc.Path)
	}
	return &r, nil
}

// Count changes the counts of one kind of action.
func (r *Report) Count(kind string, f func(*Counts)) {
	c := r.Actions[kind]
	f(&c)
	r.Actions[kind] = c
}

// Fail adds a failure, up to as many as a report holds.
func (r *Report) Fail(target, action string, err error) {
	if len(r.Failures) >= maxFailures {
		r.Truncated = true
		return
	}
	f := Failure{Target: target, Action: action, Error: harmless.Clip(harmless.Text(err.Error()), maxErrorText), Code: CodeOf(err)}
	r.Failures = append(r.Failures, f)
}

// List adds an action to a preview's plan, up to as many as an answer holds.
func (r *Report) List(p Planned) {
	if len(r.Plan) == maxPlan {
		r.Truncated = true
		return
	}
	r.Plan = append(r.Plan, p)
}

// Totals returns the counts of all actions together.
func (r *Report) Totals() (t Counts) {
	for _, c := range r.Actions {
		t = Counts{t.Planned + c.Planned, t.Done + c.Done, t.Changed + c.Changed, t.Failed + c.Failed, t.Begun + c.Begun}
	}
	return t
}

// Stay returns how many items of a preview's plan a run keeps all the same, as far as that was worked out.
func (r *Report) Stay() (n int) {
	for _, i := range r.Plan {
		if i.Kept != "" && len(i.With) == 0 && !i.More {
			n++
		}
	}
	return n
}

// Done returns how many actions were done.
func (r *Report) Done() int { return r.Totals().Done }

// Left returns how many planned actions were not reached.
func (r *Report) Left() int {
	left := 0
	for _, c := range r.Actions {
		left += max(0, c.Planned-c.Done-c.Changed-c.Failed)
	}
	return left
}
