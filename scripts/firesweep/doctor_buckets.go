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
	if iam := b.IamConfiguration; iam == nil || iam.UniformBucketLevelAccess == nil || !iam.UniformBucketLevelAccess.Enabled {
		s.add(levelWarning, "Have whoever takes runs back get roles/storage.objectAdmin on the bucket.",
			"Uniform bucket-level access is off: a file comes back with its own access list only if whoever takes the run back has %s; "+
				"otherwise one that was public is private.", strings.Join(restore.AccessPermissions, " and "))
	}
	if b.RetentionPolicy != nil && b.RetentionPolicy.RetentionPeriod > 0 {
		s.add(levelWarning, "", "A retention policy of %s is on: younger files are kept, counted, and tried again by every run.",
			short(time.Duration(b.RetentionPolicy.RetentionPeriod)*time.Second))
	}
}
