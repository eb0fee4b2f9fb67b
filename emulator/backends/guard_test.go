package backends

import (
	"net/http"
	"strings"
	"testing"
)

// TestOtherOriginsAreRefused sends what a web page from elsewhere could, to all that is served here over HTTP. SDKs name no origin.
func TestOtherOriginsAreRefused(t *testing.T) {
	environment := withoutFirestore(t, Options{}).Environment()
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	for what, tt := range map[string]struct {
		change func(*http.Request)
		want   int
	}{
		"an SDK":                    {func(*http.Request) {}, http.StatusOK},
		"another origin":            {header("Origin", "https://evil.example"), http.StatusForbidden},
		"an opaque origin":          {header("Origin", "null"), http.StatusForbidden},
		"a browser says cross-site": {header("Sec-Fetch-Site", "cross-site"), http.StatusForbidden},
		"a name that leads here":    {host("rebound.example"), http.StatusForbidden},
		"an address of the network": {host("192.168.1.7:9199"), http.StatusForbidden},
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
	// Reading is refused as well where the page has another name for this machine: for a browser it is then the page's own origin.
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, environment[StorageHost]+"/storage/v1/b/demo-b/o", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "rebound.example"
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusForbidden {
		t.Errorf("a rebound name reads: %s", response.Status)
	}
}
