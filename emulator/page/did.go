package page

import (
	"context"
	"errors"
	"strings"

	"github.com/firesweep/firesweep/scripts/firesweep/advice"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
)

// Limits of what is shown of a run.
const (
	maxItems   = 500
	maxChanges = 1000
)

// did is what a run did, as its undo log says.
type did struct {
	Kept    bool     `json:"kept"` // there is an undo log; without one, the run did nothing or UNDO_DAYS is 0
	Items   []item   `json:"items"`
	Changes []change `json:"changes"`
	More    bool     `json:"more,omitempty"` // there are more than listed
}

type item struct {
	Target string `json:"target"`
	Action string `json:"action"`
	Reason string `json:"reason"`
}

// change is what a run did to a document, an object or an account.
type change struct {
	Target string       `json:"target"` // a path, gs://bucket/name, or "account uid"
	What   string       `json:"what"`   // "deleted", "changed" or "created"
	Sent   bool         `json:"sent,omitempty"`
	Fields []undo.Field `json:"fields,omitempty"` // of a document
}

// did answers with what a run did.
func (s *server) did(ctx context.Context, q struct{ Run string }) (did, error) {
	d := did{Items: []item{}, Changes: []change{}}
	name, _, _ := strings.Cut(q.Run, "-")
	e, err := entry(name)
	if err != nil {
		return d, err
	}
	var writes []undo.Write
	bucket := config.For(e.Name, s.Getenv)("STORAGE_BUCKET")
	seen := map[string]bool{} // an item that takes several commits is in several entries
	err = s.on(ctx, e, []config.Backend{config.Firestore}, func(p restore.Project) error {
		return p.Contents(ctx, q.Run, func(_, _ int, records []undo.Record) error {
			d.Kept = true
			for _, r := range records {
				switch {
				case len(d.Items) == maxItems || len(d.Changes)+len(writes) == maxChanges:
					d.More = true
				case r.Write != nil:
					writes = append(writes, *r.Write)
				case r.Object != nil:
					d.Changes = append(d.Changes, change{Target: "gs://" + bucket + "/" + r.Object.Name, What: "deleted"})
				case r.Account != nil:
					d.Changes = append(d.Changes, change{Target: "account " + r.Account.UID, What: "deleted"})
				case !seen[r.Item]:
					seen[r.Item] = true
					d.Items = append(d.Items, item{Target: r.Item, Action: r.Action, Reason: r.Reason})
				}
			}
			return nil
		})
	})
	if errors.Is(err, restore.ErrNoLog) {
		return d, nil
	}
	for _, c := range undo.Net(writes) {
		d.Changes = append(d.Changes, changeOf(c))
	}
	return d, err
}

// changeOf returns what a run did to a document.
func changeOf(c undo.Change) change {
	return change{Target: c.Path, What: c.What(), Sent: c.Sent, Fields: c.Fields()}
}

// advised is advice about a report.
type advised struct {
	Next     string   `json:"next"`
	Failures []string `json:"failures"` // for each failure; empty if the failure's own text says it all
}

// advice answers with what to do about a function's report, or about the error that the function answered instead.
func (s *server) advice(_ context.Context, q struct {
	Job      string
	Status   engine.Status
	Stopped  bool
	Failures []string
}) (advised, error) {
	a := advised{Failures: []string{}}
	if q.Status != "" {
		a.Next = advice.Local(advice.Next(&engine.Report{Job: q.Job, Status: q.Status, Stopped: q.Stopped}))
	}
	for _, text := range q.Failures {
		a.Failures = append(a.Failures, advice.Local(advice.On(q.Job, text)))
	}
	return a, nil
}
