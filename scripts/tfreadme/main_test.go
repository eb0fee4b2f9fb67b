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
`

const page = "# Module\n\n" + begin + "old\n" + end + "\nafter\n"

// folder returns a module's folder with a page.
func folder(t *testing.T, tf, readme string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"main.tf": tf, "README.md": readme} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestRun(t *testing.T) {
	dir := folder(t, variables, page)
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
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := run(folder(t, tt.tf, tt.readme), false); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one that says %q", err, tt.want)
			}
		})
	}
}

func TestTheModulesPageIsUpToDate(t *testing.T) {
	if err := run(filepath.Join("..", "..", "terraform"), true); err != nil {
		t.Error(err)
	}
}
