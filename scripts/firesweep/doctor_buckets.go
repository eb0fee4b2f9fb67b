package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/api/storage/v1"

	"github.com/firesweep/firesweep/scripts/firesweep/advice"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
	"github.com/firesweep/firesweep/shared/manifest"
)

// leastSoftDelete is how long a bucket should keep deleted files, which is the default of buckets.
const leastSoftDelete = 7 * 24 * time.Hour

// examineBuckets checks the buckets of the jobs.
func (p *patient) examineBuckets(ctx context.Context, f *findings) {
	jobs := p.jobsBy(func(job manifest.Entry, cfg config.Config) string {
		if len(job.Roles[config.Storage]) == 0 {
			return ""
		}
		return cfg.Bucket
	})
	if len(jobs) == 0 {
		return
	}
	service, err := storage.NewService(ctx, p.google(ctx, "storage", p.project())...)
	if err != nil {
		f.add(levelUnknown, "Storage", advice.On("", err.Error()), "It cannot be opened: %s", err)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(jobs)) {
		bucket, err := service.Buckets.Get(name).Context(ctx).Do()
		if err != nil {
			f.add(levelUnknown, "bucket "+name, "It needs roles/storage.legacyBucketReader on the bucket. "+
				"Make sure that STORAGE_BUCKET is right.",
				"It cannot be read: %s", apiError(err))
			continue
		}
		longest := slices.MaxFunc(jobs[name], func(a, b manifest.Entry) int {
			return cmp.Compare(p.configs[a.Name].UndoDays, p.configs[b.Name].UndoDays)
		})
		examineBucket(bucket, longest.Name, p.configs[longest.Name].UndoDays, f)
	}
}

// examineBucket checks a bucket. job is the one whose runs can be taken back the longest, for so many days.
func examineBucket(b *storage.Bucket, job string, undoDays int, f *findings) {
	about := "bucket " + b.Name
	if b.Billing != nil && b.Billing.RequesterPays {
		f.add(levelProblem, about, fmt.Sprintf("gcloud storage buckets update gs://%s --no-requester-pays", b.Name),
			"Requester pays is on: every request of the jobs fails.")
	}
	var kept time.Duration
	if b.SoftDeletePolicy != nil {
		kept = time.Duration(b.SoftDeletePolicy.RetentionDurationSeconds) * time.Second
	}
	versioned := b.Versioning != nil && b.Versioning.Enabled
	switch do := fmt.Sprintf("gcloud storage buckets update gs://%s --soft-delete-duration=%dd", b.Name, max(30, undoDays)); {
	case versioned:
		f.add(levelFine, about, "",
			"Object versioning is on: a deleted file becomes noncurrent and stays until a lifecycle rule deletes it")
	case kept == 0:
		f.add(levelWarning, about, do, "Soft delete is off: a deleted file is gone at once.")
	case kept < leastSoftDelete:
		f.add(levelWarning, about, do, "Soft delete keeps a deleted file for %s only.", short(kept))
	case kept < time.Duration(undoDays)*24*time.Hour:
		f.add(levelWarning, about, do, "Soft delete keeps a deleted file for %d days, and UNDO_DAYS of %s is %d: "+
			"what is taken back later comes back without its files.", int(kept.Hours()/24), job, undoDays)
	default:
		f.add(levelFine, about, "", "Soft delete keeps a deleted file for %d days", int(kept.Hours()/24))
	}
	if iam := b.IamConfiguration; iam == nil || iam.UniformBucketLevelAccess == nil || !iam.UniformBucketLevelAccess.Enabled {
		f.add(levelWarning, about, "Have whoever takes runs back get roles/storage.objectAdmin on the bucket.",
			"Uniform bucket-level access is off: a file comes back with its own access list only if whoever takes the run back has %s; "+
				"otherwise one that was public is private.", strings.Join(restore.AccessPermissions, " and "))
	}
	if b.RetentionPolicy != nil && b.RetentionPolicy.RetentionPeriod > 0 {
		f.add(levelWarning, about, "", "A retention policy of %s is on: younger files are kept, counted, and tried again by every run.",
			short(time.Duration(b.RetentionPolicy.RetentionPeriod)*time.Second))
	}
}
