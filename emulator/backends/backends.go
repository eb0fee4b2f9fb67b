package backends

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"google.golang.org/grpc"

	"github.com/firesweep/firesweep/emulator/process"
)

// The environment variables with the backends' addresses. Google's Go libraries read the first three. The fourth is the Firebase
// CLI's name for the second. The Firebase CLI sets the last for its emulator of Cloud Tasks, which does not speak gRPC: leave
// that emulator out of firebase.json.
const (
	FirestoreHost       = "FIRESTORE_EMULATOR_HOST"        // host:port
	StorageHost         = "STORAGE_EMULATOR_HOST"          // http://host:port
	AuthHost            = "FIREBASE_AUTH_EMULATOR_HOST"    // host:port
	FirebaseStorageHost = "FIREBASE_STORAGE_EMULATOR_HOST" // host:port
	TasksHost           = "CLOUD_TASKS_EMULATOR_HOST"      // host:port
)

// Options say how to start the backends. The zero value can be used.
type Options struct {
	FirestorePort, StoragePort, AuthPort, TasksPort int       // 0 is any free port
	Missing                                         bool      // those that the environment names are used, and only others start
	ManualTasks                                     bool      // tasks are delivered by TaskServer.Deliver alone
	ShareFirestore                                  bool      // with the other test processes of a "go test"
	Log                                             io.Writer // is told of downloads; nil: nobody is
}

// Backends are the services of Google that the bundle needs, on this machine.
type Backends struct {
	environment map[string]string
	firestore   *firestoreEmulator // nil if another is used; so are the next three
	storage     *StorageServer
	auth        *AuthServer
	tasks       *TaskServer

	stops []func()
	close sync.Once
	alive context.Context         // until Close, or until a backend no longer answers
	end   context.CancelCauseFunc // says why one does not; only the first reason counts
}

// Start starts the backends and returns when they answer. The context ends only the start; Close stops the backends.
func Start(ctx context.Context, o Options) (_ *Backends, err error) {
	if o.Log == nil {
		o.Log = io.Discard
	}
	b := &Backends{environment: map[string]string{}}
	b.alive, b.end = context.WithCancelCause(context.Background())
	if o.Missing {
		b.useOthers()
	}
	services := []struct {
		name, variable string
		port           int
		start          func(context.Context, Options, net.Listener) error
		on             net.Listener
	}{
		{name: "Firestore", variable: FirestoreHost, port: o.FirestorePort, start: b.startFirestore},
		{name: "Storage", variable: StorageHost, port: o.StoragePort, start: b.startStorage},
		{name: "Authentication", variable: AuthHost, port: o.AuthPort, start: b.startAuth},
		{name: "Cloud Tasks", variable: TasksHost, port: o.TasksPort, start: b.startTasks},
	}
	defer func() {
		if err == nil {
			return
		}
		b.stop()
		for _, s := range services {
			if s.on != nil {
				_ = s.on.Close() // it may be closed
			}
		}
	}()
	// All ports are opened before anything starts, so that all that are in use are reported together, and before Java starts.
	var taken PortsInUseError
	for i, s := range services {
		if b.environment[s.variable] != "" {
			continue
		}
		services[i].on, err = listen(ctx, s.port)
		switch {
		case errors.Is(err, syscall.EADDRINUSE):
			taken = append(taken, PortInUse{Service: s.name, Port: s.port})
		case err != nil:
			return nil, fmt.Errorf("listen for %s: %w", s.name, err)
		}
	}
	if len(taken) > 0 {
		return nil, taken
	}
	for _, s := range slices.Backward(services) { // Java as the last: it takes longest
		if s.on == nil {
			continue
		}
		if err := s.start(ctx, o, s.on); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// PortInUse is a port that something else holds.
type PortInUse struct {
	Service string // the service for which the port was meant
	Port    int
}

// PortsInUseError names all the ports that are in use.
type PortsInUseError []PortInUse

// Error implements error.
func (e PortsInUseError) Error() string {
	var taken []string
	for _, p := range e {
		taken = append(taken, fmt.Sprintf("port %d for %s is in use", p.Port, p.Service))
	}
	return fmt.Sprintf("%s: another local Firesweep or the Firebase Emulator Suite may be running "+
		"(this shows who holds a port: lsof -i :%d); stop that one, or choose another port", strings.Join(taken, ", "), e[0].Port)
}

// host is where all backends listen.
const host = "127.0.0.1"

func listen(ctx context.Context, port int) (net.Listener, error) {
	return new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
}

// startFirestore starts the Firestore emulator, or uses the one that is shared.
func (b *Backends) startFirestore(ctx context.Context, o Options, on net.Listener) (err error) {
	if command, ok := findGoTest(); ok && o.ShareFirestore {
		b.firestore, err = sharedFirestore(ctx, command, o.Log, on)
	} else if b.firestore, err = startFirestore(ctx, process.Start, o.FirestorePort, on, o.Log); err == nil {
		b.stops = append(b.stops, b.firestore.process.Stop)
	}
	if err != nil {
		return err
	}
	b.environment[FirestoreHost] = b.firestore.address
	p := b.firestore.process
	go func() {
		<-p.Done
		b.end(fmt.Errorf("the Firestore emulator died: %w; the end of what it printed:\n%s", p.Err, p.Output.LastLines(25)))
	}()
	return nil
}

// useOthers takes the backends that the environment names, as it does if the Firebase CLI runs the program. Storage may have
// either of its names.
func (b *Backends) useOthers() {
	for _, key := range []string{FirestoreHost, AuthHost, TasksHost} {
		if host := os.Getenv(key); host != "" {
			b.environment[key] = host
		}
	}
	if host := cmp.Or(os.Getenv(StorageHost), os.Getenv(FirebaseStorageHost)); host != "" {
		if !strings.Contains(host, "://") {
			host = "http://" + host
		}
		_, bare, _ := strings.Cut(host, "://")
		b.environment[StorageHost], b.environment[FirebaseStorageHost] = host, strings.TrimSuffix(bare, "/")
	}
}

func (b *Backends) startStorage(_ context.Context, _ Options, on net.Listener) error {
	b.storage = newStorage()
	b.serveHTTP("Storage", on, b.storage)
	address := on.Addr().String()
	b.environment[StorageHost], b.environment[FirebaseStorageHost] = "http://"+address, address
	return nil
}

func (b *Backends) startAuth(_ context.Context, _ Options, on net.Listener) error {
	b.auth = newAuth()
	b.serveHTTP("Authentication", on, b.auth)
	b.environment[AuthHost] = on.Addr().String()
	return nil
}

// serveHTTP serves in the background.
func (b *Backends) serveHTTP(service string, on net.Listener, handler http.Handler) {
	guarded := Guard(handler, func(w http.ResponseWriter, status int, code, message string) {
		(&apiError{status, code, message}).write(w)
	})
	// The Admin SDK never closes a client's connections, and a test opens a client for each run.
	server := &http.Server{Handler: guarded, ReadHeaderTimeout: time.Minute, IdleTimeout: 20 * time.Second}
	b.serve(service, on, server.Serve, func() { _ = server.Close() }) // all connections are local and no longer needed
}

func (b *Backends) startTasks(_ context.Context, o Options, on net.Listener) error {
	server := grpc.NewServer(grpc.ConnectionTimeout(time.Second)) // Stop waits for who has connected and says nothing
	b.tasks = newTaskServer(o.ManualTasks)
	cloudtaskspb.RegisterCloudTasksServer(server, taskService{TaskServer: b.tasks})
	b.serve("Cloud Tasks", on, server.Serve, func() { server.Stop(); b.tasks.close() })
	b.environment[TasksHost] = on.Addr().String()
	return nil
}

// serve runs a server until stop is called. It records if the server ends before that.
func (b *Backends) serve(service string, listener net.Listener, serve func(net.Listener) error, stop func()) {
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		b.end(fmt.Errorf("the local %s died: %w", service, serve(listener)))
	}()
	b.stops = append(b.stops, func() { stop(); <-stopped })
}

func (b *Backends) stop() {
	b.end(nil)
	for _, stop := range b.stops {
		stop()
	}
}

// Close stops all backends and returns when they have ended. It may be called more than once. If a backend died before, it
// returns why.
func (b *Backends) Close() error {
	b.close.Do(b.stop)
	return b.Err()
}

// Done is closed when a backend has died, or by Close.
func (b *Backends) Done() <-chan struct{} { return b.alive.Done() }

// Err returns why a backend died; nil while all are alive, and after Close.
func (b *Backends) Err() error {
	if err := context.Cause(b.alive); !errors.Is(err, context.Canceled) { // which Close gives for a reason
		return err
	}
	return nil
}

// Environment returns the environment variables that lead programs to the backends.
func (b *Backends) Environment() map[string]string { return maps.Clone(b.environment) }

// EmbedsFirestore reports whether Firestore was started here.
func (b *Backends) EmbedsFirestore() bool { return b.firestore != nil }

// Storage returns the embedded Storage; nil if another is used.
func (b *Backends) Storage() *StorageServer { return b.storage }

// Auth returns the embedded Authentication; nil if another is used.
func (b *Backends) Auth() *AuthServer { return b.auth }

// Tasks returns the embedded Cloud Tasks; nil if another is used.
func (b *Backends) Tasks() *TaskServer { return b.tasks }
