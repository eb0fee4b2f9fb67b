package firesweep_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/firesweep/firesweep/emulator/bundletest"
	"github.com/firesweep/firesweep/emulator/check"
)

// TestTheArchiveHoldsExactlyWhatTheFunctionsNeed compares it with what the compiler reads.
func TestTheArchiveHoldsExactlyWhatTheFunctionsNeed(t *testing.T) {
	t.Parallel()
	root, err := os.Getwd()
	ok(t, err)
	output, err := bundletest.GoCommand(".", "list", "-deps", "-f",
		`{{if not .Standard}}{{$d := .Dir}}{{range .GoFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}{{range .EmbedFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}{{end}}`, ".")
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	want := []string{"go.mod", "go.sum"}
	for line := range strings.Lines(output) {
		if name, ours := strings.CutPrefix(strings.TrimSpace(line), root+"/"); ours {
			want = append(want, name)
		}
	}
	slices.Sort(want)
	files, err := bundletest.ArchivedFiles(".")
	ok(t, err)
	got := slices.Sorted(maps.Keys(files))
	check.Same(t, "the files that terraform/source.json selects, and what the functions are compiled from", want, got)
}

// TestTheRuntimeHasTheGoOfTheArchive: an older Go than go.mod asks for would refuse to build it.
func TestTheRuntimeHasTheGoOfTheArchive(t *testing.T) {
	t.Parallel()
	find := func(name, pattern string) string {
		m := regexp.MustCompile(pattern).FindStringSubmatch(read(t, name))
		if m == nil {
			t.Fatalf("%s has nothing like %s", name, pattern)
		}
		return m[1]
	}
	runtime := find(filepath.Join("terraform", "function", "main.tf"), `runtime\s+= "(go\d+)"`)
	version := find("go.mod", `(?m)^go (\d+\.\d+)`)
	if want := "go" + strings.ReplaceAll(version, ".", ""); runtime != want {
		t.Errorf("terraform/function/main.tf chooses the runtime %s, and go.mod asks for Go %s: it must be %s", runtime, version, want)
	}
}

// textsOf returns the files that patterns match, each of which must match some.
func textsOf(t *testing.T, patterns ...string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			texts[file] = read(t, file)
		}
	}
	return texts
}

// TestNothingIsPublic finds what the Terraform tests, which look at known resources, would not.
func TestNothingIsPublic(t *testing.T) {
	t.Parallel()
	for file, text := range textsOf(t, "terraform/*.tf", "terraform/*/*.tf") {
		for _, everybody := range []string{"allUsers", "allAuthenticatedUsers", "ALLOW_ALL"} {
			if strings.Contains(text, everybody) {
				t.Errorf("%s names %s", file, everybody)
			}
		}
	}
}

// rolesOfResources are the roles with which somebody applies what the module makes.
var rolesOfResources = map[string][]string{
	"google_artifact_registry_repository":             {"roles/artifactregistry.admin"},
	"google_artifact_registry_repository_iam_binding": {"roles/artifactregistry.admin"},
	"google_cloud_run_v2_service_iam_binding":         {"roles/run.admin"},
	"google_cloud_scheduler_job":                      {"roles/cloudscheduler.admin", "roles/iam.serviceAccountUser"},
	"google_cloud_tasks_queue":                        {"roles/cloudtasks.admin"},
	"google_cloud_tasks_queue_iam_binding":            {"roles/cloudtasks.admin"},
	"google_cloudfunctions2_function":                 {"roles/cloudfunctions.admin", "roles/iam.serviceAccountUser"},
	"google_firestore_field":                          {"roles/datastore.indexAdmin"},
	"google_firestore_index":                          {"roles/datastore.indexAdmin"},
	"google_logging_metric":                           {"roles/logging.configWriter"},
	"google_monitoring_alert_policy":                  {"roles/monitoring.editor"},
	"google_monitoring_dashboard":                     {"roles/monitoring.editor"},
	"google_project_iam_custom_role":                  {"roles/iam.roleAdmin"},
	"google_project_iam_member":                       {"roles/resourcemanager.projectIamAdmin"},
	"google_project_service":                          {"roles/serviceusage.serviceUsageAdmin"},
	"google_service_account":                          {"roles/iam.serviceAccountAdmin"},
	"google_service_account_iam_binding":              {"roles/iam.serviceAccountAdmin"},
	"google_storage_bucket":                           {"roles/storage.admin"},
	"google_storage_bucket_iam_member":                {"roles/storage.admin"},
	"google_storage_bucket_object":                    {"roles/storage.admin"},
}

// TestTheModulesPageNamesWhatItTakes: the roles, APIs and examples of terraform/README.md are written by hand.
func TestTheModulesPageNamesWhatItTakes(t *testing.T) {
	t.Parallel()
	page := read(t, "terraform/README.md")
	named := map[string]bool{}
	found := regexp.MustCompile(`(?m)^resource "(google_\w+)"|"([a-z]+\.googleapis\.com)"`)
	for file, text := range textsOf(t, "terraform/*.tf", "terraform/function/*.tf") {
		for _, m := range found.FindAllStringSubmatch(text, -1) {
			switch resource, api := m[1], m[2]; {
			case api != "":
				named["`"+api+"`"] = true
			case len(rolesOfResources[resource]) == 0:
				t.Errorf("%s makes a %s: with which roles? Add it to rolesOfResources", file, resource)
			default:
				for _, role := range rolesOfResources[resource] {
					named["`"+role+"`"] = true
				}
			}
		}
	}
	examples, err := os.ReadDir("terraform/examples")
	if err != nil || len(examples) == 0 {
		t.Fatalf("%d examples, %v", len(examples), err)
	}
	for _, example := range examples {
		named["(examples/"+example.Name()+")"] = true
	}
	for name := range named {
		if !strings.Contains(page, name) {
			t.Errorf("terraform/README.md does not name %s", name)
		}
	}
}
