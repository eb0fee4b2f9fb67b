package standin

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/firesweep/firesweep/emulator/backends"
)

// Google stands in for the services of one project, each at a port of this machine, until it is closed.
type Google struct {
	Address // to be given to the program that is measured
	path    *path
	tasks   *backends.TaskServer
	grpc    *grpc.Server
	http    []*httptest.Server
}

// Address is where a program finds the services, and what it needs to trust them. It is what [Address.Dial], [Address.Transport]
// and [Address.Everywhere] connect with; the program itself believes that it talks to Google.
type Address struct {
	Project, Bucket   string
	Firestore         string // host:port, of Cloud Tasks as well
	Storage, Accounts string // host:port
	Certificate       []byte
}

// Credentials are those of a user who is nobody, as a file holds them.
const Credentials = `{"type":"authorized_user","client_id":"lab","client_secret":"lab","refresh_token":"lab"}`

// Start starts the services for a world, which they take over.
func Start(project, bucketName string, w *World, link Link) (*Google, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	g := &Google{path: &path{link: link}, Address: Address{Project: project, Bucket: bucketName}}
	storage := backends.NewStorage()
	storage.Compute(bucketName, w.Objects)
	g.Storage = g.serve(g.path.before(storage))
	auth, at := backends.NewAuth(), strconv.FormatInt(written.UnixMilli(), 10)
	for _, uid := range w.Accounts {
		auth.Put(project, map[string]any{"localId": uid, "createdAt": at, "lastLoginAt": at, "email": uid + "@example.com"})
	}
	accounts := http.NewServeMux()
	accounts.Handle("/", g.path.before(auth))
	accounts.HandleFunc("/token", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"access_token":"lab","token_type":"Bearer","expires_in":3600}`)) // whoever asked may be gone
	})
	g.Accounts = g.serve(accounts)
	g.Certificate = g.http[0].Certificate().Raw

	g.Firestore = listener.Addr().String()
	own := credentials.NewServerTLSFromCert(&g.http[0].TLS.Certificates[0])
	g.grpc = grpc.NewServer(grpc.Creds(own), grpc.MaxRecvMsgSize(maxRequest),
		grpc.UnaryInterceptor(g.path.unary), grpc.StreamInterceptor(g.path.stream), grpc.MaxConcurrentStreams(100))
	pb.RegisterFirestoreServer(g.grpc, &server{store: newStore(project, w), turn: g.path.turn})
	g.tasks = backends.RegisterTasks(g.grpc, true)
	go func() { _ = g.grpc.Serve(listener) }() // ends when it is stopped
	return g, nil
}

// serve serves over TLS with HTTP/2, and returns where.
func (g *Google) serve(h http.Handler) (address string) {
	s := httptest.NewUnstartedServer(h)
	s.EnableHTTP2 = true
	s.StartTLS()
	g.http = append(g.http, s)
	return s.Listener.Addr().String()
}

// Traffic returns what the link has carried so far.
func (g *Google) Traffic() Traffic {
	g.path.mu.Lock()
	defer g.path.mu.Unlock()
	return g.path.traffic
}

// Tasks returns the tasks that were created since the last call, in their order. Nobody else delivers them.
func (g *Google) Tasks() []*cloudtaskspb.Task {
	tasks := g.tasks.Pending("")
	g.tasks.Clear()
	return tasks
}

// Close stops the services.
func (g *Google) Close() {
	g.grpc.Stop()
	for _, s := range g.http {
		s.CloseClientConnections() // whoever was measured has ended
		s.Close()
	}
}

// Dial are options for the connections of Firestore and Cloud Tasks that lead to the stand-in.
func (a Address) Dial() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithTransportCredentials(credentials.NewTLS(a.trust())),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", a.Firestore)
		}),
	}
}

// Transport makes Cloud Storage's transport, which must be an [http.Transport], lead to the stand-in.
func (a Address) Transport(base http.RoundTripper) http.RoundTripper {
	return a.to(a.Storage, base.(*http.Transport))
}

func (a Address) to(address string, base *http.Transport) *http.Transport {
	t := base.Clone()
	t.TLSClientConfig, t.ForceAttemptHTTP2 = a.trust(), true
	dial := t.DialContext
	t.DialContext = func(ctx context.Context, network, wanted string) (net.Conn, error) {
		if strings.HasSuffix(wanted, ".googleapis.com:443") {
			wanted = address
		}
		return dial(ctx, network, wanted)
	}
	return t
}

// Everywhere makes Authentication's clients, which take no transport, lead to the stand-in, by the transport that a process has
// for whatever has none of its own.
func (a Address) Everywhere() {
	http.DefaultTransport = a.to(a.Accounts, http.DefaultTransport.(*http.Transport))
}

// trust trusts the certificate of [httptest.Server], which is for example.com.
func (a Address) trust() *tls.Config {
	roots := x509.NewCertPool()
	if c, err := x509.ParseCertificate(a.Certificate); err == nil { // or every handshake fails, which says more
		roots.AddCert(c)
	}
	return &tls.Config{RootCAs: roots, ServerName: "example.com"}
}
