package backends

import (
	"cmp"
	"crypto/md5" // for Cloud Storage's md5Hash; it protects no secret
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Soft deletion, versions and access lists are as Cloud Storage documents them
// (https://cloud.google.com/storage/docs/soft-delete, …/object-versioning, …/uniform-bucket-level-access), as far as somebody
// needs them who brings objects back. An object that is deleted or overwritten can be listed and restored until the bucket's
// retention is over; the soft-deleted generation stays until then. In a bucket with versioning it becomes noncurrent: it can be
// got, listed, copied and deleted by its generation. In a bucket without uniform access, an object has a list of its own, which a
// copy and a restored object have only if the request says so.
const defaultSoftDelete = 7 * 24 * time.Hour

// resource is a Cloud Storage resource, as in JSON. A stored resource is never changed, only replaced, so that it may be read
// without the lock.
type resource = map[string]any

// object is one generation of an object.
type object struct {
	bucket, name   string
	attributes     resource // what users may set: contentType, metadata and the like
	content        []byte   // never changed
	generation     int64
	metageneration int64
	created        time.Time
	updated        time.Time
	superseded     time.Time // when it became noncurrent; zero if it never was
	deleted, lost  time.Time // when it was soft-deleted, and when it is gone for good; zero while it is not
}

// bucket holds objects by name and, for listing, the names in order. New names are sorted only for the next list, and deleted
// ones stay in names until then. So the time for uploading many objects, or for emptying a bucket page by page, does not grow
// with the square of its size.
type bucket struct {
	name    string
	objects map[string]*object
	names   []string             // sorted; some may be deleted
	added   []string             // not yet in names
	past    map[string][]*object // noncurrent and soft-deleted generations, the oldest first

	// What the owner has set.
	softDelete   time.Duration // how long what is deleted can be restored
	versioning   bool
	ownAccess    bool // of objects: no uniform bucket-level access
	deniesAccess bool // to whoever calls
}

// object returns the live object of a name, nil if there is none.
func (b *bucket) object(name string) *object { return b.objects[name] }

// bucket returns the bucket, and makes it if it is new.
func (s *StorageServer) bucket(name string) *bucket {
	b := s.buckets[name]
	if b == nil {
		b = &bucket{name: name, objects: map[string]*object{}, past: map[string][]*object{}, softDelete: defaultSoftDelete}
		s.buckets[name] = b
	}
	return b
}

// put creates or overwrites an object: a new generation, of which this is the first metageneration.
func (s *StorageServer) put(bucket, name string, c conditions, attributes resource, content []byte) (*object, *apiError) {
	b := s.bucket(bucket)
	old := b.object(name)
	var generation, metageneration int64 // in conditions, 0 means that the object does not exist
	if old != nil {
		generation, metageneration = old.generation, old.metageneration
	}
	if err := cmp.Or(checkName(name), c.check(generation, metageneration), old.held(), b.checkAccess(attributes)); err != nil {
		return nil, err
	}
	now := time.Now().UTC()
	s.lastGeneration = max(s.lastGeneration+1, now.UnixMicro())
	if old == nil {
		b.added = append(b.added, name)
	} else {
		b.bury(old, b.versioning)
	}
	b.objects[name] = &object{
		bucket: bucket, name: name, attributes: attributes, content: content,
		generation: s.lastGeneration, metageneration: 1, created: now, updated: now,
	}
	return b.objects[name], nil
}

const maxName = 1024 // bytes

func checkName(name string) *apiError {
	if name == "" {
		return &apiError{http.StatusBadRequest, "required", "Required"}
	}
	if len(name) > maxName || !utf8.ValidString(name) || strings.ContainsAny(name, "\r\n") || name == "." || name == ".." {
		return invalid("Invalid object name: " + strconv.Quote(name))
	}
	return nil
}

// checkAccess refuses attributes with an access list where the bucket alone has one.
func (b *bucket) checkAccess(attributes resource) *apiError {
	if _, has := attributes["acl"]; has && !b.ownAccess {
		return invalid("Cannot insert legacy ACL for an object when uniform bucket-level access is enabled.")
	}
	return nil
}

// find returns an object if the conditions hold for it: the live one, or the one of the generation that they name.
func (b *bucket) find(name string, c conditions) (*object, *apiError) {
	o := b.object(name)
	if c.generation != nil {
		o = generationOf(b.versions(name), *c.generation)
	}
	if o == nil {
		return nil, objectNotFound(b.name, name)
	}
	return o, c.check(o.generation, o.metageneration)
}

// remove deletes an object. To name the live generation deletes it in spite of versioning.
func (b *bucket) remove(name string, c conditions) *apiError {
	o, err := b.find(name, c)
	if err == nil {
		err = o.held()
	}
	if err != nil {
		return err
	}
	b.bury(o, b.versioning && c.generation == nil)
	if b.objects[name] == o {
		delete(b.objects, name)
	}
	return nil
}

// held refuses to delete or overwrite an object under a hold, with the reason that a caller without permission gets, too. A
// missing object, nil, has no holds.
func (o *object) held() *apiError {
	if o == nil {
		return nil
	}
	for attribute, hold := range map[string]string{"eventBasedHold": "Event-Based", "temporaryHold": "Temporary"} {
		if set, _ := o.attributes[attribute].(bool); set {
			return &apiError{http.StatusForbidden, "forbidden", "Object '" + o.bucket + "/" + o.name + "' is under active " + hold +
				" hold."}
		}
	}
	return nil
}

// bury keeps an object that is no longer live, as noncurrent or as soft-deleted.
func (b *bucket) bury(o *object, noncurrent bool) {
	past := slices.DeleteFunc(b.past[o.name], func(one *object) bool { return one == o })
	now := time.Now().UTC()
	switch {
	case noncurrent:
		o.superseded = now
	case b.softDelete == 0:
		b.past[o.name] = past
		return
	default:
		o.deleted, o.lost = now, now.Add(b.softDelete)
	}
	b.past[o.name] = append(past, o)
	slices.SortFunc(b.past[o.name], func(a, b *object) int { return cmp.Compare(a.generation, b.generation) })
}

// softDeleted returns the soft-deleted generations of a name, the oldest first.
func (b *bucket) softDeleted(name string) []*object {
	now := time.Now()
	return slices.DeleteFunc(slices.Clone(b.past[name]), func(o *object) bool { return !now.Before(o.lost) })
}

// versions returns the noncurrent generations of a name and the live one, the oldest first.
func (b *bucket) versions(name string) []*object {
	all := slices.DeleteFunc(slices.Clone(b.past[name]), func(o *object) bool { return !o.deleted.IsZero() })
	return append(all, b.live(name)...)
}

// generationOf returns one of some generations, nil if there is none.
func generationOf(all []*object, generation int64) *object {
	if i := slices.IndexFunc(all, func(o *object) bool { return o.generation == generation }); i >= 0 {
		return all[i]
	}
	return nil
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
	"metadata", "temporaryHold",
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

// withoutAccess returns attributes without an access list.
func withoutAccess(attributes resource) resource {
	without := maps.Clone(attributes)
	delete(without, "acl")
	return without
}

// merge applies a patch as RFC 7396 says: null removes, objects are merged, everything else replaces.
func merge(old, patch resource) resource {
	merged := resource{}
	maps.Copy(merged, old)
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

func (o *object) etag() string {
	version := strconv.FormatInt(o.generation, 36) + "/" + strconv.FormatInt(o.metageneration, 36)
	return base64.StdEncoding.EncodeToString([]byte(version))
}

// resource returns the object as the JSON API shows it, or the wanted fields of that. base is the server's address.
func (o *object) resource(base string, wanted selection) resource {
	if wanted == nil {
		wanted = allFields
	}
	r := make(resource, len(wanted))
	for name := range wanted {
		value := o.attributes[name]
		if field, is := fieldsOfObjects[name]; is {
			value = field(o, base)
		}
		if value != nil {
			r[name] = value
		}
	}
	return r
}

// fieldsOfObjects are those that no client sets. A value of nil is not shown.
var fieldsOfObjects = map[string]func(o *object, base string) any{
	"kind": func(*object, string) any { return "storage#object" },
	"id": func(o *object, _ string) any {
		return o.bucket + "/" + o.name + "/" + strconv.FormatInt(o.generation, 10)
	},
	"selfLink": func(o *object, base string) any { return base + o.path() },
	"mediaLink": func(o *object, base string) any {
		return fmt.Sprint(base, "/download", o.path(), "?alt=media&generation=", o.generation)
	},
	"bucket":       func(o *object, _ string) any { return o.bucket },
	"name":         func(o *object, _ string) any { return o.name },
	"storageClass": func(*object, string) any { return "STANDARD" },
	"size":         func(o *object, _ string) any { return strconv.Itoa(len(o.content)) },

	"generation":     func(o *object, _ string) any { return strconv.FormatInt(o.generation, 10) },
	"metageneration": func(o *object, _ string) any { return strconv.FormatInt(o.metageneration, 10) },
	"crc32c":         func(o *object, _ string) any { return o.crc32c() },
	"md5Hash":        func(o *object, _ string) any { return o.md5() },
	"etag":           func(o *object, _ string) any { return o.etag() },

	"timeCreated":             func(o *object, _ string) any { return shownTime(o.created) },
	"timeStorageClassUpdated": func(o *object, _ string) any { return shownTime(o.created) },
	"updated":                 func(o *object, _ string) any { return shownTime(o.updated) },
	"timeDeleted":             func(o *object, _ string) any { return shownTime(o.superseded) },
	"softDeleteTime":          func(o *object, _ string) any { return shownTime(o.deleted) },
	"hardDeleteTime":          func(o *object, _ string) any { return shownTime(o.lost) },
}

// allFields are those, and what clients set.
var allFields = func() selection {
	all := selection{}
	for name := range fieldsOfObjects {
		all[name] = nil
	}
	for _, name := range settable {
		all[name] = nil
	}
	return all
}()

func shownTime(at time.Time) any {
	if at.IsZero() {
		return nil
	}
	return at.Format(time.RFC3339Nano)
}

func (o *object) path() string {
	return "/storage/v1/b/" + url.PathEscape(o.bucket) + "/o/" + url.PathEscape(o.name)
}

// crc32c and md5 return sums of the content, in base 64.
func (o *object) crc32c() string {
	sum := crc32.Checksum(o.content, crc32.MakeTable(crc32.Castagnoli))
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, sum))
}

func (o *object) md5() string {
	sum := md5.Sum(o.content)
	return base64.StdEncoding.EncodeToString(sum[:])
}

func objectNotFound(bucket, name string) *apiError {
	return &apiError{http.StatusNotFound, "notFound", "No such object: " + bucket + "/" + name}
}
