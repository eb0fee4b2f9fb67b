package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/firesweep/firesweep/emulator/page"
	"github.com/firesweep/firesweep/emulator/sampledata"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/manifest"
)

const (
	// takenBack is the job whose run the demo takes back. It deletes documents and files, changes fields, and notifies people.
	takenBack = "checkGhostCircles"
	// emptied makes the database of one job an empty one.
	emptiedJob = "cleanupOrphanedMedia"
	emptied    = "FIRESTORE_DATABASE_" + emptiedJob
	// longestWait is how long the demo waits for tasks. The sample's last task is due after a few seconds.
	longestWait = 5 * time.Minute
)

// demo is the demo on its sample.
type demo struct {
	*local
	options
	project *sampledata.Project
	now     time.Time // that of all runs
	out     io.Writer

	run           string // the one to take back
	before, after sampledata.State
}

// runDemo loads the sample data, previews and runs every job as Cloud Scheduler would, and compares what is left with what the
// sample says. Then it runs a job on an empty database, and takes a run back. Any difference is an error.
func runDemo(ctx context.Context, out io.Writer, o options) (err error) {
	begun := time.Now()
	// The demo uses no emulators that the environment names, and none of the user's settings.
	if err := os.Unsetenv(emptied); err != nil {
		return err
	}
	o.FirestorePort, o.AuthPort, o.StoragePort, o.TasksPort, o.functionsPort = 0, 0, 0, 0, 0
	o.getenv, o.log, o.ahead = demoEnvironment, io.Discard, sampledata.WholeAhead
	l, err := start(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	say(out, 0, "Firesweep on local emulators, started in %.1f s.", time.Since(begun).Seconds())
	project, err := openProject(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, project.Close()) }()

	now := time.Now().Add(sampledata.WholeAhead).UTC().Truncate(time.Second)
	d := demo{local: l, options: o, project: project, now: now, out: out}
	for _, step := range []func(context.Context) error{d.runAll, d.showEmptyDatabase, d.takeBack} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	say(out, 0, "\nEverything is as it should be, after %.1f s.", time.Since(begun).Seconds())
	return nil
}

// sampleReferences are the places where the sample refers to users.
const sampleReferences = "posts.userId,comments.userId,circles.ownerId,inquiries.userId,projects.owner_ids," +
	"projects.maintainer_ids,members.user_id"

// demoEnvironment is the functions' environment in the demo: the variables that the demo has set, and none of the user's.
func demoEnvironment(name string) string {
	if strings.HasPrefix(name, "PLACEHOLDER_REFERENCES") {
		return sampleReferences
	}
	for _, ours := range []string{projectVariable, bucketVariable, emptied, "TASKS_", "_EMULATOR_HOST"} {
		if strings.Contains(name, ours) {
			return os.Getenv(name)
		}
	}
	return ""
}

// runAll loads the sample and runs all jobs. The sample says what must be left.
func (d *demo) runAll(ctx context.Context) error {
	sample := sampledata.Of(d.now, os.Getenv(bucketVariable))
	if err := d.project.Load(ctx, sample); err != nil {
		return err
	}
	loaded, err := d.project.Read(ctx)
	if err != nil {
		return err
	}
	say(d.out, 0, "Sample project %s: %d documents, %d objects, %d accounts.", os.Getenv(projectVariable),
		len(loaded.Documents), len(loaded.Objects), len(loaded.Accounts))
	say(d.out, 0, "The demo's now is %s, two days ahead: the files have only just been uploaded.", d.now.Format(time.RFC3339))
	left := loaded
	for _, e := range d.list.All {
		if e.Trigger != manifest.Schedule {
			continue // it is shown with the job whose tasks it does
		}
		if !slices.Contains(sampledata.Jobs(), e.Name) { // it would find items of another job, or none
			say(d.out, 0, "\n%s is left out: it looks where another job's part of the sample is, or its files must be older than "+
				"two days.", e.Name)
			continue
		}
		run, err := d.demonstrate(ctx, e)
		if err != nil {
			return err
		}
		was := left
		if left, err = d.project.Read(ctx); err != nil {
			return err
		}
		if e.Name == takenBack {
			d.run, d.before, d.after = run, was, left
		}
	}
	printLeft(d.out, loaded.Counts(), left.Counts())
	if differences := sample.Differences(left); len(differences) > 0 {
		return fmt.Errorf("the demo did not end as the sample data must:\n%s", strings.Join(differences, "\n"))
	}
	return nil
}

// demonstrate previews a job, runs it, and runs it again to show that nothing is left to do. It returns the run's id.
func (d *demo) demonstrate(ctx context.Context, e manifest.Entry) (string, error) {
	say(d.out, 0, "\n%s (%s %s)\n%s", e.Name, e.Schedule, e.TimeZone, e.Description)
	preview, err := d.post(ctx, e.Name, `{"dryRun":true}`)
	if err != nil {
		return "", err
	}
	printPlan(d.out, preview)
	run, err := d.post(ctx, e.Name, "")
	if err != nil {
		return "", err
	}
	var did []string
	handed := int(run.Usage.Tasks)
	if own := run.Done() - handed; own > 0 {
		did = append(did, fmt.Sprintf("%d done", own))
	}
	if handed > 0 {
		did = append(did, fmt.Sprintf("%d handed to %s", handed, e.Worker))
	}
	say(d.out, 2, "run, %s: %s", run.Status, strings.Join(did, ", "))
	if err := d.awaitTasks(ctx); err != nil {
		return "", err
	}
	again, err := d.post(ctx, e.Name, "")
	if err != nil {
		return "", err
	}
	for _, r := range []*report.Report{preview, run, again} {
		if r.Status != report.Completed {
			return "", fmt.Errorf("%s must complete, and is %s: %v", e.Name, r.Status, r.Failures)
		}
	}
	if c := again.Totals(); c.Done+c.Changed+c.Failed > 0 {
		return "", fmt.Errorf("%s: the second run must find nothing to do, and did %v", e.Name, again.Actions)
	}
	say(d.out, 2, "run again, %s: nothing is left to do", again.Status)
	return run.RunID, nil
}

// post calls a function as Cloud Scheduler does.
func (d *demo) post(ctx context.Context, job, body string) (*report.Report, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.url(job), strings.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", job, err)
	}
	req.Header.Set("User-Agent", "Google-Cloud-Scheduler")
	req.Header.Set("X-CloudScheduler", "true")
	req.Header.Set("X-CloudScheduler-JobName", job)
	req.Header.Set("X-CloudScheduler-ScheduleTime", d.now.Format(time.RFC3339))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", job, err)
	}
	answer, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return nil, fmt.Errorf("call %s: %w", job, err)
	}
	var rep report.Report
	if err := json.Unmarshal(answer, &rep); err != nil || rep.RunID == "" {
		return nil, fmt.Errorf("call %s: %s: %s", job, resp.Status, answer)
	}
	return &rep, nil
}

// awaitTasks waits until Cloud Tasks has delivered a job's tasks.
func (d *demo) awaitTasks(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, longestWait)
	defer cancel()
	for len(d.backends.Tasks().Pending("")) > 0 {
		select {
		case <-ctx.Done():
			return fmt.Errorf("the tasks are not done: %w", ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}

// showEmptyDatabase runs the job that deletes files on an empty database, as a mistake in a configuration would, and makes sure
// that every file is still there.
func (d *demo) showEmptyDatabase(ctx context.Context) (err error) {
	before, err := d.project.Read(ctx)
	if err != nil {
		return err
	}
	if err := os.Setenv(emptied, "empty"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Unsetenv(emptied)) }()
	rep, err := d.post(ctx, emptiedJob, "")
	if err != nil {
		return err
	}
	after, err := d.project.Read(ctx)
	if err != nil {
		return err
	}
	say(d.out, 0, "\nAnd by mistake, with an empty database (FIRESTORE_DATABASE=empty):")
	say(d.out, 2, "%s, %s: of %d files of the bucket %d are left", emptiedJob, rep.Status, len(before.Objects), len(after.Objects))
	for _, f := range rep.Failures {
		cause, _, _ := strings.Cut(f.Error, ": make sure") // the rest says what to do about it
		say(d.out, 2, "%s", cause)
	}
	if rep.Status != report.Aborted || len(before.Objects) == 0 || !slices.Equal(before.Objects, after.Objects) {
		return fmt.Errorf("%s on an empty database must end as aborted and leave every file", emptiedJob)
	}
	return nil
}

// takeBack takes a run back, makes sure that everything it deleted or changed is as it was, and runs the job once more.
func (d *demo) takeBack(ctx context.Context) error {
	undone, err := page.Options{Getenv: d.getenv, List: d.list}.Undo(ctx, page.Undoing{Run: d.run, Apply: true})
	if err != nil {
		return err
	}
	steps := map[undo.Step]int{}
	for _, o := range undone.Outcomes {
		steps[o.Step]++
	}
	say(d.out, 0, "\nAnd the run of %s taken back:", takenBack)
	say(d.out, 2, "%d documents and files are back, %d changes are reverted; %d notifications stay sent",
		steps[undo.Recreate], steps[undo.Revert]+steps[undo.Replace]+steps[undo.Remove], steps[undo.Stays])
	is, err := d.project.Read(ctx)
	if err != nil {
		return err
	}
	after, now := d.after.Names(""), is.Names("")
	compared, wrong := 0, []string{}
	for name, fields := range d.before.Names("") {
		left, there := after[name]
		back, isBack := now[name]
		if there && reflect.DeepEqual(left, fields) {
			continue // the run left it as it was
		}
		if compared++; !isBack || !reflect.DeepEqual(back, fields) {
			wrong = append(wrong, name)
		}
	}
	if len(wrong) > 0 || compared == 0 || undone.Problem != "" || steps[undo.Conflict]+steps[undo.Lost] > 0 {
		return fmt.Errorf("of the %d things that %s had deleted or changed, these are not as they were: %q %s",
			compared, takenBack, wrong, undone.Problem)
	}
	say(d.out, 2, "all %d that it had deleted or changed are as they were before the run", compared)
	rep, err := d.post(ctx, takenBack, "")
	if err != nil {
		return err
	}
	if rep.Status != report.Skipped || rep.Done() > 0 {
		return fmt.Errorf("%s must be held, and is %s", takenBack, rep.Status)
	}
	say(d.out, 2, "run again, %s: the undo holds the job until firesweep resume %s", rep.Status, takenBack)
	return nil
}
