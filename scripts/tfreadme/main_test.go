package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const variables = `
terraform {
  required_version = ">= 1.9.0"
  required_providers {
    google = {
      source  = "hashicorp/google"
      version = ">= 6.13.0"
    }
  }
}

variable "zones" {
  description = "Zones: a | b, e.g. { job = \"UTC\" }."
  type        = map(object({
    name = string
  }))
  default     = {}
}

variable "project" {
  description = "The project's id."
  type        = string
}

output "urls" {
  description = "Addresses."
  value       = {}
}

resource "google_project_service" "api" {
  for_each = toset(concat(["run.googleapis.com"], var.zones == {} ? [] : ["firestore.googleapis.com"]))
}

resource "google_storage_bucket" "source" {}
resource "google_storage_bucket" "second" {}
resource "time_static" "since" {}
`

// One of the module's own modules, and an example.
const (
	function = `
variable "secret" {}
resource "google_cloudfunctions2_function" "this" {}
`
	example = `# All jobs, on three
# databases.
terraform {}
# Not this.
`
)

const page = "# Module\n\n" + begin + "old\n" + end + "\nafter\n"

// folder returns a module's folder with a page.
func folder(t *testing.T, tf, readme string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "main.tf", tf)
	write(t, dir, "README.md", readme)
	return dir
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestRun(t *testing.T) {
	dir := folder(t, variables, page)
	write(t, dir, "function/main.tf", function)
	write(t, dir, "examples/all/main.tf", example)
	if err := run(dir, true); err == nil || !strings.Contains(err.Error(), "out of date: run go run ./scripts/tfreadme") {
		t.Errorf("check of an old page: %v", err)
	}
	if err := run(dir, false); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	want := "# Module\n\n" + begin + `
## Requirements

| | version |
|---|---|
| Terraform | ` + "`>= 1.9.0`" + ` |
| hashicorp/google | ` + "`>= 6.13.0`" + ` |

## Inputs

| name | type | default | |
|---|---|---|---|
| ` + "`project` | `string`" + ` | required | The project's id. |
| ` + "`zones` | `map(object({ name = string }))` | `{}`" + ` | Zones: a \| b, e.g. { job = "UTC" }. |

## Outputs

| name | |
|---|---|
| ` + "`urls`" + ` | Addresses. |

## Roles of whoever applies

| on the project | for |
|---|---|
| ` + "`roles/cloudfunctions.admin` | `google_cloudfunctions2_function`" + ` |
| ` + "`roles/iam.serviceAccountUser` | `google_cloudfunctions2_function`" + ` |
| ` + "`roles/serviceusage.serviceUsageAdmin` | `google_project_service`" + ` |
| ` + "`roles/storage.admin` | `google_storage_bucket`" + ` |

## APIs

They are enabled unless ` + "`enable_apis` is false: `firestore.googleapis.com`, `run.googleapis.com`" + `.

## Examples

| | |
|---|---|
| [all](examples/all) | All jobs, on three databases. |

` + end + "\nafter\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("README.md (-want +got):\n%s", diff)
	}
	if err := run(dir, true); err != nil {
		t.Errorf("check of what was written: %v", err)
	}
}

func TestWhatIsRefused(t *testing.T) {
	for _, tt := range []struct{ name, tf, readme, want string }{
		{"no mark", variables, "# Module\n", "the marks are missing"},
		{"no end", variables, begin, "the marks are missing"},
		{"no description", `variable "a" { type = string }`, page, "no description"},
		{"no type", `variable "a" { description = "A." }`, page, "no type"},
		{"no HCL", `variable "a" {`, page, "main.tf"},
		{"no module", "", page, "holds no Terraform module"},
		{"an unknown resource", variables + `resource "google_pubsub_topic" "a" {}`, page, "which role making a google_pubsub_topic takes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := run(folder(t, tt.tf, tt.readme), false); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one that says %q", err, tt.want)
			}
		})
	}
}

func TestAnExampleSaysWhatItShows(t *testing.T) {
	dir := folder(t, variables, page)
	write(t, dir, "examples/mute/main.tf", "terraform {}\n")
	if err := run(dir, false); err == nil || !strings.Contains(err.Error(), "begins with no comment") {
		t.Errorf("error %v", err)
	}
}

func TestTheModulesPageIsUpToDate(t *testing.T) {
	if err := run(filepath.Join("..", "..", "terraform"), true); err != nil {
		t.Error(err)
	}
}
