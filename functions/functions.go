// Package functions holds the lists of what is deployed, manifest.json and your own rules.json, and registers the jobs of the
// packages below it, and those that rules declare, under the names that stand there.
package functions

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	framework "github.com/GoogleCloudPlatform/functions-framework-go/functions"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/declared"
	"github.com/firesweep/firesweep/shared/digest"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/manifest"
	"github.com/firesweep/firesweep/shared/version"
)

//go:embed manifest.json
var manifestJSON []byte

//go:embed rules.json
var rulesJSON []byte

// List is what there is to run: the functions of manifest.json, and those of one list of rules.
type List struct {
	All  []manifest.Entry // in their order
	Own  []manifest.Entry // of them, those of the list of rules
	Jobs map[string]cleanup.Job
}

// With returns what there is to run with another list in place of rules.json. A program that imports the bundle has all jobs. The
// error names every problem of the list.
func With(rules manifest.File) (List, error) {
	entries, err := manifest.Parse(jobs(), rules)
	if err != nil {
		return List{}, err
	}
	l := List{All: entries, Jobs: map[string]cleanup.Job{}}
	for _, e := range entries {
		if e.Own {
			l.Own = append(l.Own, e)
		}
		job := registered[e.Name]
		if e.Rule != nil {
			job = declared.Job(e.Name, *e.Rule)
		}
		job.Entry = digestOf(e)
		l.Jobs[e.Name] = job
	}
	return l, nil
}

// New returns the function that serves a job of the list in this process. The error says that its TIMEOUT_SECONDS is wrong.
func (l List) New(e manifest.Entry, getenv func(string) string) (*engine.Function, error) {
	return newFunction(e, l.Jobs[e.Name], getenv)
}

// Lock returns the text of the lock file of a list in place of rules.json.
func Lock(rules manifest.File) ([]byte, error) { return manifest.Lock(jobs(), rules) }

// Rules returns the list of rules that the program was built with.
func Rules() manifest.File { return manifest.File{Name: "functions/rules.json", Text: rulesJSON} }

func jobs() manifest.File { return manifest.File{Name: "functions/manifest.json", Text: manifestJSON} }

// All returns the entries of manifest.json and rules.json in their order.
func All() []manifest.Entry { return slices.Clone(all()) }

var all = sync.OnceValue(func() []manifest.Entry {
	entries, err := manifest.Parse(jobs(), Rules())
	if err != nil { // nothing runs on a list that is wrong, and whoever wrote it reads why, without a stack
		fmt.Fprintf(os.Stderr, "Nothing starts, because a list of functions is wrong:\n%v\nSee %s.\n",
			err, version.Page("docs/rules.md"))
		os.Exit(2)
	}
	return entries
})

func init() {
	for _, e := range All() {
		if e.Rule != nil {
			Register(declared.Job(e.Name, *e.Rule))
		}
	}
}

// New returns the function that serves a job or a worker, with the times and backends that manifest.json gives it.
func New(job cleanup.Job) *engine.Function {
	for _, e := range All() {
		if e.Name == job.Name {
			f, err := newFunction(e, job, os.Getenv)
			if err != nil {
				panic(fmt.Sprintf("%s: wrong configuration: %v", job.Name, err))
			}
			return f
		}
	}
	panic(fmt.Sprintf("functions/manifest.json has no entry for the job %q: add one, or correct the name "+
		"in the job's package", job.Name))
}

func newFunction(e manifest.Entry, job cleanup.Job, getenv func(string) string) (*engine.Function, error) {
	timeout, err := e.Timeout(getenv)
	if err != nil {
		return nil, err
	}
	job.Entry = digestOf(e)
	f := engine.NewFunction(job, timeout, e.Uses())
	f.StopAfter = time.Duration(e.StopAfterSeconds) * time.Second
	f.Getenv = getenv
	return f, nil
}

func digestOf(e manifest.Entry) string {
	text, _ := json.Marshal(e) // it was read from JSON
	return digest.Of(string(text))
}

var registered = map[string]cleanup.Job{}

// Register makes a job a Cloud Function; its package calls it in init.
func Register(job cleanup.Job) {
	framework.HTTP(job.Name, stopping(New(job).ServeHTTP))
	registered[job.Name] = job
}

// Registered returns every job and worker of the packages that the program imports, by its name. A program that imports the
// bundle has all of manifest.json: what ranges over the jobs takes them from here.
func Registered() map[string]cleanup.Job { return maps.Clone(registered) }
