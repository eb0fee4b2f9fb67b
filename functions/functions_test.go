package functions_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore"

	_ "github.com/firesweep/firesweep" // registers all functions
	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/emulator/sampledata"
	"github.com/firesweep/firesweep/emulator/sampledata/sampletest"
	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/manifest"
)

// TestEveryFolderIsListedAndBundled keeps a job from being written and never deployed.
func TestEveryFolderIsListedAndBundled(t *testing.T) {
	bundle := read(t, "../bundle.go")
	folders, err := filepath.Glob("*/rules.go")
	ok(t, err)
	names := map[string][]string{} // by package
	for _, e := range functions.All() {
		if e.Rule != nil {
			continue // it has no folder
		}
		names[e.Package] = append(names[e.Package], e.Name)
	}
	var listed []string
	for folder, names := range names {
		listed = append(listed, filepath.Join(folder, "rules.go"))
		imported := regexp.MustCompile(`/functions/` + folder + `" +// ` + strings.Join(names, ", ") + "\n")
		if !imported.MatchString(bundle) {
			t.Errorf("bundle.go does not import functions/%s for %s", folder, strings.Join(names, ", "))
		}
	}
	slices.Sort(listed)
	check.Same(t, "folders with rules, and those that manifest.json lists", listed, folders)
}

// TestWhatIsListedIsRegistered keeps an entry from being deployed without a function that serves it.
func TestWhatIsListedIsRegistered(t *testing.T) {
	registered := functions.Registered()
	for _, e := range functions.All() {
		if job := registered[e.Name]; job.Plan == nil {
			t.Errorf("the list has %s, and no package registers it: functions/%s must call functions.Register in init", e.Name, e.Package)
		}
		delete(registered, e.Name)
	}
	for name := range registered {
		t.Errorf("%s is registered, and no list has it", name)
	}
}

// TestManifest: what can be wrong with an entry that has a package, and neither the reader of the list nor a job's golden file tells.
func TestManifest(t *testing.T) {
	all := upstream(t)
	for _, e := range all {
		if e.Rule != nil {
			continue
		}
		q, worker := e.Queue, e.Trigger == manifest.Tasks
		for problem, is := range map[string]bool{
			"trigger is neither schedule nor tasks":                 e.Trigger != manifest.Schedule && !worker,
			"it has no role on Firestore, which holds the lease":    !slices.Contains(e.Uses(), config.Firestore),
			"worker and roles on tasks belong together":             (e.Worker != "") != slices.Contains(e.Uses(), config.Tasks),
			"stopAfterSeconds is over nine tenths of its timeout":   e.StopAfterSeconds < 0 || e.StopAfterSeconds > e.TimeoutSeconds/10*9,
			"a worker has a queue, and a job has none":              worker != (q != nil),
			"a worker has a schedule, retries or a worker":          worker && e.Schedule+e.TimeZone+e.Worker != "" || worker && e.RetryCount+e.StopAfterSeconds > 0,
			"worker names no worker of its package":                 e.Worker != "" && !slices.ContainsFunc(all, func(w manifest.Entry) bool { return w.Name == e.Worker && w.Queue != nil && w.Package == e.Package }),
			"no job hands tasks to it":                              worker && !slices.ContainsFunc(all, func(job manifest.Entry) bool { return job.Worker == e.Name }),
			"its queue lacks a rate, a number or a time":            q != nil && (q.MaxDispatchesPerSecond <= 0 || min(q.MaxConcurrentDispatches, q.MaxAttempts, q.MinBackoffSeconds, q.MaxBackoffSeconds-q.MinBackoffSeconds+1) < 1),
			"an index is of one field, which Firestore has already": slices.ContainsFunc(e.Indexes, func(i manifest.Index) bool { return len(i.Fields) < 2 && i.QueryScope != "COLLECTION_GROUP" }),
		} {
			if is {
				t.Errorf("manifest.json: %s: %s", e.Name, problem)
			}
		}
	}
}

var (
	ok   = check.OK
	read = check.File
)

// upstream returns the entries of manifest.json. Whoever declares rules of their own in rules.json need not touch our pages.
func upstream(t *testing.T) []manifest.Entry {
	t.Helper()
	list, err := functions.With(manifest.File{Name: "none", Text: []byte("{}")})
	ok(t, err)
	return list.All
}

// TestJobsPageAgreesWithManifest compares docs/jobs.md: a section a job in the same order, which begins with its schedule
// and names its worker.
func TestJobsPageAgreesWithManifest(t *testing.T) {
	page := read(t, "../docs/jobs.md")
	inWords := map[string]string{ // a schedule that is new in manifest.json needs words here and on the page
		"0 0 * * *": "Daily at 00:00 ZONE", "0 3 * * *": "Daily at 03:00 ZONE.", "30 3 * * *": "Daily at 03:30 ZONE.", "0 4 * * *": "Daily at 04:00 ZONE.",
		"10 15 * * *": "Daily at 15:10 ZONE.", "0~59 0~5 * * *": "Daily, some time from 00:00 to 05:59 ZONE:", "*/10 * * * *": "Every 10 minutes (ZONE),",
	}
	var got, want []string
	for _, m := range regexp.MustCompile("(?m)^## `(\\w+)`$").FindAllStringSubmatch(page, -1) {
		got = append(got, m[1])
	}
	for _, e := range upstream(t) {
		if e.Trigger != manifest.Schedule {
			continue
		}
		want = append(want, e.Name)
		text := section(t, page, "## `"+e.Name+"`")
		begins, known := inWords[e.Schedule]
		if begins = strings.Replace(begins, "ZONE", e.TimeZone, 1); !known || !strings.HasPrefix(text, begins) {
			t.Errorf("docs/jobs.md: the section of %s begins with %.60q, want %q for %q", e.Name, text, begins, e.Schedule)
		}
		if e.Worker != "" && !strings.Contains(text, "**`"+e.Worker+"`**") {
			t.Errorf("docs/jobs.md: the section of %s does not describe its worker %s", e.Name, e.Worker)
		}
	}
	check.Same(t, "docs/jobs.md", want, got)
}

// section returns what stands under a heading.
func section(t *testing.T, page, heading string) string {
	t.Helper()
	_, text, found := strings.Cut(page, "\n"+heading+"\n")
	if !found {
		t.Fatalf("no heading %q", heading)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	return strings.TrimSpace(text)
}

// TestDefaultsAgree compares the defaults and periods of the code with every page and file that repeats them. Whoever uncomments a
// line of terraform.tfvars.example must get what the functions do without it.
func TestDefaultsAgree(t *testing.T) {
	const (
		spec, jobs, settings = "../docs/contributing/spec.md", "../docs/jobs.md", "../terraform/README.md"
		example, limits      = "../terraform/terraform.tfvars.example", "../terraform/functions.tf"
		config               = "../shared/config/config.go"
		banned, inquiries    = "bannedusers/bannedusers.go", "resolvedinquiries/rules.go"
		circles, users       = "ghostcircles/rules.go", "placeholderusers/rules.go"
	)
	figure := regexp.MustCompile(`[\d,_]+`)
	for name, tt := range map[string]struct {
		reads *regexp.Regexp      // what is compared of the text in a pattern's parentheses
		in    map[string][]string // patterns, by file
	}{
		"PLACEHOLDER_REFERENCES": {regexp.MustCompile(`(?:group:)?[\w-]+\.[\w.]*\w`), map[string][]string{
			"placeholderusers/places/places.go": {`(?s)const Default = (.*?)\n\n`},
			jobs:                                {`(?s)names the places, by default (.{1,400}?), separated by commas`},
			example:                             {`# placeholder_references = \[(.*)\]`},
		}},
		"INQUIRY_FOLDERS": {regexp.MustCompile(`[\w-]+/`), map[string][]string{
			"resolvedinquiries/images.go": {`"INQUIRY_FOLDERS", (".*?"),`},
			jobs:                          {"images\\s+of\\s+inquiries: `(.*?)`,\\s+or\\s+the\\s+folders\\s+that\\s+`INQUIRY_FOLDERS`"},
			settings:                      {"\\| `INQUIRY_FOLDERS` \\| `(.*?)` \\|"},
			example:                       {`# inquiry_folders\s+= \[(.*)\]`},
			"../terraform/variables.tf":   {`images from nowhere else. Empty: (.*?)\."`},
		}},
		"MAX_USERS": {figure, map[string][]string{
			banned:   {`"MAX_USERS", (\d+),`},
			jobs:     {"`MAX_USERS`\\s+\\(default\\s+(.*?)\\)"},
			settings: {"\\| `MAX_USERS` \\| `(.*?)` \\|"},
			limits:   {`max_users += \{ default = (\d+)`},
			example:  {`# +max_users += (\d+)`},
		}},
		"MAX_ACTIONS": {figure, map[string][]string{
			config:   {`DefaultMaxActions += (.*)`},
			spec:     {"\\| `MAX_ACTIONS` \\|.*\\| (.*?) \\|"},
			settings: {"\\| `MAX_ACTIONS` \\| `(.*?)` \\|"},
			limits:   {`max_actions += \{ default = (\d+)`},
			example:  {`# +max_actions += (\d+)`},
		}},
		"UNDO_DAYS": {figure, map[string][]string{
			config:   {`DefaultUndoDays = (\d+)`},
			settings: {"\\| `UNDO_DAYS` \\| `(.*?)` \\|"},
			limits:   {`lookup\(var.undo_days, .*, (\d+)\)\)`},
		}},
		"days of a ghost circle": {figure, map[string][]string{
			circles:                  {`ghostDays += (\d+)`},
			jobs:                     {`\*ghost\* when .lastHumanPostAt. is (\d+) days ago or more`},
			"notifications/texts.go": {`for (\d+) days or more\.`, `」は(\d+)日以上投稿がない`},
		}},
		"days of an abandoned circle": {figure, map[string][]string{
			circles:                  {`abandonedDays += (\d+)`},
			jobs:                     {`.createdAt. is (\d+) days\s+ago or more`},
			"notifications/texts.go": {`since it was created (\d+) days ago or more`, `作成から(\d+)日以上`},
		}},
		"days of a circle's grace": {figure, map[string][]string{
			circles: {`graceDays += (\d+)`},
			jobs:    {`, warned (\d+) days ago or more`, `, warned less than (\d+) days ago`},
		}},
		"days before an inquiry's warning": {figure, map[string][]string{
			inquiries: {`warningDays += (\d+)`},
			jobs:      {`\*\*(\d+) days ago or more, less than \d+\*\*`},
		}},
		"days before an inquiry is archived": {figure, map[string][]string{
			inquiries: {`retentionDays += (\d+)`},
			jobs:      {`\*\*(\d+) days ago or more\*\*: the inquiry is archived`, `\*\*\d+ days ago or more, less than (\d+)\*\*`},
		}},
		"attempts to delete a placeholder": {figure, map[string][]string{
			users:                                  {`maxAttempts = (\d+)`, `= "(\d+) attempts have been made"`},
			"placeholderusers/placeholderusers.go": {`Maximum deletion attempts \((\d+)\)`},
			jobs:                                   {`.deletion_attempts. is less than (\d+)`, `attempts \((\d+)\) reached`, `After (\d+) attempts`},
		}},
		"days between these attempts": {figure, map[string][]string{
			users: {`retryDays += (\d+)`, `the last attempt was not more than (\d+) days ago`},
			jobs:  {`.last_deletion_attempt_at. is null, missing or more than (\d+) days ago`},
		}},
		"days of an invitation": {figure, map[string][]string{
			"manifest.json": {`"field": "created_at", "days": (\d+)`},
			jobs:            {`.created_at. more than (\d+) days ago`},
		}},
	} {
		first, where := "", ""
		for path, patterns := range tt.in {
			for _, pattern := range patterns {
				m := regexp.MustCompile(pattern).FindStringSubmatch(read(t, path))
				if m == nil {
					t.Errorf("%s: %s says nothing that matches %s", name, path, pattern)
					continue
				}
				said := strings.Join(tt.reads.FindAllString(m[1], -1), " ")
				if tt.reads == figure {
					said = strings.NewReplacer(",", "", "_", "").Replace(said)
				}
				if first == "" {
					first, where = said, path
				}
				if said == "" || said != first {
					t.Errorf("%s: %s says %q, but %s says %q", name, path, said, where, first)
				}
			}
		}
	}
}

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
			g := enginetest.NewGolden(t, "golden/"+name)
			g.Run(t, "nothing to do", start(), "", body)
			f := start()
			ok(t, sampletest.Open(t, f.Project).Load(t.Context(), sampledata.Job(sampleOf(name), now, f.Bucket)))
			g.Run(t, "preview", f, "?dryRun=true", body)
			g.Run(t, "run", f, "", body)
			g.Run(t, "second run", f, "", body)
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
			_, err := databases[name].Doc(path).Set(t.Context(), data)
			ok(t, err)
		}
	}
	for job, name := range map[string]string{"cleanExpiredComped": "ghost", "removeUnacceptedMemberInvites": "gitlab"} {
		f := enginetest.On(t, functions.New(functions.Registered()[job]), p)
		f.Now = now
		f.Env["FIRESTORE_DATABASE_cleanExpiredComped"] = "ghost"
		f.Env["FIRESTORE_DATABASE_removeUnacceptedMemberInvites"] = "gitlab"
		got := f.Run(t, "")
		check.Same(t, name, []any{report.Completed, 1}, []any{got.Status, len(got.Actions)})
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
