// Package manifest reads functions/manifest.json and your lists of rules: what is deployed, each with its schedule, limits, roles
// and indexes.
package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
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

	// Of its database, in the form of firestore.indexes.json:
	Indexes        []Index         `json:"indexes,omitempty"`        // those that its queries need besides the automatic ones
	FieldOverrides []FieldOverride `json:"fieldOverrides,omitempty"` // fields with other than the automatic indexes

	// Of a job:
	Schedule         string `json:"schedule,omitempty"`         // unix-cron; a~b is one value from a to b, fixed per project
	TimeZone         string `json:"timeZone,omitempty"`         // one of time_zones.json
	RetryCount       int    `json:"retryCount"`                 // Cloud Scheduler's attempts after the first
	StopAfterSeconds int    `json:"stopAfterSeconds,omitempty"` // after so long it begins no more work; 0: as its timeout allows
	Worker           string `json:"worker,omitempty"`           // the function that its tasks call

	// Of a worker:
	Queue *Queue `json:"queue,omitempty"`

	// Rule, if set, is all that the function does; its keys are the entry's own. It then has no package, and its roles and indexes
	// follow from the rule.
	*rule.Rule
	Run *Run `json:"run,omitempty"` // of an entry with a rule, as it is written; what is read has these keys in the entry itself
}

// Run is how the function of a rule runs.
type Run struct {
	TimeoutSeconds int     `json:"timeoutSeconds,omitempty"`
	Memory         string  `json:"memory,omitempty"`
	CPU            *string `json:"cpu,omitempty"`
	RetryCount     *int    `json:"retryCount,omitempty"`
}

// Queue is how Cloud Tasks calls a worker.
type Queue struct {
	MaxDispatchesPerSecond  float64 `json:"maxDispatchesPerSecond"`
	MaxConcurrentDispatches int     `json:"maxConcurrentDispatches"`
	MaxAttempts             int     `json:"maxAttempts"` // of one task
	MinBackoffSeconds       int     `json:"minBackoffSeconds"`
	MaxBackoffSeconds       int     `json:"maxBackoffSeconds"`
}

type (
	// Index is an index of Firestore.
	Index = rule.Index
	// IndexField is one of its fields.
	IndexField = rule.IndexField
)

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

// jobList is what functions/manifest.json may say.
type jobList struct {
	Functions []Entry `json:"functions"`
}

// ruleList is what a list of rules may say.
type ruleList struct {
	Schema  string      `json:"$schema"` // for editors
	Rules   []ruleEntry `json:"rules" example:"{\"name\": \"cleanupDrafts\", …}"`
	Enabled []string    `json:"enabled" example:"\"cleanupReports\""` // of manifest.json, the jobs that an application uses
}

// ruleEntry is what an entry of a list of rules may say. [Entry] has these keys too, and what follows from them.
type ruleEntry struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Schedule    string `json:"schedule"`
	TimeZone    string `json:"timeZone,omitempty"`
	*rule.Rule
	Run *Run `json:"run,omitempty" example:"{\"memory\": \"1Gi\"}"`
}

// list is what a list of either form says.
type list struct {
	Enabled   []string `json:"enabled"`
	Functions []Entry  `json:"functions"`
	Rules     []Entry  `json:"rules"`
}

// Enabled returns the names of the jobs of other lists that a list enables. The list has no problem.
func Enabled(f File) ([]string, error) {
	s, err := parsed(f)
	if err != nil {
		return nil, err
	}
	var l struct {
		Enabled []string `json:"enabled"`
	}
	err = json.Unmarshal(s.plain, &l)
	return l.Enabled, err
}

// Parse reads functions/manifest.json and lists of rules strictly. The error names every problem, its line and the entry that has
// it.
func Parse(manifest File, rules ...File) ([]Entry, error) {
	p := parsing{taken: map[string]string{}}
	p.read(manifest, jobs)
	return p.result(rules)
}

// ParseRules reads a list of rules alone, as [Parse] does.
func ParseRules(rules File) ([]Entry, error) {
	p := parsing{taken: map[string]string{}}
	return p.result([]File{rules})
}

// A form is what a list may say.
type form struct {
	key string // of its entries
	of  reflect.Type
}

var (
	jobs  = form{"functions", reflect.TypeFor[jobList]()}
	rules = form{"rules", reflect.TypeFor[ruleList]()}
)

// sources are the keys that say what a rule goes through.
var sources = []string{"collection", "collectionGroup", "objects", "accounts"}

// result reads lists of rules, and returns all entries.
func (p *parsing) result(lists []File) ([]Entry, error) {
	for _, f := range lists {
		p.read(f, rules)
	}
	if len(p.all) > 0 || len(p.problems) == 0 {
		p.problems = append(p.problems, together(p.all)...)
	}
	if len(p.problems) > 0 {
		return nil, errors.Join(p.problems...)
	}
	return p.all, nil
}

// parsing is what is known of the lists that were read so far.
type parsing struct {
	all      []Entry
	problems []error
	taken    map[string]string // which entry has a name, in lower case
}

// read reads a list of a form.
func (p *parsing) read(f File, of form) {
	s, err := parsed(f)
	if err != nil {
		p.problems = append(p.problems, fmt.Errorf("%s: %w", f.Name, err))
		return
	}
	var l list
	wrong := strictly(s, of, &l)
	entries := slices.Concat(l.Functions, l.Rules) // of one form, one of them is empty
	refuse := func(path, format string, args ...any) {
		p.problems = append(p.problems, s.problem(path, fmt.Sprintf(format, args...)))
	}
	for _, problem := range wrong {
		refuse(problem.at, "%s", problem.of(entries))
	}
	for i, name := range l.Enabled {
		if !slices.ContainsFunc(p.all, func(e Entry) bool { return e.Name == name && e.Trigger == Schedule }) {
			at := fmt.Sprintf("enabled[%d]", i)
			refuse(at, "%s: %q is none of Firesweep's own jobs; a rule of this list is always enabled", at, name)
		}
	}
	for i := range entries {
		e, here := &entries[i], fmt.Sprintf("%s[%d]", of.key, i)
		texts := e.problems()
		if other, found := p.taken[strings.ToLower(e.Name)]; found && e.Name != "" {
			texts = append(texts, fmt.Sprintf("name is taken by %s: choose another that differs in more than capital letters", other))
		}
		p.taken[strings.ToLower(e.Name)] = fmt.Sprintf("%s, %s of %s", here, e.Name, s.Name)
		for _, text := range texts {
			key, _, _ := strings.Cut(strings.SplitN(text, " ", 2)[0], ":")
			follows := func(p problem) bool {
				sourceless := key == "rule" && strings.HasPrefix(p.at, here+".") // perhaps what it goes through has a wrong type
				misspelt := key == "rule" && slices.Contains(sources, strings.TrimPrefix(p.meant, here+"."))
				return p.hides(here+"."+key) || misspelt || p.hidden && (p.at == here || sourceless)
			}
			if !slices.ContainsFunc(wrong, follows) {
				refuse(here+"."+key, "%s, %s: %s", here, e.Name, text)
			}
		}
	}
	p.all = append(p.all, entries...)
}
