// Command emulator runs the whole bundle on this machine: Firestore, Storage, Authentication and Cloud Tasks, and all
// functions at http://127.0.0.1:8081/<entryPoint>. A page at http://127.0.0.1:8081/ shows the functions.
//
//	go run ./emulator           serves until it is stopped
//	go run ./emulator --sample  the same, with the sample data loaded
//	go run ./emulator --demo    loads the sample data, runs every job as Cloud Scheduler would, and shows what it did
//
// On a terminal the functions log short lines. Elsewhere, and with --json, they log the JSON that Cloud Logging reads.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	_ "github.com/firesweep/firesweep" // registers all functions
	"github.com/firesweep/firesweep/emulator/backends"
	"github.com/firesweep/firesweep/emulator/page"
	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/scripts/screen"
	"github.com/firesweep/firesweep/shared/manifest"
)

// Names to use unless the environment sets others.
const (
	defaultProject  = "demo-firesweep"
	bucketSuffix    = ".firebasestorage.app" // follows the project's id in the name of its default bucket
	defaultLocation = "asia-northeast1"
	host            = "127.0.0.1"
)

// Environment variables of the functions.
const (
	projectVariable = "GOOGLE_CLOUD_PROJECT"
	bucketVariable  = "STORAGE_BUCKET"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	interrupted := ctx.Err() != nil
	stop()
	switch {
	case err == nil:
	case interrupted: // any error is a consequence of that
		fmt.Fprintln(os.Stderr, "emulator: interrupted; everything is stopped")
		os.Exit(128 + int(syscall.SIGINT))
	default:
		fmt.Fprintln(os.Stderr, "emulator: "+err.Error())
		os.Exit(1)
	}
}

// portFlags are the flags that choose ports, by the service that listens there.
var portFlags = map[string]string{
	"Firestore": "firestore-port", "Authentication": "auth-port", "Storage": "storage-port", "Cloud Tasks": "tasks-port",
	functionsService: "functions-port",
}

const functionsService = "the functions"

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("emulator", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // main prints the error, once
	demo := flags.Bool("demo", false, "load the sample data, run every job once, show what it did and exit")
	sample := flags.Bool("sample", false, "load the sample data before serving")
	asJSON := flags.Bool("json", false, "log JSON on a terminal, too")
	o := backends.Options{Log: out}
	flags.IntVar(&o.FirestorePort, portFlags["Firestore"], 8080, "port of Firestore")
	flags.IntVar(&o.AuthPort, portFlags["Authentication"], 9099, "port of Authentication")
	flags.IntVar(&o.StoragePort, portFlags["Storage"], 9199, "port of Storage")
	flags.IntVar(&o.TasksPort, portFlags["Cloud Tasks"], 9499, "port of Cloud Tasks")
	functionsPort := flags.Int(portFlags[functionsService], 8081, "port of the functions")
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
	if !*demo {
		return serve(ctx, out, o, *functionsPort, *sample, functionsLog(*asJSON))
	}
	var others []string
	flags.Visit(func(f *flag.Flag) {
		if f.Name != "demo" {
			others = append(others, "--"+f.Name)
		}
	})
	if len(others) > 0 {
		return fmt.Errorf("--demo takes free ports and data of its own: leave out %s; see --help", strings.Join(others, ", "))
	}
	p := screen.Printer{W: out, Width: screen.DefaultWidth}
	if f, ok := out.(*os.File); ok {
		p = screen.On(f, os.Getenv)
	}
	return runDemo(ctx, &p)
}

// local is all that runs: the backends, and the functions on them.
type local struct {
	backends *backends.Backends
	server   *http.Server
	address  string       // of the functions, host:port
	failed   <-chan error // the functions' server ended
}

// start starts the backends, sets the environment variables that lead to them, and serves the functions and the page. ahead is
// how far ahead of the clock the page plans. A functions port of 0 is any free one. getenv is the functions' environment, and
// log is what they log to.
func start(
	ctx context.Context, o backends.Options, functionsPort int, getenv func(string) string, log io.Writer, ahead time.Duration,
) (*local, error) {
	var taken backends.PortsInUseError
	listener, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(functionsPort)))
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		taken = backends.PortsInUseError{{Service: functionsService, Port: functionsPort}}
	case err != nil:
		return nil, fmt.Errorf("the functions cannot be served: %w", err)
	}
	b, err := backends.Start(ctx, o)
	var others backends.PortsInUseError
	if errors.As(err, &others) {
		err = nil
	}
	l := &local{backends: b}
	switch taken = append(others, taken...); {
	case err != nil:
	case len(taken) > 0:
		err = fmt.Errorf("%w with %s", taken, flagsOf(taken))
	default:
		err = setEnvironment(b.Environment(), listener.Addr().String())
	}
	if err != nil {
		if listener != nil {
			err = errors.Join(err, listener.Close())
		}
		if b != nil {
			err = errors.Join(err, b.Close())
		}
		return nil, err
	}
	l.address = listener.Addr().String()
	shown := page.Handler(page.Options{Getenv: getenv, Backends: b, Ahead: ahead}, handler(getenv, log))
	l.server = &http.Server{Handler: shown, ReadHeaderTimeout: time.Minute}
	failed := make(chan error, 1)
	l.failed = failed
	go func() { failed <- l.server.Serve(listener) }()
	return l, nil
}

// flagsOf returns the flags that choose other ports for those that are taken.
func flagsOf(taken backends.PortsInUseError) string {
	var names []string
	for _, p := range taken {
		names = append(names, "--"+portFlags[p.Service])
	}
	return strings.Join(names, ", ")
}

// close stops the functions, and then the backends.
func (l *local) close() error {
	return errors.Join(l.server.Close(), l.backends.Close())
}

// handler serves each function at its name, as the Functions Framework does. At other paths it answers with the list of
// functions.
func handler(getenv func(string) string, log io.Writer) http.Handler {
	mux := http.NewServeMux()
	var names []string
	for _, e := range functions.All() {
		f := functions.New(functions.Registered()[e.Name])
		f.Getenv, f.Log = getenv, log
		mux.Handle("/"+e.Name, f)
		names = append(names, e.Name)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		// An error here means that the caller is gone.
		_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]string{
			"code": "not_found",
			"message": fmt.Sprintf("there is no function %q; the functions are %s",
				strings.Trim(r.URL.Path, "/"), strings.Join(names, ", ")),
		}})
	})
	return mux
}

// setEnvironment sets the variables that lead to the backends, and the others that functions need. Each job's say which worker
// its tasks are for, and that it continues by itself, as Terraform sets them. address is where the functions are served.
func setEnvironment(variables map[string]string, address string) error {
	project := cmp.Or(os.Getenv(projectVariable), defaultProject)
	variables[projectVariable], variables[bucketVariable] = project, cmp.Or(os.Getenv(bucketVariable), project+bucketSuffix)
	for _, e := range functions.All() {
		set := func(name, value string) { variables[name+"_"+e.Name] = value }
		set("TASKS_LOCATION", defaultLocation)
		set("TASKS_SERVICE_ACCOUNT", "tasks@"+defaultProject+".iam.gserviceaccount.com")
		if e.Worker != "" {
			set("TASKS_QUEUE", e.Worker)
			set("TASKS_TARGET_URL", "http://"+address+"/"+e.Worker)
		}
		if e.Trigger == manifest.Schedule && e.StopAfterSeconds == 0 && os.Getenv("CONTINUE_FOR") == "" {
			set("CONTINUE_FOR", "6h")
			set("CONTINUE_QUEUE", "firesweep-continue")
			if e.Shards > 1 && os.Getenv("SHARDS") == "" {
				set("SHARDS", strconv.Itoa(e.Shards))
			}
		}
	}
	for name, value := range variables {
		if err := os.Setenv(name, value); err != nil {
			return fmt.Errorf("set %s: %w", name, err)
		}
	}
	return nil
}

func (l *local) url(function string) string { return "http://" + l.address + "/" + function }
