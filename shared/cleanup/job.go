// Package cleanup is what a job is made of: rules, which judge items and say as data what is to be written, and a plan, which
// says which items to look at. Nothing in it writes; shared/engine runs jobs.
package cleanup

import (
	"context"
	"errors"
	"slices"

	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/objects"
)

// Job is a cleanup: a name and how to plan it.
type Job struct {
	// Name is the HTTP entry point, the key in functions/manifest.json and the id in cleanupJobs.
	Name string
	// Entry is a digest of its entry in the lists, to which plans are bound: another one may delete something else.
	Entry string
	// Settings are those of this function alone, a [config.Own]; nil if it has none.
	Settings config.Settings
	// Plan reads and proposes. It goes through the items in a stable order, from [Planner].Checkpoint on, and returns the error
	// of any Planner method at once. It has nothing to write with. A worker's considers what its task names ([Run].Task).
	Plan func(ctx context.Context, p *Planner) error
	// Rules are those of its items, by which it also does what earlier runs left to do.
	Rules []AnyRule
	// Reach says which objects Plan itself may propose to delete.
	Reach Reach
	// Accounts says that Plan reads accounts, so planning needs the right to. AccountRule judges those that it goes through.
	Accounts    bool
	AccountRule *AccountRule
	// Lines are logged besides the engine's, where a job's lines are prescribed word for word; nil for any other.
	Lines *Lines
	// Task makes it a worker, which Cloud Tasks calls with one thing to do; nil for what Cloud Scheduler calls.
	Task *Task
}

// Leaves reports whether runs of the job may leave something to do, which later ones do.
func (j Job) Leaves() bool {
	follows := func(rule AnyRule) bool { return !rule.DeletesAlone() }
	return j.AccountRule != nil && j.AccountRule.Next != nil || slices.ContainsFunc(j.Rules, follows)
}

// Lines are a job's own log lines. A preview logs none.
type Lines struct {
	Begun    string    // before a run plans
	Ended    string    // when it has ended, however it ended: a format of two numbers of documents and of milliseconds
	Counted  [2]string // the documents, by what was done to them and the collection's id, as in "delete comments"
	Canceled string    // in its place, if the caller went away before everything was done, which a run out of time was not
}

// Task says what a worker is called with. A worker takes no lease and saves no report, because many may run at once: doing its
// actions twice, or at the same time, has the same result. Its answer and the log say what it did. Any run that is not
// completed is an error, so that Cloud Tasks tries again.
type Task struct {
	// Fields of the body, all of which must be there, strings and not empty. The first is a document's id.
	Fields []string
	Check  func(task map[string]string) error // says what else is wrong with the values; nil if nothing can be
}

// DeleteObject deletes an object if it is still as it was when it was listed.
type DeleteObject struct {
	objects.Deletion
	// Absent are the documents whose absence is the reason: the owner, or each that may be meant where a name can be read in several
	// ways. That they are still absent is asked again, for many objects at a time, right before these are deleted.
	Absent []documents.Ref
	// Named, where set, tells which objects documents name: one that is named stays. That is asked again right before deletions.
	Named func(ctx context.Context, r documents.Reader, run Run) (named func(object string) bool, err error)
}

// Reach says what a rule can delete and write at most. A change outside of it is a bug in the job, and nothing of it is
// written: so the declaration cannot drift from the rule. What is stored for later runs and for undoing is checked against it
// as well, because others may have been able to write it.
//
// A collection is a pattern, in which * stands for one id, ** at the beginning for any documents above it or none, and ** at the
// end for any collection below a document: comments, circles/*/members, **/comments, teams/*/**. No pattern means a collection of
// the bundle's own records.
type Reach struct {
	Items   string   // the collection of the rule's items
	Deletes []string // collections that it deletes documents from; one without a Change deletes its items
	Writes  []string // collections in which it creates or changes documents
	Objects []Files  // that follow the deletion of an item
	Account bool     // it deletes the account whose uid is the item's id
	// Recorded says that documents of the application record that account ([FollowUp].Recorded), which its rule looks at again. So
	// no Todo is one of the job's own that asks for it.
	Recorded bool
}

// Files are objects that a rule may delete.
type Files struct {
	Folder string // ends with a slash; {id} stands for the id of the item
	// Setting returns the folders instead, where a setting of the function names them; nil for none.
	Setting func(config.Config) objects.Folders
	Owner   string // the key of custom metadata that must not name another owner; empty: there is none
	Whole   bool   // the folder may go as a whole; {id} is a part of it
	Homes   bool   // the folders in it are somebody's homes: see [ObjectDeletion].Home
}

// LimitError says, in fields, why a pass of a plan, or all of it, must not be carried out. No text is made of it here.
type LimitError struct {
	Pass       string `json:"pass,omitempty" firestore:"pass,omitempty"`             // empty: the whole plan
	Limit      string `json:"limit" firestore:"limit"`                               // its name, such as MAX_ACTIONS
	Due        int    `json:"due,omitempty" firestore:"due,omitempty"`               // so many are due
	Looked     int    `json:"looked,omitempty" firestore:"looked,omitempty"`         // of so many that were looked at or counted
	Most       int    `json:"most,omitempty" firestore:"most,omitempty"`             // what the limit allows; of a share, in percent
	Collection string `json:"collection,omitempty" firestore:"collection,omitempty"` // what it is about
	Folder     string `json:"folder,omitempty" firestore:"folder,omitempty"`         // in which most of what is due lies
	InFolder   int    `json:"inFolder,omitempty" firestore:"inFolder,omitempty"`     // so many of them
	Field      string `json:"field,omitempty" firestore:"field,omitempty"`           // which no document of the collection has
	// Why says it where a job cannot conclude anything for a reason of its own, which is no safety limit.
	Why string `json:"why,omitempty" firestore:"why,omitempty"`
	// Unfound are the warnings for which nothing is done this time alone: see [Count].
	Unfound []string `json:"unfound,omitempty" firestore:"unfound,omitempty"`
}

// Error names the limit.
func (e *LimitError) Error() string {
	if e.Why != "" {
		return e.Limit + ": " + e.Why
	}
	return "safety limit " + e.Limit
}

// ErrOutOfTime says that the run must end before its function's timeout. Its checkpoint is saved.
var ErrOutOfTime = errors.New("out of time")
