package functions_test

import (
	"testing"
	"time"

	"cloud.google.com/go/firestore"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// TestTwoDatabasesSideBySide has Ghost's and GitLab's members in databases of their own, under the same ids, and both jobs in
// one environment, as the local emulator serves them.
func TestTwoDatabasesSideBySide(t *testing.T) {
	p := backendstest.Start(t)
	now := time.Date(2026, 1, 10, 16, 0, 0, 0, time.UTC)
	longAgo := now.AddDate(-1, 0, 0)
	comped := map[string]any{"status": "comped", "created_at": longAgo}
	invited := map[string]any{"invite_token": "secret", "created_at": longAgo, "user_id": nil}
	row := map[string]any{"member_id": "m1", "expiry_at": longAgo}
	databases := map[string]*firestore.Client{}
	for _, name := range []string{"ghost", "gitlab", firestore.DefaultDatabaseID} {
		databases[name] = p.FirestoreDatabase(t, name)
		for path, data := range map[string]map[string]any{"members/m1": comped, "members/m2": invited, "members_products/r1": row} {
			if _, err := databases[name].Doc(path).Set(t.Context(), data); err != nil {
				t.Fatal(err)
			}
		}
	}
	for job, name := range map[string]string{"cleanExpiredComped": "ghost", "removeUnacceptedMemberInvites": "gitlab"} {
		f := enginetest.On(t, functions.New(functions.Registered()[job]), p)
		f.Now = now
		f.Env["FIRESTORE_DATABASE_cleanExpiredComped"] = "ghost"
		f.Env["FIRESTORE_DATABASE_removeUnacceptedMemberInvites"] = "gitlab"
		if got := f.Run(t, ""); got.Status != report.Completed || len(got.Actions) != 1 {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for name, want := range map[string][]string{
		"ghost":                     {"members/m1 free", "members/m2", "cleanupJobs/cleanExpiredComped"},
		"gitlab":                    {"members/m1 comped", "members_products/r1", "cleanupJobs/removeUnacceptedMemberInvites"},
		firestore.DefaultDatabaseID: {"members/m1 comped", "members/m2", "members_products/r1"},
	} {
		var got []string
		for _, collection := range []string{"members", "members_products", "cleanupJobs"} {
			documents, err := databases[name].Collection(collection).Documents(t.Context()).GetAll()
			ok(t, err)
			for _, d := range documents {
				line := collection + "/" + d.Ref.ID
				if status, ok := d.Data()["status"].(string); ok {
					line += " " + status
				}
				got = append(got, line)
			}
		}
		enginetest.Want(t, "database "+name, want, got)
	}
}
