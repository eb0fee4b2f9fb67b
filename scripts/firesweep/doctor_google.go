package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/api/firebaserules/v1"
	"google.golang.org/api/firestore/v1"
	"google.golang.org/api/storage/v1"

	"github.com/firesweep/firesweep/scripts/firesweep/advice"
	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/manifest"
)

// examineDatabases checks the databases of the jobs.
func (p *patient) examineDatabases(ctx context.Context) {
	service, err := firestore.NewService(ctx, p.google(ctx, "firestore", p.project)...)
	var rules *firebaserules.Service
	if err == nil {
		rules, err = firebaserules.NewService(ctx, p.google(ctx, "firebaserules", p.project)...)
	}
	if err != nil {
		p.of("Firestore").add(levelUnknown, advice.On("", err.Error()), "It cannot be opened: %s", err)
		return
	}
	jobs := p.jobsBy(func(_ manifest.Entry, cfg config.Config) string { return cfg.Database })
	for _, id := range slices.Sorted(maps.Keys(jobs)) {
		d := database{subject: p.of("database " + id), service: service, id: id, project: p.project,
			name: "projects/" + p.project + "/databases/" + id}
		d.examine(ctx)
		d.examineRetention(ctx)
		d.examineIndexes(ctx, jobs[id])
		d.examineRules(ctx, rules, p.clock())
	}
}

// database is a database that is checked.
type database struct {
	subject
	service           *firestore.Service
	id, project, name string
}

// unknown adds a finding for a request that failed.
func (d database) unknown(what string, err error) {
	d.add(levelUnknown, "It needs roles/datastore.viewer. Make sure that the project and FIRESTORE_DATABASE are right.",
		"%s cannot be read: %s", what, apiError(err))
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
		d.add(levelWarning, enablePITR(d.project, d.id),
			"Point-in-time recovery is off: a deleted document can be restored for an hour only.")
	} else {
		d.add(levelFine, "", "Point-in-time recovery is on: a deleted document can be restored for seven days")
	}
}

// enablePITR is the command that turns point-in-time recovery on.
func enablePITR(project, database string) string {
	return fmt.Sprintf("gcloud firestore databases update --project=%s --database='%s' --enable-pitr", project, database)
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
		do := fmt.Sprintf("terraform apply, or: gcloud firestore fields ttls update expireAt --project=%s --database='%s' "+
			"--collection-group=%s --enable-ttl", d.project, d.id, r.group)
		switch {
		case err != nil:
			d.unknown("The TTL policy of "+r.group, err)
		case field.TtlConfig == nil:
			d.add(r.level, do, "%s has no TTL policy on expireAt: %s are kept for ever.", r.group, r.what)
		case field.TtlConfig.State != "ACTIVE":
			d.add(r.level, "Wait. If that does not help: "+do,
				"The TTL policy of %s is %s: %s are not deleted yet.", r.group, field.TtlConfig.State, r.what)
		default:
			d.add(levelFine, "", "%s are deleted after %s", strings.ToUpper(r.what[:1])+r.what[1:], r.after)
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
			fields := indexOf(index).inGroup()
			state := states[fields]
			do := "firesweep indexes --write firestore.indexes.json, then firebase deploy --only firestore:indexes"
			if len(index.Fields) > 1 { // of a single field, Terraform would overwrite what the application set
				do += "; or terraform apply"
			}
			is := "is " + state
			switch state {
			case "READY":
				d.add(levelFine, "", "The index %s of %s is there", fields, index.CollectionGroup)
				continue
			case "CREATING":
				is, do = "is still being built", "Wait until it is built; the job is tried again."
			case "":
				is, do = "is not there", "Make it: "+do
			default:
				do = "Delete it in the console, and make it: " + do
			}
			d.add(levelProblem, do, "%s needs the index %s of %s, which %s.", job.Name, fields, index.CollectionGroup, is)
		}
	}
}

// indexStates returns the states of the indexes among which one is to be, by [fileIndex.inGroup]: those of its field if that is a
// single one, or the composite ones of its collection.
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
		states[indexOf(i).inGroup()] = index.State
	}
	return states, err
}

// leastSoftDelete is how long a bucket should keep deleted files, which is the default of buckets.
const leastSoftDelete = 7 * 24 * time.Hour

// examineBuckets checks the buckets of the jobs.
func (p *patient) examineBuckets(ctx context.Context) {
	jobs := p.jobsBy(func(job manifest.Entry, cfg config.Config) string {
		if len(job.Roles[config.Storage]) == 0 {
			return ""
		}
		return cfg.Bucket
	})
	if len(jobs) == 0 {
		return
	}
	service, err := storage.NewService(ctx, p.google(ctx, "storage", p.project)...)
	if err != nil {
		p.of("Storage").add(levelUnknown, advice.On("", err.Error()), "It cannot be opened: %s", err)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(jobs)) {
		about := p.of("bucket " + name)
		bucket, err := service.Buckets.Get(name).Context(ctx).Do()
		if err != nil {
			about.add(levelUnknown, "It needs roles/storage.legacyBucketReader on the bucket. Make sure that STORAGE_BUCKET is right.",
				"It cannot be read: %s", apiError(err))
			continue
		}
		longest := slices.MaxFunc(jobs[name], func(a, b manifest.Entry) int {
			return cmp.Compare(p.configs[a.Name].UndoDays, p.configs[b.Name].UndoDays)
		})
		about.bucket(bucket, longest.Name, p.configs[longest.Name].UndoDays)
	}
}

// bucket checks a bucket. job is the one whose runs can be taken back the longest, for so many days.
func (s subject) bucket(b *storage.Bucket, job string, undoDays int) {
	if b.Billing != nil && b.Billing.RequesterPays {
		s.add(levelProblem, fmt.Sprintf("gcloud storage buckets update gs://%s --no-requester-pays", b.Name),
			"Requester pays is on: every request of the jobs fails.")
	}
	var kept time.Duration
	if b.SoftDeletePolicy != nil {
		kept = time.Duration(b.SoftDeletePolicy.RetentionDurationSeconds) * time.Second
	}
	versioned := b.Versioning != nil && b.Versioning.Enabled
	switch do := fmt.Sprintf("gcloud storage buckets update gs://%s --soft-delete-duration=%dd", b.Name, max(30, undoDays)); {
	case versioned:
		s.add(levelFine, "",
			"Object versioning is on: a deleted file becomes noncurrent and stays until a lifecycle rule deletes it")
	case kept == 0:
		s.add(levelWarning, do, "Soft delete is off: a deleted file is gone at once.")
	case kept < leastSoftDelete:
		s.add(levelWarning, do, "Soft delete keeps a deleted file for %s only.", short(kept))
	case kept < time.Duration(undoDays)*24*time.Hour:
		s.add(levelWarning, do, "Soft delete keeps a deleted file for %d days, and UNDO_DAYS of %s is %d: "+
			"what is taken back later comes back without its files.", int(kept.Hours()/24), job, undoDays)
	default:
		s.add(levelFine, "", "Soft delete keeps a deleted file for %d days", int(kept.Hours()/24))
	}
	if b.RetentionPolicy != nil && b.RetentionPolicy.RetentionPeriod > 0 {
		s.add(levelWarning, "", "A retention policy of %s is on: younger files are kept, counted, and tried again by every run.",
			short(time.Duration(b.RetentionPolicy.RetentionPeriod)*time.Second))
	}
}
