package enginetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/documents/wire"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// writing is a request that writes more than the run's own records.
type writing struct {
	first    bool // of its kind: no earlier one wrote to the same collections in the same ways
	isCommit bool // and no batch
	writes   []*firestorepb.Write
	send     func() error
}

// onWrites calls disturb for each of these requests.
func (tr *trial) onWrites(disturb func(writing) error) {
	var mu sync.Mutex
	sent := map[string]bool{}
	tr.f.Hooks.Dial = append(tr.f.Hooks.Dial, wire.Around(func(_ context.Context, _ string, req, _ any, send func() error) error {
		r, ok := req.(interface{ GetWrites() []*firestorepb.Write })
		if !ok || !slices.ContainsFunc(r.GetWrites(), func(w *firestorepb.Write) bool { return !tr.isRecord(w) }) {
			return send()
		}
		kind := kindOf(r.GetWrites())
		mu.Lock()
		first := !sent[kind]
		sent[kind] = true
		mu.Unlock()
		_, isCommit := req.(*firestorepb.CommitRequest)
		return disturb(writing{first, isCommit, r.GetWrites(), send})
	}))
}

// withstands runs the job while its writes are disturbed. It does what an undisturbed run does.
func (tr *trial) withstands(disturb func(writing) error) {
	tr.Helper()
	tr.onWrites(disturb)
	WantReport(tr, tr.f.Run(tr, tr.Body), report.Completed, tr.want.report.Actions)
	tr.wantEnd(maxRuns)
}

// kindOf returns the collections of some writes, how each is written and which fields are set. It leaves out what is still to be done.
func kindOf(writes []*firestorepb.Write) string {
	var kinds []string
	for _, w := range writes {
		parts := strings.Split(nameOf(w), "/")
		if parts[len(parts)-2] == collections.Todo {
			continue
		}
		kind := fmt.Sprintf("%s %T", parts[len(parts)-2], w.GetOperation())
		for _, field := range slices.Sorted(slices.Values(w.GetUpdateMask().GetFieldPaths())) {
			kind += " " + field
		}
		if !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	return strings.Join(kinds, "\n")
}

func nameOf(w *firestorepb.Write) string {
	if w.GetDelete() != "" {
		return w.GetDelete()
	}
	return w.GetUpdate().GetName()
}

// isRecord reports whether a write is one of a run's own records: the lease, the checkpoint, the report.
func (tr *trial) isRecord(w *firestorepb.Write) bool {
	_, name, _ := strings.Cut(nameOf(w), "/documents/")
	return strings.HasPrefix(name, "cleanupRuns/") || name == "cleanupJobs/"+tr.f.Job.Name
}

func (tr *trial) checkLostAnswers() {
	tr.withstands(func(w writing) error {
		if err := w.send(); err != nil || !w.first {
			return err
		}
		return status.Error(codes.Unavailable, "the connection broke")
	})
}

func (tr *trial) checkContention() {
	tr.withstands(func(w writing) error {
		if w.isCommit && w.first {
			return status.Error(codes.Aborted, "somebody else writes to what was read")
		}
		return w.send()
	})
}

// maxCommit is how many writes a commit may have before the disturbed Firestore refuses it: fewer than a few items need
// together, and as many as one item of the data needs that must be written as a whole.
const maxCommit = 12

func (tr *trial) checkRefusal() {
	tr.withstands(func(w writing) error {
		if w.isCommit && len(w.writes) > maxCommit {
			return status.Error(codes.InvalidArgument, "Transaction too big. Decrease transaction size.")
		}
		return w.send()
	})
}

func (tr *trial) checkTime() {
	if tr.Body != "" {
		return // a worker that is out of time fails, and its task is sent again
	}
	tr.onWrites(func(w writing) error {
		err := w.send()
		tr.late.Store(true)
		return err
	})
	tr.wantEnd(200)
}
