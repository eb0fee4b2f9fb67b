package standin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
)

// Front is a link in front of services that run on this machine, such as emulators. Whoever asks at its addresses gets the
// services' answers, as late as the link says. It is to be closed.
type Front struct {
	path  *path
	grpc  []*grpc.Server
	conns []*grpc.ClientConn
	http  []*http.Server
}

// NewFront returns a link in front of nothing yet.
func NewFront(link Link) *Front { return &Front{path: &path{link: link}} }

// Traffic returns what the link has carried so far.
func (f *Front) Traffic() Traffic {
	f.path.mu.Lock()
	defer f.path.mu.Unlock()
	return f.path.traffic
}

// GRPC puts the link in front of a service of gRPC at host:port, and returns where to ask now. Each call has one request, as all
// have that the jobs make.
func (f *Front) GRPC(target string) (address string, err error) {
	conn, err := grpc.NewClient("passthrough:///"+target, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(asItIs{}), grpc.MaxCallRecvMsgSize(1<<30), grpc.MaxCallSendMsgSize(1<<30)))
	if err != nil {
		return "", fmt.Errorf("put a link before %s: %w", target, err)
	}
	f.conns = append(f.conns, conn)
	l, err := listen(&address)
	if err != nil {
		return "", err
	}
	s := grpc.NewServer(grpc.ForceServerCodecV2(asItIs{}), grpc.MaxRecvMsgSize(1<<30), grpc.UnknownServiceHandler(
		func(_ any, answer grpc.ServerStream) error {
			var request []byte
			if err := answer.RecvMsg(&request); err != nil {
				return err
			}
			var err error
			if became := f.path.carry(firestore, func() { err = forward(conn, request, answer) }); became != carried {
				return grpcError(became)
			}
			return err
		}))
	f.grpc = append(f.grpc, s)
	go func() { _ = s.Serve(l) }() // ends when it is stopped
	return address, nil
}

// forward sends a request to the service and its answers back.
func forward(conn *grpc.ClientConn, request []byte, answer grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(answer)
	sent, _ := metadata.FromIncomingContext(answer.Context())
	ctx, cancel := context.WithCancel(metadata.NewOutgoingContext(answer.Context(), sent))
	defer cancel()
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, method)
	if err != nil {
		return err
	}
	if err := errors.Join(stream.SendMsg(&request), stream.CloseSend()); err != nil {
		return err
	}
	for {
		var message []byte
		err := stream.RecvMsg(&message)
		if errors.Is(err, io.EOF) {
			answer.SetTrailer(stream.Trailer())
			return nil
		}
		if err != nil {
			answer.SetTrailer(stream.Trailer())
			return err
		}
		if err := answer.SendMsg(&message); err != nil {
			return err
		}
	}
}

// asItIs carries messages as they are, without decoding them.
type asItIs struct{}

// Marshal implements encoding.CodecV2.
func (asItIs) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil
}

// Unmarshal implements encoding.CodecV2.
func (asItIs) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

// Name implements encoding.CodecV2: the messages are Protocol Buffers.
func (asItIs) Name() string { return "proto" }

// HTTP puts the link in front of a service of HTTP at host:port, and returns where to ask now.
func (f *Front) HTTP(target string) (address string, err error) {
	l, err := listen(&address)
	if err != nil {
		return "", err
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: target}) }}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		of := storage
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/o") {
			of = listing
		}
		if became := f.path.carry(of, func() { proxy.ServeHTTP(w, r) }); became != carried {
			http.Error(w, `{"error":{"message":"try again later"}}`, httpStatus(became))
		}
	})}
	f.http = append(f.http, s)
	go func(l net.Listener) { _ = s.Serve(l) }(l) // ends when it is closed
	return address, nil
}

// Close stops it.
func (f *Front) Close() error {
	var errs []error
	for _, s := range f.grpc {
		s.Stop()
	}
	for _, c := range f.conns {
		errs = append(errs, c.Close())
	}
	for _, s := range f.http {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}
