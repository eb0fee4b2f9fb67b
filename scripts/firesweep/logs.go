package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/logging/v2"

	"github.com/firesweep/firesweep/scripts/screen"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/manifest"
)

// logFlags say whether Cloud Logging is read, and how far back.
type logFlags struct {
	log   bool
	since string
	back  time.Duration // the same
}

func (f *logFlags) flags(c *cobra.Command) {
	c.Flags().BoolVar(&f.log, "log", false, "read Cloud Logging instead of the database")
	c.Flags().StringVar(&f.since, "since", "30d", "read the log back to this `AGE`, such as 12h")
}

func (f *logFlags) check(c *cobra.Command) error {
	if c.Flags().Changed("since") && !f.log {
		return wrongUse("--since needs --log")
	}
	var err error
	if f.back, err = age(f.since); err != nil || f.back == 0 {
		return wrongUse("--since is %q: it must be like 12h or 30d", f.since)
	}
	return nil
}

// entry is one line of the log.
type entry struct {
	Time     time.Time      `json:"time"`
	Severity string         `json:"severity"`
	Message  string         `json:"message"`
	Report   *report.Report `json:"report,omitempty"`
	Fields   map[string]any `json:"fields,omitempty"` // the others, such as action, target, reason and writes
}

// cloudLog reads a project's log.
type cloudLog struct {
	service *logging.Service
	project string
	sleep   func(context.Context, time.Duration) error
	lines   atomic.Int64 // that were read
}

// openLog opens the log of the project that the environment names.
func (a *app) openLog(ctx context.Context) (*cloudLog, error) {
	project, err := a.project()
	if err != nil {
		return nil, err
	}
	if a.getenv("FIRESTORE_EMULATOR_HOST") != "" {
		return nil, wrongUse("FIRESTORE_EMULATOR_HOST is set, and emulators have no Cloud Logging: " +
			"go run ./emulator prints the functions' log")
	}
	service, err := logging.NewService(ctx, a.google(ctx, "logging", project)...)
	if err != nil {
		return nil, fmt.Errorf("open Cloud Logging of %s: %w", project, err)
	}
	return &cloudLog{service: service, project: project, sleep: a.sleep}, nil
}

// logPage is how many entries a request asks for, the most that Cloud Logging returns. Cloud Logging allows a project 60
// requests a minute, so reading a run of very many actions takes minutes. A request that came too soon is repeated.
const (
	logPage       = 1000
	tooSoonPause  = 10 * time.Second
	tooSoonRepeat = 12 // times for one page
)

// read returns the entries from a time on that a filter matches, newest or oldest first, at most limit; 0 is all.
func (l *cloudLog) read(ctx context.Context, filter string, from time.Time, newestFirst bool, limit int) ([]entry, error) {
	request := &logging.ListLogEntriesRequest{
		ResourceNames: []string{"projects/" + l.project}, OrderBy: "timestamp asc", PageSize: logPage,
		Filter: fmt.Sprintf(`resource.type="cloud_run_revision" AND timestamp>="%s" AND (%s)`,
			from.UTC().Format(time.RFC3339Nano), filter),
	}
	if newestFirst {
		request.OrderBy = "timestamp desc"
	}
	if limit > 0 {
		request.PageSize = int64(min(limit, logPage))
	}
	var entries []entry
	for {
		page, err := l.page(ctx, request)
		if err != nil {
			return nil, fmt.Errorf("read the log of %s (it needs roles/logging.viewer): %w", l.project, apiError(err))
		}
		for _, e := range page.Entries {
			parsed, err := entryOf(e)
			if err != nil {
				return nil, err
			}
			l.lines.Add(1)
			if entries = append(entries, parsed); limit > 0 && len(entries) == limit {
				return entries, nil
			}
		}
		if request.PageToken = page.NextPageToken; request.PageToken == "" {
			return entries, nil
		}
	}
}

// page sends a request, and repeats it if it came too soon.
func (l *cloudLog) page(ctx context.Context, request *logging.ListLogEntriesRequest) (*logging.ListLogEntriesResponse, error) {
	for repeated := 0; ; repeated++ {
		page, err := l.service.Entries.List(request).Context(ctx).Do()
		var api *googleapi.Error
		if !errors.As(err, &api) || api.Code != http.StatusTooManyRequests || repeated == tooSoonRepeat {
			return page, err
		}
		if err := l.sleep(ctx, tooSoonPause); err != nil {
			return nil, err
		}
	}
}

// entryOf reads an entry of Cloud Logging.
func entryOf(e *logging.LogEntry) (entry, error) {
	at, err := time.Parse(time.RFC3339Nano, e.Timestamp)
	if err != nil {
		return entry{}, fmt.Errorf("read a log entry: %w", err)
	}
	out := entry{Time: at, Severity: e.Severity, Message: e.TextPayload}
	if len(e.JsonPayload) == 0 {
		return out, nil
	}
	var payload struct {
		Message string
		Report  *report.Report
	}
	if err := errors.Join(json.Unmarshal(e.JsonPayload, &payload), json.Unmarshal(e.JsonPayload, &out.Fields)); err != nil {
		return entry{}, fmt.Errorf("read a log entry of %s: %w", e.Timestamp, err)
	}
	out.Message, out.Report = payload.Message, payload.Report
	delete(out.Fields, "message")
	delete(out.Fields, "report")
	return out, nil
}

// apiError returns an error of Google's APIs in one line.
func apiError(err error) error {
	var api *googleapi.Error
	if errors.As(err, &api) && api.Message != "" {
		return fmt.Errorf("%d: %s", api.Code, api.Message)
	}
	var transport *url.Error
	if errors.As(err, &transport) {
		return transport.Err
	}
	return err
}

// loggedJob is what the log holds of a job. docs/command.md documents it as JSON.
type loggedJob struct {
	Job   string           `json:"job"`
	Runs  []*report.Report `json:"runs"`            // newest first, previews included
	Other []entry          `json:"other,omitempty"` // calls that began no run, panics, and lines with an alert
}

// loggedRuns shows the runs that the log holds.
func (a *app) loggedRuns(ctx context.Context, f runsFlags, jobs []manifest.Entry) error {
	l, err := a.openLog(ctx)
	if err != nil {
		return err
	}
	all, err := ofEach(ctx, a, "reading the log", jobs, func(job manifest.Entry) (loggedJob, error) {
		logged := loggedJob{Job: job.Name, Runs: []*report.Report{}}
		entries, err := l.read(ctx, fmt.Sprintf(`jsonPayload.report.job=%[1]q OR (labels.job=%[1]q AND (jsonPayload.alert:* OR `+
			`jsonPayload.message:("did not run" OR "refused a request" OR "panicked")))`, job.Name),
			a.clock().Add(-f.log.back), true, f.limit)
		for _, e := range entries {
			if e.Report != nil {
				logged.Runs = append(logged.Runs, e.Report)
			} else {
				logged.Other = append(logged.Other, e)
			}
		}
		return logged, err
	})
	if err != nil {
		return err
	}
	return a.show(map[string]any{"jobs": all}, func(p *printer) {
		for _, logged := range all {
			p.Line(p.Style(screen.Bold, logged.Job))
			if len(logged.Runs) == 0 {
				p.Line("  no run")
			} else {
				p.runs(logged.Runs)
			}
			for _, e := range logged.Other {
				p.Say(screen.Yellow, 2, 2, "%s UTC %s: %s", when(e.Time), e.Severity, e.Message)
			}
			p.Line("")
		}
	}, false)
}

// showLog shows every line that a run logged.
func (a *app) showLog(ctx context.Context, f logFlags, runID string) error {
	l, err := a.openLog(ctx)
	if err != nil {
		return err
	}
	stop := a.progress(ctx, func() stage { return stage{text: "reading the log: " + plural(int(l.lines.Load()), "line")} })
	entries, err := l.read(ctx, fmt.Sprintf("labels.runId=%q", runID), a.clock().Add(-f.back), false, 0)
	stop()
	if err != nil {
		return err
	}
	if len(entries) == 0 {
		return fmt.Errorf("the log has no line of run %s in the last %s: --since looks farther back", runID, f.since)
	}
	return a.show(map[string]any{"lines": entries}, func(p *printer) {
		for _, e := range entries {
			style := ""
			if e.Severity != "INFO" {
				style = screen.Yellow
			}
			p.Say(style, 0, 4, "%s %s %s", e.Time.UTC().Format("15:04:05.000"), e.Severity, e.Message)
			for _, name := range slices.Sorted(maps.Keys(e.Fields)) {
				p.field(name, e.Fields[name])
			}
		}
	}, false)
}

// field prints a field of a log line. Each of writes gets a line of its own.
func (p *printer) field(name string, value any) {
	writes, _ := value.([]any)
	if name != "writes" || len(writes) == 0 {
		if strings.HasPrefix(name, "@") {
			return // for Error Reporting
		}
		text, isText := value.(string)
		if !isText {
			b, _ := json.Marshal(value) // it was read from JSON
			text = string(b)
		}
		p.Say(screen.Faint, 4, 2, "%s: %s", name, text)
		return
	}
	for _, w := range writes {
		fields, _ := w.(map[string]any)
		text := fmt.Sprintf("%v %v", fields["op"], fields["path"])
		if generation := fields["generation"]; generation != nil {
			text += fmt.Sprintf("#%v", generation)
		}
		if fields["unsure"] == true {
			text += " (unsure: the answer was lost)"
		}
		p.Say("", 4, 2, "%s", text)
	}
}
