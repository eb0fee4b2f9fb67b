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

// Soft deletion and versions are as Cloud Storage documents them (https://cloud.google.com/storage/docs/soft-delete,
// …/object-versioning), as far as somebody needs them who brings objects back. An object that is deleted or overwritten can be
// listed and restored until the bucket's retention is over; the soft-deleted generation stays until then. In a bucket with
// versioning it becomes noncurrent: it can be got, listed, copied and deleted by its generation.

const defaultSoftDelete = 7 * 24 * time.Hour

// resource is a Cloud Storage resource, as in JSON. A stored resource is never changed, only replaced, so that it may be read
// without the lock.
type resource = map[string]any

// object is one generation of an object.
type object struct {
	bucket, name   string
	attributes     resource // what users may set: contentType, metadata and the like
	content        []byte   // never changed
	crc32c, md5    string   // of the content, in base 64
	generation     int64
	metageneration int64
	created        time.Time
	updated        time.Time
	superseded     time.Time // when it became noncurrent; zero if it never was
	deleted, lost  time.Time // when it was soft-deleted, and when it is gone for good; zero while it is not
}

// What generations of an object may be, apart from gone.
func live(o *object) bool        { return version(o) && o.superseded.IsZero() }
func version(o *object) bool     { return o.deleted.IsZero() } // live or noncurrent
func softDeleted(o *object) bool { return !version(o) && time.Now().Before(o.lost) }

// bucket holds objects by name and, for listing, the names in order. New names are sorted only for the next list, and names of
// which nothing is left stay until then. So the time for uploading many objects does not grow with the square of their number.
type bucket struct {
	name        string
	generations map[string][]*object // the oldest first
	names       []string             // in order
	added       []string             // not yet in names

	// What the owner has set.
	softDelete time.Duration // how long what is deleted can be restored
	versioning bool
}

// bucket returns the bucket, and makes it if it is new.
func (s *StorageServer) bucket(name string) *bucket {
	b := s.buckets[name]
	if b == nil {
		b = &bucket{name: name, generations: map[string][]*object{}, softDelete: defaultSoftDelete}
		s.buckets[name] = b
	}
	return b
}

// all returns the generations of a name that are something, the oldest first.
func (b *bucket) all(name string, are func(*object) bool) (found []*object) {
	for _, o := range b.generations[name] {
		if are(o) {
			found = append(found, o)
		}
	}
	return found
}

// put creates or overwrites an object: a new generation, of which this is the first metageneration.
func (s *StorageServer) put(b *bucket, name string, c conditions, attributes resource, content []byte) (*object, *apiError) {
	old := &object{} // whose generation 0 means in conditions that the object does not exist
	if found := b.all(name, live); len(found) > 0 {
		old = found[0]
	}
	if err := cmp.Or(checkName(name), c.check(old), old.held()); err != nil {
		return nil, err
	}
	if old.generation != 0 {
		b.bury(old, b.versioning)
	}
	if b.generations[name] == nil {
		b.added = append(b.added, name)
	}
	now := time.Now().UTC()
	s.lastGeneration = max(s.lastGeneration+1, now.UnixMicro())
	sum, crc := md5.Sum(content), crc32.Checksum(content, crc32.MakeTable(crc32.Castagnoli))
	o := &object{
		bucket: b.name, name: name, attributes: attributes, content: content, md5: base64.StdEncoding.EncodeToString(sum[:]),
		crc32c:     base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, crc)),
		generation: s.lastGeneration, metageneration: 1, created: now, updated: now,
	}
	b.generations[name] = append(b.generations[name], o)
	return o, nil
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

// find returns an object if the conditions hold for it: the live one, or the one of the generation that they name. A request that
// needs an object looks for it before it checks the conditions: Cloud Storage documents 404 for deleting a missing object and
// 412 for another generation, and does not say that a condition changes the first.
func (b *bucket) find(name string, c conditions) (*object, *apiError) {
	found := b.all(name, live)
	if c.generation != nil {
		found = b.all(name, func(o *object) bool { return version(o) && o.generation == *c.generation })
	}
	if len(found) == 0 {
		return nil, objectNotFound(b.name, name)
	}
	return found[0], c.check(found[0])
}

// remove deletes an object. To name the live generation deletes it in spite of versioning.
func (b *bucket) remove(name string, c conditions) *apiError {
	o, err := b.find(name, c)
	if err == nil {
		err = o.held()
	}
	if err == nil {
		b.bury(o, b.versioning && c.generation == nil)
	}
	return err
}

// held refuses to delete or overwrite an object under a hold, with the reason that a caller without permission gets, too.
func (o *object) held() *apiError {
	for attribute, hold := range map[string]string{"eventBasedHold": "Event-Based", "temporaryHold": "Temporary"} {
		if set, _ := o.attributes[attribute].(bool); set {
			return &apiError{http.StatusForbidden, "forbidden", "Object '" + o.bucket + "/" + o.name + "' is under active " + hold +
				" hold."}
		}
	}
	return nil
}

// bury keeps an object that is no longer live, as noncurrent or as soft-deleted, as long as the bucket keeps it.
func (b *bucket) bury(o *object, noncurrent bool) {
	now := time.Now().UTC()
	if noncurrent {
		o.superseded = now
		return
	}
	o.deleted, o.lost = now, now.Add(b.softDelete)
	b.generations[o.name] = slices.DeleteFunc(b.generations[o.name], func(o *object) bool { return !version(o) && !softDeleted(o) })
	if len(b.generations[o.name]) == 0 {
		delete(b.generations, o.name)
	}
}

// sorted returns the names in order. Of some, nothing may be left.
func (b *bucket) sorted() []string {
	if len(b.added) > 0 {
		names := slices.DeleteFunc(slices.Concat(b.names, b.added), func(name string) bool { return b.generations[name] == nil })
		slices.Sort(names)
		b.names, b.added = slices.Compact(names), nil
	}
	return b.names
}

// conditions are a request's conditions on its object.
type conditions struct {
	generation                           *int64 // this version and no other
	generationMatch, metagenerationMatch *int64
}

// parseConditions reads the JSON API's query parameters and the XML API's headers.
func parseConditions(query url.Values, header http.Header) (conditions, *apiError) {
	var c conditions
	for _, field := range []struct {
		to                **int64
		parameter, header string
	}{
		{&c.generation, "generation", ""},
		{&c.generationMatch, "ifGenerationMatch", "X-Goog-If-Generation-Match"},
		{&c.metagenerationMatch, "ifMetagenerationMatch", "X-Goog-If-Metageneration-Match"},
	} {
		if text := cmp.Or(query.Get(field.parameter), header.Get(field.header)); text != "" {
			value, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return conditions{}, invalid("Invalid value for " + field.parameter + ": " + text)
			}
			*field.to = &value
		}
	}
	return c, nil
}

// check compares the conditions with a live object; a missing one has generation 0.
func (c conditions) check(o *object) *apiError {
	if c.generationMatch != nil && *c.generationMatch != o.generation ||
		c.metagenerationMatch != nil && *c.metagenerationMatch != o.metageneration {
		return &apiError{http.StatusPreconditionFailed, "conditionNotMet",
			"At least one of the pre-conditions you specified did not hold."}
	}
	return nil
}

// settable are the attributes that a client can set. Others are ignored, as by Cloud Storage.
var settable = []string{
	"cacheControl", "contentDisposition", "contentEncoding", "contentLanguage", "contentType", "customTime", "eventBasedHold",
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

// resource returns the object as the JSON API shows it. base is the server's address.
func (o *object) resource(base string) resource {
	path := "/storage/v1/b/" + url.PathEscape(o.bucket) + "/o/" + url.PathEscape(o.name)
	generation, metageneration := strconv.FormatInt(o.generation, 10), strconv.FormatInt(o.metageneration, 10)
	r := resource{
		"kind": "storage#object", "id": o.bucket + "/" + o.name + "/" + generation, "bucket": o.bucket, "name": o.name,
		"selfLink": base + path, "mediaLink": fmt.Sprint(base, "/download", path, "?alt=media&generation=", generation),
		"storageClass": "STANDARD", "size": strconv.Itoa(len(o.content)), "crc32c": o.crc32c, "md5Hash": o.md5,
		"generation": generation, "metageneration": metageneration,
		"etag": base64.StdEncoding.EncodeToString([]byte(generation + "/" + metageneration)),
	}
	for name, at := range map[string]time.Time{
		"timeCreated": o.created, "timeStorageClassUpdated": o.created, "updated": o.updated, "timeDeleted": o.superseded,
		"softDeleteTime": o.deleted, "hardDeleteTime": o.lost,
	} {
		if !at.IsZero() {
			r[name] = at.Format(time.RFC3339Nano)
		}
	}
	maps.Copy(r, o.attributes)
	return r
}

func objectNotFound(bucket, name string) *apiError {
	return &apiError{http.StatusNotFound, "notFound", "No such object: " + bucket + "/" + name}
}
