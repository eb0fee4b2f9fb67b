// Command emulator runs the whole bundle on this machine: Firestore, Storage, Authentication and Cloud Tasks, and all
// functions at http://127.0.0.1:8081/<entryPoint>.
//
//	go run ./emulator           serves until it is stopped
//	go run ./emulator --sample  the same, with the sample data loaded
//	go run ./emulator --demo    loads the sample data, runs every job as Cloud Scheduler would, and shows what it did
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/GoogleCloudPlatform/functions-framework-go/funcframework"

	_ "github.com/firesweep/firesweep" // registers all functions
	"github.com/firesweep/firesweep/emulator/backends"
	"github.com/firesweep/firesweep/functions"
)

// Names used unless the environment says otherwise.
const (
	defaultProject  = "demo-firesweep"
	defaultBucket   = "demo-firesweep.firebasestorage.app"
	defaultLocation = "asia-northeast1"
	host            = "127.0.0.1"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	interrupted := ctx.Err() != nil
	stop()
	switch {
	case err == nil, interrupted && errors.Is(err, context.Canceled):
	default:
		fmt.Fprintln(os.Stderr, "emulator: "+err.Error())
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("emulator", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // what is wrong is said once, by main
	demo := flags.Bool("demo", false, "load the sample data, run every job once, show what it did and exit")
	sample := flags.Bool("sample", false, "load the sample data before serving")
	ports := backends.Options{}
	flags.IntVar(&ports.FirestorePort, "firestore-port", 8080, "port of Firestore")
	flags.IntVar(&ports.AuthPort, "auth-port", 9099, "port of Authentication")
	flags.IntVar(&ports.StoragePort, "storage-port", 9199, "port of Storage")
	flags.IntVar(&ports.TasksPort, "tasks-port", 9499, "port of Cloud Tasks")
	functionsPort := flags.Int("functions-port", 8081, "port of the functions")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		flags.SetOutput(out)
		flags.Usage()
		return nil
	case err != nil:
		return fmt.Errorf("%w; see --help", err)
	case flags.NArg() > 0:
		return fmt.Errorf("unexpected argument %q; see --help", flags.Arg(0))
	}
	if *demo {
		return runDemo(ctx, out)
	}
	return serve(ctx, out, ports, *functionsPort, *sample)
}

// local is everything running: the backends and the functions on them.
type local struct {
	backends *backends.Backends
	address  string       // of the functions, host:port
	failed   <-chan error // the functions' server ended
}

// start starts the backends, points the environment at them and serves the functions. A functions port of 0 means any.
func start(ctx context.Context, ports backends.Options, functionsPort int) (*local, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(functionsPort)))
	if err != nil {
		return nil, fmt.Errorf("the functions cannot be served: %w; stop what holds the port or choose another with --functions-port", err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil { // it was only to find a port or that it is free
		return nil, fmt.Errorf("free port %s again: %w", address, err)
	}
	b, err := backends.StartMissing(ctx, ports)
	if err != nil {
		return nil, err
	}
	if err := setEnvironment(b.Environment()); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	if err := setTasks(address); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	failed := make(chan error, 1)
	go func() {
		_, port, _ := net.SplitHostPort(address) // it is what net.Listen answered
		failed <- funcframework.StartHostPort(host, port)
	}()
	l := &local{backends: b, address: address, failed: failed}
	if err := l.waitForFunctions(ctx); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return l, nil
}

func setEnvironment(backends map[string]string) error {
	for name, value := range backends {
		if err := os.Setenv(name, value); err != nil {
			return fmt.Errorf("set %s: %w", name, err)
		}
	}
	for name, value := range map[string]string{"GOOGLE_CLOUD_PROJECT": defaultProject, "STORAGE_BUCKET": defaultBucket} {
		if os.Getenv(name) != "" {
			continue
		}
		if err := os.Setenv(name, value); err != nil {
			return fmt.Errorf("set %s: %w", name, err)
		}
	}
	// Set, it would have the framework serve one function only.
	return os.Unsetenv("FUNCTION_TARGET")
}

// setTasks tells each job that hands over tasks, in variables of its own, which worker they are for.
func setTasks(address string) error {
	for _, e := range functions.All() {
		if e.Worker == "" {
			continue
		}
		for name, value := range map[string]string{
			"TASKS_LOCATION": defaultLocation, "TASKS_QUEUE": e.Worker, "TASKS_TARGET_URL": "http://" + address + "/" + e.Worker,
			"TASKS_SERVICE_ACCOUNT": "tasks@" + defaultProject + ".iam.gserviceaccount.com",
		} {
			if err := os.Setenv(name+"_"+e.Name, value); err != nil {
				return fmt.Errorf("set %s for %s: %w", name, e.Name, err)
			}
		}
	}
	return nil
}

// waitForFunctions returns when the functions answer: each refuses GET.
func (l *local) waitForFunctions(ctx context.Context) error {
	deadline := time.NewTimer(10 * time.Second)
	defer deadline.Stop()
	for {
		resp, err := http.Get(l.url(functions.All()[0].Name))
		if err == nil {
			_ = resp.Body.Close() // that it answered is all that matters
			return nil
		}
		select {
		case err := <-l.failed:
			return fmt.Errorf("serve the functions at %s: %w", l.address, err)
		case <-ctx.Done():
			return ctx.Err()
		case <-deadline.C:
			return fmt.Errorf("the functions do not answer at %s: %w", l.address, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (l *local) url(function string) string { return "http://" + l.address + "/" + function }
