package enginetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// onWrites calls disturb for each request that writes more than the run's own records. first says that it is the first of its
// kind: no earlier one wrote to the same collections in the same ways.
func (tr *trial) onWrites(disturb func(first bool, req proto.Message, writes []*firestorepb.Write, send func() error) error) {
	var mu sync.Mutex
	sent := map[string]bool{}
	tr.f.Hooks.Dial = append(tr.f.Hooks.Dial, grpc.WithChainUnaryInterceptor(
		func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker,
			opts ...grpc.CallOption) error {
			send := func() error { return invoke(ctx, method, req, reply, cc, opts...) }
			r, ok := req.(interface {
				proto.Message
				GetWrites() []*firestorepb.Write
			})
			if !ok || !slices.ContainsFunc(r.GetWrites(), func(w *firestorepb.Write) bool { return !tr.isRecord(w) }) {
				return send()
			}
			kind := kindOf(r.GetWrites())
			mu.Lock()
			first := !sent[kind]
			sent[kind] = true
			mu.Unlock()
			return disturb(first, r, r.GetWrites(), send)
		}))
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
	tr.onWrites(func(first bool, _ proto.Message, _ []*firestorepb.Write, send func() error) error {
		if err := send(); err != nil || !first {
			return err
		}
		return status.Error(codes.Unavailable, "the connection broke")
	})
	rep := tr.f.Run(tr, tr.Body)
	WantReport(tr, rep, report.Completed, tr.want.report.Actions)
	tr.wantEnd(maxRuns)
}

func (tr *trial) checkContention() {
	tr.onWrites(func(first bool, req proto.Message, _ []*firestorepb.Write, send func() error) error {
		if _, isCommit := req.(*firestorepb.CommitRequest); isCommit && first {
			return status.Error(codes.Aborted, "somebody else writes to what was read")
		}
		return send()
	})
	rep := tr.f.Run(tr, tr.Body)
	WantReport(tr, rep, report.Completed, tr.want.report.Actions)
	tr.wantEnd(maxRuns)
}

// maxCommit is how many writes a commit may have before the disturbed Firestore refuses it: fewer than a few items need
// together, and as many as one item of the data needs that must be written as a whole.
const maxCommit = 12

func (tr *trial) checkRefusal() {
	tr.onWrites(func(_ bool, req proto.Message, writes []*firestorepb.Write, send func() error) error {
		if _, isCommit := req.(*firestorepb.CommitRequest); isCommit && len(writes) > maxCommit {
			return status.Error(codes.InvalidArgument, "Transaction too big. Decrease transaction size.")
		}
		return send()
	})
	rep := tr.f.Run(tr, tr.Body)
	WantReport(tr, rep, report.Completed, tr.want.report.Actions)
	tr.wantEnd(maxRuns)
}

func (tr *trial) checkTime() {
	if tr.Body != "" {
		return // a worker that is out of time fails, and its task is sent again
	}
	tr.onWrites(func(_ bool, _ proto.Message, _ []*firestorepb.Write, send func() error) error {
		err := send()
		tr.late.Store(true)
		return err
	})
	tr.wantEnd(200)
}
