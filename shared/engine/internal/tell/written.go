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

// WroteDocuments logs which documents were written, but for the bundle's own records; unsure says that the answer was lost.
func (t *Teller) WroteDocuments(ctx context.Context, writes []documents.Write, unsure bool) {
	w := t.Writes(ctx)
	for _, d := range writes {
		if !collections.IsOwn(d.Ref.Collection) {
			w.add(written{Op: string(d.Op), Path: d.Ref.Path(), Unsure: unsure})
		}
	}
	w.Log()
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

// Doing says that the action on an item begins, so that the line of what is written says why.
func (t *Teller) Doing(item report.Planned) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.doing == nil {
		t.doing, t.logged = map[string]report.Planned{}, map[string]bool{}
	}
	t.doing[item.Target] = item
}

// HasLogged says that the action on an item has ended, and reports whether a line of what was written has named the item.
func (t *Teller) HasLogged(target string) (logged bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	logged = t.logged[target]
	delete(t.doing, target)
	delete(t.logged, target)
	return logged
}

// explain says of something written why, if it is an item, and counts it.
func (t *Teller) explain(w *written) {
	target := w.Path
	if w.Op == deleteAccount {
		target = report.AccountTarget(target)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.Wrote != nil && !w.Unsure {
		t.Wrote[w.Op+" "+path.Base(path.Dir(w.Path))]++
	}
	if item, is := t.doing[target]; is {
		w.Action, w.Reason = item.Action, item.Reason
		t.logged[target] = t.logged[target] || !w.Unsure
	}
}

func (c *Writes) add(w written) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.teller.explain(&w)
	c.writes = append(c.writes, w)
}

// Object adds the deletion of an object; unsure says that the answer was lost.
func (c *Writes) Object(d objects.Deletion, unsure bool) {
	c.add(written{Op: "delete object", Path: report.ObjectTarget(c.teller.Report.Bucket, d.Name),
		Generation: strconv.FormatInt(d.Generation, 10), Unsure: unsure})
}

const deleteAccount = "delete account"

// Account adds the deletion of an account.
func (c *Writes) Account(uid string, unsure bool) {
	c.add(written{Op: deleteAccount, Path: uid, Unsure: unsure})
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
