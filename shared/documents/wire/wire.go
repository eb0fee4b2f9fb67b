// Package wire looks at requests to Firestore on their way, at those with one answer and at those with a stream of answers alike.
package wire

import (
	"context"

	"google.golang.org/grpc"
)

// Request is a request under way.
type Request interface {
	// Send looks at what is about to be sent, and may change it. Its error is the caller's.
	Send(message any) error
	// Receive looks at an answer, or at the error that came instead, and returns the error that the caller gets.
	Receive(answer any, err error) error
}

// DialOptions make a connection show each request to what begin returns for it. An error of begin refuses the request.
func DialOptions(begin func(ctx context.Context, method string) (Request, error)) []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, sent, answer any, cc *grpc.ClientConn,
			invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			r, err := begin(ctx, method)
			if err == nil {
				err = r.Send(sent)
			}
			if err != nil {
				return err
			}
			return r.Receive(answer, invoke(ctx, method, sent, answer, cc, opts...))
		}),
		grpc.WithChainStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string,
			open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			r, err := begin(ctx, method)
			if err != nil {
				return nil, err
			}
			s, err := open(ctx, desc, cc, method, opts...)
			if err != nil {
				return nil, r.Receive(nil, err)
			}
			return stream{s, r}, nil
		}),
	}
}

// stream is a stream of answers to a request.
type stream struct {
	grpc.ClientStream
	request Request
}

// SendMsg implements [grpc.ClientStream].
func (s stream) SendMsg(message any) error {
	if err := s.request.Send(message); err != nil {
		return err
	}
	return s.ClientStream.SendMsg(message)
}

// RecvMsg implements [grpc.ClientStream].
func (s stream) RecvMsg(answer any) error {
	return s.request.Receive(answer, s.ClientStream.RecvMsg(answer))
}
