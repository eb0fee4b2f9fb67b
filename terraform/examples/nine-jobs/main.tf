# The nine jobs and no rules of your own. All only plan: the first week.
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
  region  = "asia-northeast1"
  bucket  = "${var.project}.firebasestorage.app"

  dry_run = {
    cleanupOrphanedMedia          = true
    cleanupResolvedInquiries      = true
    checkGhostCircles             = true
    cleanupBannedUsers            = true
    cleanupReports                = true
    cleanExpiredComped            = true
    deleteInactiveProjects        = true
    removeUnacceptedMemberInvites = true
    cleanupPlaceholderUsers       = true
  }
}

output "schedules" {
  description = "When each job runs."
  value       = module.firesweep.schedules
}
