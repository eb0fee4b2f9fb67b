package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"cloud.google.com/go/storage"
	"google.golang.org/api/iterator"

	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/declared"
	"github.com/firesweep/firesweep/shared/manifest"
	"github.com/firesweep/firesweep/shared/objects"
)

// bucketSuffixes follow the project's id in the name of its default bucket, which Firebase gives to nobody else: today's, and
// that of buckets from before October 2024.
var bucketSuffixes = []string{".firebasestorage.app", ".appspot.com"}

// lookForBucket is how long the look for the default bucket may take.
const lookForBucket = 30 * time.Second

// chooseBucket makes the project's default bucket the environment's, where nothing says which one: the one that is there, or of
// both the one that holds anything. It lists one object of each.
func (a *app) chooseBucket(project string) error {
	ctx, cancel := context.WithTimeout(context.Background(), lookForBucket)
	defer cancel()
	var names, there, filled []string
	for _, suffix := range bucketSuffixes {
		name := project + suffix
		holds, err := a.holdsObjects(ctx, name)
		if names = append(names, name); errors.Is(err, storage.ErrBucketNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if there = append(there, name); holds {
			filled = append(filled, name)
		}
	}
	if len(filled) > 0 {
		there = filled
	}
	a.setenv("STORAGE_BUCKET", "")
	switch {
	case len(there) == 0:
		return wrongUse("there is no bucket %s: set STORAGE_BUCKET to the project's bucket", strings.Join(names, " or "))
	case len(filled) > 1:
		return wrongUse("the project has the buckets %s: set STORAGE_BUCKET to one of them", strings.Join(filled, " and "))
	}
	a.setenv("STORAGE_BUCKET", there[0])
	a.chosen = there[0]
	fmt.Fprintf(a.errs, "Bucket: %s (STORAGE_BUCKET is not set)\n", there[0])
	return nil
}

// openBucket opens a job's bucket by connections that only read.
func (a *app) openBucket(ctx context.Context, job manifest.Entry) (*objects.Client, error) {
	cfg, err := a.settings(job, config.Firestore, config.Storage)
	if err != nil {
		return nil, err
	}
	return objects.Open(ctx, objects.Bucket{Name: cfg.Bucket, EmulatorHost: cfg.Emulators.Storage}, objects.ReadOnly)
}

// listing returns what lists the bucket for the doubts about a rule, and what closes that; nil if there is no bucket to look at.
func (a *app) listing(ctx context.Context, job manifest.Entry) (list declared.Listing, closes func()) {
	bucket, err := a.openBucket(ctx, job)
	if err != nil {
		return nil, func() {}
	}
	list = func(ctx context.Context, prefix string) (names []string, err error) {
		q := &storage.Query{Prefix: prefix}
		if prefix == "" {
			q.Delimiter = "/"
		}
		var page []*storage.ObjectAttrs
		_, err = iterator.NewPager(bucket.Handle().Objects(ctx, q), fewNames, "").NextPage(&page)
		for _, o := range page {
			names = append(names, o.Name+o.Prefix)
		}
		return names, err
	}
	return list, func() { _ = bucket.Close() }
}

// fewNames is how many names a listing has for that.
const fewNames = 100

// holdsObjects reports whether a bucket holds any object. The error is [storage.ErrBucketNotExist] if there is none of this name.
func (a *app) holdsObjects(ctx context.Context, name string) (holds bool, err error) {
	a.setenv("STORAGE_BUCKET", name)
	bucket, err := a.openBucket(ctx, toLook)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, bucket.Close()) }()
	all := bucket.Handle().Objects(ctx, nil)
	all.PageInfo().MaxSize = 1
	_, err = all.Next()
	if none := errors.Is(err, iterator.Done); none || err == nil {
		return !none, nil
	}
	return false, fmt.Errorf("look for the project's bucket: %w; set STORAGE_BUCKET", err)
}
