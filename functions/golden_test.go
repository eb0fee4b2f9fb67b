package functions_test

import (
	"slices"
	"testing"
	"time"

	"cloud.google.com/go/firestore"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/emulator/sampledata"
	"github.com/firesweep/firesweep/emulator/sampledata/sampletest"
	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// TestGolden compares what each job and worker reports and requests on its part of the sample with testdata/golden.
func TestGolden(t *testing.T) {
	for _, e := range upstream(t) { // your own rules need no file
		name, job := e.Name, functions.Registered()[e.Name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := time.Date(2026, 3, 10, 6, 0, 0, 0, time.UTC)
			if slices.Contains(functions.New(job).Uses, config.Storage) { // the time of an upload cannot be chosen, and is always before this
				now = now.AddDate(100, 0, 0)
			}
			body := tasksAt(now)[name]
			start := func() *enginetest.Function {
				f := enginetest.New(t, functions.New(job))
				f.Now, f.Clock = now, func() time.Time { return now }
				f.Env["TASKS_TARGET_URL"] = "http://127.0.0.1:1/" // so that nothing is delivered
				return f
			}
			var varying []string
			if name == "cleanupBannedUsers" { // users and notes of earlier runs share a call if they come in time
				varying = []string{"authCalls"}
			}
			g := enginetest.NewGolden(t, "golden/"+name)
			g.Run(t, "nothing to do", start(), "", body)
			f := start()
			ok(t, sampletest.Open(t, f.Project).Load(t.Context(), sampledata.Job(sampleOf(name), now, f.Bucket)))
			g.Run(t, "preview", f, "?dryRun=true", body, varying...)
			g.Run(t, "run", f, "", body, varying...)
			g.Run(t, "second run", f, "", body, varying...)
		})
	}
}

// tasksAt returns a task for each worker, on its job's part of the sample at a time.
func tasksAt(now time.Time) map[string]string {
	return map[string]string{
		"deletePlaceholderUser":      `{"placeholder_user_id":"placeholder-unused"}`,
		"sendInactiveProjectWarning": `{"project_id":"project-dormant","deletion_date":"` + now.AddDate(0, 3, 0).Format(time.DateOnly) + `"}`,
	}
}

// sampleOf returns whose part of the sample is for a job or a worker: a worker's is that of its job.
func sampleOf(name string) string {
	for _, e := range functions.All() {
		if e.Worker == name {
			return e.Name
		}
	}
	return name
}

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
