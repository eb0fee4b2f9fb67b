package sweep

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// maxBody is the largest request body, in bytes.
const maxBody = 64 << 10

// scheduleTimeHeader is when Cloud Scheduler meant the run to start; it is the same on every retry.
const scheduleTimeHeader = "X-CloudScheduler-ScheduleTime"

// request is what a caller asks of a run.
type request struct {
	dryRun *bool // nil: not said
	force  bool
}

// parseRequest reads a request strictly, because a misspelt dryRun would be a real run: field names are compared to
// the letter, which encoding/json does not do when it fills a struct, and unknown query parameters are refused.
func parseRequest(w http.ResponseWriter, r *http.Request) (request, error) {
	var req request
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return req, fmt.Errorf("the body is larger than %d bytes", maxBody)
	case err != nil:
		return req, fmt.Errorf("the body could not be read: %w", err)
	}
	fields, err := booleans(body)
	if err != nil {
		return req, err
	}
	if dryRun, said := fields["dryRun"]; said {
		req.dryRun = &dryRun
	}
	req.force = fields["force"]
	fromQuery, err := dryRunParameter(r.URL.RawQuery)
	switch {
	case err != nil:
		return req, err
	case fromQuery != nil && req.dryRun != nil && *fromQuery != *req.dryRun:
		return req, errors.New("dryRun is said twice, in the body and in the query, with different values")
	case fromQuery != nil:
		req.dryRun = fromQuery
	}
	return req, nil
}

// booleans parses an empty body or exactly one JSON object with no other fields than dryRun and force.
func booleans(body []byte) (map[string]bool, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(body))
	if first, err := d.Token(); err != nil || first != json.Delim('{') {
		return nil, errors.New("the body is not a JSON object")
	}
	fields := map[string]bool{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("the body is not valid JSON: %w", err)
		}
		name, _ := key.(string) // an object's keys are strings, or Token has failed
		if name != "dryRun" && name != "force" {
			return nil, fmt.Errorf("unknown field %q: the body may hold dryRun and force", name)
		}
		if _, twice := fields[name]; twice {
			return nil, fmt.Errorf("field %q is given twice", name)
		}
		var value any
		if err := d.Decode(&value); err != nil {
			return nil, fmt.Errorf("the body is not valid JSON: %w", err)
		}
		b, ok := value.(bool)
		if !ok {
			return nil, fmt.Errorf("field %q must be true or false", name)
		}
		fields[name] = b
	}
	if _, err := d.Token(); err != nil {
		return nil, fmt.Errorf("the body is not valid JSON: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is something after the JSON object")
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
			return nil, fmt.Errorf("unknown query parameter %q: only dryRun may be given", name)
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

// runTime returns the run's now (SPEC, "Now"): the schedule time where the header is there, else the wall clock. A
// time in the future is believed only on emulators, where it lets time be travelled.
func runTime(h http.Header, wall time.Time, emulated bool) (time.Time, error) {
	now := wall
	if v := h.Get(scheduleTimeHeader); v != "" {
		t, err := time.Parse(time.RFC3339, v)
		if err != nil {
			return time.Time{}, fmt.Errorf("header %s is %q, which is not an RFC 3339 time", scheduleTimeHeader, v)
		}
		if t.Before(wall) || emulated {
			now = t
		}
	}
	return now.UTC().Truncate(time.Microsecond), nil
}
