package functions_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	_ "github.com/firesweep/firesweep" // registers all functions
	"github.com/firesweep/firesweep/functions"
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
	if !slices.Equal(folders, listed) {
		t.Errorf("folders with rules %v, manifest.json lists %v", folders, listed)
	}
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

// ok ends a test that cannot go on.
func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	ok(t, err)
	return string(text)
}

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
		begins := strings.NewReplacer("daily ", "Daily at ", "daily, some", "Daily, some", "every", "Every", "minutes UTC", "minutes (UTC)").Replace(e.When())
		if !strings.HasPrefix(text, begins) {
			t.Errorf("docs/jobs.md: the section of %s begins with %.60q, want %q", e.Name, text, begins)
		}
		if e.Worker != "" && !strings.Contains(text, "**`"+e.Worker+"`**") {
			t.Errorf("docs/jobs.md: the section of %s does not describe its worker %s", e.Name, e.Worker)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/jobs.md (-manifest.json +page):\n%s", diff)
	}
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
