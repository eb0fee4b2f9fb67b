package engine_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// TestWhoseQuotaCounts: a person at the command has the project's quota counted, without which Authentication refuses; a function
// does not ask for it, because its account has no right to.
func TestWhoseQuotaCounts(t *testing.T) {
	var asked []string
	google := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/token" {
			fmt.Fprint(w, `{"access_token":"token","token_type":"Bearer","expires_in":3600}`)
			return
		}
		asked = append(asked, r.Header.Get("X-Goog-User-Project"))
		fmt.Fprint(w, `{}`)
	}))
	t.Cleanup(google.Close)

	f := newFunction(t, cleanup.Job{Name: "testJob", Accounts: true, Plan: func(ctx context.Context, p *cleanup.Planner) error {
		_, err := p.Accounts.Get(ctx, []string{"somebody"})
		return err
	}})
	f.Uses = append(f.Uses, config.Auth)
	person := filepath.Join(t.TempDir(), "credentials.json")
	text := `{"type":"authorized_user","client_id":"c","client_secret":"s","refresh_token":"r","quota_project_id":"another"}`
	if err := os.WriteFile(person, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", person)
	t.Setenv("FIREBASE_AUTH_EMULATOR_HOST", "")
	transport := http.DefaultTransport.(*http.Transport)
	transport.DialTLSContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, google.Listener.Addr().String())
	}
	t.Cleanup(func() { transport.DialTLSContext = nil })

	if rep := f.Run(t, ""); rep.Status != report.Completed {
		t.Fatal(rep.Failures)
	}
	if rep, err := f.Plan(t.Context(), engine.Options{}); err != nil || rep.Status != report.Completed {
		t.Fatal(err, rep)
	}
	if _, err := f.Restorer(t, nil).Accounts.Get(t.Context(), []string{"somebody"}); err != nil {
		t.Fatal(err)
	}
	enginetest.Want(t, "projects of the function, of a plan and of an undo", []string{"another", f.ID, f.ID}, asked)
}
