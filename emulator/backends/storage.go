package backends

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// StorageServer imitates in memory the part of Cloud Storage that the bundle and its tests use: the JSON API's objects (insert
// in its three forms, get, list, patch, update, delete, restore, rewrite), with soft deletion, versions and access lists, and the XML API's
// download, with which the Go client reads.
//
// It is not built on fake-gcs-server, which lacks generations on delete and patch, metagenerations, patch semantics, atomicity
// between requests, partial responses and a list that is not quadratic. Only its parsing of uploads could be used.
type StorageServer struct {
	store *objectStore

	mu      sync.Mutex
	uploads map[string]*upload // resumable ones under way, by id
}

func newStorageServer() *StorageServer {
	return &StorageServer{store: newObjectStore(), uploads: map[string]*upload{}}
}

// Clear deletes all objects of the bucket for good.
func (s *StorageServer) Clear(bucket string) { s.store.clear(bucket) }

// Put stores an empty object as an upload would, but without a request, for tests with many objects.
func (s *StorageServer) Put(bucket, name string, metadata map[string]string) error {
	attributes := resource{"contentType": "application/octet-stream"}
	if len(metadata) > 0 {
		custom := resource{}
		for key, value := range metadata {
			custom[key] = value
		}
		attributes["metadata"] = custom
	}
	failure := checkName(name)
	if failure == nil {
		_, failure = s.store.put(bucket, name, conditions{}, attributes, nil)
	}
	if failure != nil {
		return errors.New(failure.message)
	}
	return nil
}

// Age makes the live objects of a bucket older, for sample data. No client of Cloud Storage can do that.
func (s *StorageServer) Age(bucket string, by time.Duration) { s.store.age(bucket, by) }

// ServeHTTP implements http.Handler. It parses paths as they were sent: an object's name may contain what http.ServeMux would
// remove.
func (s *StorageServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := s.serve(w, r); err != nil {
		err.write(w)
	}
}

func (s *StorageServer) serve(w http.ResponseWriter, r *http.Request) *apiError {
	path := r.URL.EscapedPath()
	if rest, ok := strings.CutPrefix(path, "/upload/storage/v1/b/"); ok {
		bucket, ok := strings.CutSuffix(rest, "/o")
		if !ok || strings.Contains(bucket, "/") {
			return notImitated("Storage", r)
		}
		return s.serveUpload(w, r, bucket)
	}
	path = strings.TrimPrefix(path, "/download") // of media links
	rest, ok := strings.CutPrefix(path, "/storage/v1/b/")
	if !ok {
		if strings.HasPrefix(path, "/storage/v1/") || strings.HasPrefix(path, "/v0/") { // another API, and not a bucket of this name
			return notImitated("Storage", r)
		}
		return s.serveXML(w, r, strings.TrimPrefix(path, "/"))
	}
	bucket, rest, _ := strings.Cut(rest, "/")
	bucket, err := url.PathUnescape(bucket)
	if err != nil {
		return invalid("Invalid bucket name.")
	}
	name, isObject := strings.CutPrefix(rest, "o/")
	name, to, copies := strings.Cut(name, "/rewriteTo/b/") // a slash in the name is sent as %2F
	if name, err = url.PathUnescape(name); err != nil {
		return invalid("Invalid object name.")
	}
	method := r.Method
	if override := r.Header.Get("X-HTTP-Method-Override"); method == http.MethodPost && override != "" {
		method = override
	}
	switch {
	case rest == "" && method == http.MethodGet:
		writeJSON(w, http.StatusOK, bucketResource(baseURL(r), bucket, s.store.policy(bucket)))
		return nil
	case rest == "iam/testPermissions" && method == http.MethodGet:
		return s.testPermissions(w, r, bucket)
	case (rest == "o" || rest == "o/") && method == http.MethodGet:
		return s.list(w, r, bucket)
	case !isObject || name == "":
		return notImitated("Storage", r)
	case copies && method == http.MethodPost:
		return s.rewrite(w, r, bucket, name, to)
	case method == http.MethodPost && strings.HasSuffix(rest, "/restore"):
		return s.restore(w, r, bucket, strings.TrimSuffix(name, "/restore"))
	case method == http.MethodGet && r.URL.Query().Get("alt") == "media":
		return s.download(w, r, bucket, name)
	case method == http.MethodGet:
		return s.get(w, r, bucket, name)
	case method == http.MethodPatch || method == http.MethodPut:
		return s.change(w, r, method, bucket, name)
	case method == http.MethodDelete:
		return s.delete(w, r, bucket, name)
	}
	return notImitated("Storage", r)
}

// serveXML answers a download by the XML API: /bucket/object.
func (s *StorageServer) serveXML(w http.ResponseWriter, r *http.Request, path string) *apiError {
	bucket, name, ok := strings.Cut(path, "/")
	bucket, bucketErr := url.PathUnescape(bucket)
	name, nameErr := url.PathUnescape(name)
	if !ok || bucketErr != nil || nameErr != nil || name == "" || r.Method != http.MethodGet && r.Method != http.MethodHead {
		return notImitated("Storage", r)
	}
	return s.download(w, r, bucket, name)
}

func (s *StorageServer) get(w http.ResponseWriter, r *http.Request, bucket, name string) *apiError {
	c, failure := parseConditions(r.URL.Query(), r.Header)
	if failure != nil {
		return failure
	}
	if r.URL.Query().Get("softDeleted") == "true" {
		return s.getDead(w, r, bucket, name, c)
	}
	o, failure := s.store.get(bucket, name, c)
	if failure != nil {
		return failure
	}
	return writeSelected(w, r, o.resource(baseURL(r), bucket, name))
}

func (s *StorageServer) delete(w http.ResponseWriter, r *http.Request, bucket, name string) *apiError {
	c, failure := parseConditions(r.URL.Query(), r.Header)
	if failure != nil {
		return failure
	}
	if failure := s.store.remove(bucket, name, c); failure != nil {
		return failure
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// change answers PATCH, which merges attributes, and PUT, which replaces them.
func (s *StorageServer) change(w http.ResponseWriter, r *http.Request, method, bucket, name string) *apiError {
	c, failure := parseConditions(r.URL.Query(), r.Header)
	if failure != nil {
		return failure
	}
	var attributes resource
	if err := json.NewDecoder(r.Body).Decode(&attributes); err != nil {
		return invalid("Parse Error: " + err.Error())
	}
	if failure := checkMetadata(attributes); failure != nil {
		return failure
	}
	o, failure := s.store.patch(bucket, name, c, func(old resource) resource {
		if method == http.MethodPut {
			return onlySettable(attributes)
		}
		return onlySettable(merge(old, attributes))
	})
	if failure != nil {
		return failure
	}
	return writeSelected(w, r, o.resource(baseURL(r), bucket, name))
}

// download answers with the object's content. http.ServeContent handles ranges. Compressed content is sent as it is.
func (s *StorageServer) download(w http.ResponseWriter, r *http.Request, bucket, name string) *apiError {
	c, failure := parseConditions(r.URL.Query(), r.Header)
	if failure != nil {
		return failure
	}
	o, failure := s.store.get(bucket, name, c)
	if failure != nil {
		return failure
	}
	header := w.Header()
	header.Set("Content-Type", "application/octet-stream")
	for attribute, key := range map[string]string{
		"cacheControl": "Cache-Control", "contentDisposition": "Content-Disposition", "contentEncoding": "Content-Encoding",
		"contentLanguage": "Content-Language", "contentType": "Content-Type",
	} {
		if value, ok := o.attributes[attribute].(string); ok && value != "" {
			header.Set(key, value)
		}
	}
	metadata, _ := o.attributes["metadata"].(resource) // nil has no keys
	for key, value := range metadata {
		text, _ := value.(string) // checked when it was stored
		header.Set("X-Goog-Meta-"+key, text)
	}
	header.Set("Etag", strconv.Quote(o.etag()))
	header.Set("X-Goog-Generation", strconv.FormatInt(o.generation, 10))
	header.Set("X-Goog-Metageneration", strconv.FormatInt(o.metageneration, 10))
	header.Set("X-Goog-Hash", "crc32c="+o.crc32c+",md5="+o.md5)
	http.ServeContent(w, r, "", o.updated, bytes.NewReader(o.content))
	return nil
}

const (
	defaultPage = 1000 // also the largest
	maxName     = 1024 // bytes
)

func (s *StorageServer) list(w http.ResponseWriter, r *http.Request, bucket string) *apiError {
	query := r.URL.Query()
	for _, parameter := range []string{
		"matchGlob", "filter", "includeFoldersAsPrefixes", "includeTrailingDelimiter",
	} {
		if value := query.Get(parameter); value != "" && value != "false" {
			failure := notImitated("Storage", r)
			failure.message += " with " + parameter
			return failure
		}
	}
	l := listing{
		bucket: bucket, prefix: query.Get("prefix"), delimiter: query.Get("delimiter"),
		start: query.Get("startOffset"), end: query.Get("endOffset"), limit: defaultPage,
	}
	for parameter, offset := range map[string]string{"startOffset": l.start, "endOffset": l.end} {
		// No object's name has these bytes, except the zero byte, which a front end may refuse anywhere. It is not known how
		// strict Cloud Storage itself is; what this accepts, Cloud Storage accepts.
		if len(offset) > maxName || !utf8.ValidString(offset) || strings.ContainsAny(offset, "\x00\r\n") {
			return invalid("Invalid value for " + parameter + ": " + strconv.Quote(offset))
		}
	}
	if projection := query.Get("projection"); projection != "" && projection != "full" && projection != "noAcl" {
		return invalid("Invalid value for projection: " + projection)
	}
	if text := query.Get("maxResults"); text != "" {
		limit, err := strconv.Atoi(text)
		if err != nil || limit < 1 {
			return invalid("Invalid value for maxResults: " + text)
		}
		l.limit = min(limit, defaultPage)
	}
	if softDeleted := query.Get("softDeleted") == "true"; softDeleted || query.Get("versions") == "true" {
		return s.listAll(w, r, l, softDeleted)
	}
	if token := query.Get("pageToken"); token != "" {
		start, err := base64.URLEncoding.DecodeString(token)
		if err != nil {
			return invalid("Invalid pageToken.")
		}
		l.start = string(start)
	}
	page := s.store.list(l)
	return writeSelected(w, r, listAnswer(r, bucket, page, page.next))
}

// listAnswer returns a page of a list as the JSON API has it.
func listAnswer(r *http.Request, bucket string, page listed, next string) resource {
	answer := resource{"kind": "storage#objects"}
	items := make([]any, len(page.objects))
	for i, o := range page.objects {
		items[i] = o.resource(baseURL(r), bucket, page.names[i])
	}
	if len(items) > 0 {
		answer["items"] = items
	}
	if len(page.prefixes) > 0 {
		answer["prefixes"] = page.prefixes
	}
	if next != "" {
		answer["nextPageToken"] = base64.URLEncoding.EncodeToString([]byte(next))
	}
	return answer
}

// writeSelected answers with the resource, or with the part that the request's fields select. A client that forgets to select
// what it needs must fail here as with Google.
func writeSelected(w http.ResponseWriter, r *http.Request, answer resource) *apiError {
	if fields := r.URL.Query().Get("fields"); fields != "" {
		selection, rest, err := parseFields(fields)
		if err != nil || rest != "" {
			return invalid("Invalid field selection " + fields)
		}
		answer, _ = selection.of(answer).(resource) // a selection of a resource is one
	}
	writeJSON(w, http.StatusOK, answer)
	return nil
}

func baseURL(r *http.Request) string { return "http://" + r.Host }

func bucketResource(base, bucket string, p policy) resource {
	return resource{
		"kind": "storage#bucket", "id": bucket, "name": bucket, "selfLink": base + "/storage/v1/b/" + url.PathEscape(bucket),
		"location": "US", "locationType": "multi-region", "storageClass": "STANDARD", "metageneration": "1",
		"softDeletePolicy": resource{"retentionDurationSeconds": strconv.Itoa(int(p.softDelete.Seconds()))},
		"versioning":       resource{"enabled": p.versioning},
		"iamConfiguration": resource{"uniformBucketLevelAccess": resource{"enabled": !p.ownAccess}},
	}
}

func checkName(name string) *apiError {
	if name == "" {
		return &apiError{http.StatusBadRequest, "required", "Required"}
	}
	if len(name) > maxName || !utf8.ValidString(name) || strings.ContainsAny(name, "\r\n") || name == "." || name == ".." {
		return invalid("Invalid object name: " + strconv.Quote(name))
	}
	return nil
}

// checkMetadata refuses custom metadata whose values are not texts.
func checkMetadata(attributes resource) *apiError {
	switch metadata := attributes["metadata"].(type) {
	case nil:
	case resource:
		for key, value := range metadata {
			if _, ok := value.(string); !ok && value != nil {
				return invalid("Invalid value for metadata." + key)
			}
		}
	default:
		return invalid("Invalid value for metadata")
	}
	return nil
}

// readAll reads a request's body.
func readAll(r io.Reader) ([]byte, *apiError) {
	content, err := io.ReadAll(r)
	if err != nil {
		return nil, invalid("The request's body broke off: " + err.Error())
	}
	return content, nil
}
