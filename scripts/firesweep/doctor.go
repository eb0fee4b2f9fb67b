package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/api/firebaserules/v1"
	"google.golang.org/api/firestore/v1"
	"google.golang.org/api/storage/v1"

	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/manifest"
	"github.com/firesweep/firesweep/shared/version"
)

// Levels of a finding.
const (
	levelProblem = "problem" // makes a job fail, keeps it from running, lets others control it, or could not be checked
	levelWarning = "warning" // makes a mistake final, or should be known
)

// finding is the result of one check. docs/command.md documents it as JSON.
type finding struct {
	Level string `json:"level"`
	About string `json:"about"`        // e.g. "database (default)"
	Text  string `json:"text"`         // what was found
	Do    string `json:"do,omitempty"` // what to do about it
}

// patient is what the doctor looks at, and what it has found.
type patient struct {
	*app
	jobs     []manifest.Entry
	configs  map[string]config.Config // by job
	project  string
	emulated bool // emulators have nothing to look at but the records of the jobs
	found    []finding
}

func (p *patient) add(about, level, do, format string, args ...any) {
	p.found = append(p.found, finding{Level: level, About: about, Text: fmt.Sprintf(format, args...), Do: do})
}

func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor [JOB...]",
		Short: "Look for what would make a job fail or a mistake final",
		Long: `Look for what would make a job fail, or a mistake final, and say what to do
about it; nothing is written.

Your credentials need roles/datastore.viewer, roles/firebaserules.viewer, and
roles/storage.legacyBucketReader on the bucket.`,
		Example: `  firesweep doctor
  firesweep doctor --project my-project cleanupReports
  firesweep doctor --json | jq '.findings[] | select(.level == "problem")'`,
		RunE: func(c *cobra.Command, names []string) error {
			p, err := a.patient(c.Context(), names)
			if err != nil {
				return err
			}
			p.examine(c.Context())
			if c.Context().Err() != nil {
				return context.Cause(c.Context())
			}
			isProblem := func(f finding) bool { return f.Level == levelProblem }
			return a.show(map[string]any{"findings": p.found}, p.print, slices.ContainsFunc(p.found, isProblem))
		},
	}
}

// patient returns what is to be checked of jobs.
func (a *app) patient(ctx context.Context, names []string) (*patient, error) {
	jobs, err := a.jobsNamed(names)
	p := &patient{app: a, configs: map[string]config.Config{}, found: []finding{}}
	for _, job := range jobs {
		cfg, wrong := a.settings(ctx, job, readOf(job)...)
		err = cmp.Or(err, wrong)
		p.configs[job.Name], p.project, p.emulated = cfg, cfg.Project, cfg.Emulators.Any()
	}
	if err == nil {
		p.jobs, err = a.withGroups(jobs)
	}
	return p, err
}

// examine checks everything, and puts the worst findings first.
func (p *patient) examine(ctx context.Context) {
	defer p.progress(ctx, "looking at "+p.project).stop()
	if !p.emulated {
		p.examineGoogle(ctx)
	}
	for _, job := range p.jobs {
		if err := p.examineRecord(ctx, job); err != nil {
			p.add(job.Name, levelProblem, p.remedy(ctx, err), "Its runs cannot be read: %s", err)
		}
	}
	left, err := p.halfDone(ctx)
	for _, f := range left {
		finish := "Finish them with the file of then: " + p.cmd("run", f.Job, ofThen)
		p.add(f.Job, levelWarning, finish, "It left items half done, and "+noRule)
	}
	if err != nil {
		p.add(p.project, levelProblem, p.remedy(ctx, err), "The records of its jobs cannot be read: %s", err)
	}
	slices.SortStableFunc(p.found, func(a, b finding) int { return strings.Compare(a.Level, b.Level) }) // p before w
}

// examineGoogle checks the databases and buckets of the jobs.
func (p *patient) examineGoogle(ctx context.Context) {
	fire, err := firestore.NewService(ctx, p.google(ctx, "firestore", p.project)...)
	rules, rulesErr := firebaserules.NewService(ctx, p.google(ctx, "firebaserules", p.project)...)
	store, storeErr := storage.NewService(ctx, p.google(ctx, "storage", p.project)...)
	if err := errors.Join(err, rulesErr, storeErr); err != nil {
		p.add("Google", levelProblem, p.remedy(ctx, err), "Its services cannot be opened: %s", err)
		return
	}
	databases, buckets := map[string][]manifest.Entry{}, map[string]int{}
	for _, job := range p.jobs {
		cfg := p.configs[job.Name]
		databases[cfg.Database] = append(databases[cfg.Database], job)
		if len(job.Roles[config.Storage]) > 0 {
			buckets[cfg.Bucket] = max(buckets[cfg.Bucket], cfg.UndoDays)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(databases)) {
		d := database{p, fire.Projects.Databases, id, "projects/" + p.project + "/databases/" + id, "database " + id}
		d.examine(ctx)
		for _, job := range databases[id] {
			for _, index := range job.Indexes {
				d.examineIndex(ctx, job.Name, index)
			}
		}
		d.examineRules(ctx, rules.Projects)
	}
	for _, name := range slices.Sorted(maps.Keys(buckets)) {
		p.examineBucket(ctx, store, name, buckets[name])
	}
}

// database is a database that is checked.
type database struct {
	*patient
	service         *firestore.ProjectsDatabasesService
	id, name, about string
}

// unknown adds a finding for a request that failed.
func (d database) unknown(what string, err error) {
	const do = "It needs roles/datastore.viewer. Make sure that the project and FIRESTORE_DATABASE are right."
	d.add(d.about, levelProblem, do, "%s cannot be read: %s", what, apiError(err))
}

// examine checks the database itself, and the TTL policies that delete the bundle's own records; terraform/firestore.tf makes the
// same. Undo logs hold whole documents of the application, people's data.
func (d database) examine(ctx context.Context) {
	db, err := d.service.Get(d.name).Context(ctx).Do()
	if err != nil {
		d.unknown("The database", err)
		return
	}
	if db.Type != "FIRESTORE_NATIVE" || db.DatabaseEdition == "ENTERPRISE" {
		d.add(d.about, levelProblem, "Use a database in Native mode and Standard edition: neither can be changed.",
			"It is %s %s: the functions need FIRESTORE_NATIVE, STANDARD.", db.Type, db.DatabaseEdition)
	}
	if db.PointInTimeRecoveryEnablement != "POINT_IN_TIME_RECOVERY_ENABLED" {
		do := fmt.Sprintf("gcloud firestore databases update --enable-pitr --project=%s --database='%s'", d.project, d.id)
		d.add(d.about, levelWarning, do, "Point-in-time recovery is off: a deleted document can be restored for an hour only.")
	}
	for _, of := range []struct{ group, what, level string }{
		{"cleanupRuns", "reports of runs", levelWarning},
		{collections.Undo, "undo logs, which hold the documents that were deleted,", levelProblem},
	} {
		at := d.name + "/collectionGroups/" + of.group + "/fields/expireAt"
		if field, err := d.service.CollectionGroups.Fields.Get(at).Context(ctx).Do(); err != nil {
			d.unknown("The TTL policy of "+of.group, err)
		} else if field.TtlConfig == nil || field.TtlConfig.State != "ACTIVE" {
			do := fmt.Sprintf("terraform apply, or: gcloud firestore fields ttls update expireAt --enable-ttl --collection-group=%s "+
				"--project=%s --database='%s'", of.group, d.project, d.id)
			d.add(d.about, of.level, do, "%s has no active TTL policy on expireAt: %s are kept for ever.", of.group, of.what)
		}
	}
}

// examineIndex checks that an index that a job needs is there, among those of its single field or of its collection.
func (d database) examineIndex(ctx context.Context, job string, wanted manifest.Index) {
	group := d.name + "/collectionGroups/" + wanted.CollectionGroup
	var all []*firestore.GoogleFirestoreAdminV1Index
	var err error
	do := "Make it: firesweep check --indexes says what to add to firestore.indexes.json, then " +
		"firebase deploy --only firestore:indexes"
	if len(wanted.Fields) == 1 { // Terraform makes none: it would overwrite what the application set for the field
		var field *firestore.GoogleFirestoreAdminV1Field
		field, err = d.service.CollectionGroups.Fields.Get(group + "/fields/" + wanted.Fields[0].FieldPath).Context(ctx).Do()
		if err == nil && field.IndexConfig != nil {
			all = field.IndexConfig.Indexes
		}
	} else {
		do += "; or terraform apply"
		list := d.service.CollectionGroups.Indexes.List(group)
		err = list.Pages(ctx, func(page *firestore.GoogleFirestoreAdminV1ListIndexesResponse) error {
			all = append(all, page.Indexes...)
			return nil
		})
	}
	if err != nil {
		d.unknown("The indexes of "+wanted.CollectionGroup, err)
		return
	}
	words, is := fieldWords(wanted), "not there"
	for _, index := range all {
		i := manifest.Index{QueryScope: index.QueryScope}
		for _, f := range index.Fields {
			i.Fields = append(i.Fields, manifest.IndexField{FieldPath: f.FieldPath, Order: f.Order, ArrayConfig: f.ArrayConfig})
		}
		if fieldWords(i) == words {
			is = index.State
		}
	}
	if is == "CREATING" {
		do = "Wait until it is built; the job is tried again."
	}
	if is != "READY" {
		d.add(d.about, levelProblem, do, "%s needs the index %s of %s, which is %s.", job, words, wanted.CollectionGroup, is)
	}
}

// examineRules lets Google test, with the released rules, whether a client that has signed in, as anybody can, may use the
// bundle's own collections.
func (d database) examineRules(ctx context.Context, service *firebaserules.ProjectsService) {
	release := "cloud.firestore"
	if d.id != "(default)" {
		release += "/" + d.id
	}
	var tests []*firebaserules.TestCase
	var asks, may []string
	data := map[string]any{"data": map[string]any{}}
	somebody := map[string]any{"uid": "somebody", "token": map[string]any{"sub": "somebody"}}
	for _, document := range collections.Documents() {
		for _, method := range []string{"get", "list", "create", "update", "delete"} {
			test := &firebaserules.TestCase{Expectation: "DENY", PathEncoding: "PLAIN", Resource: data, Request: map[string]any{
				"path": "/databases/" + d.id + "/documents/" + document, "method": method, "resource": data, "auth": somebody,
				"time": d.clock().UTC().Format(time.RFC3339)}}
			if method == "create" {
				test.Resource = nil
			}
			tests, asks = append(tests, test), append(asks, method+" in "+path.Dir(document))
		}
	}
	results, err := d.tested(ctx, service, release, tests)
	for i, result := range results {
		if result.State == "FAILURE" {
			may = append(may, asks[i])
		} else if result.State != "SUCCESS" {
			err = fmt.Errorf("a test ended as %q", result.State)
		}
	}
	if err != nil {
		const do = "It needs roles/firebaserules.viewer, the API firebaserules.googleapis.com, and rules of "
		d.add(d.about, levelProblem, do+release+".", "Its security rules cannot be tested: %s", apiError(err))
	} else if len(may) > 0 {
		const do = "Close them: no rule may allow them, and a rule for all documents, {document=**}, must leave them out: "
		d.add(d.about, levelProblem, do+version.Page("docs/firestore.rules"), "Security rules: anybody who has signed in may %s.",
			strings.Join(may, ", "))
	}
}

// tested tests the rules of a release, and returns a result for each test.
func (d database) tested(
	ctx context.Context, service *firebaserules.ProjectsService, release string, tests []*firebaserules.TestCase,
) ([]*firebaserules.TestResult, error) {
	released, err := service.Releases.Get("projects/" + d.project + "/releases/" + release).Context(ctx).Do()
	if err != nil {
		return nil, err
	}
	rules, err := service.Rulesets.Get(released.RulesetName).Context(ctx).Do()
	if err != nil {
		return nil, err
	}
	ask := &firebaserules.TestRulesetRequest{Source: rules.Source, TestSuite: &firebaserules.TestSuite{TestCases: tests}}
	tested, err := service.Test("projects/"+d.project, ask).Context(ctx).Do()
	if err == nil && len(tested.TestResults) != len(tests) {
		err = fmt.Errorf("%d of %d tests were made", len(tested.TestResults), len(tests))
	}
	if err != nil {
		return nil, err
	}
	return tested.TestResults, nil
}

// examineBucket checks a bucket, and whether it keeps deleted files for as long as runs can be taken back.
func (p *patient) examineBucket(ctx context.Context, service *storage.Service, name string, undoDays int) {
	about := "bucket " + name
	b, err := service.Buckets.Get(name).Context(ctx).Do()
	if err != nil {
		const do = "It needs roles/storage.legacyBucketReader on the bucket. Make sure that STORAGE_BUCKET is right."
		p.add(about, levelProblem, do, "It cannot be read: %s", apiError(err))
		return
	}
	kept := 0
	if b.SoftDeletePolicy != nil {
		kept = int(time.Duration(b.SoftDeletePolicy.RetentionDurationSeconds) * time.Second / (24 * time.Hour))
	}
	do := fmt.Sprintf("gcloud storage buckets update gs://%s --soft-delete-duration=%dd", name, max(30, undoDays))
	switch {
	case b.Versioning != nil && b.Versioning.Enabled: // a deleted file stays until a lifecycle rule deletes it
	case kept == 0:
		p.add(about, levelWarning, do, "Soft delete is off: a deleted file is gone at once.")
	case kept < undoDays:
		p.add(about, levelWarning, do, "Soft delete keeps a deleted file for %s, and UNDO_DAYS is %d: "+
			"what is taken back later comes back without its files.", plural(kept, "day"), undoDays)
	}
}

// examineRecord checks what the bundle keeps of a job: its lease, and how its last run ended.
func (p *patient) examineRecord(ctx context.Context, job manifest.Entry) error {
	record, err := p.record(ctx, job)
	if err != nil {
		return err
	}
	if err := errors.Join(record.Err, record.TooLong(job.Name, p.clock())); err != nil {
		p.add(job.Name, levelProblem, "Delete that field: nothing will change by itself.", "No run can begin: %s", err)
		return nil
	}
	if record.Held != nil {
		p.add(job.Name, levelWarning, "When the rule and the data are right: "+p.cmd("resume", record.Held.Record), "It is held %s.",
			*record.Held)
	}
	left, err := p.leftBy(ctx, job, record)
	if left > 0 {
		finish := "Finish them with the file of then: " + p.cmd("run", job.Name, ofThen)
		p.add(job.Name, levelWarning, finish, "It left items half done (commits: %d), and deletes nothing along any more", left)
	}
	if err != nil {
		return err
	}
	st, err := p.standing(ctx, job, record, 1)
	if err == nil && st.bad() {
		p.add(job.Name, levelProblem, "Look at: "+p.cmd("show", job.Name), "%s. %s", capital(st.State), st.Detail)
	}
	return err
}

// print prints the findings for people.
func (p *patient) print(to *printer) {
	styles := map[string]string{levelProblem: red, levelWarning: yellow}
	for _, f := range p.found {
		to.Say(styles[f.Level], 0, 2, "%s: %s: %s", f.Level, f.About, f.Text)
		to.remedy(f.Do)
	}
	if len(p.found) == 0 {
		to.Say("", 0, 0, "Nothing was found that would make a job fail, or a mistake final.")
	}
	if p.emulated {
		to.Say("", 0, 0, "On emulators, only the records of the jobs are checked: these have no edition, recovery, TTL policies, "+
			"indexes, soft delete or released security rules.")
	}
}
