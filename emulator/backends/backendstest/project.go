// Package backendstest gives each test a project of its own on the local backends.
package backendstest

import (
	"context"
	"crypto/rand"
	"flag"
	"maps"
	"net/http"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/storage"
	firebase "firebase.google.com/go/v4"
	"firebase.google.com/go/v4/auth"
	"google.golang.org/api/option"
	"google.golang.org/grpc"

	"github.com/firesweep/firesweep/emulator/backends"
	"github.com/firesweep/firesweep/emulator/localdb"
)

// Project is a project of a test. Its data is deleted when the test has ended.
type Project struct {
	ID          string            // valid as a project's id, begins with "demo-", unique across processes
	Bucket      string            // of Cloud Storage
	Environment map[string]string // of a function that works on the project

	backends  *backends.Backends
	mu        sync.Mutex
	databases map[string]*firestore.Client
	storage   *storage.Client
}

// Tests that use this package wait for the emulator and for retries, so more of them run at once than there are cores. The flag
// -parallel overrides this.
func init() {
	testing.Init() // defines the flag
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
}

// shared are the process's backends. Nothing stops them: they end with the process, however it ends. The Firestore emulator,
// whose start takes longer than most tests, ends with the "go test" that runs the process.
var shared = sync.OnceValues(func() (*backends.Backends, error) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // a test's process is short, and its heap small
	}
	b, err := backends.Start(context.Background(), backends.Options{Missing: true, ManualTasks: true, ShareFirestore: true})
	if err != nil {
		return nil, err
	}
	for key, value := range b.Environment() {
		if err := os.Setenv(key, value); err != nil {
			return nil, err
		}
	}
	return b, nil
})

// connection is the connection that all Firestore clients of the process share. It ends with the process.
var connection = sync.OnceValues(func() (*grpc.ClientConn, error) {
	b, err := shared()
	if err != nil {
		return nil, err
	}
	return localdb.Dial(b.Environment()[backends.FirestoreHost])
})

// Start gives the test a project on the process's backends, which the first call starts. The first call also sets the
// emulator variables in the process's environment, so that Google's client libraries find the backends. Tasks are
// delivered by Tasks().Deliver alone.
func Start(t testing.TB) *Project {
	t.Helper()
	b, err := shared()
	if err != nil {
		t.Fatalf("start the local backends: %v", err)
	}
	select {
	case <-b.Done():
		t.Fatalf("the local backends are gone: %v", b.Err())
	default:
	}
	id := projectID(t.Name())
	p := &Project{
		ID:          id,
		Bucket:      id + ".firebasestorage.app",
		Environment: b.Environment(),
		backends:    b,
		databases:   map[string]*firestore.Client{},
	}
	maps.Copy(p.Environment, map[string]string{
		"GOOGLE_CLOUD_PROJECT": p.ID, "STORAGE_BUCKET": p.Bucket,
		"TASKS_LOCATION": "asia-northeast1", "TASKS_QUEUE": "tasks",
		"TASKS_SERVICE_ACCOUNT": "tasks@" + p.ID + ".iam.gserviceaccount.com",
		"TASKS_TARGET_URL":      "http://127.0.0.1:9/", // nobody answers there; tests that deliver tasks set another
	})
	t.Cleanup(func() { p.clear(t) })
	return p
}

const longestName = 12 // an id has 30 characters; the others are "demo-", a hyphen and the random part

// projectID makes a project's id from a test's name.
func projectID(test string) string {
	name := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(strings.TrimPrefix(test, "Test")))
	if len(name) > longestName {
		name = name[:longestName]
	}
	return "demo-" + name + "-" + strings.ToLower(rand.Text()[:12])
}

// Backends returns the project's backends.
func (p *Project) Backends() *backends.Backends { return p.backends }

// EmbeddedFirestore reports whether Firestore is the embedded one and not the Firebase Emulator Suite's.
func (p *Project) EmbeddedFirestore() bool { return p.backends.EmbedsFirestore() }

// EmbeddedStorage reports whether Storage is the embedded one. The Firebase Emulator Suite's does not enforce
// preconditions on objects.
func (p *Project) EmbeddedStorage() bool { return p.backends.Storage() != nil }

// EmbeddedAuth reports whether Authentication is the embedded one. Only that has AuthServer.FailDelete and
// AllowTenants.
func (p *Project) EmbeddedAuth() bool { return p.backends.Auth() != nil }

// Tasks returns the project's part of the embedded Cloud Tasks; nil if another is used.
func (p *Project) Tasks() *backends.TaskServer {
	if p.backends.Tasks() == nil {
		return nil
	}
	return p.backends.Tasks().ForProject(p.ID)
}

// FailDelete makes deleting the user fail with the message. It skips the test if Authentication is not embedded.
func (p *Project) FailDelete(t testing.TB, uid, message string) {
	t.Helper()
	if !p.EmbeddedAuth() {
		t.Skip("the Firebase Emulator Suite cannot be made to fail")
	}
	p.backends.Auth().FailDelete(p.ID, uid, message)
}

// AllowTenants makes the project one that may have tenants. It skips the test if Authentication is not embedded.
func (p *Project) AllowTenants(t testing.TB) {
	t.Helper()
	if !p.EmbeddedAuth() {
		t.Skip("the Firebase Emulator Suite does not say whether a project allows tenants")
	}
	p.backends.Auth().AllowTenants(p.ID)
}

// Firestore returns a client for the database (default).
func (p *Project) Firestore(t testing.TB) *firestore.Client {
	t.Helper()
	return p.FirestoreDatabase(t, firestore.DefaultDatabaseID)
}

// FirestoreDatabase returns a client for a database.
func (p *Project) FirestoreDatabase(t testing.TB, database string) *firestore.Client {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.databases[database] == nil {
		conn, err := connection()
		if err != nil {
			t.Fatal(err)
		}
		client, err := localdb.Open(context.Background(), conn, p.ID, database)
		if err != nil {
			t.Fatal(err)
		}
		p.databases[database] = client
	}
	return p.databases[database]
}

// All returns all documents of the database (default), ordered by path.
func (p *Project) All(t testing.TB) []*firestore.DocumentSnapshot {
	t.Helper()
	all, err := localdb.All(context.Background(), p.Firestore(t))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// connections are those that all clients for Cloud Storage and Authentication share: Google's never close their own.
var connections = option.WithHTTPClient(&http.Client{})

// Storage returns a client for Cloud Storage.
func (p *Project) Storage(t testing.TB) *storage.Client {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.storage == nil {
		client, err := storage.NewClient(context.Background(), connections)
		if err != nil {
			t.Fatalf("make a Storage client: %v", err)
		}
		p.storage = client
	}
	return p.storage
}

// Auth returns a client for Authentication.
func (p *Project) Auth(t testing.TB) *auth.Client {
	t.Helper()
	app, err := firebase.NewApp(context.Background(), &firebase.Config{ProjectID: p.ID}, connections)
	if err != nil {
		t.Fatalf("make a Firebase app: %v", err)
	}
	client, err := app.Auth(context.Background())
	if err != nil {
		t.Fatalf("make an Authentication client: %v", err)
	}
	return client
}
