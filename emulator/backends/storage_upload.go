package backends

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"regexp"
	"strconv"
)

// upload is a resumable upload under way.
type upload struct {
	name       string
	conditions conditions
	attributes resource
	content    []byte
}

// upload answers an insert, whose form uploadType names.
func (s *StorageServer) upload(r *storageRequest) (any, *apiError) {
	id, kind := r.query.Get("upload_id"), r.query.Get("uploadType")
	switch {
	case id != "":
		return s.resume(r, id)
	case r.Method != http.MethodPost:
		return nil, notImitated("Storage", r.Request)
	case kind == "multipart":
		return s.insertMultipart(r)
	case kind == "resumable":
		return s.begin(r)
	}
	return nil, invalid("Invalid uploadType: " + kind)
}

// newUpload makes an upload from a request's parameters, its JSON attributes, which may be empty, and the type of the content.
func newUpload(r *storageRequest, attributes []byte, contentType string) (*upload, *apiError) {
	all, failure := given(attributes)
	if failure != nil {
		return nil, failure
	}
	name, _ := all["name"].(string)
	u := &upload{name: cmp.Or(r.query.Get("name"), name), conditions: r.conditions, attributes: onlySettable(all)}
	u.conditions.generation = nil // a new object has no generation to ask for
	if u.attributes["contentType"] == nil && contentType != "" {
		u.attributes["contentType"] = contentType
	}
	return u, checkName(u.name)
}

// insertMultipart takes a body of two parts: the attributes in JSON, and the content.
func (s *StorageServer) insertMultipart(r *storageRequest) (any, *apiError) {
	_, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return nil, invalid("Invalid Content-Type: " + err.Error())
	}
	parts := multipart.NewReader(bytes.NewReader(r.body), parameters["boundary"])
	var texts [2][]byte
	var header textproto.MIMEHeader
	for i := range texts {
		part, err := parts.NextPart()
		if err == nil {
			texts[i], err = io.ReadAll(part)
		}
		if err != nil {
			return nil, invalid("Malformed multipart body: " + err.Error())
		}
		header = part.Header
	}
	u, failure := newUpload(r, texts[0], header.Get("Content-Type"))
	if failure != nil {
		return nil, failure
	}
	return r.shown(s.put(r.bucket, u.name, u.conditions, u.attributes, texts[1]))
}

// begin starts a resumable upload and answers with the address for its content.
func (s *StorageServer) begin(r *storageRequest) (any, *apiError) {
	u, failure := newUpload(r, r.body, r.Header.Get("X-Upload-Content-Type"))
	if failure != nil {
		return nil, failure
	}
	id := rand.Text()
	s.uploads[id] = u
	return func(w http.ResponseWriter) {
		to := r.base() + "/upload/storage/v1/b/" + url.PathEscape(r.bucket.name) + "/o?uploadType=resumable&upload_id=" + id
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusOK)
	}, nil
}

// resume takes a chunk of a resumable upload.
func (s *StorageServer) resume(r *storageRequest, id string) (any, *apiError) {
	start, size, ok := parseContentRange(r.Header.Get("Content-Range"), len(r.body))
	if !ok {
		return nil, invalid("Invalid Content-Range: " + r.Header.Get("Content-Range"))
	}
	u := s.uploads[id]
	if u == nil {
		return nil, &apiError{http.StatusNotFound, "notFound", "No such upload."}
	}
	// If a chunk before this one is missing, the answer below tells the client from where to send again.
	if len(r.body) > 0 && start <= len(u.content) {
		u.content = append(u.content[:start:start], r.body...)
	}
	if size == len(u.content) {
		delete(s.uploads, id)
		return r.shown(s.put(r.bucket, u.name, u.conditions, u.attributes, u.content))
	}
	there := len(u.content)
	return func(w http.ResponseWriter) {
		if there > 0 {
			w.Header().Set("Range", "bytes=0-"+strconv.Itoa(there-1))
		}
		if r.Header.Get("X-GUploader-No-308") == "yes" {
			w.Header().Set("X-Http-Status-Code-Override", "308")
			w.WriteHeader(http.StatusOK)
			return
		}
		w.WriteHeader(http.StatusPermanentRedirect)
	}, nil
}

var contentRange = regexp.MustCompile(`^bytes (?:(\d+)-(\d+|\*)|\*)/(\d+|\*)$`)

// parseContentRange returns a chunk's place and the whole's size, -1 while it is unknown. The forms are "bytes 0-9/100",
// "bytes 0-9/*", "bytes */100" and "bytes */*"; none at all is the whole. "bytes 0-*/*", which firebase-admin for Node sends,
// is all from there to the end.
func parseContentRange(text string, chunk int) (start, size int, ok bool) {
	if text == "" {
		return 0, chunk, true
	}
	m := contentRange.FindStringSubmatch(text)
	if m == nil {
		return 0, 0, false
	}
	size = -1
	if m[3] != "*" {
		size, _ = strconv.Atoi(m[3]) // digits
	}
	start, _ = strconv.Atoi(m[1])
	end, _ := strconv.Atoi(m[2])
	switch {
	case m[1] == "": // no chunk, but a question
		return 0, size, chunk == 0
	case m[2] != "*":
		return start, size, end-start+1 == chunk
	case size < 0:
		size = start + chunk
	}
	return start, size, size == start+chunk
}
