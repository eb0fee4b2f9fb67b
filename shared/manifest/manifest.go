// Package manifest reads the lists of functions that are deployed, each with its schedule, limits, roles and indexes.
package manifest

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/rule"
)

// Triggers: what calls a function.
const (
	Schedule = "schedule" // Cloud Scheduler
	Tasks    = "tasks"    // Cloud Tasks
)

// Entry is one function of a list.
type Entry struct {
	Name           string                      `json:"name"`            // the HTTP entry point
	Package        string                      `json:"package"`         // its folder below functions/
	Description    string                      `json:"description"`     // one line for people
	Trigger        string                      `json:"trigger"`         // [Schedule] or [Tasks]
	TimeoutSeconds int                         `json:"timeoutSeconds"`  // the function's timeout
	Memory         string                      `json:"memory"`          // the function's memory, e.g. "256Mi"
	CPU            string                      `json:"cpu,omitempty"`   // the function's CPUs; if empty, what its memory brings
	Roles          map[config.Backend][]string `json:"roles,omitempty"` // its service account's roles, by backend

	// Collections are those that a job reads or writes, but for the bundle's own, with {id} for a document's id. They follow from a
	// rule; those of a worker are its job's.
	Collections []string `json:"collections,omitempty"`

	// Of its database, in the form of firestore.indexes.json:
	Indexes        []Index         `json:"indexes,omitempty"`        // those that its queries need besides the automatic ones
	FieldOverrides []FieldOverride `json:"fieldOverrides,omitempty"` // fields with other than the automatic indexes

	// Of a job:
	Schedule         string `json:"schedule,omitempty"`         // unix-cron; a~b in a field is one value from a to b, fixed per project
	TimeZone         string `json:"timeZone,omitempty"`         // one of time_zones.json
	RetryCount       int    `json:"retryCount"`                 // Cloud Scheduler's attempts after the first
	StopAfterSeconds int    `json:"stopAfterSeconds,omitempty"` // after so long it begins no more work; 0: as late as its timeout allows
	Worker           string `json:"worker,omitempty"`           // the function that its tasks call
	// Shards is into how many parts a run is split, which run at the same time (SHARDS); 1 for a job that can be split but is
	// not, left out for one that cannot be split.
	Shards int `json:"shards,omitempty"`

	// Of a worker:
	Queue *Queue `json:"queue,omitempty"`

	// Rule, if set, is all that the function does. It then has no package, and its roles, indexes and collections follow from the rule.
	Rule *rule.Rule `json:"rule,omitempty"`
}

// Queue is how Cloud Tasks calls a worker.
type Queue struct {
	MaxDispatchesPerSecond  float64 `json:"maxDispatchesPerSecond"`
	MaxConcurrentDispatches int     `json:"maxConcurrentDispatches"`
	MaxAttempts             int     `json:"maxAttempts"` // of one task
	MinBackoffSeconds       int     `json:"minBackoffSeconds"`
	MaxBackoffSeconds       int     `json:"maxBackoffSeconds"`
}

// Index is a composite index of Firestore.
type Index struct {
	CollectionGroup string       `json:"collectionGroup"`
	QueryScope      string       `json:"queryScope"`
	Fields          []IndexField `json:"fields"`
}

// IndexField is one field of an index: ordered, or an array.
type IndexField struct {
	FieldPath   string `json:"fieldPath"`
	Order       string `json:"order,omitempty"`
	ArrayConfig string `json:"arrayConfig,omitempty"`
}

// FieldOverride says which indexes a field has instead of the automatic ones. If Indexes is empty, it has none.
type FieldOverride struct {
	CollectionGroup string          `json:"collectionGroup"`
	FieldPath       string          `json:"fieldPath"`
	Indexes         []OverrideIndex `json:"indexes"`
}

// OverrideIndex is one index of a single field.
type OverrideIndex struct {
	QueryScope  string `json:"queryScope"`
	Order       string `json:"order,omitempty"`
	ArrayConfig string `json:"arrayConfig,omitempty"`
}

// Timeout returns the function's timeout: TIMEOUT_SECONDS if the deployment sets it, otherwise that of the list. The error
// says that TIMEOUT_SECONDS is not a possible timeout. A deployed process registers all functions and serves one, so the
// variable has the same limits for all.
func (e Entry) Timeout(getenv func(string) string) (time.Duration, error) {
	text := config.For(e.Name, getenv)("TIMEOUT_SECONDS")
	if text == "" {
		return time.Duration(e.TimeoutSeconds) * time.Second, nil
	}
	seconds, err := strconv.Atoi(text)
	if err != nil || seconds < minTimeout || seconds > maxJobTimeout {
		return 0, fmt.Errorf("TIMEOUT_SECONDS is %q: it must be a whole number from %d to %d, the function's timeout", text, minTimeout,
			maxJobTimeout)
	}
	return time.Duration(seconds) * time.Second, nil
}

// Uses returns the backends that the function has roles on, sorted.
func (e Entry) Uses() []config.Backend { return slices.Sorted(maps.Keys(e.Roles)) }

// Roles are those that Terraform gives to jobs and their callers whatever a function works on.
type Roles struct {
	Caller       string `json:"caller"`       // of Cloud Scheduler's account and of those of the tasks, on what they call
	OwnQueue     string `json:"ownQueue"`     // of a job that continues by itself, on its own queue
	TasksAccount string `json:"tasksAccount"` // of a job that hands tasks over, on the account of its own tasks
}

// problems returns what is wrong with the roles.
func (r Roles) problems() (problems []string) {
	for _, one := range [][2]string{{"caller", r.Caller}, {"ownQueue", r.OwnQueue}, {"tasksAccount", r.TasksAccount}} {
		if !rolePattern.MatchString(one[1]) {
			problems = append(problems, fmt.Sprintf("roles.%s %q is not a role of Google's, such as roles/run.invoker", one[0], one[1]))
		}
	}
	return problems
}

// File is a list of functions.
type File struct {
	Name string // as errors call it
	Text []byte
}

// Parse reads lists strictly. The error names every problem and the function that has it.
func Parse(files ...File) ([]Entry, error) {
	var all []Entry
	var problems []error
	taken := map[string]string{} // which entry has a name, in lower case
	for _, f := range files {
		var list struct {
			Schema    string  `json:"$schema"` // for editors
			Roles     *Roles  `json:"roles"`   // of manifest.json, which Terraform takes them from
			Functions []Entry `json:"functions"`
		}
		wrong := strictly(f.Text, withDefaults, &list)
		for _, problem := range wrong {
			problems = append(problems, fmt.Errorf("%s: %s", f.Name, problem.of(list.Functions)))
		}
		if list.Roles != nil {
			if len(all) > 0 {
				problems = append(problems, fmt.Errorf("%s: roles: the list before it decides them: leave them out", f.Name))
			}
			for _, text := range list.Roles.problems() {
				if !slices.ContainsFunc(wrong, func(p problem) bool { return p.hidden }) {
					problems = append(problems, fmt.Errorf("%s: %s", f.Name, text))
				}
			}
		}
		for i := range list.Functions {
			e, here := &list.Functions[i], fmt.Sprintf("functions[%d]", i)
			texts := e.problems()
			if other, found := taken[strings.ToLower(e.Name)]; found && e.Name != "" {
				texts = append(texts, fmt.Sprintf("name is taken by %s: choose another that differs in more than capital letters", other))
			}
			taken[strings.ToLower(e.Name)] = fmt.Sprintf("%s, %s of %s", here, e.Name, f.Name)
			for _, text := range texts {
				key, _, _ := strings.Cut(strings.SplitN(text, " ", 2)[0], ":")
				follows := func(p problem) bool {
					return p.hides(here+"."+key) || p.hidden && (p.at == here || p.at == here+".rule")
				}
				if !slices.ContainsFunc(wrong, follows) {
					problems = append(problems, fmt.Errorf("%s: %s, %s: %s", f.Name, here, e.Name, text))
				}
			}
		}
		all = append(all, list.Functions...)
	}
	if len(all) > 0 || len(problems) == 0 {
		problems = append(problems, together(all)...)
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return all, nil
}

var (
	namePattern    = regexp.MustCompile(`^[a-z][A-Za-z0-9]{5,29}$`) // it is a service account's name as well, in lower case
	packagePattern = regexp.MustCompile(`^[a-z][a-z0-9]*$`)
	rolePattern    = regexp.MustCompile(`^roles/[a-z]+\.[A-Za-z]+$`)
	memoryPattern  = regexp.MustCompile(`^([1-9][0-9]{0,4})(Mi|Gi)$`)
)

// What Google's services allow.
const (
	minTimeout    = 60   // seconds: enough for the time that the engine reserves at the end
	maxJobTimeout = 1740 // seconds: Cloud Scheduler waits at most 30 minutes, and must wait longer than the timeout
	maxTimeout    = 3600 // seconds, for a function that is called over HTTP
	maxRetries    = 5    // by Cloud Scheduler
)

// together returns the problems of the entries with each other.
func together(entries []Entry) (problems []error) {
	if len(entries) == 0 {
		return []error{errors.New("no functions are listed")}
	}
	byName := map[string]Entry{}
	for _, e := range entries {
		byName[e.Name] = e
	}
	problems = append(problems, archives(entries)...)
	called := map[string]bool{}
	for _, e := range entries {
		called[e.Worker] = true
		if w := byName[e.Worker]; e.Worker != "" && (w.Trigger != Tasks || w.Package != e.Package) {
			problems = append(problems, fmt.Errorf("%s: its worker %q is not listed as a worker of the same package", e.Name, e.Worker))
		}
	}
	for _, e := range entries {
		if e.Trigger == Tasks && !called[e.Name] {
			problems = append(problems, fmt.Errorf("%s: no job hands tasks to it", e.Name))
		}
	}
	return problems
}

// problems returns what is wrong with one entry. If the entry has a rule, it also sets what follows from the rule.
func (e *Entry) problems() (problems []string) {
	expect := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Sprintf(format, args...))
		}
	}
	expect(namePattern.MatchString(e.Name), "name %q is not 6 to 30 letters and digits in camelCase", e.Name)
	switch {
	case e.Rule == nil && e.Package == "":
		expect(false, "rule is missing: it says what the function does")
	case e.Rule == nil:
		expect(packagePattern.MatchString(e.Package), "package %q is not a package name: use lower-case letters and digits", e.Package)
	default:
		expect(len(e.notDeclared()) == 0, "it has a rule, which decides these: leave out %s", strings.Join(e.notDeclared(), ", "))
		expect(e.Trigger == Schedule, "it has a rule, so its trigger is %s", Schedule)
		problems = append(problems, e.Rule.Problems()...)
		e.derive()
	}
	expect(e.Description != "", "description is missing")
	longest := maxTimeout
	if e.Trigger == Schedule {
		longest = maxJobTimeout
	}
	expect(e.TimeoutSeconds >= minTimeout && e.TimeoutSeconds <= longest, "timeoutSeconds is %d: it must be from %d to %d",
		e.TimeoutSeconds, minTimeout, longest)
	expect(e.CPU == "" || e.CPU == "1", "cpu is %q: it must be 1 or left out", e.CPU)
	expect(e.memoryProblem() == "", "%s", e.memoryProblem())
	for _, i := range e.Indexes {
		expect(i.problem() == "", "index of %q: %s", i.CollectionGroup, i.problem())
	}
	for _, o := range e.FieldOverrides {
		expect(o.CollectionGroup != "" && o.FieldPath != "" && o.Indexes != nil,
			"a field override lacks collectionGroup, fieldPath or indexes")
	}
	expect(slices.Contains(e.Uses(), config.Firestore) || e.Package == "", "roles has none on Firestore, which holds the lease")
	expect((e.Worker != "") == slices.Contains(e.Uses(), config.Tasks),
		"worker and the roles on tasks go together: worker is %q, and the roles are on %v", e.Worker, e.Uses())
	switch e.Trigger {
	case Schedule:
		expect(cronProblem(e.Schedule) == "", "%s", cronProblem(e.Schedule))
		expect(slices.Contains(timeZones(), e.TimeZone), "timeZone %q is unknown: it must be a name such as Europe/Berlin or UTC", e.TimeZone)
		expect(e.StopAfterSeconds >= 0 && e.StopAfterSeconds <= e.TimeoutSeconds/10*9,
			"stopAfterSeconds is %d: it must be at most nine tenths of timeoutSeconds", e.StopAfterSeconds)
		expect(e.RetryCount >= 0 && e.RetryCount <= maxRetries, "retryCount is %d: it must be from 0 to %d", e.RetryCount, maxRetries)
		expect(e.Queue == nil, "queue is for workers, whose trigger is tasks: leave it out")
		expect(e.Shards >= 0 && e.Shards <= config.MaxShards, "shards is %d: it must be a whole number from 1 to %d", e.Shards,
			config.MaxShards)
		expect(e.Shards < 2 || e.StopAfterSeconds == 0,
			"it stops before its timeout on purpose (stopAfterSeconds), so it cannot run in shards")
		expect(e.Shards == 0 || e.Rule == nil || e.Rule.Objects != "", "only rules about objects can be split: leave out shards")
	case Tasks:
		q := e.Queue
		expect(q != nil && q.MaxDispatchesPerSecond > 0 && q.MaxConcurrentDispatches >= 1 && q.MaxAttempts >= 1 &&
			q.MinBackoffSeconds >= 1 && q.MaxBackoffSeconds >= q.MinBackoffSeconds, "queue is missing or invalid")
		expect(e.Schedule == "" && e.TimeZone == "" && e.RetryCount == 0 && e.StopAfterSeconds == 0 && e.Worker == "" && e.Shards == 0,
			"a worker has no schedule, timeZone, retryCount, stopAfterSeconds, worker or shards: leave them out")
	default:
		expect(false, "trigger %q is neither %s nor %s", e.Trigger, Schedule, Tasks)
	}
	return problems
}

// memoryProblem returns what is wrong with the memory, "" if nothing. The bounds are Cloud Run's.
func (e Entry) memoryProblem() string {
	m := memoryPattern.FindStringSubmatch(e.Memory)
	if m == nil {
		return fmt.Sprintf("memory is %q: it must be a number and Mi or Gi, such as 512Mi or 1Gi", e.Memory)
	}
	mebibytes, err := strconv.Atoi(m[1])
	if m[2] == "Gi" {
		mebibytes *= 1024
	}
	switch {
	case err != nil || mebibytes < 128 || mebibytes > 32<<10:
		return fmt.Sprintf("memory is %s: it must be from 128Mi to 32Gi", e.Memory)
	case e.CPU != "" && (mebibytes < 512 || mebibytes > 4<<10):
		return fmt.Sprintf(`memory is %s: with a whole CPU it must be from 512Mi to 4Gi; with "cpu": "", Google chooses the CPU`, e.Memory)
	}
	return ""
}

//go:embed time_zones.json
var timeZonesJSON []byte

// timeZones returns the names of the IANA database, whether or not the machine has it.
var timeZones = sync.OnceValue(func() (names []string) {
	if err := json.Unmarshal(timeZonesJSON, &names); err != nil {
		panic(fmt.Sprintf("shared/manifest/time_zones.json: %v", err)) // it is part of the program, and a test reads it
	}
	return names
})

// problem returns what is wrong with an index, "" if nothing.
func (i Index) problem() string {
	switch {
	case i.CollectionGroup == "":
		return "collectionGroup is missing"
	case i.QueryScope != "COLLECTION" && i.QueryScope != "COLLECTION_GROUP":
		return fmt.Sprintf("queryScope is %q: it must be COLLECTION or COLLECTION_GROUP", i.QueryScope)
	case len(i.Fields) < 2:
		return "it has fewer than two fields: Firestore indexes single fields by itself"
	}
	for _, f := range i.Fields {
		ordered := f.Order == "ASCENDING" || f.Order == "DESCENDING"
		if f.FieldPath == "" || ordered == (f.ArrayConfig == "CONTAINS") {
			return fmt.Sprintf("field %q is neither ordered nor an array", f.FieldPath)
		}
	}
	return ""
}
