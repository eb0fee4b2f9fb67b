package backends

import (
	"cmp"
	"crypto/md5" // for Cloud Storage's md5Hash; it protects no secret
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"
)

// resource is a Cloud Storage resource, as in JSON. A stored resource is never changed, only replaced, so that it may be read
// without the lock.
type resource = map[string]any

// object is one generation of an object. A stored object is never changed, only replaced.
type object struct {
	attributes     resource // what users may set: contentType, metadata and the like
	content        []byte
	crc32c, md5    string // of the content, in base 64
	generation     int64
	metageneration int64
	created        time.Time
	updated        time.Time
	superseded     time.Time // when it became noncurrent; zero while it is live
	deleted, lost  time.Time // when it was soft-deleted, and when it is gone for good; zero while it is live
}

// objectStore keeps the objects of all buckets. Every bucket exists; retention policies do not.
type objectStore struct {
	mu             sync.Mutex
	buckets        map[string]*bucket
	lastGeneration int64
}

// bucket holds objects by name and, for listing, the names in order. New names are sorted only for the next list, and deleted
// ones stay in names until then. So the time for uploading many objects, or for emptying a bucket page by page, does not grow
// with the square of its size.
type bucket struct {
	objects map[string]*object
	names   []string // sorted; some may be deleted
	added   []string // not yet in names

	policy
	dead map[string][]*object // soft-deleted
	old  map[string][]*object // noncurrent, the oldest first
}

func newObjectStore() *objectStore { return &objectStore{buckets: map[string]*bucket{}} }

// bucket returns the bucket, and makes it if it is new. The lock is held.
func (s *objectStore) bucket(name string) *bucket {
	b := s.buckets[name]
	if b == nil {
		b = &bucket{
			objects: map[string]*object{}, policy: policy{softDelete: defaultSoftDelete},
			dead: map[string][]*object{}, old: map[string][]*object{},
		}
		s.buckets[name] = b
	}
	return b
}

// get returns an object if the conditions hold for it: the live one, or the noncurrent one of the generation that they name.
func (s *objectStore) get(bucket, name string, c conditions) (*object, *apiError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.generation != nil {
		if o := s.bucket(bucket).noncurrent(name, *c.generation); o != nil {
			return o, c.check(o.generation, o.metageneration)
		}
	}
	return s.check(bucket, name, c)
}

// check returns an object if the conditions hold for it. The lock is held.
func (s *objectStore) check(bucket, name string, c conditions) (*object, *apiError) {
	o := s.bucket(bucket).objects[name]
	if o == nil || c.generation != nil && *c.generation != o.generation {
		return nil, objectNotFound(bucket, name)
	}
	return o, c.check(o.generation, o.metageneration)
}

// put creates or overwrites an object: a new generation, of which this is the first metageneration.
func (s *objectStore) put(bucket, name string, c conditions, attributes resource, content []byte) (*object, *apiError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.putLocked(bucket, name, c, attributes, content)
}

// putLocked is put with the lock held.
func (s *objectStore) putLocked(bucket, name string, c conditions, attributes resource, content []byte) (*object, *apiError) {
	b := s.bucket(bucket)
	var generation, metageneration int64 // in conditions, 0 means that the object does not exist
	old := b.objects[name]
	if old != nil {
		generation, metageneration = old.generation, old.metageneration
	}
	if err := c.check(generation, metageneration); err != nil {
		return nil, err
	}
	if err := cmp.Or(old.held(bucket, name), b.checkAccess(attributes)); err != nil {
		return nil, err
	}
	now := time.Now().UTC()
	s.lastGeneration = max(s.lastGeneration+1, now.UnixMicro())
	o := newObject(attributes, content)
	o.generation, o.metageneration, o.created, o.updated = s.lastGeneration, 1, now, now
	if old == nil {
		b.added = append(b.added, name)
	}
	b.bury(name, old, b.versioning)
	b.objects[name] = o
	return o, nil
}

// age makes the live objects of a bucket older.
func (s *objectStore) age(bucket string, by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	objects := s.bucket(bucket).objects
	for name, o := range objects {
		older := *o
		older.created, older.updated = o.created.Add(-by), o.updated.Add(-by)
		objects[name] = &older
	}
}

// patch replaces an object's attributes by what change returns. The generation stays; the metageneration is the next one.
func (s *objectStore) patch(bucket, name string, c conditions, change func(resource) resource) (*object, *apiError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, err := s.check(bucket, name, c)
	if err != nil {
		return nil, err
	}
	o := *old
	o.attributes = change(old.attributes)
	if err := s.bucket(bucket).checkAccess(o.attributes); err != nil {
		return nil, err
	}
	o.metageneration++
	o.updated = time.Now().UTC()
	s.bucket(bucket).objects[name] = &o
	return &o, nil
}

// remove deletes an object: the live one, or the noncurrent one of the generation that the conditions name.
func (s *objectStore) remove(bucket, name string, c conditions) *apiError {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.bucket(bucket)
	if c.generation != nil {
		if o := b.noncurrent(name, *c.generation); o != nil {
			if err := cmp.Or(c.check(o.generation, o.metageneration), o.held(bucket, name)); err != nil {
				return err
			}
			b.old[name] = slices.DeleteFunc(b.old[name], func(one *object) bool { return one == o })
			b.bury(name, o, false)
			return nil
		}
	}
	o, err := s.check(bucket, name, c)
	if err != nil {
		return err
	}
	if err := o.held(bucket, name); err != nil {
		return err
	}
	b.bury(name, o, b.versioning && c.generation == nil) // to name the generation deletes it in spite of versioning
	delete(b.objects, name)
	return nil
}

// held refuses to delete or overwrite an object under a hold, with the reason that a caller without permission gets, too. A
// missing object, nil, has no holds.
func (o *object) held(bucket, name string) *apiError {
	if o == nil {
		return nil
	}
	for attribute, hold := range map[string]string{"eventBasedHold": "Event-Based", "temporaryHold": "Temporary"} {
		if set, _ := o.attributes[attribute].(bool); set {
			return &apiError{http.StatusForbidden, "forbidden", "Object '" + bucket + "/" + name + "' is under active " + hold + " hold."}
		}
	}
	return nil
}

// clear deletes all objects of a bucket for good.
func (s *objectStore) clear(bucket string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.buckets, bucket)
}

// listing says what to list.
type listing struct {
	bucket, prefix, delimiter, start, end string
	limit                                 int
}

// listed is one page of objects. next is the start of the next page, "" after the last.
type listed struct {
	names    []string
	objects  []*object
	prefixes []string
	next     string
}

// list returns a page of objects by name in UTF-8 byte order.
func (s *objectStore) list(l listing) listed {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.bucket(l.bucket)
	names := b.sorted()
	var page listed
	for i := sort.SearchStrings(names, max(l.start, l.prefix)); i < len(names); i++ {
		name := names[i]
		if !strings.HasPrefix(name, l.prefix) || l.end != "" && name >= l.end {
			break
		}
		o := b.objects[name]
		if o == nil {
			continue // deleted
		}
		if len(page.names)+len(page.prefixes) == l.limit {
			page.next = name
			break
		}
		if l.delimiter != "" {
			if at := strings.Index(name[len(l.prefix):], l.delimiter); at >= 0 {
				common := name[:len(l.prefix)+at+len(l.delimiter)]
				page.prefixes = append(page.prefixes, common)
				// Skip all names that begin like this: no byte of UTF-8 is 0xff.
				i += sort.SearchStrings(names[i:], common+"\xff") - 1
				continue
			}
		}
		page.names = append(page.names, name)
		page.objects = append(page.objects, o)
	}
	return page
}

// sorted returns the names in order. Some may be deleted.
func (b *bucket) sorted() []string {
	if len(b.added) > 0 {
		names := slices.DeleteFunc(slices.Concat(b.names, b.added), func(name string) bool { return b.objects[name] == nil })
		slices.Sort(names)
		b.names, b.added = slices.Compact(names), nil
	}
	return b.names
}

// settable are the attributes that a client can set. Others are ignored, as by Cloud Storage.
var settable = []string{
	"acl", "cacheControl", "contentDisposition", "contentEncoding", "contentLanguage", "contentType", "customTime", "eventBasedHold",
	"metadata",
	"temporaryHold",
}

func onlySettable(attributes resource) resource {
	kept := resource{}
	for _, key := range settable {
		if value, ok := attributes[key]; ok && value != nil {
			kept[key] = value
		}
	}
	return kept
}

// merge applies a patch as RFC 7396 says: null removes, objects are merged, everything else replaces.
func merge(old, patch resource) resource {
	merged := maps.Clone(old)
	if merged == nil {
		merged = resource{}
	}
	for key, value := range patch {
		switch value := value.(type) {
		case nil:
			delete(merged, key)
		case resource:
			inner, _ := merged[key].(resource) // anything else is replaced
			merged[key] = merge(inner, value)
		default:
			merged[key] = value
		}
	}
	return merged
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func newObject(attributes resource, content []byte) *object {
	md5Sum := md5.Sum(content)
	crc32c := binary.BigEndian.AppendUint32(nil, crc32.Checksum(content, castagnoli))
	return &object{
		attributes: attributes, content: content,
		crc32c: base64.StdEncoding.EncodeToString(crc32c), md5: base64.StdEncoding.EncodeToString(md5Sum[:]),
	}
}

func (o *object) etag() string {
	version := strconv.FormatInt(o.generation, 36) + "/" + strconv.FormatInt(o.metageneration, 36)
	return base64.StdEncoding.EncodeToString([]byte(version))
}

// resource returns the object as the JSON API shows it.
func (o *object) resource(base, bucket, name string) resource {
	r := maps.Clone(o.attributes)
	path := "/storage/v1/b/" + url.PathEscape(bucket) + "/o/" + url.PathEscape(name)
	maps.Copy(r, resource{
		"kind": "storage#object", "id": bucket + "/" + name + "/" + strconv.FormatInt(o.generation, 10),
		"selfLink":  base + path,
		"mediaLink": base + "/download" + path + "?alt=media&generation=" + strconv.FormatInt(o.generation, 10),
		"bucket":    bucket, "name": name, "storageClass": "STANDARD", "size": strconv.Itoa(len(o.content)),
		"generation": strconv.FormatInt(o.generation, 10), "metageneration": strconv.FormatInt(o.metageneration, 10),
		"timeCreated": o.created.Format(time.RFC3339Nano), "timeStorageClassUpdated": o.created.Format(time.RFC3339Nano),
		"updated": o.updated.Format(time.RFC3339Nano), "crc32c": o.crc32c, "md5Hash": o.md5, "etag": o.etag(),
	})
	if !o.superseded.IsZero() {
		r["timeDeleted"] = o.superseded.Format(time.RFC3339Nano)
	}
	if !o.deleted.IsZero() {
		r["softDeleteTime"], r["hardDeleteTime"] = o.deleted.Format(time.RFC3339Nano), o.lost.Format(time.RFC3339Nano)
	}
	return r
}

func objectNotFound(bucket, name string) *apiError {
	return &apiError{http.StatusNotFound, "notFound", "No such object: " + bucket + "/" + name}
}
