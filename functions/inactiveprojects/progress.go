package inactiveprojects

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/firesweep/firesweep/shared/documents"
)

// passEvery is how long what one pass over all dormant projects found out is relied on.
const passEvery = 24 * time.Hour

// progress is what the runs know, so that one every ten minutes does not read every dormant project each time. A pass goes
// over all of them, in the order of their last activity, in as many runs as it takes. After it, a run reads only what has
// come up since: projects that have become dormant, and warnings whose grace has ended. The next pass begins after a
// day, or when the settings have changed.
type progress struct {
	Settings string           `json:"settings"`        // what it is good for
	Began    time.Time        `json:"began"`           // the now of the pass's first run
	Done     bool             `json:"done"`            // the pass has been completed
	Projects documents.Cursor `json:"projects"`        // dormant projects before it have been looked at
	Warned   time.Time        `json:"warned"`          // of a complete pass: warnings given by then have been looked at
	Again    []string         `json:"again,omitempty"` // projects that failed and are looked at once more
}

// What is remembered of failed projects: so many names, and a checkpoint of so many bytes, which is far less than a document
// holds. After more, a new pass begins.
const (
	maxAgain      = 100
	maxCheckpoint = 200_000
)

// progressOf returns where to go on. The error is a [documents.ErrCursor] if the checkpoint is none of this job's.
func progressOf(checkpoint string, s settings, now time.Time) (progress, error) {
	fresh := progress{Settings: s.fingerprint(), Began: now}
	if checkpoint == "" {
		return fresh, nil
	}
	var saved progress
	if err := json.Unmarshal([]byte(checkpoint), &saved); err != nil {
		return fresh, fmt.Errorf("%w: %q: %w", documents.ErrCursor, checkpoint, err)
	}
	aged := saved.Done && !now.Before(saved.Began.Add(passEvery))
	if saved.Settings != fresh.Settings || aged || now.Before(saved.Began) {
		return fresh, nil
	}
	return saved, nil
}

func (s settings) fingerprint() string {
	return fmt.Sprintf("delete after %d, warn after %d months, more than %v MiB", s.deleteAfter, s.warnAfter, s.minSize)
}

// next returns where the run begins that comes after one that got to its end, but left some projects undone.
func (g progress) next(s settings, now time.Time, undone []documents.Ref) string {
	if g.Done {
		g.Warned = s.warnedBy(now)
	} else {
		g.Warned = s.warnedBy(g.Began) // by then all were looked at, however many runs the pass took
	}
	g.Done = true
	for _, ref := range undone {
		g.Again = append(g.Again, ref.ID)
	}
	slices.Sort(g.Again)
	if checkpoint := g.checkpoint(); len(g.Again) <= maxAgain && len(checkpoint) <= maxCheckpoint {
		return checkpoint
	}
	return ""
}

// checkpoint returns the progress as a run saves it.
func (g progress) checkpoint() string {
	text, err := json.Marshal(g)
	if err != nil {
		panic(err) // there is nothing in it that could fail
	}
	return string(text)
}
