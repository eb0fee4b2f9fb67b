package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/internal/apply"
	"github.com/firesweep/firesweep/shared/harmless"
)

// maxBody is the largest request body, in bytes, and maxQuoted how much of a name or a header an error quotes.
const (
	maxBody   = 64 << 10
	maxQuoted = 64
)

// jsonSpace is what JSON takes for white space.
const jsonSpace = " \t\r\n"

// scheduleTimeHeader is when Cloud Scheduler meant the run to start; it is the same on every retry.
const scheduleTimeHeader = "X-CloudScheduler-ScheduleTime"

// request is what a caller asks of a run.
type request struct {
	Options                   // of which a request over HTTP can only ask for Force
	dryRun  *bool             // nil: not said
	whole   bool              // a preview lists its plan whole
	task    map[string]string // what a worker is to do

	scheduled bool // Cloud Scheduler said which time it is for
}

// parseRequest reads a request strictly, because a misspelt dryRun would be a real run: field names are compared to
// the letter, which encoding/json does not do when it fills a struct, and unknown query parameters are refused.
//
// task is what a worker is called with; nil for a job, whose body may be empty.
func parseRequest(w http.ResponseWriter, r *http.Request, task *cleanup.Task) (request, error) {
	var req request
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return req, fmt.Errorf("the body is larger than %d bytes", maxBody)
	case err != nil:
		return req, fmt.Errorf("the body could not be read: %w", err)
	}
	if task != nil {
		req.task, err = parseTask(body, *task)
	} else {
		err = req.parseBody(body)
	}
	if err != nil {
		return req, err
	}
	fromQuery, err := dryRunParameter(r.URL.RawQuery)
	switch {
	case err != nil:
		return req, err
	case fromQuery != nil && req.dryRun != nil && *fromQuery != *req.dryRun:
		return req, errors.New("dryRun is given in both the body and the query, with different values")
	case fromQuery != nil:
		req.dryRun = fromQuery
	}
	return req, nil
}

// parseBody parses a job's body: empty, or one object with no other fields than dryRun and force.
func (req *request) parseBody(body []byte) error {
	if len(bytes.Trim(body, jsonSpace)) == 0 {
		return nil
	}
	fields, err := object[bool](body, []string{"dryRun", "force"}, "true or false")
	if err != nil {
		return err
	}
	if dryRun, given := fields["dryRun"]; given {
		req.dryRun = &dryRun
	}
	req.Force = fields["force"]
	return nil
}

// parseTask parses a worker's body: one object with exactly the fields of its task.
func parseTask(body []byte, task cleanup.Task) (map[string]string, error) {
	fields, err := object[string](body, task.Fields, "a string")
	if err != nil {
		return nil, err
	}
	for _, name := range task.Fields {
		if fields[name] == "" {
			return nil, fmt.Errorf("field %q is missing or empty", name)
		}
	}
	if id := task.Fields[0]; !documents.ValidID(fields[id]) {
		return nil, fmt.Errorf("%s %q cannot be a document's id", id, harmless.Clip(fields[id], maxQuoted))
	}
	if task.Check == nil {
		return fields, nil
	}
	return fields, task.Check(fields)
}

// object parses exactly one JSON object that has no other fields than those allowed, each with a value of type V, which is what
// says in words.
func object[V any](body []byte, allowed []string, what string) (map[string]V, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, fmt.Errorf("the body is not valid JSON: %w", err)
	}
	given, is := value.(map[string]any)
	if !is {
		return nil, errors.New("the body is not a JSON object")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("unexpected data after the JSON object")
	}
	fields := map[string]V{}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(allowed, name) {
			return nil, fmt.Errorf("unknown field %q: the body may hold %s", harmless.Clip(name, maxQuoted), strings.Join(allowed, ", "))
		}
		if fields[name], is = given[name].(V); !is {
			return nil, fmt.Errorf("field %q must be %s", name, what)
		}
	}
	return fields, nil
}

func dryRunParameter(rawQuery string) (*bool, error) {
	query, err := url.ParseQuery(rawQuery)
	if err != nil {
		return nil, fmt.Errorf("the query is malformed: %w", err)
	}
	for name, values := range query {
		if name != "dryRun" {
			return nil, fmt.Errorf("unknown query parameter %q: only dryRun may be in the address, and all else in the body",
				harmless.Clip(name, maxQuoted))
		}
		if len(values) != 1 {
			return nil, errors.New("query parameter dryRun is given more than once")
		}
	}
	if !query.Has("dryRun") {
		return nil, nil
	}
	b, err := strconv.ParseBool(query.Get("dryRun"))
	if err != nil {
		return nil, errors.New("query parameter dryRun must be true or false")
	}
	return &b, nil
}

// runTime returns the run's now: the schedule time if the header is there, else the wall clock. A worker's now is that of the run
// that handed its task over. A time in the future is accepted only on emulators, for time travel.
func runTime(h http.Header, worker bool, wall time.Time, emulated bool) (now time.Time, scheduled bool, err error) {
	now = wall
	name := scheduleTimeHeader
	if worker && h.Get(apply.NowHeader) != "" {
		name = apply.NowHeader
	}
	if v := h.Get(name); v != "" {
		t, err := time.Parse(time.RFC3339, v)
		if err != nil {
			return time.Time{}, false, fmt.Errorf("header %s is %q, which is not an RFC 3339 time", name, harmless.Clip(v, maxQuoted))
		}
		if year := t.UTC().Year(); year < 1 || year > 9999 {
			return time.Time{}, false, fmt.Errorf("header %s is %q, but Firestore knows only the years 1 to 9999",
				name, harmless.Clip(v, maxQuoted))
		}
		scheduled = true
		if t.Before(wall) || emulated {
			now = t
		}
	}
	return now.UTC().Truncate(time.Microsecond), scheduled, nil
}
