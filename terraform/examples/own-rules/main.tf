# Your own rules (functions/rules.json) and none of the nine jobs, all of which only plan: the first week.
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

  # bucket = "${var.project}.firebasestorage.app" # if a rule deletes objects

  # In a terraform.tfvars, write the names: enabled = ["cleanupStaleDrafts"]
  enabled = [for rule in jsondecode(file("${path.module}/../../../functions/rules.json")).functions : rule.name]
  dry_run = {} # your own jobs only plan until it says cleanupStaleDrafts = false
}

output "schedules" {
  description = "When each job runs."
  value       = module.firesweep.schedules
}
