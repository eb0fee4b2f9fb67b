# Part of a larger configuration: one installation in each of several projects, deployed by an account that is
# impersonated. From elsewhere, the source is "git::https://github.com/firesweep/firesweep.git//terraform?ref=COMMIT".
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

variable "projects" {
  description = "The projects, and whether Firesweep deletes there."
  type        = map(object({ deletes = bool }))
}

variable "deployer" {
  description = "E-mail address of the service account that deploys."
  type        = string
}

provider "google" {
  alias                       = "deployer"
  impersonate_service_account = var.deployer
}

module "firesweep" {
  source   = "../.."
  for_each = var.projects

  providers = {
    google = google.deployer
  }

  project = each.key
  region  = "europe-west1"
  enabled = ["cleanupReports"]
  dry_run = { cleanupReports = !each.value.deletes }
}

output "alerts" {
  description = "The alert policies of each project."
  value       = { for project, firesweep in module.firesweep : project => firesweep.alerts }
}
