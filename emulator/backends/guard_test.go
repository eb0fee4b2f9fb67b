package backends

import (
	"net/http"
	"testing"
)

// TestOtherOriginsAreRefused: all that is served here over HTTP is behind [Guard], of which the page's tests tell more. SDKs name
// no origin.
func TestOtherOriginsAreRefused(t *testing.T) {
	environment := withoutFirestore(t).Environment()
	for what, tt := range map[string]struct {
		change func(*http.Request)
		want   int
	}{
		"an SDK":                 {func(*http.Request) {}, http.StatusOK},
		"another origin":         {func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }, http.StatusForbidden},
		"a name that leads here": {func(r *http.Request) { r.Host = "rebound.example" }, http.StatusForbidden},
	} {
		for _, url := range []string{
			environment[StorageHost] + "/upload/storage/v1/b/demo-b/o?uploadType=resumable&name=a",
			"http://" + environment[AuthHost] + "/identitytoolkit.googleapis.com/v1/projects/demo-p/accounts:batchDelete",
		} {
			status, text := call(t, http.MethodPost, url, `{"localIds":["u"],"force":true}`, func(r *http.Request) {
				r.Header.Set("Content-Type", "text/plain") // for which a browser asks nobody first
				tt.change(r)
			})
			same(t, what+", "+url+": "+text, tt.want, status)
		}
	}
}
