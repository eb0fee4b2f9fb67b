# All nine jobs and rules of your own, on three databases and with most settings in use. Some jobs delete already; rules only plan
# until dry_run says that they delete.
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

variable "mail" {
  description = "Where alerts go."
  type        = string
}

# The module enables this API too, but waits for the channel.
resource "google_project_service" "monitoring" {
  project            = var.project
  service            = "monitoring.googleapis.com"
  disable_on_destroy = false
}

resource "google_monitoring_notification_channel" "mail" {
  project      = var.project
  display_name = "Firesweep"
  type         = "email"
  labels       = { email_address = var.mail }

  depends_on = [google_project_service.monitoring]
}

locals {
  rules_file = "${path.module}/../own-rules/rules.json"
  own        = jsondecode(file(local.rules_file)).rules[*].name
  nine = [
    for f in jsondecode(file("${path.module}/../../../functions/manifest.json")).functions :
    f.name if try(f.trigger, "schedule") == "schedule"
  ]
}

module "firesweep" {
  source = "../.."

  project = var.project
  region  = "asia-northeast1"
  bucket  = "${var.project}.firebasestorage.app"

  rules_file = local.rules_file
  enabled    = concat(local.nine, local.own)

  # The named jobs delete; all others only plan.
  dry_run = merge(
    { for name in local.nine : name => true },
    {
      cleanupOrphanedMedia     = false
      cleanupResolvedInquiries = false
      checkGhostCircles        = false
      cleanupReports           = false
    },
  )

  databases = {
    cleanExpiredComped            = "ghost"
    deleteInactiveProjects        = "gitlab"
    removeUnacceptedMemberInvites = "gitlab"
    cleanupPlaceholderUsers       = "gitlab"
  }

  schedules     = { cleanupReports = "30 5 * * 1" } # on Mondays
  time_zones    = { cleanupReports = "Europe/Berlin" }
  memory        = { cleanupOrphanedMedia = "1Gi" }
  timeouts      = { cleanupOrphanedMedia = 1740 }
  safety_limits = { max_actions = 50000 }

  notification_channels = [google_monitoring_notification_channel.mail.name]
  labels                = { app = "firesweep" }
}

output "urls" {
  description = "The address of each function."
  value       = module.firesweep.urls
}
