package quota_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/shared/quota"
)

// TestOf: only a person's calls name a project. shared/engine has a test of what is sent then.
func TestOf(t *testing.T) {
	for name, tt := range map[string]struct {
		credentials, chosen string
		want                int
	}{
		"a person": {`{"type":"authorized_user","client_id":"c","client_secret":"s","refresh_token":"r","quota_project_id":"another"}`, "", 1},
		"a person of an organisation": {`{"type":"external_account_authorized_user","audience":"//iam.googleapis.com/locations/global/workforcePools/p/providers/x",
			"refresh_token":"r","client_id":"c","client_secret":"s","token_url":"https://sts.googleapis.com/v1/oauthtoken"}`, "", 1},
		"a person who chose": {`{"type":"authorized_user","client_id":"c","client_secret":"s","refresh_token":"r"}`, "another", 0},
		"a service account":  {`{"type":"service_account","client_email":"f@example.com","private_key":"k","token_uri":"https://oauth2.googleapis.com/token"}`, "", 0},
		"nobody":             {`{}`, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "credentials.json")
			check.OK(t, os.WriteFile(file, []byte(tt.credentials), 0o600))
			t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", file)
			t.Setenv("GOOGLE_CLOUD_QUOTA_PROJECT", tt.chosen)
			check.Same(t, "options", tt.want, len(quota.Of(t.Context(), "demo-a")))
		})
	}
}
