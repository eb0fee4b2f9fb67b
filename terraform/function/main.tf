# One Cloud Function (2nd gen) of the bundle.
terraform {
  required_version = ">= 1.9.0"

  required_providers {
    google = {
      source  = "hashicorp/google"
      version = ">= 7.33.0, < 8.0.0"
    }
  }
}

variable "function" {
  description = "The function's entry in functions/manifest.json."
  type = object({
    name           = string
    description    = string
    timeoutSeconds = number
    memory         = string
    cpu            = optional(string) # without it, as much as the memory comes with
  })
}

variable "project" {
  description = "The project's id."
  type        = string
}

variable "region" {
  description = "Where the function runs."
  type        = string
}

variable "labels" {
  description = "Labels of the function."
  type        = map(string)
}

variable "service_account" {
  description = "E-mail address of the account that the function runs as."
  type        = string
}

variable "environment" {
  description = "The function's environment variables."
  type        = map(string)
}

variable "max_instances" {
  description = "How many instances may run at a time."
  type        = number
}

variable "build" {
  description = "What is built, by whom, and where the image goes."
  type = object({
    service_account = string # resource name
    repository      = string # resource name
    bucket          = string
    object          = string
  })
}

variable "kms_key" {
  description = "The key that encrypts the function, null for one of Google's."
  type        = string
}

resource "google_cloudfunctions2_function" "this" {
  project     = var.project
  location    = var.region
  name        = var.function.name
  description = var.function.description
  labels      = var.labels

  kms_key_name = var.kms_key

  build_config {
    runtime           = "go126"
    entry_point       = var.function.name
    service_account   = var.build.service_account
    docker_repository = var.build.repository
    source {
      storage_source {
        bucket = var.build.bucket
        object = var.build.object
      }
    }
  }

  service_config {
    service_account_email            = var.service_account
    timeout_seconds                  = var.function.timeoutSeconds
    available_memory                 = var.function.memory
    available_cpu                    = var.function.cpu
    min_instance_count               = 0
    max_instance_count               = var.max_instances
    max_instance_request_concurrency = 1
    # Cloud Scheduler and Cloud Tasks of the same project count as internal; the internet does not.
    ingress_settings               = "ALLOW_INTERNAL_ONLY"
    all_traffic_on_latest_revision = true
    environment_variables          = var.environment
  }
}

output "function" {
  description = "The function."
  value       = google_cloudfunctions2_function.this
}
