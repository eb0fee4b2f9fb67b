// Package config reads a function's environment. Everything is validated at once and all problems are reported together, so
// that a wrong deployment is fixed in one go and never half works.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
)

// Backend is something of the project that a function works on, by the names functions/manifest.json uses.
type Backend string

// The backends.
const (
	Firestore Backend = "firestore"
	Storage   Backend = "storage"
	Auth      Backend = "auth"
	Tasks     Backend = "tasks"
)

// Defaults of the safety limits.
const (
	DefaultMaxActions    = 100_000
	DefaultMaxDuePercent = 50
)

// EnoughForShare is how many items a pass must have looked at or counted before MAX_DUE_PERCENT holds.
const EnoughForShare = 20

// Days for which what a run deletes can be brought back. Cloud Storage keeps deleted objects for 7 to 90 days.
const (
	DefaultUndoDays = 7
	MaxUndoDays     = 90
)

// MemoryLimit returns the process's memory limit in bytes, as GOMEMLIMIT sets it; without one, more than there is.
func MemoryLimit() int64 { return debug.SetMemoryLimit(-1) } // a negative limit changes nothing

// Config is a function's validated configuration.
type Config struct {
	Project  string // GOOGLE_CLOUD_PROJECT
	Bucket   string // STORAGE_BUCKET; empty if the function does not use Storage
	Database string // FIRESTORE_DATABASE, "(default)" unless set
	DryRun   bool   // DRY_RUN: no request makes a run a real one; false: a request may still ask for a preview
	Locale   string // NOTIFICATION_LOCALE: "ja" (default) or "en"

	MaxActions    int // MAX_ACTIONS: planned actions a pass may have
	MaxDuePercent int // MAX_DUE_PERCENT: of the items that a pass looked at or counted

	UndoDays int // UNDO_DAYS: how long what a run deletes or changes is kept for undoing; 0: not at all

	own any // the settings of this function alone, which [Own] reads; nil if it has none

	TasksLocation       string // TASKS_LOCATION, e.g. "asia-northeast1"
	TasksQueue          string // TASKS_QUEUE: the queue's id
	TasksServiceAccount string // TASKS_SERVICE_ACCOUNT: whose OIDC token the tasks carry
	TasksTargetURL      string // TASKS_TARGET_URL: the worker's URL

	Emulators Emulators
}

// Emulators are the host:port of the local backends; empty means Google's.
type Emulators struct{ Firestore, Storage, Auth, Tasks string }

// EmulatorVariables name the emulator of a backend. The first that is set counts.
var EmulatorVariables = map[Backend][]string{
	Firestore: {"FIRESTORE_EMULATOR_HOST"},
	Storage:   {"STORAGE_EMULATOR_HOST", "FIREBASE_STORAGE_EMULATOR_HOST"},
	Auth:      {"FIREBASE_AUTH_EMULATOR_HOST"},
	Tasks:     {"CLOUD_TASKS_EMULATOR_HOST"},
}

// Emulator returns which variable names the emulator of a backend, and its host:port, which may have http:// before it there;
// empty if none does.
func Emulator(b Backend, getenv func(string) string) (variable, host string) {
	for _, variable := range EmulatorVariables[b] {
		if v := getenv(variable); v != "" {
			return variable, strings.TrimSuffix(strings.TrimPrefix(v, "http://"), "/")
		}
	}
	return "", ""
}

// Any reports whether the function works on emulators. [Load] makes sure that then all of its backends are emulators.
func (e Emulators) Any() bool { return e != Emulators{} }

// An Error lists every problem of an environment.
type Error struct{ Problems []string }

// Error returns all problems in one line.
func (e *Error) Error() string {
	return "wrong configuration: " + strings.Join(e.Problems, "; ")
}

var (
	projectPattern  = regexp.MustCompile(`^[a-z0-9.:-]+$`)
	bucketPattern   = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]$`)
	databasePattern = regexp.MustCompile(`^(\(default\)|[a-z][a-z0-9-]{2,61}[a-z0-9])$`)
	namePattern     = regexp.MustCompile(`^[A-Za-z0-9-]+$`)
)

// For returns the environment of one function: a variable with the function's name after it, such as
// FIRESTORE_DATABASE_cleanExpiredComped, goes before the one without. So one process can serve functions that are told
// different things, as the local emulator does; a deployed function has an environment of its own.
func For(function string, getenv func(string) string) func(string) string {
	return func(name string) string {
		if v := getenv(name + "_" + function); v != "" {
			return v
		}
		return getenv(name)
	}
}

// Previewing returns the environment of a function for whoever runs nothing of it: only deployed functions must be told DRY_RUN.
func Previewing(getenv func(string) string) func(string) string {
	return func(name string) string {
		if name == "DRY_RUN" {
			return "true"
		}
		return getenv(name)
	}
}

// Load reads the configuration of a function that uses the given backends. A variable that is set but empty counts as
// not set. own are the settings of this function alone; nil if it has none. The error, if any, is an [*Error] with every problem
// found.
func Load(getenv func(string) string, own Settings, uses ...Backend) (Config, error) {
	l := Loader{getenv: getenv}
	used := map[Backend]bool{}
	for _, b := range uses {
		used[b] = true
	}
	c := Config{
		Project: l.text("GOOGLE_CLOUD_PROJECT", "", projectPattern.MatchString, "the Firebase project's id", true),
		Bucket: l.text("STORAGE_BUCKET", "", bucketPattern.MatchString,
			"the bucket's name without gs://, e.g. my-project.firebasestorage.app", used[Storage]),
		Database: l.text("FIRESTORE_DATABASE", "(default)", databasePattern.MatchString, "a Firestore database id or (default)", true),
		Locale:   l.text("NOTIFICATION_LOCALE", "ja", regexp.MustCompile(`^(ja|en)$`).MatchString, "ja or en", true),

		MaxActions:    l.Integer("MAX_ACTIONS", DefaultMaxActions, 1, 1_000_000),
		MaxDuePercent: l.Integer("MAX_DUE_PERCENT", DefaultMaxDuePercent, 1, 100),

		UndoDays: l.Integer("UNDO_DAYS", DefaultUndoDays, 0, MaxUndoDays),

		TasksLocation: l.text("TASKS_LOCATION", "", namePattern.MatchString,
			"a region, e.g. asia-northeast1", used[Tasks]),
		TasksQueue: l.text("TASKS_QUEUE", "", namePattern.MatchString, "a Cloud Tasks queue's id", used[Tasks]),
		TasksServiceAccount: l.text("TASKS_SERVICE_ACCOUNT", "", regexp.MustCompile(`^[^@\s]+@[^@\s]+$`).MatchString,
			"a service account's e-mail address", used[Tasks]),
		TasksTargetURL: l.text("TASKS_TARGET_URL", "", isHTTP, "the worker's URL, http or https", used[Tasks]),
	}
	c.Emulators = Emulators{Firestore: l.host(Firestore), Storage: l.host(Storage), Auth: l.host(Auth), Tasks: l.host(Tasks)}
	c.DryRun = l.dryRun(c.Emulators.Any())
	l.mixedBackends(c.Emulators, used)
	if own != nil {
		c.own = own.load(&l)
	}
	if len(l.problems) > 0 {
		return Config{}, &Error{Problems: l.problems}
	}
	return c, nil
}

// Settings are an [Own] of any type.
type Settings interface{ load(l *Loader) any }

// Own reads the settings that one function alone has.
type Own[T any] func(l *Loader) T

func (o Own[T]) load(l *Loader) any { return o(l) }

// In returns what [Load] has read into a configuration; the zero value if that was loaded without these settings.
func (o Own[T]) In(c Config) T {
	own, _ := c.own.(T)
	return own
}

// WithoutOwn returns the configuration without the settings of one function alone. It can be compared with ==.
func (c Config) WithoutOwn() Config {
	c.own = nil
	return c
}

// Loader reads single variables, and collects what is wrong with them.
type Loader struct {
	getenv   func(string) string
	problems []string
}

func (l *Loader) problem(format string, args ...any) {
	l.problems = append(l.problems, fmt.Sprintf(format, args...))
}

// errForm says that a text is nothing of what it must be.
var errForm = errors.New("it has another form")

// text reads a text that is accepted; an empty one is, unless it is required.
func (l *Loader) text(name, otherwise string, accepted func(string) bool, what string, required bool) string {
	return Parsed(l, name, otherwise, what, func(text string) (string, error) {
		if text == "" && !required || text != "" && accepted(text) {
			return text, nil
		}
		return text, errForm
	})
}

// dryRun reads DRY_RUN, which has no default but on emulators: a deployment that forgot it must not delete.
func (l *Loader) dryRun(emulated bool) bool {
	v := l.getenv("DRY_RUN")
	if v == "" {
		if !emulated {
			l.problem("DRY_RUN is not set: it must be true (runs only plan) or false (Terraform: dry_run)")
		}
		return !emulated
	}
	return Parsed(l, "DRY_RUN", "", "true or false", func(text string) (bool, error) {
		b, err := strconv.ParseBool(text)
		if err != nil {
			return b, errForm
		}
		return b, nil
	})
}

// Parsed reads a variable with parse, whose error says what is wrong; what says what the value must be. It returns what parse
// does of one that is wrong, too.
func Parsed[T any](l *Loader, name, otherwise, what string, parse func(string) (T, error)) T {
	text := cmp.Or(l.getenv(name), otherwise)
	parsed, err := parse(text)
	switch {
	case err != nil && text == "":
		l.problem("%s is not set: it must be %s", name, what)
	case errors.Is(err, errForm):
		l.problem("%s is %q: it must be %s", name, text, what)
	case err != nil:
		l.problem("%s is %q: it must be %s: %s", name, text, what, err)
	}
	return parsed
}

// Integer reads a whole number between two limits.
func (l *Loader) Integer(name string, otherwise, least, most int) int {
	what := fmt.Sprintf("a whole number from %d to %d", least, most)
	return Parsed(l, name, strconv.Itoa(otherwise), what, func(text string) (int, error) {
		n, err := strconv.Atoi(text)
		if err != nil || n < least || n > most {
			return n, errForm
		}
		return n, nil
	})
}

func isHTTP(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}

// host reads where the emulator of a backend is.
func (l *Loader) host(b Backend) string {
	variable, host := Emulator(b, l.getenv)
	if _, port, err := net.SplitHostPort(host); variable != "" && (err != nil || port == "") {
		l.problem("%s is %q: it must be host:port", variable, l.getenv(variable))
	}
	return host
}

// mixedBackends refuses a function some of whose backends are emulators and some Google's: it would judge real objects
// by an emulator's empty database, and delete them all.
func (l *Loader) mixedBackends(e Emulators, used map[Backend]bool) {
	if !e.Any() {
		return
	}
	for _, b := range []struct {
		backend Backend
		host    string
	}{{Firestore, e.Firestore}, {Storage, e.Storage}, {Auth, e.Auth}, {Tasks, e.Tasks}} {
		if names := EmulatorVariables[b.backend]; used[b.backend] && b.host == "" {
			l.problem("%s is not set while other emulators are: set all of them or none, so that real data is never judged by "+
				"an emulator's", names[len(names)-1])
		}
	}
}
