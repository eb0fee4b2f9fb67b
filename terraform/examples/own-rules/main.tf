# Your own rules, in rules.json beside this file, and none of the nine jobs. They only plan: the first week. After each change
# of the rules: firesweep check --write --rules rules.json
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
  # In a terraform.tfvars, write the names: enabled = ["cleanupStaleDrafts"]
  enabled = [for rule in jsondecode(file("${path.module}/rules.json")).functions : rule.name]
  dry_run = {} # your own rules only plan until it says cleanupStaleDrafts = false
}

output "schedules" {
  description = "When each job runs."
  value       = module.firesweep.schedules
}
