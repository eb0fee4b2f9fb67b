package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/scripts/screen"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/manifest"
)

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
		logged, name := loggedJob{Job: job.Name, Runs: []*report.Report{}}, quoted(job.Name)
		entries, err := l.read(ctx, fmt.Sprintf(`jsonPayload.report.job=%s OR (labels.job=%s AND (jsonPayload.alert:* OR `+
			`jsonPayload.message:("did not run" OR "refused a request" OR "panicked")))`, name, name),
			f.log.from(a.clock()), true, f.limit)
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
	entries, err := l.read(ctx, "labels.runId="+quoted(runID), f.from(a.clock()), false, 0)
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
