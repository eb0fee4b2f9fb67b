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
	"strings"
	"text/tabwriter"
	"time"

	"github.com/firesweep/firesweep/emulator/backends"
	"github.com/firesweep/firesweep/emulator/sampledata"
	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/sweep"
)

// timeTravel puts the demo's now after the upload of the sample's objects, whose age cannot be chosen.
const timeTravel = 48 * time.Hour

// runDemo loads the sample data, previews and runs every job as Cloud Scheduler would, and compares what is left with
// what the sample must end as. Any difference is an error.
func runDemo(ctx context.Context, out io.Writer) (err error) {
	begun := time.Now()
	logFile, err := os.CreateTemp("", "firesweep-demo-*.log")
	if err != nil {
		return fmt.Errorf("create the functions' log: %w", err)
	}
	// The functions log to standard error and their framework prints to standard output: here both go to the file.
	stderr, stdout := os.Stderr, os.Stdout
	os.Stderr, os.Stdout = logFile, logFile
	defer func() { os.Stderr, os.Stdout = stderr, stdout }()

	l, err := start(ctx, backends.Options{}, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.backends.Close()) }()
	fmt.Fprintf(out, "Firesweep on local emulators, started in %.1f s. The functions' log: %s\n", time.Since(begun).Seconds(), logFile.Name())

	project, err := openProject(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, project.Close()) }()
	now := time.Now().Add(timeTravel).UTC().Truncate(time.Second)
	sample := sampledata.Of(now, os.Getenv("STORAGE_BUCKET"))
	if err := project.Load(ctx, sample); err != nil {
		return err
	}
	before, err := project.Read(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "Sample project %s: %d documents, %d objects, %d accounts. The time is taken to be %s.\n", os.Getenv("GOOGLE_CLOUD_PROJECT"),
		len(before.Documents), len(before.Objects), len(before.Accounts), now.Format(time.RFC3339))

	var reports []*sweep.Report
	for _, e := range functions.All() {
		if e.Trigger != functions.Schedule {
			continue // it is shown with the job that hands it tasks
		}
		report, err := l.demonstrate(ctx, out, e, now)
		if err != nil {
			return err
		}
		reports = append(reports, report)
	}
	after, err := project.Read(ctx)
	if err != nil {
		return err
	}
	printSummary(out, reports)
	printLeft(out, before, after)
	if differences := sample.Differences(after); len(differences) > 0 {
		fmt.Fprintln(out, "\nNOT as it should be:")
		for _, line := range differences {
			fmt.Fprintln(out, "  "+line)
		}
		return errors.New("the demo did not end as the sample data must")
	}
	fmt.Fprintf(out, "\nEverything is as it should be, after %.1f s.\n", time.Since(begun).Seconds())
	return nil
}

// demonstrate previews a job, runs it, and runs it again to show that nothing is left to do.
func (l *local) demonstrate(ctx context.Context, out io.Writer, e functions.Entry, now time.Time) (*sweep.Report, error) {
	fmt.Fprintf(out, "\n%s (%s %s): %s\n", e.Name, e.Schedule, e.TimeZone, e.Description)
	preview, err := l.post(ctx, e, now, `{"dryRun":true}`)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(out, "  preview, %s:\n", preview.Status)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, p := range preview.Plan {
		target := strings.Replace(p.Target, "gs://"+os.Getenv("STORAGE_BUCKET"), "gs://…", 1) // it is the same for all
		fmt.Fprintf(table, "    %s\t%s\t%s\n", p.Action, target, p.Reason)
	}
	for _, reason := range slices.Sorted(maps.Keys(preview.Kept)) {
		fmt.Fprintf(table, "    keep\t%d\t%s\n", preview.Kept[reason], reason)
	}
	if err := table.Flush(); err != nil {
		return nil, fmt.Errorf("print the preview: %w", err)
	}
	report, err := l.post(ctx, e, now, "")
	if err != nil {
		return nil, err
	}
	done, _, _ := totals(report)
	fmt.Fprintf(out, "  run, %s: %d done, in %d ms\n", report.Status, done, report.DurationMs)
	if e.Worker != "" {
		if err := l.awaitTasks(ctx, out, e.Worker, int(report.Usage.Tasks)); err != nil {
			return nil, err
		}
	}
	again, err := l.post(ctx, e, now, "")
	if err != nil {
		return nil, err
	}
	done, changed, failed := totals(again)
	fmt.Fprintf(out, "  run again, %s: %d done\n", again.Status, done)
	if preview.Status != sweep.Completed || report.Status != sweep.Completed || again.Status != sweep.Completed || done+changed+failed > 0 {
		return nil, fmt.Errorf("%s: the preview and both runs must complete, and the second run find nothing to do", e.Name)
	}
	return report, nil
}

// post calls a function the way Cloud Scheduler does.
func (l *local) post(ctx context.Context, e functions.Entry, now time.Time, body string) (*sweep.Report, error) {
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
	var report sweep.Report
	if err := json.Unmarshal(answer, &report); err != nil || report.RunID == "" {
		return nil, fmt.Errorf("call %s: %s: %s", e.Name, resp.Status, answer)
	}
	return &report, nil
}

func totals(r *sweep.Report) (done, changed, failed int) {
	for _, c := range r.Actions {
		done, changed, failed = done+c.Done, changed+c.Changed, failed+c.Failed
	}
	return done, changed, failed
}

func printSummary(out io.Writer, reports []*sweep.Report) {
	fmt.Fprintln(out)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "JOB\tSTATUS\tSCANNED\tDONE\tCHANGED\tFAILED\tKEPT\tREADS\tWRITES\tDELETES\tOBJECTS DELETED")
	for _, r := range reports {
		done, changed, failed := totals(r)
		kept := 0
		for _, n := range r.Kept {
			kept += n
		}
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\n", r.Job, r.Status, r.Scanned, done, changed, failed, kept,
			r.Usage.FirestoreReads, r.Usage.FirestoreWrites, r.Usage.FirestoreDeletes, r.Usage.StorageDeletes)
	}
	_ = table.Flush() // out is standard output: there is nobody to tell
}

func printLeft(out io.Writer, before, after sampledata.State) {
	fmt.Fprintln(out)
	was, is := before.Counts(), after.Counts()
	names := maps.Clone(was)
	maps.Copy(names, is)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "WHAT\tBEFORE\tLEFT")
	for _, name := range slices.Sorted(maps.Keys(names)) {
		fmt.Fprintf(table, "%s\t%d\t%d\n", name, was[name], is[name])
	}
	_ = table.Flush() // out is standard output: there is nobody to tell
}
