# A part of a larger configuration that waits for something which has a change.
terraform {
  required_version = ">= 1.9.0"

  required_providers {
    google = {
      source = "hashicorp/google"
    }
    archive = {
      source = "hashicorp/archive"
    }
    time = {
      source = "hashicorp/time"
    }
  }
}

resource "terraform_data" "changed" {
  input = plantimestamp()
}

module "firesweep" {
  source     = "../.."
  depends_on = [terraform_data.changed]

  project    = "my-app-1a2b3"
  region     = "asia-northeast1"
  rules_file = "${path.module}/../../examples/own-rules/rules.json"
  enabled    = ["cleanupReports"]
  dry_run    = { cleanupReports = true }
}

output "archive" {
  description = "What the functions are built from."
  value       = module.firesweep.archive
}
