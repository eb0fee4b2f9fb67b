package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// defaultURL is where `go run ./emulator` serves the functions.
const defaultURL = "http://127.0.0.1:8081"

// served calls functions directly: those that `go run ./emulator` serves.
type served struct {
	local bool
	url   string
	now   time.Time // of the runs, which functions on emulators accept; zero: the clock's
}

// urlVariable holds the URL, as the emulator exports it.
const urlVariable = "FIRESWEEP_URL"

func (s *served) flags(c *cobra.Command, getenv func(string) string) {
	c.Flags().BoolVar(&s.local, "local", false, "ask the functions that 'go run ./emulator' serves")
	c.Flags().StringVar(&s.url, "url", cmp.Or(getenv(urlVariable), defaultURL), "their `URL`")
}

// liftFlag adds the flag for what is lifted by name.
func liftFlag(c *cobra.Command, lift *[]string) {
	c.Flags().StringSliceVar(lift, "lift", nil, "lift the protection of this `NAME`, e.g. empty:tasks")
}

// checkLift refuses what cannot be lifted.
func checkLift(lift []string) error {
	for _, name := range lift {
		if err := engine.CheckLift(name); err != nil {
			return wrongUse("--lift: %s", err)
		}
	}
	return nil
}

// check refuses flags that contradict each other.
func (s *served) check(c *cobra.Command) error {
	if c.Flags().Changed("url") && !s.local {
		return wrongUse("--url needs --local")
	}
	if s.local && c.Flags().Changed("project") {
		return wrongUse("--local asks the functions on this machine, which have their own project: leave out --project")
	}
	u, err := url.Parse(s.url)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" {
		return wrongUse("--url, or %s, is %q: it must be like %s", urlVariable, s.url, defaultURL)
	}
	return nil
}

// answers returns an error where nobody serves the functions: one for all jobs.
func (s *served) answers(ctx context.Context) error {
	u, err := url.Parse(s.url)
	if err != nil {
		return fmt.Errorf("--url: %w", err)
	}
	address := u.Host
	if u.Port() == "" {
		address = net.JoinHostPort(u.Hostname(), u.Scheme) // a service's name stands for its port
	}
	connection, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("nobody answers at %s: %w: start the functions with: go run ./emulator --sample; "+
			"if they are elsewhere, set --url or %s, as that prints it", s.url, err, urlVariable)
	}
	return connection.Close()
}

// order is what a function is asked to do.
type order struct {
	DryRun bool     `json:"dryRun,omitempty"` // false: the deployment decides, and may only plan
	Force  bool     `json:"force,omitempty"`
	Lift   []string `json:"lift,omitempty"`

	Plan *report.Approval `json:"plan,omitempty"` // the run is restricted to it; nil: to none
}

// maxAnswer is the most of an answer that is read, in bytes: a report's lists are bounded.
const maxAnswer = 64 << 20

// call calls a job and returns its report.
func (s *served) call(ctx context.Context, job string, o order) (*report.Report, error) {
	body, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", job, err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(s.url, "/")+"/"+job, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", job, err)
	}
	r.Header.Set("Content-Type", "application/json")
	if !s.now.IsZero() {
		r.Header.Set("X-CloudScheduler-ScheduleTime", s.now.Format(time.RFC3339Nano))
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", job, err)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if closeErr := response.Body.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, fmt.Errorf("read the answer of %s: %w", job, err)
	}
	var answer struct {
		report.Report
		Error *struct{ Message string }
	}
	switch err := json.Unmarshal(text, &answer); {
	case err == nil && answer.Error != nil:
		return nil, fmt.Errorf("%s did not run: %s", job, answer.Error.Message)
	case err != nil || answer.RunID == "":
		return nil, fmt.Errorf("%s answered %d at %s, and no report: is --url where the functions are?",
			job, response.StatusCode, r.URL)
	}
	return &answer.Report, nil
}
