// Package manifest reads functions/manifest.json and your lists of rules: what is deployed, each with its schedule, limits, roles
// and indexes.
package manifest

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tailscale/hujson"

	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/rule"
	"github.com/firesweep/firesweep/shared/rule/criteria"
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

	// Of its database:
	Indexes    []Index `json:"indexes,omitempty"`    // those that its queries need besides the automatic ones
	NotIndexed []Field `json:"notIndexed,omitempty"` // fields that need no index at all; of a job that has a package

	// Of a job:
	Schedule         string `json:"schedule,omitempty"`         // unix-cron; a~b is one value from a to b, fixed per project
	TimeZone         string `json:"timeZone,omitempty"`         // one of time_zones.json
	RetryCount       int    `json:"retryCount"`                 // Cloud Scheduler's attempts after the first
	StopAfterSeconds int    `json:"stopAfterSeconds,omitempty"` // after so long it begins no more work; 0: as its timeout allows
	Worker           string `json:"worker,omitempty"`           // the function that its tasks call

	// Of a worker:
	Queue *Queue `json:"queue,omitempty"`

	// Of the lists that were read together:
	Own  bool `json:"-"` // a list of rules declares it, not functions/manifest.json
	Used bool `json:"-"` // a list of rules declares or enables it, or the job whose worker it is

	// Rule, if set, is all that the function does. It then has no package, and its roles and indexes follow from the rule.
	*rule.Rule
}

// Queue is how Cloud Tasks calls a worker.
type Queue struct {
	MaxDispatchesPerSecond  float64 `json:"maxDispatchesPerSecond"`
	MaxConcurrentDispatches int     `json:"maxConcurrentDispatches"`
	MaxAttempts             int     `json:"maxAttempts"` // of one task
	MinBackoffSeconds       int     `json:"minBackoffSeconds"`
	MaxBackoffSeconds       int     `json:"maxBackoffSeconds"`
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
	if err != nil || seconds < minTimeout || seconds > maxTimeout {
		return 0, fmt.Errorf("TIMEOUT_SECONDS is %q: it must be a whole number from %d to %d, the function's timeout", text, minTimeout,
			maxTimeout)
	}
	return time.Duration(seconds) * time.Second, nil
}

// Uses returns the backends that the function has roles on, sorted.
func (e Entry) Uses() []config.Backend { return slices.Sorted(maps.Keys(e.Roles)) }

// jobList is what functions/manifest.json may say.
type jobList struct {
	Functions []*hujson.Value `json:"functions"` // each an [Entry] with a package, or a [ruleEntry]
}

// ruleList is what a list of rules may say.
type ruleList struct {
	Schema  string          `json:"$schema"`                                          // for editors
	Rules   []*hujson.Value `json:"rules" example:"{\"name\": \"cleanupDrafts\", …}"` // each a [ruleEntry]
	Enabled []string        `json:"enabled" example:"\"cleanupReports\""`             // jobs of manifest.json that are used
}

// ruleEntry is what an entry with a rule may say. [Entry] has the same, and what follows from it.
type ruleEntry struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Schedule    string `json:"schedule"`
	TimeZone    string `json:"timeZone,omitempty"`
	*rule.Rule
	Run run `json:"run,omitzero" example:"{\"memory\": \"1Gi\"}"`
}

// run is how the function of a rule runs.
type run struct {
	TimeoutSeconds int    `json:"timeoutSeconds,omitempty"`
	Memory         string `json:"memory,omitempty"`
	CPU            string `json:"cpu,omitempty"`
	RetryCount     int    `json:"retryCount,omitempty"`
}

// entry reads an entry: a rule, unless it is a job's that has a package.
func (r *reader) entry(v *hujson.Value, at string, own bool) (e Entry) {
	if !own && v.Find("/package") != nil {
		e.Rule = new(rule.Rule)
		r.value(v, at, reflect.ValueOf(&e).Elem(), expected{})
		if reflect.ValueOf(*e.Rule).IsZero() {
			e.Rule = nil
		}
		return e
	}
	said := ruleEntry{Description: "A declared rule", TimeZone: "UTC", Rule: new(rule.Rule),
		Run: run{TimeoutSeconds: 540, Memory: "512Mi", CPU: "1", RetryCount: 3}}
	r.value(v, at, reflect.ValueOf(&said).Elem(), expected{})
	return Entry{
		Name: said.Name, Description: said.Description, Trigger: Schedule, Schedule: said.Schedule, TimeZone: said.TimeZone,
		Rule: said.Rule, TimeoutSeconds: said.Run.TimeoutSeconds, Memory: said.Run.Memory, CPU: said.Run.CPU,
		RetryCount: said.Run.RetryCount,
	}
}

// Parse reads functions/manifest.json and lists of rules strictly. The error tells every problem, its line and the entry that
// has it.
func Parse(manifest File, rules ...File) ([]Entry, error) {
	var p parsing
	p.read(manifest, false)
	return p.result(rules)
}

// ParseRules reads a list of rules alone, as [Parse] does.
func ParseRules(rules File) ([]Entry, error) {
	var p parsing
	return p.result([]File{rules})
}

// parsing is what is known of the lists that were read so far.
type parsing struct {
	all      []Entry
	from     []origin // of each of all
	problems []error
}

// origin is where an entry was read.
type origin struct {
	*reader
	at string // e.g. rules[0]
}

// result reads lists of rules, and returns all entries.
func (p *parsing) result(lists []File) ([]Entry, error) {
	for _, f := range lists {
		p.read(f, true)
	}
	if len(p.all) > 0 || len(p.problems) == 0 {
		p.together()
	}
	if len(p.problems) > 0 {
		return nil, errors.Join(p.problems...)
	}
	return p.all, nil
}

// refuse adds a problem of the entry at an index, unless it follows from one that its text has.
func (p *parsing) refuse(i int, key, format string, args ...any) {
	from := p.from[i]
	if at := strings.TrimSuffix(from.at+"."+key, "."); !from.hides(at) {
		p.add(from.reader, from.offsetOf(at), at, fmt.Sprintf(format, args...))
	}
}

// add adds a problem of the value at a path, with its line and the name of the entry that it lies in.
func (p *parsing) add(r *reader, offset int, at, says string) {
	parts := []string{at, says}
	for i, from := range p.from {
		if key, inside := strings.CutPrefix(at+".", from.at+"."); inside && from.reader == r {
			parts = []string{strings.TrimSuffix(from.at+", "+p.all[i].Name, ", "), strings.TrimSuffix(key, "."), says}
		}
	}
	parts = slices.DeleteFunc(parts, func(part string) bool { return part == "" })
	p.problems = append(p.problems, fmt.Errorf("%s:%d: %s", r.Name, r.lineOf(offset), strings.Join(parts, ": ")))
}

// read reads a list: of rules, or functions/manifest.json.
func (p *parsing) read(f File, own bool) {
	root, err := f.root()
	if err != nil {
		p.problems = append(p.problems, fmt.Errorf("%s: %w", f.Name, err))
		return
	}
	r := &reader{File: f, offsets: map[string]int{}}
	var jobs jobList
	var rules ruleList
	key, of := "functions", reflect.ValueOf(&jobs).Elem()
	if own {
		key, of = "rules", reflect.ValueOf(&rules).Elem()
	}
	if says := noList(&root); own && says != "" {
		p.add(r, root.StartOffset, "", says)
		return
	}
	r.value(&root, "", of, expected{})
	first := len(p.all)
	for i, v := range slices.Concat(jobs.Functions, rules.Rules) { // of one list, one of them is empty
		at := fmt.Sprintf("%s[%d]", key, i)
		e := r.entry(v, at, own)
		e.Own, e.Used = own, own
		p.all, p.from = append(p.all, e), append(p.from, origin{r, at})
	}
	for _, w := range r.wrong {
		p.add(r, w.offset, w.at, w.says)
	}
	for i, name := range rules.Enabled {
		p.enabled(r, fmt.Sprintf("enabled[%d]", i), name)
	}
	for i := first; i < len(p.all); i++ {
		p.named(i)
		for _, problem := range p.all[i].problems() {
			p.refuse(i, problem.Key, "%s", problem.Says)
		}
	}
}

// enabled marks a job that a list enables, and its worker. It must be one of Firesweep's own.
func (p *parsing) enabled(r *reader, at, name string) {
	var jobs []string
	for _, e := range p.all {
		if e.Trigger == Schedule && !e.Own {
			jobs = append(jobs, e.Name)
		}
	}
	if i := slices.IndexFunc(p.all, func(e Entry) bool { return e.Name == name }); slices.Contains(jobs, name) {
		for n := range p.all {
			p.all[n].Used = p.all[n].Used || n == i || p.all[n].Name == p.all[i].Worker
		}
		return
	}
	instead := "they are " + strings.Join(jobs, ", ")
	if like := criteria.Alike(name, jobs); like != "" {
		instead = fmt.Sprintf("is it %q?", like)
	}
	if slices.ContainsFunc(p.all, func(e Entry) bool { return e.Name == name }) {
		instead = "leave it out, because your own rules are always enabled"
	}
	p.add(r, r.offsetOf(at), at, fmt.Sprintf("%q is none of Firesweep's own jobs: %s", name, instead))
}

// named checks that no entry before one has its name.
func (p *parsing) named(i int) {
	name := p.all[i].Name
	for n, other := range p.all[:i] {
		if name == "" || !strings.EqualFold(name, other.Name) {
			continue
		}
		by := "Firesweep's own job " + other.Name
		if from := p.from[n]; other.Own == p.all[i].Own {
			by = fmt.Sprintf("%s in line %d", from.at, from.lineOf(from.offsetOf(from.at+".name")))
		}
		p.refuse(i, "name", "%q is taken by %s: choose another that differs in more than capital letters", name, by)
	}
}

// noList says what to write in place of rules, or one rule, at the top of a file; "" of anything else.
func noList(root *hujson.Value) string {
	if wordOf(root) == words[reflect.Slice] {
		return `it is a list: write { "rules": [ … ] } around your rules`
	}
	isRule := func(f reflect.StructField) bool { return root.Find("/"+keyOf(f)) != nil }
	if root.Find("/rules") == nil && slices.ContainsFunc(fieldsOf(reflect.TypeFor[ruleEntry]()), isRule) {
		return `this is a rule, and the file is a list of rules: write { "rules": [ { … } ] } around it`
	}
	return ""
}
