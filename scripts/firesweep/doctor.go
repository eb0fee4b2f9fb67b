package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
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
)

// Levels of a finding, the worst first.
const (
	levelProblem = "problem" // makes a job fail, keeps it from running, or lets others control it
	levelUnknown = "unknown" // could not be checked
	levelWarning = "warning" // makes a mistake final, or should be known
	levelUnseen  = "unseen"  // does not exist here, so it is not checked
	levelFine    = "fine"
)

var levels = []string{levelProblem, levelUnknown, levelWarning, levelUnseen, levelFine}

// finding is the result of one check. docs/command.md documents it as JSON.
type finding struct {
	Level string `json:"level"`
	About string `json:"about"`        // e.g. "database (default)"
	Text  string `json:"text"`         // what was found
	Do    string `json:"do,omitempty"` // what to do about it
}

func (f finding) bad() bool { return f.Level == levelProblem || f.Level == levelUnknown }

// patient is what the doctor looks at, and what it has found.
type patient struct {
	*app
	jobs    []manifest.Entry
	configs map[string]config.Config // by job
	project string
	found   []finding
}

func (p *patient) add(about, level, do, format string, args ...any) {
	p.found = append(p.found, finding{Level: level, About: about, Text: fmt.Sprintf(format, args...), Do: do})
}

func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor [JOB...]",
		Short: "Look for what would make a job fail or a mistake final",
		Long: `Check databases, their security rules and indexes, buckets, and the jobs' own
records for what would make a job fail or a mistake final, and say what to do
about it. Nothing is written.

It needs roles/datastore.viewer, roles/firebaserules.viewer, and
roles/storage.legacyBucketReader on the bucket. Exit code 1 means that there is
a problem, or that something could not be checked.`,
		Example: `  firesweep doctor --project my-project
  firesweep doctor cleanupReports
  firesweep doctor --json | jq '.findings[] | select(.level == "problem")'`,
		RunE: func(c *cobra.Command, names []string) error {
			p, err := a.patient(names)
			if err != nil {
				return err
			}
			stop := a.progress(c.Context(), doing("looking at "+p.project))
			p.examine(c.Context())
			stop()
			if c.Context().Err() != nil {
				return context.Cause(c.Context())
			}
			return a.show(map[string]any{"findings": p.found}, p.print, slices.ContainsFunc(p.found, finding.bad))
		},
	}
}

// patient returns what is to be checked of jobs.
func (a *app) patient(names []string) (*patient, error) {
	p := &patient{app: a, configs: map[string]config.Config{}}
	var err error
	if p.jobs, err = a.jobsNamed(names); err != nil {
		return nil, err
	}
	for _, job := range p.jobs {
		if p.configs[job.Name], err = a.settings(job, readOf(job)...); err != nil {
			return nil, err
		}
		p.project = p.configs[job.Name].Project
	}
	p.jobs, err = a.withGroups(p.jobs)
	return p, err
}

// examine checks everything, and puts the worst findings first.
func (p *patient) examine(ctx context.Context) {
	if p.configs[p.jobs[0].Name].Emulators.Any() {
		p.add("emulators", levelUnseen, "", "Emulators have no edition, point-in-time recovery, TTL policies, indexes, soft delete or "+
			"released security rules: only the records of the jobs are checked.")
	} else {
		p.examineGoogle(ctx)
	}
	for _, job := range p.jobs {
		if err := p.examineRecord(ctx, job); err != nil {
			p.add(job.Name, levelUnknown, p.remedy(ctx, err), "Its runs cannot be read: %s", err)
		}
	}
	slices.SortStableFunc(p.found, func(a, b finding) int { return slices.Index(levels, a.Level) - slices.Index(levels, b.Level) })
}

// examineGoogle checks the databases and buckets of the jobs.
func (p *patient) examineGoogle(ctx context.Context) {
	fire, err := firestore.NewService(ctx, p.google(ctx, "firestore", p.project)...)
	rules, rulesErr := firebaserules.NewService(ctx, p.google(ctx, "firebaserules", p.project)...)
	store, storeErr := storage.NewService(ctx, p.google(ctx, "storage", p.project)...)
	if err := errors.Join(err, rulesErr, storeErr); err != nil {
		p.add("Google", levelUnknown, p.remedy(ctx, err), "Its services cannot be opened: %s", err)
		return
	}
	databases, buckets := map[string][]manifest.Entry{}, map[string][]manifest.Entry{}
	for _, job := range p.jobs {
		cfg := p.configs[job.Name]
		databases[cfg.Database] = append(databases[cfg.Database], job)
		if len(job.Roles[config.Storage]) > 0 {
			buckets[cfg.Bucket] = append(buckets[cfg.Bucket], job)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(databases)) {
		d := database{p, fire, id, "projects/" + p.project + "/databases/" + id}
		d.examine(ctx)
		d.examineRetention(ctx)
		d.examineIndexes(ctx, databases[id])
		d.examineRules(ctx, rules)
	}
	for _, name := range slices.Sorted(maps.Keys(buckets)) {
		p.examineBucket(ctx, store, name, buckets[name])
	}
}

// database is a database that is checked.
type database struct {
	*patient
	service  *firestore.Service
	id, name string
}

func (d database) add(level, do, format string, args ...any) {
	d.patient.add("database "+d.id, level, do, format, args...)
}

// unknown adds a finding for a request that failed.
func (d database) unknown(what string, err error) {
	d.add(levelUnknown, "It needs roles/datastore.viewer. Make sure that the project and FIRESTORE_DATABASE are right.",
		"%s cannot be read: %s", what, apiError(err))
}

// update is a command that changes the database.
func (d database) update(command, flags string) string {
	return fmt.Sprintf("gcloud firestore %s --project=%s --database='%s' %s", command, d.project, d.id, flags)
}

// examine checks the database itself.
func (d database) examine(ctx context.Context) {
	db, err := d.service.Projects.Databases.Get(d.name).Context(ctx).Do()
	if err != nil {
		d.unknown("The database", err)
		return
	}
	edition := db.DatabaseEdition
	if edition == "" || edition == "DATABASE_EDITION_UNSPECIFIED" {
		edition = "STANDARD" // as Google documents it
	}
	if db.Type != "FIRESTORE_NATIVE" || edition != "STANDARD" {
		d.add(levelProblem, "Use a database in Native mode and Standard edition: neither can be changed.",
			"It is %s, %s: the functions need FIRESTORE_NATIVE, STANDARD.", db.Type, edition)
	} else {
		d.add(levelFine, "", "Native mode, Standard edition")
	}
	if db.PointInTimeRecoveryEnablement != "POINT_IN_TIME_RECOVERY_ENABLED" {
		d.add(levelWarning, d.update("databases update", "--enable-pitr"),
			"Point-in-time recovery is off: a deleted document can be restored for an hour only.")
	} else {
		d.add(levelFine, "", "Point-in-time recovery is on: a deleted document can be restored for seven days")
	}
}

// retention is a TTL policy on one of the bundle's own groups of records.
type retention struct{ group, what, after, level string }

// retentions are the policies that each database needs; terraform/firestore.tf makes the same. No query asks for expireAt. Undo
// logs hold whole documents of the application, people's data.
var retentions = []retention{
	{"cleanupRuns", "reports of runs", "90 days", levelWarning},
	{collections.Undo, "undo logs, which hold the documents that were deleted,", "UNDO_DAYS", levelProblem},
}

// examineRetention checks the TTL policies that delete the bundle's own records.
func (d database) examineRetention(ctx context.Context) {
	for _, r := range retentions {
		field, err := d.service.Projects.Databases.CollectionGroups.Fields.Get(
			d.name + "/collectionGroups/" + r.group + "/fields/expireAt").Context(ctx).Do()
		do := "terraform apply, or: " + d.update("fields ttls update expireAt", "--collection-group="+r.group+" --enable-ttl")
		switch {
		case err != nil:
			d.unknown("The TTL policy of "+r.group, err)
		case field.TtlConfig == nil:
			d.add(r.level, do, "%s has no TTL policy on expireAt: %s are kept for ever.", r.group, r.what)
		case field.TtlConfig.State != "ACTIVE":
			d.add(r.level, "Wait. If that does not help: "+do,
				"The TTL policy of %s is %s: %s are not deleted yet.", r.group, field.TtlConfig.State, r.what)
		default:
			d.add(levelFine, "", "%s are deleted after %s", capital(r.what), r.after)
		}
	}
}

// examineIndexes compares the indexes with those that the jobs need.
func (d database) examineIndexes(ctx context.Context, jobs []manifest.Entry) {
	for _, job := range jobs {
		for _, index := range job.AllIndexes() {
			states, err := d.indexStates(ctx, index)
			if err != nil {
				d.unknown("The indexes of "+index.CollectionGroup, err)
				continue
			}
			fields := fieldWords(index)
			do := "Make it: firesweep check --indexes says what to add to firestore.indexes.json, then " +
				"firebase deploy --only firestore:indexes"
			if len(index.Fields) > 1 { // of a single field, Terraform would overwrite what the application set
				do += "; or terraform apply"
			}
			is := "is not there"
			switch state := states[fields]; state {
			case "READY":
				d.add(levelFine, "", "The index %s of %s is there", fields, index.CollectionGroup)
				continue
			case "CREATING":
				is, do = "is still being built", "Wait until it is built; the job is tried again."
			case "":
			default:
				is, do = "is "+state, "Delete it in the console. "+do
			}
			d.add(levelProblem, do, "%s needs the index %s of %s, which %s.", job.Name, fields, index.CollectionGroup, is)
		}
	}
}

// indexStates returns the states of the indexes among which one is to be, by [fieldWords]: those of its field if that is a single
// one, or the composite ones of its collection.
func (d database) indexStates(ctx context.Context, wanted manifest.Index) (map[string]string, error) {
	group, groups := d.name+"/collectionGroups/"+wanted.CollectionGroup, d.service.Projects.Databases.CollectionGroups
	var all []*firestore.GoogleFirestoreAdminV1Index
	var err error
	if len(wanted.Fields) == 1 {
		var field *firestore.GoogleFirestoreAdminV1Field
		field, err = groups.Fields.Get(group + "/fields/" + wanted.Fields[0].FieldPath).Context(ctx).Do()
		if err == nil && field.IndexConfig != nil {
			all = field.IndexConfig.Indexes
		}
	} else {
		err = groups.Indexes.List(group).Pages(ctx, func(page *firestore.GoogleFirestoreAdminV1ListIndexesResponse) error {
			all = append(all, page.Indexes...)
			return nil
		})
	}
	states := map[string]string{}
	for _, index := range all {
		i := manifest.Index{QueryScope: index.QueryScope}
		for _, f := range index.Fields {
			i.Fields = append(i.Fields, manifest.IndexField{FieldPath: f.FieldPath, Order: f.Order, ArrayConfig: f.ArrayConfig})
		}
		states[fieldWords(i)] = index.State
	}
	return states, err
}

// leastSoftDelete is how many days a bucket should keep deleted files, which is the default of buckets.
const leastSoftDelete = 7

// examineBucket checks a bucket, and whether it keeps deleted files as long as runs of its jobs can be taken back.
func (p *patient) examineBucket(ctx context.Context, service *storage.Service, name string, jobs []manifest.Entry) {
	about := "bucket " + name
	b, err := service.Buckets.Get(name).Context(ctx).Do()
	if err != nil {
		p.add(about, levelUnknown, "It needs roles/storage.legacyBucketReader on the bucket. Make sure that STORAGE_BUCKET is right.",
			"It cannot be read: %s", apiError(err))
		return
	}
	if b.Billing != nil && b.Billing.RequesterPays {
		p.add(about, levelProblem, fmt.Sprintf("gcloud storage buckets update gs://%s --no-requester-pays", name),
			"Requester pays is on: every request of the jobs fails.")
	}
	if b.Versioning != nil && b.Versioning.Enabled {
		p.add(about, levelFine, "",
			"Object versioning is on: a deleted file becomes noncurrent and stays until a lifecycle rule deletes it")
		return
	}
	kept, undoDays := 0, 0
	if b.SoftDeletePolicy != nil {
		kept = int(time.Duration(b.SoftDeletePolicy.RetentionDurationSeconds) * time.Second / (24 * time.Hour))
	}
	for _, job := range jobs {
		undoDays = max(undoDays, p.configs[job.Name].UndoDays)
	}
	switch do := fmt.Sprintf("gcloud storage buckets update gs://%s --soft-delete-duration=%dd", name, max(30, undoDays)); {
	case kept == 0:
		p.add(about, levelWarning, do, "Soft delete is off: a deleted file is gone at once.")
	case kept < leastSoftDelete:
		p.add(about, levelWarning, do, "Soft delete keeps a deleted file for %s only.", plural(kept, "day"))
	case kept < undoDays:
		p.add(about, levelWarning, do, "Soft delete keeps a deleted file for %d days, and UNDO_DAYS is %d: "+
			"what is taken back later comes back without its files.", kept, undoDays)
	default:
		p.add(about, levelFine, "", "Soft delete keeps a deleted file for %d days", kept)
	}
}

// ended says how a run ended.
var ended = map[string]string{stateFailed: "failed", stateAborted: "was aborted", stateKilled: "was killed"}

// examineRecord checks what the bundle keeps of a job: its lease, and how its last run ended.
func (p *patient) examineRecord(ctx context.Context, job manifest.Entry) error {
	record, err := p.record(ctx, job)
	if err != nil {
		return err
	}
	if err := errors.Join(record.Err, record.HeldTooLong(p.configs[job.Name], job.Name, p.clock())); err != nil {
		p.add(job.Name, levelProblem, "Run the request in the message: nothing will change by itself.", "No run can begin: %s", err)
		return nil
	}
	st, err := p.standing(ctx, job, record, 1)
	if err != nil {
		return err
	}
	look := "Look at: firesweep show " + job.Name
	switch st.State {
	case stateMissing:
		p.add(job.Name, levelProblem, look, "It %s. %s", st.State, st.Detail)
	case stateFailed, stateAborted, stateKilled:
		p.add(job.Name, levelProblem, look, "Its last run %s: %s", ended[st.State], st.Detail)
	case stateNever:
		p.add(job.Name, levelUnseen, "", "No run is saved. %s", st.Detail)
	case stateUnderWay:
		p.add(job.Name, levelFine, "", "%s", st.Detail)
	default:
		p.add(job.Name, levelFine, "", "The last success was %s UTC", when(st.last()))
	}
	return nil
}

// print prints the findings for people.
func (p *patient) print(to *printer) {
	styles := map[string]string{levelProblem: red, levelUnknown: red, levelWarning: yellow,
		levelUnseen: faint}
	counts := map[string]int{}
	for _, f := range p.found {
		counts[f.Level]++
		to.Say(styles[f.Level], 0, 2, "%s: %s: %s", f.Level, f.About, f.Text)
		if f.Do != "" {
			to.Say("", 2, 3, "-> %s", f.Do)
		}
	}
	var words []string
	for _, level := range levels {
		if counts[level] > 0 {
			words = append(words, fmt.Sprintf("%d %s", counts[level], level))
		}
	}
	to.Line("")
	to.Say(bold, 0, 0, "%s", strings.Join(words, ", "))
}
