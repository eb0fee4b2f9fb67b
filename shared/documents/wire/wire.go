// Package wire looks at requests to Firestore on their way, at those with one answer and at those with a stream of answers alike.
package wire

import (
	"context"
	"slices"

	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// ClientOptions make a client of Google's connect with dial options: by one connection to the emulator at an address, which takes
// further ones, or if that is empty, to Google's service.
func ClientOptions(emulator string, dial []grpc.DialOption, further ...grpc.DialOption) ([]option.ClientOption, error) {
	if emulator != "" {
		plain := []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}
		conn, err := grpc.NewClient("passthrough:///"+emulator, slices.Concat(dial, plain, further)...)
		return []option.ClientOption{option.WithGRPCConn(conn)}, err
	}
	options := make([]option.ClientOption, len(dial))
	for i, d := range dial {
		options[i] = option.WithGRPCDialOption(d)
	}
	return options, nil
}

// Request is what looks at a request under way. Either function may be nil.
type Request struct {
	// Send looks at what is about to be sent, and may change it. Its error is the caller's, and refuses the request.
	Send func(message any) error
	// Receive looks at an answer, or at the error that came instead, and returns the error that the caller gets.
	Receive func(answer any, err error) error
}

func (r Request) send(message any) error {
	if r.Send == nil {
		return nil
	}
	return r.Send(message)
}

func (r Request) receive(answer any, err error) error {
	if r.Receive == nil {
		return err
	}
	return r.Receive(answer, err)
}

// DialOptions make a connection show each request to what begin returns for it.
func DialOptions(begin func(ctx context.Context, method string) Request) []grpc.DialOption {
	return []grpc.DialOption{
		Around(func(ctx context.Context, method string, sent, answer any, send func() error) error {
			r := begin(ctx, method)
			if err := r.send(sent); err != nil {
				return err
			}
			return r.receive(answer, send())
		}),
		grpc.WithChainStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string,
			open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			return &stream{request: begin(ctx, method), open: func() (grpc.ClientStream, error) {
				return open(ctx, desc, cc, method, opts...)
			}}, nil
		}),
	}
}

// Before makes a connection show each request to look before it is sent. An error of look refuses the request.
func Before(look func(ctx context.Context, method string, message any) error) []grpc.DialOption {
	return DialOptions(func(ctx context.Context, method string) Request {
		return Request{Send: func(message any) error { return look(ctx, method, message) }}
	})
}

// After makes a connection show look each answer, or the error that came instead. What look returns is the caller's error.
func After(look func(method string, answer any, err error) error) []grpc.DialOption {
	return DialOptions(func(_ context.Context, method string) Request {
		return Request{Receive: func(answer any, err error) error { return look(method, answer, err) }}
	})
}

// Around puts around between a connection and each request with one answer, which send sends and receives into answer.
func Around(around func(ctx context.Context, method string, sent, answer any, send func() error) error) grpc.DialOption {
	return grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, sent, answer any, cc *grpc.ClientConn,
		invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		return around(ctx, method, sent, answer, func() error { return invoke(ctx, method, sent, answer, cc, opts...) })
	})
}

// stream is a stream of answers to a request. It is opened when the request is sent, so that one that is refused opens none.
type stream struct {
	grpc.ClientStream // nil before that, and where it was refused
	request           Request
	open              func() (grpc.ClientStream, error)
	refused           error // why it was not opened
}

// SendMsg implements [grpc.ClientStream].
func (s *stream) SendMsg(message any) error {
	if s.refused = s.request.send(message); s.refused != nil {
		return s.refused
	}
	opened, err := s.open()
	if err != nil {
		s.refused = s.request.receive(nil, err)
		return s.refused
	}
	s.ClientStream = opened
	if err := opened.SendMsg(message); err != nil {
		return s.request.receive(nil, err)
	}
	return nil
}

// CloseSend implements [grpc.ClientStream].
func (s *stream) CloseSend() error {
	if s.ClientStream == nil {
		return s.refused
	}
	return s.ClientStream.CloseSend()
}

// RecvMsg implements [grpc.ClientStream].
func (s *stream) RecvMsg(answer any) error {
	if s.ClientStream == nil {
		return s.refused
	}
	return s.request.receive(answer, s.ClientStream.RecvMsg(answer))
}
