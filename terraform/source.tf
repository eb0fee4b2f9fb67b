# The source archive holds the files that the functions need, as source.json says. It depends on their contents only, so the
# same contents have the same hash and are not deployed again.
locals {
  source_rule = jsondecode(file("${path.module}/source.json"))
  source_files = [
    for f in setunion([
      for pattern in ["go.*", "*.go", "functions/**", "shared/**"] : fileset("${path.module}/..", pattern)
    ]...) : f
    if length(regexall(local.source_rule.include, f)) > 0 && length(regexall(local.source_rule.exclude, f)) == 0
  ]

  build = {
    service_account = google_service_account.build.name
    repository      = google_artifact_registry_repository.images.id
    bucket          = google_storage_bucket.source.name
    object          = google_storage_bucket_object.source.name
  }
}

data "archive_file" "source" {
  type = "zip"
  # Each project has its own file, because for_each makes them at the same time.
  output_path = "${path.module}/.terraform/firesweep-${var.project}.zip"

  dynamic "source" {
    for_each = local.source_files
    content {
      filename = source.value
      content  = file("${path.module}/../${source.value}")
    }
  }
}

resource "google_storage_bucket" "source" {
  project                     = var.project
  name                        = "${var.project}-firesweep-source"
  location                    = var.region
  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"
  force_destroy               = true # it holds nothing but the archive
  labels                      = var.labels

  dynamic "encryption" {
    for_each = var.kms_key[*]
    content {
      default_kms_key_name = encryption.value
    }
  }

  depends_on = [google_project_service.api]
}

resource "google_storage_bucket_object" "source" {
  bucket = google_storage_bucket.source.name
  name   = "source-${data.archive_file.source.output_sha256}.zip"
  source = data.archive_file.source.output_path

  # The old archive stays until the new one is uploaded.
  lifecycle {
    create_before_destroy = true
  }
}

resource "google_artifact_registry_repository" "images" {
  project       = var.project
  location      = var.region
  repository_id = "firesweep"
  format        = "DOCKER"
  labels        = var.labels
  kms_key_name  = var.kms_key

  # Every change of a function builds all images, and nothing else removes the old ones.
  cleanup_policies {
    id     = "delete-after-30-days"
    action = "DELETE"
    condition {
      older_than = "2592000s"
    }
  }
  cleanup_policies {
    id     = "keep-the-newest"
    action = "KEEP"
    most_recent_versions {
      keep_count = 3
    }
  }

  depends_on = [google_project_service.api]
}

# The account for builds. Without it, Google builds as the project's default account, which often may do anything.
resource "google_service_account" "build" {
  project      = var.project
  account_id   = "firesweep-build"
  display_name = "Firesweep: builds the functions"

  depends_on = [google_project_service.api]
}

resource "google_project_iam_member" "build" {
  for_each = {
    # Cloud Functions copies the archive into its own bucket, from which the build reads.
    "roles/storage.objectViewer" = "resource.name.startsWith(\"projects/_/buckets/gcf-v2-sources-\")"
    "roles/logging.logWriter"    = null
  }

  project = var.project
  role    = each.key
  member  = google_service_account.build.member

  dynamic "condition" {
    for_each = each.value == null ? [] : [each.value]
    content {
      title      = "function-sources-only"
      expression = condition.value
    }
  }
}

resource "google_storage_bucket_iam_member" "build_source" {
  bucket = google_storage_bucket.source.name
  role   = "roles/storage.objectViewer"
  member = google_service_account.build.member
}

resource "google_artifact_registry_repository_iam_member" "build" {
  project    = var.project
  location   = var.region
  repository = google_artifact_registry_repository.images.name
  role       = "roles/artifactregistry.writer"
  member     = google_service_account.build.member
}
