# Your own rules, in rules.json beside this file, and none of the nine jobs. They only plan: the first week. After each change
# of the rules: firesweep check --write --rules rules.json
# From your application, without a copy of this repository, the source is
# "git::https://github.com/firesweep/firesweep.git//terraform?ref=v0.1.0", and the rules are "${path.root}/firesweep.json".
terraform {
  required_version = ">= 1.9.0"

  required_providers {
    google = {
      source  = "hashicorp/google"
      version = ">= 7.33.0, < 8.0.0"
    }
    archive = {
      source = "hashicorp/archive"
    }
    time = {
      source = "hashicorp/time"
    }
  }
}

variable "project" {
  description = "Id of the Firebase project."
  type        = string
}

module "firesweep" {
  source = "../.."

  project = var.project
  region  = "europe-west1"
  bucket  = "${var.project}.firebasestorage.app" # because a rule deletes objects

  rules_file = "${path.module}/rules.json"
  # dry_run = { cleanupStaleDrafts = false }, once you have read its plans for a week
}

output "schedules" {
  description = "When each job runs."
  value       = module.firesweep.schedules
}
