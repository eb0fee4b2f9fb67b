package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"google.golang.org/api/storage/v1"

	"github.com/firesweep/firesweep/scripts/firesweep/advice"
	"github.com/firesweep/firesweep/shared/config"
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
		examineBucket(bucket, f)
	}
}

func examineBucket(b *storage.Bucket, f *findings) {
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
	switch do := fmt.Sprintf("gcloud storage buckets update gs://%s --soft-delete-duration=30d", b.Name); {
	case kept == 0 && versioned:
		f.add(levelFine, about, "", "Soft delete is off, and object versioning is on: "+
			"a deleted file becomes noncurrent and stays until a lifecycle rule deletes it")
	case kept == 0:
		f.add(levelWarning, about, do, "Soft delete is off: a deleted file is gone at once.")
	case kept < leastSoftDelete:
		f.add(levelWarning, about, do, "Soft delete keeps a deleted file for %s only.", short(kept))
	default:
		f.add(levelFine, about, "", "Soft delete keeps a deleted file for %d days", int(kept.Hours()/24))
	}
	if b.RetentionPolicy != nil && b.RetentionPolicy.RetentionPeriod > 0 {
		f.add(levelWarning, about, "", "A retention policy of %s is on: younger files are kept, counted, and tried again by every run.",
			short(time.Duration(b.RetentionPolicy.RetentionPeriod)*time.Second))
	}
}
