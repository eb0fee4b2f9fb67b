// Command emulator runs the whole bundle on this machine: Firestore, Storage, Authentication and Cloud Tasks, and all
// functions at http://127.0.0.1:8081/<entryPoint>. A page at http://127.0.0.1:8081/ shows the functions.
//
//	go run ./emulator               serves until it is stopped
//	go run ./emulator --sample      the same, with the sample data loaded
//	go run ./emulator --rules FILE  serves the rules of a file, such as an application's firesweep.json
//	go run ./emulator --ahead 48h   the page plans and runs as of two days later, when files are old enough
//	go run ./emulator --demo        loads the sample data, runs every job as Cloud Scheduler would, and shows what it did
//
// On a terminal the functions log short lines. Elsewhere, and with --json, they log the JSON that Cloud Logging reads.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	_ "github.com/firesweep/firesweep" // registers all functions
	"github.com/firesweep/firesweep/emulator/backends"
	"github.com/firesweep/firesweep/emulator/page"
	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/manifest"
	"github.com/firesweep/firesweep/shared/version"
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
	rules := flags.String("rules", "", "serve the rules of `FILE` and the jobs that it enables, such as firesweep.json")
	asJSON := flags.Bool("json", false, "log JSON on a terminal, too")
	o := options{getenv: os.Getenv}
	flags.DurationVar(&o.ahead, "ahead", 0, "the page plans and runs as of `TIME` later, such as 48h, when files are old enough")
	o.Log = out
	flags.IntVar(&o.FirestorePort, portFlags["Firestore"], 8080, "port of Firestore")
	flags.IntVar(&o.AuthPort, portFlags["Authentication"], 9099, "port of Authentication")
	flags.IntVar(&o.StoragePort, portFlags["Storage"], 9199, "port of Storage")
	flags.IntVar(&o.TasksPort, portFlags["Cloud Tasks"], 9499, "port of Cloud Tasks")
	flags.IntVar(&o.functionsPort, portFlags[functionsService], 8081, "port of the functions")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		flags.SetOutput(out)
		flags.Usage()
		return nil
	case err != nil:
		return fmt.Errorf("%w; see --help", err)
	case flags.NArg() > 0:
		return fmt.Errorf("unexpected argument %q; see --help", flags.Arg(0))
	case *demo && flags.NFlag() > 1:
		return errors.New("--demo takes free ports and data of its own: leave out all other flags; see --help")
	}
	var err error
	if o.list, err = listOf(*rules); err != nil {
		return err
	}
	if *demo {
		return runDemo(ctx, out, o)
	}
	o.log = functionsLog(*asJSON)
	return serve(ctx, out, o, *sample)
}

// rulesPage says what a rule can say.
var rulesPage = version.Page("docs/rules.md")

// listOf returns the functions to serve: those of a file of rules, with the jobs that it enables and their workers; without a
// file, all that the program has.
func listOf(file string) (functions.List, error) {
	if file == "" {
		return functions.With(functions.Rules())
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return functions.List{}, fmt.Errorf("--rules: %w", err)
	}
	l, err := functions.With(manifest.File{Name: file, Text: text})
	if err != nil {
		return l, fmt.Errorf("nothing is started, because --rules is wrong:\n%w\nsee %s", err, rulesPage)
	}
	l.All = slices.DeleteFunc(l.All, func(e manifest.Entry) bool { return !e.Used })
	if len(l.All) == 0 {
		return l, fmt.Errorf("--rules: %s has no rule and enables no job; see %s", file, rulesPage)
	}
	return l, nil
}

// options say what to run.
type options struct {
	backends.Options
	functionsPort int                 // 0 is any free one
	list          functions.List      // the functions that are served
	getenv        func(string) string // their environment
	log           io.Writer           // what they log to
	ahead         time.Duration       // how far ahead of the clock the page plans
}

// local is all that runs: the backends, and the functions on them.
type local struct {
	backends *backends.Backends
	server   *http.Server
	address  string       // of the functions, host:port
	failed   <-chan error // the functions' server ended
}

// start starts the backends, sets the environment variables that lead to them, and serves the functions and the page.
func start(ctx context.Context, o options) (*local, error) {
	var taken backends.PortsInUseError
	listener, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(o.functionsPort)))
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		taken = backends.PortsInUseError{{Service: functionsService, Port: o.functionsPort}}
	case err != nil:
		return nil, fmt.Errorf("the functions cannot be served: %w", err)
	}
	b, err := backends.Start(ctx, o.Options)
	var others backends.PortsInUseError
	if errors.As(err, &others) {
		err = nil
	}
	var functions http.Handler
	switch taken = append(others, taken...); {
	case err != nil:
	case len(taken) > 0:
		err = fmt.Errorf("%w with %s", taken, flagsOf(taken))
	default:
		if err = setEnvironment(o.list, b.Environment(), listener.Addr().String()); err == nil {
			functions, err = handler(o)
		}
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
	shown := page.Handler(page.Options{
		Getenv: o.getenv, List: o.list, SoftDelete: b.Storage() != nil, Ahead: o.ahead,
	}, functions)
	failed := make(chan error, 1)
	l := &local{backends: b, address: listener.Addr().String(), failed: failed}
	l.server = &http.Server{Handler: shown, ReadHeaderTimeout: time.Minute}
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
func handler(o options) (http.Handler, error) {
	mux := http.NewServeMux()
	var names []string
	for _, e := range o.list.All {
		f, err := o.list.New(e, o.getenv)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.Name, err)
		}
		f.Log = o.log
		mux.Handle("/"+e.Name, f)
		names = append(names, e.Name)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, fmt.Sprintf("there is no function %q; the functions are %s", strings.Trim(r.URL.Path, "/"),
			strings.Join(names, ", ")), http.StatusNotFound)
	})
	return mux, nil
}

// setEnvironment sets the variables that lead to the backends, and the others that functions need. Each job's say which worker
// its tasks are for, as Terraform sets them. address is where the functions are served.
func setEnvironment(list functions.List, variables map[string]string, address string) error {
	project := cmp.Or(os.Getenv(projectVariable), defaultProject)
	variables[projectVariable], variables[bucketVariable] = project, cmp.Or(os.Getenv(bucketVariable), project+bucketSuffix)
	for _, e := range list.All {
		set := func(name, value string) { variables[name+"_"+e.Name] = value }
		set("TASKS_LOCATION", defaultLocation)
		set("TASKS_SERVICE_ACCOUNT", "tasks@"+project+".iam.gserviceaccount.com")
		if e.Worker != "" {
			set("TASKS_QUEUE", e.Worker)
			set("TASKS_TARGET_URL", "http://"+address+"/"+e.Worker)
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
