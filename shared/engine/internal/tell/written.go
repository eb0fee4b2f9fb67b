package tell

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path"
	"strconv"
	"strings"
	"sync"

	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/harmless"
	"github.com/firesweep/firesweep/shared/logging"
	"github.com/firesweep/firesweep/shared/objects"
)

// Bounds of a log line that says what was written. Cloud Logging takes 256 KiB a line.
const (
	maxWrittenBytes   = 180 << 10               // of the list
	maxWrittenMessage = logging.MaxMessage - 40 // bytes
	maxWrittenNamed   = 10                      // in the message
)

// written is one thing that the run deleted or changed, as the log names it. It holds names and nothing of what was in
// them.
type written struct {
	Op         string `json:"op"`
	Path       string `json:"path"`
	Generation string `json:"generation,omitempty"` // of an object, to restore it by
	Action     string `json:"action,omitempty"`     // of an item, what the plan calls that
	Reason     string `json:"reason,omitempty"`     // and why
	// Unsure says that the answer was lost: it took effect, or it did not.
	Unsure bool `json:"unsure,omitempty"`
}

// Writes collects what was written, to be logged together.
type Writes struct {
	ctx    context.Context
	teller *Teller
	mu     sync.Mutex
	writes []written
}

// Writes begins to collect what was written.
func (t *Teller) Writes(ctx context.Context) *Writes { return &Writes{ctx: ctx, teller: t} }

// add adds something written, and counts it. by is the item of the plan that it is, zero if it is none.
func (c *Writes) add(w written, by report.Planned) {
	w.Action, w.Reason = by.Action, by.Reason
	if c.teller.Wrote != nil && !w.Unsure {
		c.teller.mu.Lock()
		c.teller.Wrote[w.Op+" "+path.Base(path.Dir(w.Path))]++
		c.teller.mu.Unlock()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writes = append(c.writes, w)
}

// Document adds a write of a document, unless that is one of the bundle's own records; unsure says that the answer was lost.
func (c *Writes) Document(w documents.Write, by report.Planned, unsure bool) {
	if !collections.IsOwn(w.Ref.Collection) {
		c.add(written{Op: string(w.Op), Path: w.Ref.Path(), Unsure: unsure}, by)
	}
}

// Object adds the deletion of an object.
func (c *Writes) Object(d objects.Deletion, by report.Planned, unsure bool) {
	c.add(written{Op: "delete object", Path: report.ObjectTarget(c.teller.Report.Bucket, d.Name),
		Generation: strconv.FormatInt(d.Generation, 10), Unsure: unsure}, by)
}

// Account adds the deletion of an account.
func (c *Writes) Account(uid string, by report.Planned, unsure bool) {
	c.add(written{Op: "delete account", Path: uid, Unsure: unsure}, by)
}

// Log logs what was collected, in as many lines as it needs.
func (c *Writes) Log() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for rest := c.writes; len(rest) > 0; {
		n, size := 0, 0
		for n < len(rest) {
			text, err := json.Marshal(rest[n])
			if err != nil {
				text = nil // strings, a number and a truth value always can be written
			}
			if size += len(text) + 1; size > maxWrittenBytes && n > 0 {
				break
			}
			n++
		}
		c.teller.Logger.InfoContext(c.ctx, messageOf(c.teller.Report.Job, rest[:n]), slog.Any("writes", rest[:n]))
		rest = rest[n:]
	}
}

// messageOf names what was written, up to a bound.
func messageOf(job string, writes []written) string {
	var b strings.Builder
	b.WriteString(job + " wrote")
	for i, w := range writes {
		text := w.Op + " " + w.Path
		if w.Unsure {
			text += " (answer lost, so perhaps not)"
		}
		if i == maxWrittenNamed || b.Len()+len(text) > maxWrittenMessage && i > 0 {
			fmt.Fprintf(&b, ", and %d more", len(writes)-i)
			break
		}
		b.WriteString([]string{": ", ", "}[min(i, 1)] + harmless.Clip(text, maxWrittenMessage))
	}
	return b.String()
}
