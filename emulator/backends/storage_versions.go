package backends

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Versions and access lists, as Cloud Storage documents them (https://cloud.google.com/storage/docs/object-versioning,
// https://cloud.google.com/storage/docs/uniform-bucket-level-access), as far as somebody needs them who brings objects back. In a
// bucket with versioning, an object that is overwritten or deleted becomes noncurrent: it can be got, listed, copied and deleted by its
// generation; the bucket's lifecycle is not imitated. In a bucket without uniform access, an object has a list of its own, which a
// copy and a restored object have only if the request says so.

// SetVersioning lets the bucket keep what is overwritten or deleted from now on.
func (s *StorageServer) SetVersioning(bucket string, on bool) {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	s.store.bucket(bucket).versioning = on
}

// SetObjectAccess gives the bucket's objects access lists of their own. may says whether callers may read and set them.
func (s *StorageServer) SetObjectAccess(bucket string, on, may bool) {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	b := s.store.bucket(bucket)
	b.ownAccess, b.deniesAccess = on, !may
}

// policy is what a bucket's owner has set.
type policy struct {
	softDelete   time.Duration // how long what is deleted can be restored
	versioning   bool
	ownAccess    bool // of objects: no uniform bucket-level access
	deniesAccess bool // to whoever calls
}

func (s *objectStore) policy(bucket string) policy {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bucket(bucket).policy
}

// checkAccess refuses attributes with an access list where the bucket alone has one. The lock is held.
func (b *bucket) checkAccess(attributes resource) *apiError {
	if _, has := attributes["acl"]; has && !b.ownAccess {
		return invalid("Cannot insert legacy ACL for an object when uniform bucket-level access is enabled.")
	}
	return nil
}

// noncurrent returns a generation that is no longer live, nil if there is none. The lock is held.
func (b *bucket) noncurrent(name string, generation int64) *object {
	i := slices.IndexFunc(b.old[name], func(o *object) bool { return o.generation == generation })
	if i < 0 {
		return nil
	}
	return b.old[name][i]
}

// versions returns the noncurrent generations of a name and the live one, the oldest first. The lock is held.
func (b *bucket) versions(name string) []*object {
	if live := b.objects[name]; live != nil {
		return append(slices.Clone(b.old[name]), live)
	}
	return b.old[name]
}

// rewrite answers POST …/o/{object}/rewriteTo/b/{bucket}/o/{object}, within a bucket and at once.
func (s *StorageServer) rewrite(w http.ResponseWriter, r *http.Request, bucket, from, to string) *apiError {
	toBucket, toName, _ := strings.Cut(to, "/o/")
	toBucket, bucketErr := url.PathUnescape(toBucket)
	toName, nameErr := url.PathUnescape(toName)
	if toBucket != bucket || bucketErr != nil || nameErr != nil {
		return notImitated("Storage", r)
	}
	query := r.URL.Query()
	c, failure := parseConditions(query, r.Header)
	if failure == nil {
		failure = checkName(toName)
	}
	if failure != nil {
		return failure
	}
	source, failure := parseConditions(url.Values{"generation": query["sourceGeneration"]}, http.Header{})
	if failure != nil {
		return failure
	}
	var given resource
	if err := json.NewDecoder(r.Body).Decode(&given); err != nil && !errors.Is(err, io.EOF) {
		return invalid("Parse Error: " + err.Error())
	}
	if failure := checkMetadata(given); failure != nil {
		return failure
	}
	o, failure := s.store.get(bucket, from, source)
	if failure != nil {
		return failure
	}
	attributes := onlySettable(given)
	if len(attributes) == 0 { // those of the source
		attributes = withoutAccess(o.attributes)
	}
	copied, failure := s.store.put(bucket, toName, c, attributes, o.content)
	if failure != nil {
		return failure
	}
	return writeSelected(w, r, resource{"kind": "storage#rewriteResponse", "done": true,
		"objectSize": "0", "totalBytesRewritten": "0", "resource": copied.resource(baseURL(r), bucket, toName)})
}

// withoutAccess returns attributes without an access list.
func withoutAccess(attributes resource) resource {
	without := resource{}
	for key, value := range attributes {
		if key != "acl" {
			without[key] = value
		}
	}
	return without
}

// testPermissions answers which of some permissions on the bucket the caller has: all, but for those on access lists.
func (s *StorageServer) testPermissions(w http.ResponseWriter, r *http.Request, bucket string) *apiError {
	denied := s.store.policy(bucket).deniesAccess
	has := slices.DeleteFunc(r.URL.Query()["permissions"], func(p string) bool { return denied && strings.HasSuffix(p, "IamPolicy") })
	return writeSelected(w, r, resource{"kind": "storage#testIamPermissionsResponse", "permissions": has})
}
