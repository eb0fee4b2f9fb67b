package functions_test

import (
	"regexp"
	"strings"
	"testing"
)

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
