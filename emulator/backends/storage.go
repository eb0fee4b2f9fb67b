package backends

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// StorageServer imitates in memory the part of Cloud Storage that the bundle and its tests use: the JSON API's objects (insert
// in the two forms that SDKs use, get, list, patch, delete, restore, rewrite), with soft deletion and versions, and the XML API's
// download, with which the Go client reads. CONTRIBUTING.md says why no library does it.
type StorageServer struct {
	mu             sync.Mutex // a request is answered under it
	buckets        map[string]*bucket
	uploads        map[string]*upload // resumable ones under way, by id
	lastGeneration int64
}

func newStorage() *StorageServer {
	return &StorageServer{buckets: map[string]*bucket{}, uploads: map[string]*upload{}}
}

// on calls f with a bucket, under the lock.
func (s *StorageServer) on(name string, f func(b *bucket)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s.bucket(name))
}

// Clear deletes all objects of the bucket for good, and what was set of it.
func (s *StorageServer) Clear(bucket string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.buckets, bucket)
}

// SetSoftDelete sets how long the bucket keeps objects that are deleted from now on; 0 keeps none.
func (s *StorageServer) SetSoftDelete(name string, retention time.Duration) {
	s.on(name, func(b *bucket) { b.softDelete = retention })
}

// SetVersioning lets the bucket keep what is overwritten or deleted from now on.
func (s *StorageServer) SetVersioning(name string) {
	s.on(name, func(b *bucket) { b.versioning = true })
}

// Age makes the live objects of a bucket older, for sample data. No client of Cloud Storage can do that.
func (s *StorageServer) Age(name string, by time.Duration) {
	s.on(name, func(b *bucket) {
		for name := range b.generations {
			for _, o := range b.all(name, live) {
				o.created, o.updated = o.created.Add(-by), o.updated.Add(-by)
			}
		}
	})
}

// Put stores an empty object as an upload would, but without a request, for tests with many objects.
func (s *StorageServer) Put(to, name string, metadata map[string]string) (err error) {
	attributes := resource{"contentType": "application/octet-stream"}
	if len(metadata) > 0 {
		custom := resource{}
		for key, value := range metadata {
			custom[key] = value
		}
		attributes["metadata"] = custom
	}
	s.on(to, func(b *bucket) {
		if _, failure := s.put(b, name, conditions{}, attributes, nil); failure != nil {
			err = errors.New(failure.message)
		}
	})
	return err
}

// storageRequest is a request that has been read whole, so that it can be answered under the lock.
type storageRequest struct {
	*http.Request
	conditions
	query  url.Values
	body   []byte
	bucket *bucket
	name   string // of the object
	more   []string
}

// base returns the address of the server.
func (r *storageRequest) base() string { return "http://" + r.Host }

// routes are the requests that are imitated. The groups of a path are its bucket, its object, and what else there is. A path is
// compared as it was sent: an object's name may contain what http.ServeMux would remove.
var routes = []struct {
	methods []string
	path    *regexp.Regexp
	answer  func(*StorageServer, *storageRequest) (any, *apiError)
}{
	{[]string{"POST", "PUT"}, route(`/upload/storage/v1/b/([^/]+)/o`), (*StorageServer).upload},
	{[]string{"GET"}, route(`/storage/v1/b/([^/]+)`), (*StorageServer).describe},
	{[]string{"GET"}, route(`/storage/v1/b/([^/]+)/o/?`), (*StorageServer).list},
	{[]string{"POST"}, route(`/storage/v1/b/([^/]+)/o/(.+)/restore`), (*StorageServer).restore},
	{[]string{"POST"}, route(`/storage/v1/b/([^/]+)/o/(.+)/rewriteTo/b/([^/]+)/o/(.+)`), (*StorageServer).rewrite},
	{[]string{"GET"}, route(`(?:/download)?/storage/v1/b/([^/]+)/o/(.+)`), (*StorageServer).get},
	{[]string{"PATCH"}, route(`/storage/v1/b/([^/]+)/o/(.+)`), (*StorageServer).patch},
	{[]string{"DELETE"}, route(`/storage/v1/b/([^/]+)/o/(.+)`), (*StorageServer).delete},
	{nil, route(`/(?:download/|upload/)?(?:storage/v1|v0)/.*`), nil}, // another API, and not a bucket of this name
	{[]string{"GET"}, route(`/([^/]+)/(.+)`), (*StorageServer).download},
}

func route(path string) *regexp.Regexp { return regexp.MustCompile("^" + path + "$") }

// notImitatedParameters are those that would change what a request means.
var notImitatedParameters = []string{
	"copySourceAcl", "filter", "ifGenerationNotMatch", "ifMetagenerationNotMatch", "includeFoldersAsPrefixes",
	"includeTrailingDelimiter", "matchGlob",
}

// ServeHTTP implements http.Handler.
func (s *StorageServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer, failure := s.serve(r)
	switch answer := answer.(type) {
	case nil:
		failure.write(w)
	case resource:
		writeJSON(w, http.StatusOK, answer)
	case func(http.ResponseWriter):
		answer(w)
	}
}

// serve reads a request and answers it: with a resource, or with a function that writes something else.
func (s *StorageServer) serve(request *http.Request) (any, *apiError) {
	r := &storageRequest{Request: request, query: request.URL.Query()}
	var failure *apiError
	if r.body, failure = readAll(r.Body); failure != nil {
		return nil, failure
	}
	if r.conditions, failure = parseConditions(r.query, r.Header); failure != nil {
		return nil, failure
	}
	fields := r.query.Get("fields")
	if fields != "" && !fieldsPattern.MatchString(fields) {
		return nil, invalid("Invalid field selection " + fields)
	}
	for _, parameter := range notImitatedParameters {
		if value := r.query.Get(parameter); value != "" && value != "false" {
			failure = notImitated("Storage", request)
			failure.message += " with " + parameter
			return nil, failure
		}
	}
	path := r.URL.EscapedPath()
	if strings.HasPrefix(path, "/b/") { // as Node's client asks an emulator; no bucket has so short a name
		path = "/storage/v1" + path
	}
	for _, route := range routes {
		match := route.path.FindStringSubmatch(path)
		if match == nil || route.methods != nil && !slices.Contains(route.methods, r.Method) {
			continue
		}
		if route.answer == nil {
			break
		}
		for i, part := range match[1:] {
			var err error
			if match[i+1], err = url.PathUnescape(part); err != nil {
				return nil, invalid("Invalid path.")
			}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		r.bucket = s.bucket(match[1])
		if len(match) > 2 {
			r.name, r.more = match[2], match[3:]
		}
		answer, failure := route.answer(s, r)
		if whole, is := answer.(resource); is && fields != "" {
			answer = selected(whole, fields)
		}
		return answer, failure
	}
	return nil, notImitated("Storage", request)
}

// describe answers with the bucket. Every bucket exists.
func (s *StorageServer) describe(r *storageRequest) (any, *apiError) {
	b := r.bucket
	return resource{
		"kind": "storage#bucket", "id": b.name, "name": b.name, "selfLink": r.base() + "/storage/v1/b/" + url.PathEscape(b.name),
		"location": "US", "locationType": "multi-region", "storageClass": "STANDARD", "metageneration": "1",
		"softDeletePolicy": resource{"retentionDurationSeconds": strconv.Itoa(int(b.softDelete.Seconds()))},
		"versioning":       resource{"enabled": b.versioning},
	}, nil
}

func (s *StorageServer) get(r *storageRequest) (any, *apiError) {
	switch {
	case r.query.Get("alt") == "media":
		return s.download(r)
	case r.query.Get("softDeleted") == "true":
		return r.shown(r.softDeleted())
	}
	return r.shown(r.bucket.find(r.name, r.conditions))
}

// shown answers with an object, unless there is a failure.
func (r *storageRequest) shown(o *object, failure *apiError) (any, *apiError) {
	if failure != nil {
		return nil, failure
	}
	return o.resource(r.base()), nil
}

func (s *StorageServer) delete(r *storageRequest) (any, *apiError) {
	if failure := r.bucket.remove(r.name, r.conditions); failure != nil {
		return nil, failure
	}
	return func(w http.ResponseWriter) { w.WriteHeader(http.StatusNoContent) }, nil
}

// given returns the attributes in a request's JSON, which may be empty. Custom metadata must be texts.
func given(text []byte) (attributes resource, failure *apiError) {
	var typed struct {
		Metadata map[string]*string `json:"metadata"`
	}
	if len(text) > 0 {
		if err := errors.Join(json.Unmarshal(text, &attributes), json.Unmarshal(text, &typed)); err != nil {
			return nil, invalid("Parse Error: " + err.Error())
		}
	}
	return attributes, nil
}

// patch merges attributes into those of an object. The generation stays; the metageneration is the next one.
func (s *StorageServer) patch(r *storageRequest) (any, *apiError) {
	changes, failure := given(r.body)
	if failure != nil {
		return nil, failure
	}
	o, failure := r.bucket.find(r.name, r.conditions)
	if failure != nil {
		return nil, failure
	}
	o.attributes, o.metageneration, o.updated = onlySettable(merge(o.attributes, changes)), o.metageneration+1, time.Now().UTC()
	return r.shown(o, nil)
}

// download answers with the object's content. Compressed content is sent as it is.
func (s *StorageServer) download(r *storageRequest) (any, *apiError) {
	o, failure := r.bucket.find(r.name, r.conditions)
	if failure != nil {
		return nil, failure
	}
	header := http.Header{"Content-Type": {"application/octet-stream"}, "Content-Length": {strconv.Itoa(len(o.content))}}
	for attribute, key := range map[string]string{"contentEncoding": "Content-Encoding", "contentType": "Content-Type"} {
		if value, _ := o.attributes[attribute].(string); value != "" {
			header.Set(key, value)
		}
	}
	header.Set("X-Goog-Generation", strconv.FormatInt(o.generation, 10))
	header.Set("X-Goog-Metageneration", strconv.FormatInt(o.metageneration, 10))
	header.Set("X-Goog-Hash", "crc32c="+o.crc32c+",md5="+o.md5)
	return func(w http.ResponseWriter) {
		maps.Copy(w.Header(), header)
		_, _ = w.Write(o.content) // fails only when the client has gone; content is never changed
	}, nil
}

// restore makes a soft-deleted generation live again, as a new generation. The conditions are those on the live object.
func (s *StorageServer) restore(r *storageRequest) (any, *apiError) {
	dead, failure := r.softDeleted()
	if failure != nil {
		return nil, failure
	}
	return r.shown(s.put(r.bucket, r.name, r.conditions, dead.attributes, dead.content))
}

// softDeleted returns the soft-deleted generation that a request names.
func (r *storageRequest) softDeleted() (*object, *apiError) {
	if r.generation == nil {
		return nil, &apiError{http.StatusBadRequest, "required", "Required parameter: generation"}
	}
	for _, o := range r.bucket.all(r.name, softDeleted) {
		if o.generation == *r.generation {
			return o, nil
		}
	}
	return nil, objectNotFound(r.bucket.name, r.name)
}

// rewrite copies an object within a bucket and at once.
func (s *StorageServer) rewrite(r *storageRequest) (any, *apiError) {
	if r.more[0] != r.bucket.name {
		return nil, notImitated("Storage", r.Request)
	}
	source, failure := parseConditions(url.Values{"generation": r.query["sourceGeneration"]}, http.Header{})
	if failure != nil {
		return nil, failure
	}
	attributes, failure := given(r.body)
	if failure != nil {
		return nil, failure
	}
	o, failure := r.bucket.find(r.name, source)
	if failure != nil {
		return nil, failure
	}
	if attributes = onlySettable(attributes); len(attributes) == 0 { // those of the source
		attributes = o.attributes
	}
	copied, failure := s.put(r.bucket, r.more[1], r.conditions, attributes, o.content)
	if failure != nil {
		return nil, failure
	}
	return resource{"kind": "storage#rewriteResponse", "done": true,
		"objectSize": "0", "totalBytesRewritten": "0", "resource": copied.resource(r.base())}, nil
}
