package backends

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// What clients of Cloud Storage see is tested in backendstest. This is what only the server in this process has.

// TestPathsOfNodesClient: the client of Node leaves /storage/v1 out where it asks an emulator.
func TestPathsOfNodesClient(t *testing.T) {
	b := withoutFirestore(t)
	ok(t, b.Storage().Put("demo", "a/b.txt", map[string]string{"k": "v"}))
	for _, ask := range []struct {
		method, path, want string
		status             int
	}{
		{"GET", "/o/a%2Fb.txt?alt=media", "", 200},
		{"GET", "/o/a%2Fb.txt", `"metadata":{"k":"v"}`, 200},
		{"GET", "/o?prefix=a/", `"name":"a/b.txt"`, 200},
		{"DELETE", "/o/a%2Fb.txt", "", 204},
		{"GET", "/o/a%2Fb.txt", "", 404},
	} {
		status, text := call(t, ask.method, b.Environment()[StorageHost]+"/b/demo"+ask.path, "")
		if status != ask.status || !strings.Contains(text, ask.want) {
			t.Errorf("%s %s: %d %s", ask.method, ask.path, status, text)
		}
	}
}

func TestInvalidStorageRequests(t *testing.T) {
	b := withoutFirestore(t)
	base := b.Environment()[StorageHost]
	long := strings.Repeat("x", 1025)
	for _, test := range []struct {
		method, path, header, body string
		want                       int
	}{
		{"POST", "/upload/storage/v1/b/b/o?uploadType=resumable", "", "{}", 400},              // no name
		{"POST", "/upload/storage/v1/b/b/o?uploadType=resumable&name=" + long, "", "{}", 400}, // too long
		{"POST", "/upload/storage/v1/b/b/o?uploadType=resumable&name=a%0Ab", "", "{}", 400},   // a line break
		{"POST", "/upload/storage/v1/b/b/o?uploadType=resumable&name=%FF", "", "{}", 400},     // no UTF-8
		{"POST", "/upload/storage/v1/b/b/o?uploadType=resumable&name=..", "", "{}", 400},      // reserved
		{"POST", "/upload/storage/v1/b/b/o?uploadType=media&name=a", "", "x", 400},            // no such form
		{"POST", "/upload/storage/v1/b/b/o?uploadType=multipart&name=a", "", "{}", 400},       // no parts
		{"POST", "/upload/storage/v1/b/b/o?uploadType=resumable", "", `{"name":7}`, 400},      // no name
		{"POST", "/upload/storage/v1/b/b/o?uploadType=resumable&name=a", "", `{"met`, 400},    // no JSON
		{"POST", "/upload/storage/v1/b/b/o?uploadType=resumable&name=a", "", `{"metadata":{"a":1}}`, 400},
		{"PUT", "/upload/storage/v1/b/b/o?uploadType=resumable&upload_id=x", "", "x", 404},
		{"PUT", "/upload/storage/v1/b/b/o?uploadType=resumable&upload_id=x", "bytes 0-9/10", "x", 400},
		{"POST", "/upload/storage/v1/b/b/o?uploadType=resumable&name=a&ifGenerationMatch=x", "", "{}", 400},
		{"GET", "/storage/v1/b/b/o?maxResults=0", "", "", 400},
		{"GET", "/storage/v1/b/b/o?pageToken=%21", "", "", 400},
		{"GET", "/storage/v1/b/b/o?fields=items(", "", "", 400},
		{"GET", "/storage/v1/b/b/o?versions=true&delimiter=/", "", "", 200},
		{"GET", "/storage/v1/b/b/o?fields=items(name),prefixes", "", "", 200},
		{"GET", "/storage/v1/b/b/o?matchGlob=*", "", "", 501},
		{"GET", "/storage/v1/b/b/o/a?ifGenerationNotMatch=1", "", "", 501},
		{"POST", "/storage/v1/b/b/o/a/restore?generation=1&copySourceAcl=true", "", "", 501},
		{"PUT", "/storage/v1/b/b/o/missing", "", "{}", 501},
		{"GET", "/storage/v1/b/b/o?startOffset=a%00", "", "", 400},
		{"GET", "/storage/v1/b/b/o?startOffset=a%0Ab", "", "", 400},
		{"GET", "/storage/v1/b/b/o?endOffset=a%0D", "", "", 400},
		{"GET", "/storage/v1/b/b/o?startOffset=%FF", "", "", 400},
		{"GET", "/storage/v1/b/b/o?startOffset=" + long, "", "", 400},
		{"GET", "/storage/v1/b/b/o?startOffset=" + long[:1024], "", "", 200},
		{"GET", "/storage/v1/b/b/o?projection=some", "", "", 400},
		{"GET", "/storage/v1/b/b/o?projection=noAcl", "", "", 200},
		{"PATCH", "/storage/v1/b/b/o/missing", "", "{}", 404},
		{"PATCH", "/storage/v1/b/b/o/missing", "", "{", 400},
		{"GET", "/storage/v1/b", "", "", 501},
		{"GET", "/v0/b/b/o/a", "", "", 501},
		{"GET", "/storage/v1/b/b", "", "", 200},
		{"GET", "/storage/v1/b/b/o", "", "", 200},
	} {
		status, text := call(t, test.method, base+test.path, test.body, func(r *http.Request) {
			if test.header != "" {
				r.Header.Set("Content-Range", test.header)
			}
		})
		same(t, fmt.Sprintf("%s %.80s: %s", test.method, test.path, text), test.want, status)
	}
}
