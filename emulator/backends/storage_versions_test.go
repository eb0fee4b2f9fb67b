package backends

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"cloud.google.com/go/storage"
)

// versions returns all versions of a prefix: name, size, and whether it is live.
func versions(t *testing.T, bucket *storage.BucketHandle, prefix string) (found []string) {
	t.Helper()
	it := bucket.Objects(context.Background(), &storage.Query{Versions: true, Prefix: prefix})
	it.PageInfo().MaxSize = 2
	for _, o := range all(t, it) {
		found = append(found, fmt.Sprintf("%s:%d:%t", o.Name, o.Size, o.Deleted.IsZero()))
	}
	return found
}

func TestVersioning(t *testing.T) {
	ctx := context.Background()
	bucket, server := storageBucket(t)
	server.SetVersioning(bucket.BucketName())
	a, other := bucket.Object("f/a"), bucket.Object("f/ü#1/rewriteTo")
	first := put(t, a, "1")
	put(t, a, "22") // overwrites
	put(t, other, "333")
	put(t, bucket.Object("g"), "4444")
	if err := a.Delete(ctx); err != nil {
		t.Fatal(err)
	}
	if got, want := versions(t, bucket, "f/"), []string{"f/a:1:false", "f/a:2:false", "f/ü#1/rewriteTo:3:true"}; !slices.Equal(got,
		want) {
		t.Fatalf("versions %q, want %q", got, want)
	}
	if attrs, err := bucket.Attrs(ctx); err != nil || !attrs.VersioningEnabled {
		t.Errorf("%+v, %v", attrs, err)
	}
	if _, found := dead(t, bucket, ""); len(found) != 0 {
		t.Errorf("soft-deleted %q", found)
	}
	if attrs, err := a.Generation(first.Generation).Attrs(ctx); err != nil || attrs.Deleted.IsZero() {
		t.Errorf("%+v, %v", attrs, err)
	}
	// A copy of a noncurrent generation onto its name.
	onto := a.If(storage.Conditions{DoesNotExist: true})
	if _, err := onto.CopierFrom(a.Generation(first.Generation)).Run(ctx); err != nil || content(t, a) != "1" {
		t.Fatal(err)
	}
	if _, err := onto.CopierFrom(a.Generation(first.Generation)).Run(ctx); httpStatus(err) != http.StatusPreconditionFailed {
		t.Errorf("onto a live object: %v", err)
	}
	if _, err := other.CopierFrom(a.Generation(7)).Run(ctx); httpStatus(err) != http.StatusNotFound {
		t.Errorf("of a generation that never was: %v", err)
	}
	if err := a.Generation(first.Generation).Delete(ctx); err != nil ||
		!slices.Equal(versions(t, bucket, "f/a"), []string{"f/a:2:false", "f/a:1:true"}) {
		t.Errorf("%v, versions %q", err, versions(t, bucket, "f/a"))
	}
	if generations, _ := dead(t, bucket, "f/a"); !slices.Equal(generations, []int64{first.Generation}) {
		t.Errorf("soft-deleted %v", generations)
	}
	// A generation that is named is deleted in spite of versioning.
	live, err := other.Attrs(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Generation(live.Generation).Delete(ctx); err != nil {
		t.Fatal(err)
	}
	if _, found := dead(t, bucket, "f/ü"); len(found) != 1 || len(versions(t, bucket, "f/ü")) != 0 {
		t.Errorf("soft-deleted %q", found)
	}
}

func TestAccessLists(t *testing.T) {
	ctx := context.Background()
	bucket, server := storageBucket(t)
	public := []storage.ACLRule{{Entity: storage.AllUsers, Role: storage.RoleReader}}
	write := func() error {
		w := bucket.Object("a").NewWriter(ctx)
		w.ACL = public
		_, err := w.Write([]byte("1"))
		return errors.Join(err, w.Close())
	}
	if err := write(); httpStatus(err) != http.StatusBadRequest {
		t.Errorf("with uniform access: %v", err)
	}
	permissions := []string{"storage.objects.getIamPolicy", "storage.objects.restore"}
	for _, may := range []bool{true, false} {
		server.SetObjectAccess(bucket.BucketName(), may)
		if attrs, err := bucket.Attrs(ctx); err != nil || attrs.UniformBucketLevelAccess.Enabled {
			t.Errorf("%+v, %v", attrs, err)
		}
		has, err := bucket.IAM().TestPermissions(ctx, permissions)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "permissions", permissions[map[bool]int{true: 0, false: 1}[may]:], has)
		if err := write(); err != nil {
			t.Fatal(err)
		}
		was, err := bucket.Object("a").Attrs(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := bucket.Object("a").Delete(ctx); err != nil {
			t.Fatal(err)
		}
		restored, err := bucket.Object("a").Generation(was.Generation).Restore(ctx, &storage.RestoreOptions{CopySourceACL: true})
		same(t, "restored with its list", map[bool]int{true: http.StatusOK, false: http.StatusForbidden}[may], httpStatus(err))
		if may && err == nil && len(restored.ACL) != 1 {
			t.Errorf("its list: %+v", restored.ACL)
		}
		if restored, err = bucket.Object("a").Generation(was.Generation).Restore(ctx, &storage.RestoreOptions{}); err != nil ||
			len(restored.ACL) != 0 {
			t.Errorf("without its list: %+v, %v", restored, err)
		}
	}
}
