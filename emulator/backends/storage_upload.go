package backends

import (
	"crypto/rand"
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// upload is a resumable upload under way.
type upload struct {
	bucket, name string
	conditions   conditions
	attributes   resource
	content      []byte
}

// serveUpload answers an insert, whose form uploadType names.
func (s *StorageServer) serveUpload(w http.ResponseWriter, r *http.Request, bucket string) *apiError {
	query := r.URL.Query()
	id := query.Get("upload_id")
	switch kind := query.Get("uploadType"); {
	case id != "" && (r.Method == http.MethodPut || r.Method == http.MethodPost):
		return s.resume(w, r, id)
	case r.Method != http.MethodPost:
		return notImitated("Storage", r)
	case kind == "media":
		return s.insertMedia(w, r, bucket)
	case kind == "multipart":
		return s.insertMultipart(w, r, bucket)
	case kind == "resumable":
		return s.begin(w, r, bucket)
	default:
		return invalid("Invalid uploadType: " + kind)
	}
}

// newUpload makes an upload from a request's parameters and its JSON attributes, which may be empty.
func newUpload(r *http.Request, bucket string, attributes io.Reader) (*upload, *apiError) {
	query := r.URL.Query()
	c, failure := parseConditions(query, r.Header)
	if failure != nil {
		return nil, failure
	}
	c.generation = nil // a new object has no generation to ask for
	var given resource
	if err := json.NewDecoder(attributes).Decode(&given); err != nil && err != io.EOF {
		return nil, invalid("Parse Error: " + err.Error())
	}
	if failure := checkMetadata(given); failure != nil {
		return nil, failure
	}
	name := query.Get("name")
	if name == "" {
		name, _ = given["name"].(string) // the check refuses none
	}
	return &upload{bucket: bucket, name: name, conditions: c, attributes: onlySettable(given)}, checkName(name)
}

func (u *upload) setType(contentType string) {
	if u.attributes["contentType"] == nil && contentType != "" {
		u.attributes["contentType"] = contentType
	}
}

// finish stores the object and answers with it.
func (s *StorageServer) finish(w http.ResponseWriter, r *http.Request, u *upload) *apiError {
	o, failure := s.store.put(u.bucket, u.name, u.conditions, u.attributes, u.content)
	if failure != nil {
		return failure
	}
	return writeSelected(w, r, o.resource(baseURL(r), u.bucket, u.name))
}

func (s *StorageServer) insertMedia(w http.ResponseWriter, r *http.Request, bucket string) *apiError {
	u, failure := newUpload(r, bucket, http.NoBody)
	if failure != nil {
		return failure
	}
	u.setType(r.Header.Get("Content-Type"))
	if u.content, failure = readAll(r.Body); failure != nil {
		return failure
	}
	return s.finish(w, r, u)
}

// insertMultipart takes a body of two parts: the attributes in JSON, and the content.
func (s *StorageServer) insertMultipart(w http.ResponseWriter, r *http.Request, bucket string) *apiError {
	_, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return invalid("Invalid Content-Type: " + err.Error())
	}
	parts := multipart.NewReader(r.Body, parameters["boundary"])
	attributes, err := parts.NextPart()
	if err != nil {
		return invalid("Malformed multipart body: " + err.Error())
	}
	u, failure := newUpload(r, bucket, attributes)
	if failure != nil {
		return failure
	}
	media, err := parts.NextPart()
	if err != nil {
		return invalid("Malformed multipart body: " + err.Error())
	}
	u.setType(media.Header.Get("Content-Type"))
	if u.content, failure = readAll(media); failure != nil {
		return failure
	}
	return s.finish(w, r, u)
}

// begin starts a resumable upload and answers with the address for its content.
func (s *StorageServer) begin(w http.ResponseWriter, r *http.Request, bucket string) *apiError {
	u, failure := newUpload(r, bucket, r.Body)
	if failure != nil {
		return failure
	}
	u.setType(r.Header.Get("X-Upload-Content-Type"))
	id := rand.Text()
	s.mu.Lock()
	s.uploads[id] = u
	s.mu.Unlock()
	w.Header().Set("Location", baseURL(r)+"/upload/storage/v1/b/"+url.PathEscape(bucket)+"/o?uploadType=resumable&upload_id="+id)
	w.WriteHeader(http.StatusOK)
	return nil
}

// resume takes a chunk of a resumable upload. Only one request at a time works on an upload.
func (s *StorageServer) resume(w http.ResponseWriter, r *http.Request, id string) *apiError {
	chunk, failure := readAll(r.Body)
	if failure != nil {
		return failure
	}
	start, size, ok := parseContentRange(r.Header.Get("Content-Range"), len(chunk))
	if !ok {
		return invalid("Invalid Content-Range: " + r.Header.Get("Content-Range"))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.uploads[id]
	if u == nil {
		return &apiError{http.StatusNotFound, "notFound", "No such upload."}
	}
	// If a chunk before this one is missing, the answer below tells the client from where to send again.
	if len(chunk) > 0 && start <= len(u.content) {
		u.content = append(u.content[:start:start], chunk...)
	}
	if size == len(u.content) {
		delete(s.uploads, id)
		return s.finish(w, r, u)
	}
	if len(u.content) > 0 {
		w.Header().Set("Range", "bytes=0-"+strconv.Itoa(len(u.content)-1))
	}
	if r.Header.Get("X-GUploader-No-308") == "yes" {
		w.Header().Set("X-Http-Status-Code-Override", "308")
		w.WriteHeader(http.StatusOK)
	} else {
		w.WriteHeader(http.StatusPermanentRedirect)
	}
	return nil
}

// parseContentRange returns a chunk's place and the whole's size, -1 while it is unknown. The forms are "bytes 0-9/100",
// "bytes 0-9/*", "bytes */100" and "bytes */*"; none at all is the whole. "bytes 0-*/*", which firebase-admin for Node sends,
// is all from there to the end.
func parseContentRange(text string, chunk int) (start, size int, ok bool) {
	if text == "" {
		return 0, chunk, true
	}
	text, ok = strings.CutPrefix(text, "bytes ")
	span, whole, slash := strings.Cut(text, "/")
	if !ok || !slash {
		return 0, 0, false
	}
	size = -1
	if whole != "*" {
		var err error
		if size, err = strconv.Atoi(whole); err != nil || size < 0 {
			return 0, 0, false
		}
	}
	if span == "*" {
		return 0, size, chunk == 0
	}
	first, last, dash := strings.Cut(span, "-")
	start, firstErr := strconv.Atoi(first)
	if last == "*" && dash && firstErr == nil && start >= 0 {
		if size < 0 {
			size = start + chunk
		}
		return start, size, size == start+chunk
	}
	end, lastErr := strconv.Atoi(last)
	return start, size, dash && firstErr == nil && lastErr == nil && start >= 0 && end-start+1 == chunk
}
