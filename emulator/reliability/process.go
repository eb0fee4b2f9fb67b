package reliability

import (
	"context"
	"errors"
	"net/http"
	"path"
	"sync"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
)

// Process is the process of a function or an undo. It counts all calls and disturbs one.
type Process struct {
	steps *Steps

	mu   sync.Mutex
	dead bool
	open map[string]func() error // rolls an open transaction back, by the transaction's id
}

func (s *Steps) newProcess() *Process { return &Process{steps: s, open: map[string]func() error{}} }

// Run gives a function a process of its own. Call it before the function.
func (s *Steps) Run(f *engine.Function) *Process {
	p := s.newProcess()
	f.Hooks.Dial = append(f.Hooks.Dial, p.dial()...)
	f.Hooks.DialTasks = append(f.Hooks.DialTasks, grpc.WithChainUnaryInterceptor(p.unary(Tasks)))
	f.Hooks.Transport = func(base http.RoundTripper) http.RoundTripper { return transport{p, base} }
	f.Hooks.Accounts = func(base accounts.API) accounts.API { return accounts.Wrap(base, p.authentication) }
	return p
}

// Undo gives an undo a process of its own. Call it before the project is opened.
func (s *Steps) Undo(h *restore.Hooks) *Process {
	p := s.newProcess()
	h.Dial = append(h.Dial, p.dial()...)
	h.Transport = func(base http.RoundTripper) http.RoundTripper { return transport{p, base} }
	h.Accounts = func(base accounts.API) accounts.API { return accounts.Wrap(base, p.authentication) }
	return p
}

func (p *Process) dial() []grpc.DialOption {
	return []grpc.DialOption{grpc.WithChainUnaryInterceptor(p.unary(Firestore)), grpc.WithChainStreamInterceptor(p.stream)}
}

// End rolls back the transactions that the process has left open, when its function or undo has returned. Firestore does so by
// itself for a transaction that is idle for 60 s; its emulator keeps the locks.
func (p *Process) End() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var failed []error
	for _, rollback := range p.open {
		failed = append(failed, rollback())
	}
	clear(p.open)
	return errors.Join(failed...)
}

// Dead reports whether the fault has ended the process.
func (p *Process) Dead() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dead
}

func (p *Process) die() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dead = true
}

// call counts a call and sends it, unless a fault prevents that. send sends it; fail returns the error that the caller gets for a
// fault.
func (p *Process) call(c Call, send func() error, fail func(Fault) error) error {
	if p.Dead() {
		return errDead
	}
	fault := p.steps.next(c)
	if fault != nil && !fault.sent {
		if fault.dies {
			p.die()
			return errDead
		}
		return fail(*fault)
	}
	err := send()
	if fault != nil && fault.dies {
		p.die()
	}
	switch {
	case p.Dead(): // perhaps since another call meanwhile: nobody is left to receive the answer
		return errDead
	case fault != nil:
		return fail(*fault)
	}
	return err
}

func (p *Process) unary(service Service) grpc.UnaryClientInterceptor {
	return func(
		ctx context.Context, method string, req, reply any,
		cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
	) error {
		send := func() error {
			err := invoke(ctx, method, req, reply, cc, opts...)
			p.follow(req, reply, err, func(rollback *firestorepb.RollbackRequest) error {
				ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
				defer cancel()
				return invoke(ctx, firestorepb.Firestore_Rollback_FullMethodName, rollback, &emptypb.Empty{}, cc, opts...)
			})
			return err
		}
		c := Call{Service: service, Method: path.Base(method), Targets: targetsOf(req)}
		err := p.call(c, send, Fault.grpcError)
		if errors.Is(err, errDead) {
			return status.Error(codes.Unknown, err.Error()) // a code that nothing repeats
		}
		return err
	}
}

// follow records which transactions are open.
func (p *Process) follow(req, reply any, err error, rollback func(*firestorepb.RollbackRequest) error) {
	if err != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch req := req.(type) {
	case *firestorepb.BeginTransactionRequest:
		id := reply.(*firestorepb.BeginTransactionResponse).GetTransaction()
		p.open[string(id)] = func() error {
			return rollback(&firestorepb.RollbackRequest{Database: req.GetDatabase(), Transaction: id})
		}
	case *firestorepb.CommitRequest:
		delete(p.open, string(req.GetTransaction()))
	case *firestorepb.RollbackRequest:
		delete(p.open, string(req.GetTransaction()))
	}
}

// stream counts a streamed read. The stream is opened when its request is sent, because one that must fail is never opened.
func (p *Process) stream(
	ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, stream grpc.Streamer, opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	return &read{process: p, method: path.Base(method), open: func() (grpc.ClientStream, error) {
		return stream(ctx, desc, cc, method, opts...)
	}}, nil
}

// read is a streamed read. It has no effect except the locks that it takes in a transaction.
type read struct {
	grpc.ClientStream // nil before it is opened
	process           *Process
	method            string
	open              func() (grpc.ClientStream, error)
	failure           error // the error that the caller gets when it reads
	cut               bool  // before that error, the caller receives one message
}

// SendMsg opens the stream and sends the request.
func (r *read) SendMsg(m any) error {
	c := Call{Service: Firestore, Method: r.method, Streamed: true, Targets: targetsOf(m)}
	r.failure = r.process.call(c, func() (err error) {
		if r.ClientStream, err = r.open(); err != nil {
			return err
		}
		return r.ClientStream.SendMsg(m)
	}, func(f Fault) error {
		r.cut = f.cut
		return f.grpcError()
	})
	return nil
}

// CloseSend says that there is no further request.
func (r *read) CloseSend() error {
	if r.ClientStream == nil {
		return nil
	}
	return r.ClientStream.CloseSend()
}

// RecvMsg receives a message.
func (r *read) RecvMsg(m any) error {
	if r.cut && r.ClientStream != nil {
		r.cut = false
		if r.ClientStream.RecvMsg(m) == nil {
			return nil
		}
	}
	if r.failure != nil && r.ClientStream != nil {
		for r.ClientStream.RecvMsg(m) == nil { // it takes effect, and nobody knows
		}
	}
	switch {
	case errors.Is(r.failure, errDead) || r.process.Dead():
		return status.Error(codes.Unknown, errDead.Error()) // a code that nothing repeats
	case r.failure != nil:
		return r.failure
	}
	return r.ClientStream.RecvMsg(m)
}
