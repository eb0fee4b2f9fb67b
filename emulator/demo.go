package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/firesweep/firesweep/emulator/backends"
	"github.com/firesweep/firesweep/emulator/sampledata"
	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/scripts/screen"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/manifest"
)

// runDemo loads the sample data, previews and runs every job as Cloud Scheduler would, and compares what is left with what the
// sample says. Then it runs a job on an empty database, and takes a run back. Any difference is an error.
func runDemo(ctx context.Context, out *screen.Printer) (err error) {
	begun := time.Now()
	logFile, err := os.CreateTemp("", "firesweep-demo-*.log")
	if err != nil {
		return fmt.Errorf("create the functions' log: %w", err)
	}
	defer func() {
		_ = logFile.Close() // all of it is written
		if err != nil && ctx.Err() == nil {
			err = fmt.Errorf("%w; the functions' log is %s", err, logFile.Name())
			return
		}
		_ = os.Remove(logFile.Name()) // at worst a file stays in the temporary folder
	}()

	// The demo uses no emulators that the environment names, and none of the user's settings.
	if err := os.Unsetenv(emptied); err != nil {
		return err
	}
	o := backends.Options{Log: out.W}
	l, err := start(ctx, o, 0, demoEnvironment, logFile, sampledata.WholeAhead)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	out.Say("", 0, 0, "Firesweep on local emulators, started in %.1f s.", time.Since(begun).Seconds())

	project, err := openProject(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, project.Close()) }()
	now := time.Now().Add(sampledata.WholeAhead).UTC().Truncate(time.Second)
	sample := sampledata.Of(now, os.Getenv(bucketVariable))
	if err := project.Load(ctx, sample); err != nil {
		return err
	}
	before, err := project.Read(ctx)
	if err != nil {
		return err
	}
	out.Say("", 0, 0, "Sample project %s: %d documents, %d objects, %d accounts.", os.Getenv(projectVariable),
		len(before.Documents), len(before.Objects), len(before.Accounts))
	out.Say("", 0, 0, "The demo's now is %s, two days ahead: the files have only just been uploaded.",
		now.Format(time.RFC3339))

	var reports []*report.Report
	var back rewind
	after := before
	for _, e := range functions.All() {
		if e.Trigger != manifest.Schedule {
			continue // it is shown with the job whose tasks it does
		}
		if !slices.Contains(sampledata.Jobs(), e.Name) { // it would find items of another job, or none
			out.Line("")
			out.Say("", 0, 2, "%s is left out: the sample has no data for a rule of your own. What it would do in your project:", e.Name)
			out.Command("go run ./scripts/firesweep plan --project PROJECT %s", e.Name)
			continue
		}
		rep, err := l.demonstrate(ctx, out, e, now, logFile.Name())
		if err != nil {
			return err
		}
		reports = append(reports, rep)
		was := after
		if after, err = project.Read(ctx); err != nil {
			return err
		}
		if e.Name == takenBack {
			back = rewind{job: e, runID: rep.RunID, before: was, after: after}
		}
	}
	printSummary(out, reports)
	printLeft(out, before, after)
	if differences := sample.Differences(after); len(differences) > 0 {
		out.Line("\nNOT as it should be:")
		for _, line := range differences {
			out.Say(screen.Red, 2, 2, "%s", line)
		}
		return errors.New("the demo did not end as the sample data must")
	}
	if err := l.showEmptyDatabase(ctx, out, project, now); err != nil {
		return err
	}
	if err := back.show(ctx, out, l, project, now); err != nil {
		return err
	}
	out.Line("")
	out.Say(screen.Bold, 0, 0, "Everything is as it should be, after %.1f s.", time.Since(begun).Seconds())
	return nil
}

// emptied makes one job's database an empty one.
const emptied = "FIRESTORE_DATABASE_cleanupOrphanedMedia"

// demoEnvironment is the functions' environment in the demo: the variables that the demo has set, and none of the user's.
func demoEnvironment(name string) string {
	for _, ours := range []string{projectVariable, bucketVariable, emptied, "TASKS_", "_EMULATOR_HOST"} {
		if strings.Contains(name, ours) {
			return os.Getenv(name)
		}
	}
	return ""
}

// showEmptyDatabase runs the job that deletes files on an empty database, as a mistake in a configuration would, and makes sure
// that every file is still there.
func (l *local) showEmptyDatabase(
	ctx context.Context, out *screen.Printer, project *sampledata.Project, now time.Time,
) (err error) {
	const job = "cleanupOrphanedMedia"
	before, err := project.Read(ctx)
	if err != nil {
		return err
	}
	if err := os.Setenv(emptied, "empty"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Unsetenv(emptied)) }()
	rep, err := l.post(ctx, manifest.Entry{Name: job}, now, "")
	if err != nil {
		return err
	}
	after, err := project.Read(ctx)
	if err != nil {
		return err
	}
	out.Line("")
	out.Say(screen.Bold, 0, 2, "And by mistake, with an empty database (FIRESTORE_DATABASE=empty):")
	out.Say("", 2, 2, "%s, %s: of %d files of the bucket %d are left", job, rep.Status, len(before.Objects), len(after.Objects))
	for _, f := range rep.Failures {
		cause, _, _ := strings.Cut(f.Error, ": make sure") // the rest says what to do about it
		out.Say("", 2, 2, "%s", cause)
	}
	if rep.Status != report.Aborted || len(before.Objects) == 0 || !slices.Equal(before.Objects, after.Objects) {
		return fmt.Errorf("%s on an empty database must end as aborted and leave every file", job)
	}
	return nil
}

// demonstrate previews a job, runs it, and runs it again to show that nothing is left to do.
func (l *local) demonstrate(
	ctx context.Context, out *screen.Printer, e manifest.Entry, now time.Time, logFile string,
) (*report.Report, error) {
	out.Line("")
	out.Line(out.Style(screen.Bold, e.Name) + " (" + e.Schedule + " " + e.TimeZone + ")")
	out.Say("", 0, 0, "%s", e.Description)
	preview, err := l.post(ctx, e, now, `{"dryRun":true}`)
	if err != nil {
		return nil, err
	}
	out.Say(screen.Bold, 2, 0, "preview, %s:", preview.Status)
	shown := *preview
	shown.Plan = slices.Clone(preview.Plan)
	for i, p := range shown.Plan {
		shown.Plan[i].Target = strings.Replace(p.Target, "gs://"+os.Getenv(bucketVariable), "gs://…", 1) // it is the same for all
	}
	out.Plan(&shown, false)
	out.Kept(&shown)
	rep, err := l.post(ctx, e, now, "")
	if err != nil {
		return nil, err
	}
	out.Line("  " + out.Style(screen.Bold, "run, "+string(rep.Status)) + ": " +
		whatWasDone(e, preview, rep) + fmt.Sprintf(", in %d ms", rep.DurationMs))
	if e.Worker != "" {
		if err := l.awaitTasks(ctx, out, e.Worker, int(rep.Usage.Tasks), logFile); err != nil {
			return nil, err
		}
	}
	again, err := l.post(ctx, e, now, "")
	if err != nil {
		return nil, err
	}
	did := again.Totals()
	out.Line("  " + out.Style(screen.Bold, "run again, "+string(again.Status)) + fmt.Sprintf(": %d done", did.Done))
	completed := preview.Status == report.Completed && rep.Status == report.Completed && again.Status == report.Completed
	if !completed || did.Done+did.Changed+did.Failed > 0 {
		return nil, fmt.Errorf("%s: the preview and both runs must complete, and the second run must find nothing to do", e.Name)
	}
	return rep, nil
}

// post calls a function as Cloud Scheduler does.
func (l *local) post(ctx context.Context, e manifest.Entry, now time.Time, body string) (*report.Report, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.url(e.Name), bytes.NewReader([]byte(body)))
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", e.Name, err)
	}
	req.Header.Set("User-Agent", "Google-Cloud-Scheduler")
	req.Header.Set("X-CloudScheduler", "true")
	req.Header.Set("X-CloudScheduler-JobName", e.Name)
	req.Header.Set("X-CloudScheduler-ScheduleTime", now.Format(time.RFC3339))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", e.Name, err)
	}
	answer, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return nil, fmt.Errorf("call %s: %w", e.Name, err)
	}
	var rep report.Report
	if err := json.Unmarshal(answer, &rep); err != nil || rep.RunID == "" {
		return nil, fmt.Errorf("call %s: %s: %s", e.Name, resp.Status, answer)
	}
	return &rep, nil
}

// whatWasDone says how much a job did itself, handed to its worker, and kept although the preview had planned it.
func whatWasDone(e manifest.Entry, preview, rep *report.Report) string {
	handed := int(rep.Usage.Tasks)
	var parts []string
	if own := rep.Done() - handed; own > 0 || e.Worker == "" {
		parts = append(parts, fmt.Sprintf("%d done", own))
	}
	if e.Worker != "" {
		parts = append(parts, fmt.Sprintf("%d handed to %s", handed, e.Worker))
	}
	if more := keptOf(rep) - keptOf(preview); more > 0 {
		parts = append(parts, fmt.Sprintf("%d more kept when it came to it", more))
	}
	return strings.Join(parts, ", ")
}

func keptOf(r *report.Report) (kept int) {
	for _, n := range r.Kept {
		kept += n
	}
	return kept
}

func printSummary(out *screen.Printer, reports []*report.Report) {
	var rows []screen.Row
	for _, r := range reports {
		row := screen.Row{Cells: []string{r.Job}}
		u := r.Usage
		for _, n := range []int64{
			int64(r.Done()) - u.Tasks, u.Tasks, u.FirestoreReads, u.FirestoreWrites, u.FirestoreDeletes, u.StorageDeletes,
		} {
			row.Cells = append(row.Cells, strconv.FormatInt(n, 10))
		}
		rows = append(rows, row)
	}
	out.Line("")
	columns := screen.Numbers("DONE", "TASKS", "READS", "WRITES", "DELETES", "FILES")
	out.Table(append([]screen.Column{{Name: "JOB"}}, columns...), rows)
}

func printLeft(out *screen.Printer, before, after sampledata.State) {
	was, is := before.Counts(), after.Counts()
	names := maps.Clone(was)
	maps.Copy(names, is)
	var rows []screen.Row
	for _, name := range slices.Sorted(maps.Keys(names)) {
		rows = append(rows, screen.Row{Cells: []string{name, strconv.Itoa(was[name]), strconv.Itoa(is[name])}})
	}
	out.Line("")
	out.Table(append([]screen.Column{{Name: "WHAT"}}, screen.Numbers("BEFORE", "LEFT")...), rows)
}
