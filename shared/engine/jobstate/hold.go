package jobstate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/harmless"
)

// Records in cleanupJobs that are of no job, for no job has a hyphen in its name. They bind each job of the database, also one
// that nobody knew when they were written.
const (
	AllJobs = "all-jobs" // holds all jobs, and lists what they keep
	NewJobs = "new-jobs" // holds the jobs that it does not name: by an undo, those that it did not know
)

// ForAll reports whether a record is of no job, but for all.
func ForAll(record string) bool { return record == AllJobs || record == NewJobs }

// A Hold says that somebody holds the job: none of its runs does anything until the job is resumed. Or it says who keeps an item.
type Hold struct {
	Record string `json:"-" firestore:"-"` // which says so: that of the job, [AllJobs] or [NewJobs]; empty: not yet stored

	At    time.Time `json:"at" firestore:"at"`
	By    string    `json:"by" firestore:"by"` // empty: not known
	Why   string    `json:"why" firestore:"why"`
	RunID string    `json:"runId" firestore:"runId"` // of the run that was taken back; empty: none was
}

// Kept is an item that the jobs keep, and since when, by whose order and why.
type Kept struct {
	Path string `json:"path" firestore:"path"` // as [CheckKept] knows it
	Hold
}

// Bounds of the list of items to keep, for it is in one document.
const (
	MaxKept      = 1000
	maxKeptBytes = 500 << 10
)

// Reasons of a run to keep an item because of the list.
const (
	KeptListed     = "on the list of items to keep, until firesweep resume --keep"
	KeptWithListed = "something that belongs to it is on the list of items to keep, until firesweep resume --keep"
)

// A HeldError says that somebody holds the job.
type HeldError struct{ Hold }

func (e *HeldError) Error() string {
	return "held " + e.String() + ": the job does nothing until firesweep resume " + e.Record
}

// String says since when something is held or kept, by whom, why, and by undoing which run: texts that somebody else may have
// written.
func (h Hold) String() string {
	text := "since " + h.At.UTC().Format("2006-01-02 15:04") + " UTC"
	if h.By != "" {
		text += " by " + quoted(h.By)
	}
	if text += ", because " + quoted(h.Why); h.RunID != "" {
		text += " (" + harmless.Clip(h.RunID, maxID) + ")"
	}
	return text
}

// MaxWhy is how many bytes a reason has at most, where it is given and where it is said.
const MaxWhy = 500

func quoted(text string) string { return fmt.Sprintf("%q", harmless.Clip(text, MaxWhy)) }

// Hold holds the job. One that is held by hand, or by an undo of the same run, stays held as it is. Another undo's hold is
// replaced, for that undo lets the job go on if it brings nothing back.
func (s State) Hold(h Hold) State {
	if s.Held == nil || s.Held.RunID != "" && s.Held.RunID != h.RunID {
		s.Held = &h
	}
	return s
}

// Resume lets the job's runs begin again.
func (s State) Resume() State {
	s.Held, s.Known = nil, nil
	return s
}

// HoldNew holds, as the record of [NewJobs], the jobs that are not known. Those that are held already stay so.
func (s State) HoldNew(h Hold, known []string) State {
	if s.Held != nil {
		known = slices.DeleteFunc(slices.Clone(known), func(job string) bool { return !slices.Contains(s.Known, job) })
	}
	s.Known = known
	return s.Hold(h)
}

// ResumeNew lets a job's runs begin again that the record of [NewJobs] holds.
func (s State) ResumeNew(job string) State {
	if s.Held != nil && !slices.Contains(s.Known, job) {
		s.Known = append(slices.Clone(s.Known), job)
	}
	return s
}

// Heed adds what the records of [AllJobs] and [NewJobs] say of the job: that it is held, and what it keeps.
func (s State) Heed(job string, all, newJobs State) State {
	s.Keep = all.Keep
	if s.Held == nil {
		s.Held = all.Held
	}
	if s.Held == nil && !slices.Contains(newJobs.Known, job) {
		s.Held = newJobs.Held
	}
	return s
}

// Keeping adds items to those that the jobs keep. One that is there already stays as it is, but by hand it is listed for good: an
// undo takes off what it listed and did not bring back.
func (s State) Keeping(items ...Kept) (State, error) {
	all := slices.Clone(s.Keep)
	for _, item := range items {
		if err := CheckKept(item.Path); err != nil {
			return s, err
		}
		switch at := slices.IndexFunc(all, func(k Kept) bool { return k.Path == item.Path }); {
		case at < 0:
			all = append(all, item)
		case item.RunID == "" && all[at].RunID != "":
			all[at] = item
		}
	}
	if tooMany(all) {
		return s, fmt.Errorf("jobs keep at most %d items, of %d KiB: hold the jobs instead, or keep a folder or a collection",
			MaxKept, maxKeptBytes>>10)
	}
	s.Keep = all
	return s, nil
}

func tooMany(all []Kept) bool {
	bytes := 0
	for _, k := range all {
		bytes += len(k.Path) + len(k.By) + len(k.Why) + len(k.RunID)
	}
	return len(all) > MaxKept || bytes > maxKeptBytes
}

// Unkeep takes items off the list.
func (s State) Unkeep(paths ...string) State {
	s.Keep = slices.DeleteFunc(slices.Clone(s.Keep), func(k Kept) bool { return slices.Contains(paths, k.Path) })
	return s
}

// wrongKeep reports whether the list is none that this program wrote.
func (s State) wrongKeep() bool {
	return tooMany(s.Keep) || slices.ContainsFunc(s.Keep, func(k Kept) bool { return CheckKept(k.Path) != nil })
}

// CheckKept returns an error unless a path names items that jobs can keep: a document, what is below a document or a
// collection, an object, a folder of objects, or an account.
func CheckKept(item string) error {
	bucket, name, isObject := strings.Cut(strings.TrimPrefix(item, report.ObjectPrefix), "/")
	switch {
	case strings.HasPrefix(item, report.ObjectPrefix):
		if !isObject || bucket == "" || name == "" {
			return fmt.Errorf("%s is no object and no folder, such as gs://my-bucket/posts/u1/a.png or gs://my-bucket/posts/u1/",
				quoted(item))
		}
	case strings.HasPrefix(item, report.AccountPrefix):
		if len(item) == len(report.AccountPrefix) {
			return fmt.Errorf("%s is no account, such as 'account UID'", quoted(item))
		}
	default:
		above, below := strings.CutSuffix(item, "/")
		_, err := documents.RefOf(above)
		if err != nil && below {
			_, err = documents.RefOf(above + "/x")
		}
		if err != nil {
			return fmt.Errorf("%s is no document's path such as reports/abc, no collection such as reports/, no gs://bucket/name "+
				"and no 'account UID'", quoted(item))
		}
	}
	return nil
}

// Keeps are the items that the jobs keep: true for what is listed, false for what something listed belongs to.
type Keeps map[string]bool

// Keeps returns what the jobs keep.
func (s State) Keeps() Keeps {
	k := Keeps{}
	for _, item := range s.Keep {
		for _, higher := range above(item.Path) {
			k[higher] = false
		}
	}
	for _, item := range s.Keep {
		k[item.Path] = true
	}
	return k
}

// Why returns why an item is kept, "" if it is not: the list has it, what it belongs to, or what belongs to it.
func (k Keeps) Why(item string) string {
	if len(k) == 0 {
		return ""
	}
	if k[item] || slices.ContainsFunc(above(item), func(higher string) bool { return k[higher] }) {
		return KeptListed
	}
	if _, has := k[item]; has {
		return KeptWithListed
	}
	return ""
}

// above returns the documents that an item is below, and the collections or folders that it is in, these with a slash at their
// end.
func above(item string) (all []string) {
	if strings.HasPrefix(item, report.AccountPrefix) {
		return nil
	}
	begin, document := 0, true
	if strings.HasPrefix(item, report.ObjectPrefix) {
		begin, document = len(report.ObjectPrefix), false
	}
	for i, slashes := begin, 0; i < len(item); i++ {
		if item[i] != '/' {
			continue
		}
		slashes++
		if document && slashes%2 == 0 {
			all = append(all, item[:i])
		}
		if i < len(item)-1 {
			all = append(all, item[:i+1])
		}
	}
	return all
}
