package backends

import (
	"net/http"
	"strings"
	"testing"
)

// TestOtherOriginsAreRefused: all that is served here over HTTP is behind [Guard], of which the page's tests tell more. SDKs name
// no origin.
func TestOtherOriginsAreRefused(t *testing.T) {
	environment := withoutFirestore(t, Options{}).Environment()
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
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(`{"localIds":["u"],"force":true}`))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "text/plain") // for which a browser asks nobody first
			tt.change(r)
			response, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
			if response.StatusCode != tt.want {
				t.Errorf("%s, %s: %s, want %d", what, url, response.Status, tt.want)
			}
		}
	}
}
