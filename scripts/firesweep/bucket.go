package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"cloud.google.com/go/storage"

	"github.com/firesweep/firesweep/shared/config"
)

// bucketSuffixes follow the project's id in the name of its default bucket, which Firebase gives to nobody else: today's, and
// that of buckets from before October 2024.
var bucketSuffixes = []string{".firebasestorage.app", ".appspot.com"}

// lookForBucket is how long the look for the default bucket may take.
const lookForBucket = 30 * time.Second

// chooseBucket makes the project's default bucket the environment's, where nothing says which one. A look that failed is not
// made again.
func (a *app) chooseBucket(ctx context.Context, project string) error {
	if a.noBucket != nil {
		return a.noBucket
	}
	ctx, cancel := context.WithTimeout(ctx, lookForBucket)
	defer cancel()
	if a.chosen, a.noBucket = a.defaultBucket(ctx, project); a.noBucket != nil {
		return a.noBucket
	}
	a.setenv("STORAGE_BUCKET", a.chosen)
	fmt.Fprintf(a.errs, "Bucket: %s (STORAGE_BUCKET is not set)\n", a.chosen)
	return nil
}

// defaultBucket returns the project's default bucket: the one that is there, or of both the one that holds anything. It lists one
// object of each.
func (a *app) defaultBucket(ctx context.Context, project string) (string, error) {
	var names, there, filled []string
	for _, suffix := range bucketSuffixes {
		name := project + suffix
		holds, err := a.holdsObjects(ctx, name)
		if names = append(names, name); errors.Is(err, storage.ErrBucketNotExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		if there = append(there, name); holds {
			filled = append(filled, name)
		}
	}
	switch {
	case len(there) == 0:
		return "", wrongUse("there is no bucket %s: set STORAGE_BUCKET to the project's bucket", strings.Join(names, " or "))
	case len(filled) > 1:
		return "", wrongUse("the project has the buckets %s: set STORAGE_BUCKET to one of them", strings.Join(filled, " and "))
	}
	return append(filled, there...)[0], nil
}

// holdsObjects reports whether a bucket holds any object. The error is [storage.ErrBucketNotExist] if there is none of this name.
func (a *app) holdsObjects(ctx context.Context, name string) (bool, error) {
	uses := []config.Backend{config.Firestore, config.Storage}
	cfg, err := config.Load(config.Previewing(overlaid(a.getenv, "STORAGE_BUCKET", name)), nil, uses...)
	if err != nil {
		return false, usageError{err}
	}
	o, err := a.opened(ctx, cfg, uses...)
	if err != nil {
		return false, err
	}
	first, err := o.Objects.Reader().First(ctx, "", false, 1)
	if err != nil {
		err = fmt.Errorf("look for the project's bucket: %w; set STORAGE_BUCKET", err)
	}
	return len(first) > 0, err
}
