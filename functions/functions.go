// Package functions holds functions/schedule.json, the one list of what is deployed, and registers the jobs of the
// packages below it under the names that stand there.
package functions

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	framework "github.com/GoogleCloudPlatform/functions-framework-go/functions"

	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/sweep"
)

// Triggers: what calls a function.
const (
	Schedule = "schedule" // Cloud Scheduler
	Tasks    = "tasks"    // Cloud Tasks
)

// Entry is one function of schedule.json.
type Entry struct {
	Name           string                      `json:"name"`           // the HTTP entry point
	Package        string                      `json:"package"`        // its folder below functions/
	Description    string                      `json:"description"`    // one line for people
	Trigger        string                      `json:"trigger"`        // [Schedule] or [Tasks]
	TimeoutSeconds int                         `json:"timeoutSeconds"` // of the function
	Memory         string                      `json:"memory"`         // of the function, e.g. "256Mi"
	Roles          map[config.Backend][]string `json:"roles"`          // what its service account may do, by backend

	// Of a job:
	Schedule         string `json:"schedule"`         // unix-cron; a~b in a field is one value from a to b, fixed per project
	TimeZone         string `json:"timeZone"`         // IANA name
	RetryCount       int    `json:"retryCount"`       // Cloud Scheduler's attempts after the first
	StopAfterSeconds int    `json:"stopAfterSeconds"` // when it begins no more work, if earlier than its timeout demands
	Worker           string `json:"worker"`           // the function that its tasks call

	// Of a worker:
	Queue *Queue `json:"queue"`
}

// Queue is how Cloud Tasks calls a worker.
type Queue struct {
	MaxDispatchesPerSecond  float64 `json:"maxDispatchesPerSecond"`
	MaxConcurrentDispatches int     `json:"maxConcurrentDispatches"`
	MaxAttempts             int     `json:"maxAttempts"` // of one task
	MinBackoffSeconds       int     `json:"minBackoffSeconds"`
	MaxBackoffSeconds       int     `json:"maxBackoffSeconds"`
}

// Timeout returns the function's timeout.
func (e Entry) Timeout() time.Duration { return time.Duration(e.TimeoutSeconds) * time.Second }

// Uses returns the backends that the function has roles on, sorted.
func (e Entry) Uses() []config.Backend {
	return slices.Sorted(maps.Keys(e.Roles))
}

//go:embed schedule.json
var scheduleJSON []byte

// All returns the entries of schedule.json in their order.
func All() []Entry {
	var file struct {
		Functions []Entry `json:"functions"`
	}
	if err := json.Unmarshal(scheduleJSON, &file); err != nil {
		panic("functions/schedule.json: " + err.Error()) // the file is compiled in and tested
	}
	return file.Functions
}

// New returns the function that serves a job or a worker, with the times and backends that schedule.json gives it.
func New(job sweep.Job) *sweep.Function {
	for _, e := range All() {
		if e.Name == job.Name {
			f := sweep.NewFunction(job, e.Timeout(), e.Uses())
			f.StopAfter = time.Duration(e.StopAfterSeconds) * time.Second
			return f
		}
	}
	panic(fmt.Sprintf("functions/schedule.json has no entry %q", job.Name))
}

// Register makes a job a Cloud Function; its package calls it in init.
func Register(job sweep.Job) { framework.HTTP(job.Name, stoppable(New(job).ServeHTTP)) }
