package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"google.golang.org/api/logging/v2"
)

// TestQuotaOfTheProject: the calls of a person count against the quota of the project that the command looks at.
func TestQuotaOfTheProject(t *testing.T) {
	counted := ""
	google := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		counted = r.Header.Get("X-Goog-User-Project")
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"access_token":"token","token_type":"Bearer","expires_in":3600}`) // of the token; an empty page of the log
	}))
	t.Cleanup(google.Close)
	person := filepath.Join(t.TempDir(), "credentials.json")
	text := `{"type":"authorized_user","client_id":"c","client_secret":"s","refresh_token":"r"}`
	write(t, person, text)
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", person)
	transport := http.DefaultTransport.(*http.Transport)
	transport.DialTLSContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, google.Listener.Addr().String())
	}
	t.Cleanup(func() { transport.DialTLSContext = nil })
	service, err := logging.NewService(t.Context(), asCaller(t.Context(), "logging", "demo-a")...)
	if err == nil {
		_, err = service.Entries.List(&logging.ListLogEntriesRequest{}).Context(t.Context()).Do()
	}
	if err != nil || counted != "demo-a" {
		t.Errorf("%q, %v", counted, err)
	}
}
