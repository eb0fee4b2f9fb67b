package reliability

import (
	"context"
	"errors"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/shared/backends"
	"github.com/firesweep/firesweep/shared/documents/wire"
	"github.com/firesweep/firesweep/shared/engine"
)

// Process is the process of a function or an undo. It counts all calls and disturbs one.
type Process struct {
	steps *Steps

	dead atomic.Bool
	mu   sync.Mutex
	open map[string]string // databases of open transactions, by the transaction's id
}

func (s *Steps) newProcess() *Process { return &Process{steps: s, open: map[string]string{}} }

// Run gives a function a process of its own. Call it before the function.
func (s *Steps) Run(f *engine.Function) *Process {
	p := s.newProcess()
	f.Hooks.Dial = append(f.Hooks.Dial, p.dial(Firestore)...)
	f.Hooks.DialTasks = append(f.Hooks.DialTasks, p.dial(Tasks)...)
	f.Hooks.Transport = func(base http.RoundTripper) http.RoundTripper { return transport{p, base} }
	f.Hooks.Accounts = p.authentication
	return p
}

// Undo gives an undo a process of its own. Call it before the project is opened.
func (s *Steps) Undo(h *backends.Hooks) *Process {
	p := s.newProcess()
	h.Dial = append(h.Dial, p.dial(Firestore)...)
	h.Transport = func(base http.RoundTripper) http.RoundTripper { return transport{p, base} }
	h.Accounts = p.authentication
	return p
}

func (p *Process) dial(service Service) []grpc.DialOption {
	return wire.DialOptions(func(_ context.Context, method string) wire.Request {
		r := &request{process: p, service: service, method: path.Base(method)}
		return wire.Request{Send: r.send, Receive: r.receive}
	})
}

// End rolls back the transactions that the process has left open, when its function or undo has returned. Firestore does so by
// itself for a transaction that is idle for 60 s; its emulator keeps the locks.
func (p *Process) End(t *testing.T, project *backendstest.Project) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, database := range p.open {
		rollback := &firestorepb.RollbackRequest{Database: database, Transaction: []byte(id)}
		if err := project.RawFirestore(t).Rollback(backendstest.AsOwner(context.Background()), rollback); err != nil {
			t.Errorf("roll back what a process left open: %v", err)
		}
	}
	clear(p.open)
}

// before counts a call that is about to be sent, and returns its fault, nil if it has none. An error says that nobody is left to
// send it.
func (p *Process) before(c Call) (*Fault, error) {
	if p.dead.Load() {
		return nil, errDead
	}
	fault := p.steps.next(c)
	if fault != nil && fault.dies && !fault.sent {
		p.dead.Store(true)
		return nil, errDead
	}
	return fault, nil
}

// after returns the error that the caller of a call gets. err is that of the call; fail returns that of a fault.
func (p *Process) after(fault *Fault, err error, fail func(Fault) error) error {
	if fault != nil && fault.dies {
		p.dead.Store(true)
	}
	switch {
	case p.dead.Load(): // perhaps since another call meanwhile: nobody is left to receive the answer
		return errDead
	case fault != nil:
		return fail(*fault)
	}
	return err
}

// call counts a call and sends it, unless a fault prevents that.
func (p *Process) call(c Call, send func() error, fail func(Fault) error) error {
	fault, err := p.before(c)
	switch {
	case err != nil:
		return err
	case fault != nil && !fault.sent:
		return fail(*fault)
	}
	return p.after(fault, send(), fail)
}

// request is a call by gRPC.
type request struct {
	process *Process
	service Service
	method  string
	sent    any
	fault   *Fault
	arrived bool // the first message of the answer, before it is cut off
}

// streamed reports whether the call is a read whose answer comes in several messages. It has no effect but the locks that it
// takes in a transaction, so one that must fail is sent all the same: like any other, it fails where the answer is read.
func (r *request) streamed() bool {
	return slices.Contains([]string{"RunQuery", "RunAggregationQuery", "BatchGetDocuments"}, r.method)
}

func (r *request) send(message any) (err error) {
	r.sent = message
	r.fault, err = r.process.before(Call{
		Service: r.service, Method: r.method, Streamed: r.streamed(), Targets: targetsOf(message), writes: writesOf(message),
	})
	if err == nil && r.fault != nil && !r.fault.sent && !r.streamed() {
		return r.fault.grpcError()
	}
	return final(err)
}

func (r *request) receive(answer any, err error) error {
	if r.fault != nil && r.fault.cut && !r.arrived && err == nil {
		r.arrived = true
		return nil
	}
	if err == nil {
		r.process.follow(r.sent, answer)
	}
	return final(r.process.after(r.fault, err, Fault.grpcError))
}

// final gives the error of a dead process's call a code that nothing repeats.
func final(err error) error {
	if errors.Is(err, errDead) {
		return status.Error(codes.Unknown, err.Error())
	}
	return err
}

// follow records which transactions are open.
func (p *Process) follow(sent, answer any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch sent := sent.(type) {
	case *firestorepb.BeginTransactionRequest:
		p.open[string(answer.(*firestorepb.BeginTransactionResponse).GetTransaction())] = sent.GetDatabase()
	case *firestorepb.CommitRequest:
		delete(p.open, string(sent.GetTransaction()))
	case *firestorepb.RollbackRequest:
		delete(p.open, string(sent.GetTransaction()))
	}
}

// transport is the HTTP transport of Cloud Storage's client.
type transport struct {
	process *Process
	base    http.RoundTripper
}

// RoundTrip sends a request.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	var answer *http.Response
	c := Call{Service: Storage, Method: r.Method}
	if _, object, ok := strings.Cut(r.URL.Path, "/o/"); ok {
		c.Targets = []string{object}
	}
	err := t.process.call(c, func() (err error) {
		answer, err = t.base.RoundTrip(r) //nolint:bodyclose // the caller's to close, or discard does
		return err
	}, func(f Fault) (err error) {
		discard(answer)
		answer, err = f.httpAnswer(r) //nolint:bodyclose // the caller's to close
		return err
	})
	if err != nil {
		discard(answer)
		return nil, err
	}
	return answer, nil
}

// discard closes an answer that nobody reads.
func discard(answer *http.Response) {
	if answer != nil {
		_ = answer.Body.Close() // it was received, and is of no use
	}
}

// authentication returns what is put around calls of Authentication.
func (p *Process) authentication(method string, uids []string, send func() error) error {
	return p.call(Call{Service: Authentication, Method: method, Targets: uids}, send, Fault.grpcError)
}
