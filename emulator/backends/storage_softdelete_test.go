package backends

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"cloud.google.com/go/storage"
)

// dead returns the soft-deleted generations of a bucket as name and content size.
func dead(t *testing.T, bucket *storage.BucketHandle, prefix string) (generations []int64, found []string) {
	t.Helper()
	it := bucket.Objects(context.Background(), &storage.Query{SoftDeleted: true, Prefix: prefix})
	it.PageInfo().MaxSize = 2
	for _, o := range all(t, it) {
		if o.SoftDeleteTime.IsZero() || !o.HardDeleteTime.Equal(o.SoftDeleteTime.Add(defaultSoftDelete)) {
			t.Errorf("%s: deleted %s, gone for good %s", o.Name, o.SoftDeleteTime, o.HardDeleteTime)
		}
		generations, found = append(generations, o.Generation), append(found, fmt.Sprintf("%s:%d", o.Name, o.Size))
	}
	return generations, found
}

func TestSoftDelete(t *testing.T) {
	ctx := context.Background()
	bucket, _ := storageBucket(t)
	a, odd := bucket.Object("f/a"), bucket.Object("f/ü#1/restore")
	first := put(t, a, "1").Generation
	put(t, a, "22") // overwrites
	if _, err := a.Update(ctx, storage.ObjectAttrsToUpdate{Metadata: map[string]string{"postId": "p"}}); err != nil {
		t.Fatal(err)
	}
	put(t, odd, "333")
	put(t, bucket.Object("g"), "4444")
	for _, o := range []*storage.ObjectHandle{a, odd, bucket.Object("g")} {
		if err := o.Delete(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if live := names(t, bucket, nil); len(live) != 0 {
		t.Errorf("live %q", live)
	}
	generations, found := dead(t, bucket, "f/")
	if want := []string{"f/a:1", "f/a:2", "f/ü#1/restore:3"}; !slices.Equal(found, want) || generations[0] != first {
		t.Fatalf("soft-deleted %q, want %q; the first is %d, was %d", found, want, generations[0], first)
	}
	if attrs, err := a.Generation(generations[1]).SoftDeleted().Attrs(ctx); err != nil || attrs.Metadata["postId"] != "p" {
		t.Errorf("%+v, %v", attrs, err)
	}
	if _, err := a.Generation(generations[1]).Attrs(ctx); httpStatus(err) != http.StatusNotFound {
		t.Errorf("a soft-deleted generation as a live one: %v", err)
	}
	before := time.Now()
	restored, err := a.Generation(generations[1]).If(storage.Conditions{DoesNotExist: true}).Restore(ctx, &storage.RestoreOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if restored.Generation <= generations[1] || restored.Created.Before(before.Add(-time.Millisecond)) {
		t.Errorf("restored %+v, which is not new", restored)
	}
	same(t, "restored", []any{int64(1), "p", time.Time{}, "22"},
		[]any{restored.Metageneration, restored.Metadata["postId"], restored.SoftDeleteTime, content(t, a)})
	if _, err := odd.Generation(generations[2]).Restore(ctx, &storage.RestoreOptions{}); err != nil || content(t, odd) != "333" {
		t.Errorf("%v", err)
	}
	// Again, with an object that is live: not over it, unless nothing is said about it.
	if _, err := a.Generation(generations[0]).If(storage.Conditions{DoesNotExist: true}).Restore(ctx,
		&storage.RestoreOptions{}); httpStatus(err) != http.StatusPreconditionFailed {
		t.Errorf("over a live object: %v", err)
	}
	if _, err := a.Generation(generations[0]).Restore(ctx, &storage.RestoreOptions{}); err != nil || content(t, a) != "1" {
		t.Errorf("%v", err)
	}
	if _, found = dead(t, bucket, "f/a"); len(found) != 3 { // what was restored stays, and what was overwritten has come
		t.Errorf("soft-deleted %q", found)
	}
	if _, err := a.Generation(7).Restore(ctx, &storage.RestoreOptions{}); httpStatus(err) != http.StatusNotFound {
		t.Errorf("a generation that never was: %v", err)
	}
}

// TestSoftDeletePolicy: what was deleted while nothing was kept, and what was kept long enough, is gone.
func TestSoftDeletePolicy(t *testing.T) {
	ctx := context.Background()
	bucket, server := storageBucket(t)
	for _, retention := range []time.Duration{0, time.Nanosecond} {
		server.SetSoftDelete(bucket.BucketName(), retention)
		a := put(t, bucket.Object("a"), "1")
		if err := bucket.Object("a").Delete(ctx); err != nil {
			t.Fatal(err)
		}
		if _, found := dead(t, bucket, ""); len(found) != 0 {
			t.Errorf("%s: soft-deleted %q", retention, found)
		}
		if _, err := bucket.Object("a").Generation(a.Generation).Restore(ctx, &storage.RestoreOptions{}); httpStatus(
			err) != http.StatusNotFound {
			t.Errorf("%s: restored: %v", retention, err)
		}
	}
	server.SetSoftDelete(bucket.BucketName(), 8*24*time.Hour)
	attrs, err := bucket.Attrs(ctx)
	if err != nil || attrs.SoftDeletePolicy.RetentionDuration != 8*24*time.Hour {
		t.Errorf("policy %+v, %v", attrs.SoftDeletePolicy, err)
	}
}
