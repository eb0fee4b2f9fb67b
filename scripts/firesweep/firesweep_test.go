package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"google.golang.org/api/option"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/emulator/sampledata"
	"github.com/firesweep/firesweep/emulator/sampledata/sampletest"
	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/backends"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/manifest"
	"github.com/firesweep/firesweep/shared/version"
)

var now = time.Date(2026, 1, 10, 15, 0, 0, 0, time.UTC)

// repository is Firesweep's own.
var repository = func() string {
	dir, err := filepath.Abs("../..")
	if err != nil {
		panic(err)
	}
	return dir
}()

// operator is somebody at a terminal, whose project is on the local backends.
type operator struct {
	*backendstest.Project
	env    map[string]string
	dir    string            // where the command is typed
	other  map[string]string // the environment of the functions, where it is another
	now    time.Time
	screen streams
	in     string
	google func(ctx context.Context, service, project string) []option.ClientOption
	sleep  func(context.Context, time.Duration) error
	log    bytes.Buffer // of the functions

	running engine.Hooks // of what plans and runs here

	noCredentials error             // why there are none for Google's services
	exported      map[string]string // into the process's environment, instead of it
}

// newOperator returns an operator with a project of their own, and with more in the environment, such as UNDO_DAYS=7.
func newOperator(t *testing.T, more ...string) *operator {
	t.Helper()
	p := backendstest.Start(t)
	o := &operator{
		exported: map[string]string{}, Project: p, env: maps.Clone(p.Environment), dir: repository, now: now, screen: streams{width: defaultWidth},
		running: engine.Hooks{AnyClock: true},
		google: func(_ context.Context, service, _ string) []option.ClientOption {
			t.Errorf("%s of Google was opened", service)
			return []option.ClientOption{option.WithEndpoint("http://127.0.0.1:9/"), option.WithoutAuthentication()}
		},
		sleep: func(ctx context.Context, _ time.Duration) error { <-ctx.Done(); return ctx.Err() },
	}
	for _, one := range more {
		name, value, _ := strings.Cut(one, "=")
		o.env[name] = value
	}
	return o
}

// withReports returns an operator with the data of [operator.reports], withSample one with the sample, which is old enough to go.
func withReports(t *testing.T, more ...string) *operator {
	t.Helper()
	o := newOperator(t, more...)
	o.reports(t)
	return o
}

func withSample(t *testing.T) *operator {
	t.Helper()
	o := newOperator(t, "UNDO_DAYS=7")
	o.now = time.Now().Add(48 * time.Hour).UTC().Truncate(time.Second) // the files are uploaded now
	o.sample(t)
	return o
}

// run runs the command and returns what it wrote and its exit code.
func (o *operator) run(t *testing.T, args ...string) (out, errs string, code int) {
	t.Helper()
	a, stdout, stderr := o.app()
	code = a.run(t.Context(), args)
	return stdout.String(), stderr.String(), code
}

// app returns the command as the operator starts it, and what it will have written.
func (o *operator) app() (a *app, out, errs *bytes.Buffer) {
	out, errs = new(bytes.Buffer), new(bytes.Buffer)
	a = &app{
		readers: map[string]*backends.Opened{}, dir: o.dir, running: o.running, in: strings.NewReader(o.in), out: out, errs: errs, getenv: func(name string) string { return o.env[name] },
		clock: func() time.Time { return o.now }, sleep: o.sleep, screen: o.screen, google: o.google,
		credentials: func(context.Context) error { return o.noCredentials },
		hooks:       backends.Hooks{Dial: enginetest.AtTime(func() time.Time { return o.now })},
	}
	if o.other == nil {
		a.export = func(variable, value string) error { o.exported[variable] = value; return nil }
	}
	return a, out, errs
}

// loaded is app with the rules that it is about.
func (o *operator) loaded(t *testing.T) (a *app, out *bytes.Buffer) {
	t.Helper()
	a, out, _ = o.app()
	ok(t, a.load(false))
	return a, out
}

// ends runs a command that must end with an exit code and returns what it wrote.
func (o *operator) ends(t *testing.T, code int, args ...string) (out, errs string) {
	t.Helper()
	out, errs, got := o.run(t, args...)
	if got != code {
		t.Fatalf("%v: exit code %d, want %d: %s\n%s", args, got, code, errs, out)
	}
	return out, errs
}

// well runs a command that must end well and returns its output.
func (o *operator) well(t *testing.T, args ...string) string {
	t.Helper()
	out, errs := o.ends(t, exitFine, args...)
	want(t, fmt.Sprint(args, ", standard error"), "", errs)
	return out
}

// refuses runs a command that must end with an exit code, without output, and say why.
func (o *operator) refuses(t *testing.T, code int, why string, args ...string) (errs string) {
	t.Helper()
	out, errs := o.ends(t, code, args...)
	want(t, fmt.Sprint(args, ", output"), "", out)
	wantParts(t, errs, why)
	return errs
}

// function returns a job on the operator's project.
func (o *operator) function(job string) *engine.Function {
	f := functions.New(functions.Registered()[job])
	f.Log = &o.log
	f.Getenv = func(name string) string {
		if o.other != nil {
			return o.other[name]
		}
		return o.env[name]
	}
	f.Clock, f.Hooks.AnyClock = func() time.Time { return o.now }, true
	return f
}

// called runs a job for real and returns its report.
func (o *operator) called(t *testing.T, job, body string) *report.Report {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body))
	w := httptest.NewRecorder()
	o.function(job).ServeHTTP(w, r)
	var rep report.Report
	if err := json.Unmarshal(w.Body.Bytes(), &rep); err != nil || rep.RunID == "" {
		t.Fatalf("%s answered %d %s", job, w.Code, w.Body)
	}
	return &rep
}

// sample loads the sample data of all jobs.
func (o *operator) sample(t *testing.T) {
	t.Helper()
	ok(t, sampletest.Open(t, o.Project).Load(t.Context(), sampledata.Of(o.now, o.Bucket)))
}

// everything returns all that the project holds, the bundle's own records and the tasks included.
func (o *operator) everything(t *testing.T) map[string]any {
	t.Helper()
	state, err := sampletest.Open(t, o.Project).Read(t.Context())
	ok(t, err)
	all := map[string]any{"objects": state.Objects, "accounts": state.Accounts, "documents": state.Documents}
	for _, collection := range []string{"cleanupJobs", "cleanupRuns"} {
		all[collection] = o.Documents(t, collection)
	}
	if tasks := o.Tasks(); tasks != nil {
		all["tasks"] = len(tasks.Pending(""))
	}
	return all
}

// reports puts two reports into the project that are due and one that is not.
func (o *operator) reports(t *testing.T) {
	t.Helper()
	o.Set(t, "reports/old", map[string]any{"status": "reviewed", "createdAt": now.AddDate(0, -2, 0)})
	o.Set(t, "reports/older", map[string]any{"status": "dismissed", "createdAt": now.AddDate(-1, 0, 0)})
	o.Set(t, "reports/young", map[string]any{"status": "reviewed", "createdAt": now})
}

// write writes a file, and returns its name.
func write(t testing.TB, file, text string) string {
	t.Helper()
	ok(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// oneLine is a text that was wrapped.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func wantNone(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if strings.Contains(text, part) {
			t.Errorf("%q in\n%s", part, text)
		}
	}
}

var (
	ok        = check.OK
	want      = check.Same
	read      = check.File
	wantParts = check.Holds
)

// wantNarrow looks for lines that a screen would break.
func wantNarrow(t *testing.T, text string, width int) {
	t.Helper()
	for line := range strings.Lines(text) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
			t.Errorf("%d columns, of %d: %s", n, width, line)
		}
	}
}

func TestWrongUse(t *testing.T) {
	t.Parallel()
	o := withReports(t)
	before := o.everything(t)
	for _, tt := range []struct {
		args string
		want string
	}{
		{"plann", `unknown command "plann": is it plan?`},
		{"backtest", `unknown command "backtest"; see --help`},
		{"paln", `unknown command "paln": is it plan?`},
		{"help undoo", `unknown command "undoo": is it undo?`},
		{"help nonsense", `unknown command "nonsense"; see --help`},
		{"help plan run", "accepts at most 1 arg"},
		{"--forced", "unknown flag: --forced; see --help"},
		{"plan --forced", "unknown flag: --forced: is it --force?"},
		{"plan --projct p", "unknown flag: --projct: is it --project?"},
		{"undo --alll", "unknown flag: --alll: is it --all?"},
		{"run --here", "unknown flag: --here"},
		{"run --force --yes cleanupReports cleanExpiredComped", "force one job at a time"},
		{"runs --all", "--all needs --of"},
		{"runs --of x cleanupReports", "leave out cleanupReports"},
		{"undo", "name one run, as firesweep runs lists them, or a job for its last run"},
		{"undo nonsense", `"nonsense" is no run: name one by its id or the last part of that, as firesweep runs lists them, or a job`},
		{"plan cleanupReport", `no job is called "cleanupReport"; the jobs are cleanupOrphanedMedia, `},
		{"plan deletePlaceholderUser", "no job is called"},
		{"plan cleanupReports cleanupReports", "cleanupReports is named twice"},
		{"plan cleanupReports cleanupreports", "cleanupreports is named twice"}, // as an alert names it
		{"plan cleanupREPORTS", "no job is called"},
		{"runs cleanupReport", "no job is called"},
		{"runs --limit 0", "--limit is 0"},
		{"runs --limit many", `invalid argument "many" for "--limit" flag`},
		{"doctor cleanupReport", "no job is called"},
		{"check cleanupReport", "no job is called"},
		{"check deletePlaceholderUser", "no job is called"},
		{"check --rules /none/rules.json", "--rules: open /none/rules.json: no such file"},
		{"undo noSuchJob-20260101T000000Z-0123abcd", "noSuchJob ran it, and no rule has that name any more: give the file of then: firesweep undo noSuchJob-20260101T000000Z-0123abcd --rules OLD.json"},
		{"undo --where userId cleanupReports-20260101T000000Z-0123abcd", "like userId=abc"},
		{"hold --because x", "name the jobs, or give --all, or --keep PATH"},
		{"hold --stop", "name the jobs, or give --all, or --keep PATH"},
		{"hold --all cleanupReports --because x", "name the jobs, or give --all, or --keep PATH"},
		{"hold cleanupReports", "say why, for those who come after you: --because TEXT"},
		{"hold cleanupReports --because " + strings.Repeat("x", 501), "--because has 501 bytes, and may have 500"},
		{"hold noSuchJob --because x", "no job is called \"noSuchJob\"; the jobs are"},
		{"hold --keep reports/a", "say why"},
		{"hold --keep reports --because x", "--keep: \"reports\" is no document's path"},
		{"hold --keep gs://bucket --because x", "is no object and no folder"},
		{"hold --keep faces/ben.jpg --because x", "--keep: there is no document faces/ben.jpg and none below it: is it misspelt? If it is a file or a folder, write gs://"},
		{"hold --keep scans/ben/x/ --because x", "--keep: there is no document scans/ben/x/ and none below it"},
		{"hold --keep reports/old/ --because x", "--keep: there is no document reports/old/ and none below it"},
		{"hold --keep gs://other/a.png --because x", "--keep: no job uses the bucket other: they use demo-"},
		{"delete --project p", `unknown command "delete"`},
		{"hold --keep reports/a --because x --stop", "--keep is for every job"},
		{"hold --keep reports/a --because x cleanupReports", "--keep is for every job"},
		{"resume", "name the jobs, or give --all, or --keep PATH"},
		{"resume --all cleanupReports", "name the jobs, or give --all"},
		{"resume noSuchJob", "no job is called"},
		{"show", "name one run"},
		{"show a b", `"a" is no run: name one`},
		{"show x", `"x" is no run: name one by its id`},
	} {
		errs := o.refuses(t, exitWrongUse, tt.want, strings.Fields(tt.args)...)
		want(t, tt.args+", lines", 1, strings.Count(errs, "\n"))
	}
	want(t, "the project", before, o.everything(t))
}

func TestVersion(t *testing.T) {
	t.Parallel()
	o := &operator{env: map[string]string{}, now: now, screen: streams{width: defaultWidth}}
	for _, word := range []string{"--version", "version"} {
		want(t, word, "firesweep version "+version.String()+"\n", o.well(t, word))
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	text := o.well(t)
	for _, group := range []string{"\nBegin:\n  check ", "\nDelete:\n", "\nLook back:\n", "\n  completion ", "\n  version "} {
		wantParts(t, text, group)
	}
	a, _, _ := o.app()
	for _, command := range a.root().Commands() {
		if command.GroupID == "" {
			continue
		}
		text := o.well(t, "help", command.Name())
		want(t, command.Name(), text, o.well(t, command.Name(), "--help"))
		wantParts(t, text, command.Long, "Examples:", "firesweep "+command.Name())
		wantNarrow(t, text, defaultWidth)
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	for _, tt := range []struct {
		name, value string
		args        []string
		want        string
	}{
		{"GOOGLE_CLOUD_PROJECT", "", []string{"plan"}, "no project: give --project, or set GOOGLE_CLOUD_PROJECT"},
		{"MAX_ACTIONS_cleanupReports", "none", []string{"plan"}, "cleanupReports: wrong configuration: MAX_ACTIONS"},
		{"STORAGE_EMULATOR_HOST", "", []string{"plan"}, "FIREBASE_STORAGE_EMULATOR_HOST is not set while other emulators are"},
	} {
		o.env = maps.Clone(o.Environment)
		if o.env[tt.name] = tt.value; tt.name == "STORAGE_EMULATOR_HOST" {
			o.env["FIREBASE_STORAGE_EMULATOR_HOST"] = ""
		}
		o.refuses(t, exitWrongUse, tt.want, tt.args...)
	}
	// What a plan does not need is not asked for, and --project goes before the variable.
	o.env = maps.Clone(o.Environment)
	maps.DeleteFunc(o.env, func(name, _ string) bool { return strings.HasPrefix(name, "TASKS_") || name == "GOOGLE_CLOUD_PROJECT" })
	wantParts(t, o.well(t, "plan", "--project", o.ID, "deleteInactiveProjects"), "deleteInactiveProjects: nothing is due")
}

// scheduled returns the jobs that the program was built with.
func scheduled() []manifest.Entry {
	a := application{List: functions.List{All: functions.All()}}
	return a.scheduled()
}

// jobNames are the names of all jobs, sorted.
func jobNames() []string {
	var names []string
	for _, e := range scheduled() {
		names = append(names, e.Name)
	}
	slices.Sort(names)
	return names
}

// parsed parses JSON that a command wrote.
func parsed[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		t.Fatal(fmt.Errorf("%w in %s", err, text))
	}
	return v
}
