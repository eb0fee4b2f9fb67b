package backends

import (
	"encoding/base64"
	"maps"
	"net/http"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
)

// Soft deletion, as Cloud Storage documents it (https://cloud.google.com/storage/docs/soft-delete): an object that is deleted or
// overwritten can be listed and restored until the bucket's retention duration is over. Buckets have the default policy, seven
// days, unless [StorageServer.SetSoftDelete] sets another. Restoring makes a new generation, created at that moment, with the
// old one's content and attributes. The soft-deleted generation stays until its time is over.
const defaultSoftDelete = 7 * 24 * time.Hour

// SetSoftDelete sets how long the bucket keeps objects that are deleted from now on; 0 keeps none.
func (s *StorageServer) SetSoftDelete(bucket string, retention time.Duration) {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	s.store.bucket(bucket).softDelete = retention
}

// bury keeps an object that is no longer live, as noncurrent or as soft-deleted. The lock is held.
func (b *bucket) bury(name string, o *object, noncurrent bool) {
	if o == nil {
		return
	}
	if noncurrent {
		old := *o
		old.superseded = time.Now().UTC()
		b.old[name] = append(b.old[name], &old)
		return
	}
	if b.softDelete == 0 {
		return
	}
	dead := *o
	dead.deleted = time.Now().UTC()
	dead.lost = dead.deleted.Add(b.softDelete)
	b.dead[name] = append(b.dead[name], &dead)
}

// buried returns the soft-deleted generations of a name, oldest first, and forgets those whose time is over. The lock is held.
func (b *bucket) buried(name string) []*object {
	now := time.Now()
	left := slices.DeleteFunc(b.dead[name], func(o *object) bool { return !now.Before(o.lost) })
	if len(left) == 0 {
		delete(b.dead, name)
		return nil
	}
	b.dead[name] = left
	return left
}

// softDeleted returns one soft-deleted generation.
func (s *objectStore) softDeleted(bucket, name string, generation int64) (*object, *apiError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.findBuried(bucket, name, generation)
}

// findBuried is softDeleted with the lock held.
func (s *objectStore) findBuried(bucket, name string, generation int64) (*object, *apiError) {
	all := s.bucket(bucket).buried(name)
	i := slices.IndexFunc(all, func(o *object) bool { return o.generation == generation })
	if i < 0 {
		return nil, objectNotFound(bucket, name)
	}
	return all[i], nil
}

// restore makes a soft-deleted generation live again, as a new generation, with its access list if access says so. The conditions
// are those on the live object.
func (s *objectStore) restore(bucket, name string, generation int64, c conditions, access bool) (*object, *apiError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	dead, err := s.findBuried(bucket, name, generation)
	if err != nil {
		return nil, err
	}
	attributes := dead.attributes
	if !access {
		attributes = withoutAccess(attributes)
	}
	return s.putLocked(bucket, name, c, attributes, dead.content)
}

// listGenerations returns the soft-deleted generations after (after, generation), or all others, by name and then the oldest first.
func (s *objectStore) listGenerations(l listing, softDeleted bool, after string, generation int64) (page listed, next string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.bucket(l.bucket)
	of, all := b.buried, slices.Collect(maps.Keys(b.dead))
	if !softDeleted {
		of, all = b.versions, slices.AppendSeq(slices.Collect(maps.Keys(b.old)), maps.Keys(b.objects))
	}
	names := slices.DeleteFunc(all, func(name string) bool {
		return !strings.HasPrefix(name, l.prefix) || name < l.start || l.end != "" && name >= l.end
	})
	slices.Sort(names)
	names = slices.Compact(names)
	for _, name := range names[sort.SearchStrings(names, after):] {
		for _, o := range of(name) {
			if name == after && o.generation <= generation {
				continue
			}
			if len(page.names) == l.limit {
				last := len(page.names) - 1
				return page, page.names[last] + "\x00" + strconv.FormatInt(page.objects[last].generation, 10)
			}
			page.names, page.objects = append(page.names, name), append(page.objects, o)
		}
	}
	return page, ""
}

// listAll answers a list with softDeleted=true or versions=true.
func (s *StorageServer) listAll(w http.ResponseWriter, r *http.Request, l listing, softDeleted bool) *apiError {
	if l.delimiter != "" {
		failure := notImitated("Storage", r)
		failure.message += " with generations and delimiter"
		return failure
	}
	var after string
	var generation int64
	if token := r.URL.Query().Get("pageToken"); token != "" {
		text, err := base64.URLEncoding.DecodeString(token)
		name, number, ok := strings.Cut(string(text), "\x00")
		if generation, _ = strconv.ParseInt(number, 10, 64); err != nil || !ok || generation == 0 {
			return invalid("Invalid pageToken.")
		}
		after = name
	}
	page, next := s.store.listGenerations(l, softDeleted, after, generation)
	return writeSelected(w, r, listAnswer(r, l.bucket, page, next))
}

// getDead answers a get with softDeleted=true.
func (s *StorageServer) getDead(w http.ResponseWriter, r *http.Request, bucket, name string, c conditions) *apiError {
	if c.generation == nil {
		return &apiError{http.StatusBadRequest, "required", "Required parameter: generation"}
	}
	o, failure := s.store.softDeleted(bucket, name, *c.generation)
	if failure == nil {
		failure = c.check(o.generation, o.metageneration)
	}
	if failure != nil {
		return failure
	}
	return writeSelected(w, r, o.resource(baseURL(r), bucket, name))
}

// restore answers POST …/o/{object}/restore.
func (s *StorageServer) restore(w http.ResponseWriter, r *http.Request, bucket, name string) *apiError {
	c, failure := parseConditions(r.URL.Query(), r.Header)
	switch {
	case failure != nil:
		return failure
	case c.generation == nil:
		return &apiError{http.StatusBadRequest, "required", "Required parameter: generation"}
	}
	access, policy := r.URL.Query().Get("copySourceAcl") == "true", s.store.policy(bucket)
	switch {
	case access && !policy.ownAccess:
		return invalid("copySourceAcl cannot be used where uniform bucket-level access is enabled.")
	case access && policy.deniesAccess:
		return &apiError{http.StatusForbidden, "forbidden", "The caller does not have storage.objects.setIamPolicy access."}
	}
	o, failure := s.store.restore(bucket, name, *c.generation, c, access)
	if failure != nil {
		return failure
	}
	return writeSelected(w, r, o.resource(baseURL(r), bucket, name))
}
