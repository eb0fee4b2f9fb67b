package standin

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"strings"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
)

// Google stands in for the services of one project, each at a port of this machine, until it is closed.
type Google struct {
	Address // to be given to the program that is measured
	path    *path
	queues  *queues
	grpc    *grpc.Server
	http    []*http.Server
}

// Address is where a program finds the services, and what it needs to trust them. It is what [Address.Dial], [Address.Transport]
// and [Address.Everywhere] connect with; the program itself believes that it talks to Google.
type Address struct {
	Project, Bucket   string
	Firestore         string // host:port, of Cloud Tasks as well
	Storage, Accounts string // host:port
	Certificate       []byte // PEM
	Credentials       []byte // of a service account, as a file holds them
}

// Start starts the services for a world.
func Start(project, bucketName string, w World, link Link) (*Google, error) {
	certificate, text, err := newCertificate()
	if err != nil {
		return nil, err
	}
	g := &Google{path: &path{link: link}, queues: &queues{taken: map[string]bool{}}, Address: Address{Project: project, Bucket: bucketName, Certificate: text}}
	g.grpc = grpc.NewServer(grpc.Creds(credentials.NewServerTLSFromCert(&certificate)), grpc.MaxRecvMsgSize(maxRequest),
		grpc.UnaryInterceptor(g.path.unary), grpc.StreamInterceptor(g.path.stream), grpc.MaxConcurrentStreams(100))
	pb.RegisterFirestoreServer(g.grpc, &server{s: newStore(project, w), turn: g.path.turn})
	cloudtaskspb.RegisterCloudTasksServer(g.grpc, g.queues)
	documents, err := listen(&g.Firestore)
	if err != nil {
		return nil, err
	}
	go func() { _ = g.grpc.Serve(documents) }() // ends when it is stopped

	b := &bucket{name: bucketName, objects: w.Objects, created: jsonTime(w.Written), carry: g.path.carry}
	files, err := listen(&g.Storage)
	if err != nil {
		return nil, errors.Join(err, g.Close())
	}
	overTLS := &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{"h2", "http/1.1"}}
	g.serve(files, b, overTLS.Clone()) // the server changes it

	users, err := listen(&g.Accounts)
	if err != nil {
		return nil, errors.Join(err, g.Close())
	}
	g.serve(users, newAuthentication(project, w, g.path.carry), overTLS.Clone())

	var tokens string
	tokenListener, err := listen(&tokens)
	if err != nil {
		return nil, errors.Join(err, g.Close())
	}
	g.serve(tokenListener, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"access_token":"lab","token_type":"Bearer","expires_in":3600}`)) // whoever asked may be gone
	}), nil)
	if g.Credentials, err = newCredentials(project, "http://"+tokens+"/token"); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

func listen(address *string) (net.Listener, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the stand-in: %w", err)
	}
	*address = l.Addr().String()
	return l, nil
}

func (g *Google) serve(l net.Listener, h http.Handler, config *tls.Config) {
	s := &http.Server{Handler: h, TLSConfig: config, ReadHeaderTimeout: time.Minute}
	g.http = append(g.http, s)
	go func() { // ends when it is closed
		if config != nil {
			_ = s.ServeTLS(l, "", "")
			return
		}
		_ = s.Serve(l)
	}()
}

// Traffic returns what the link has carried so far.
func (g *Google) Traffic() Traffic {
	g.path.mu.Lock()
	defer g.path.mu.Unlock()
	return g.path.traffic
}

// Close stops the services.
func (g *Google) Close() error {
	g.grpc.Stop()
	var errs []error
	for _, s := range g.http {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
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

func (a Address) trust() *tls.Config {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(a.Certificate)
	return &tls.Config{RootCAs: roots}
}

// newCertificate returns a certificate for Google's names, which only whoever is given it trusts.
func newCertificate() (tls.Certificate, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, fmt.Errorf("make the stand-in's key: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "stand-in"}, DNSNames: []string{"*.googleapis.com"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, nil, fmt.Errorf("make the stand-in's certificate: %w", err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, text, nil
}

// newCredentials returns the credentials of a service account that is nobody's.
func newCredentials(project, tokens string) ([]byte, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, fmt.Errorf("make the stand-in's credentials: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("make the stand-in's credentials: %w", err)
	}
	return json.Marshal(map[string]string{
		"type": "service_account", "project_id": project, "client_email": "lab@" + project + ".iam.gserviceaccount.com", "client_id": "1",
		"private_key_id": "1", "private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), "token_uri": tokens,
	})
}
