# The archive's name depends on its contents only, so the same contents have the same name and are not deployed again.
module "archive" {
  source = "./archive"

  rules_file = local.rules_file
  path       = local.archive
}

locals {
  # Each project has its own file, because for_each makes them at the same time.
  archive = "${path.module}/.terraform/firesweep-${var.project}.zip"

  build = {
    service_account = google_service_account.build.name
    repository      = google_artifact_registry_repository.images.id
    bucket          = google_storage_bucket.source.name
    object          = google_storage_bucket_object.source.name
  }
}

resource "google_storage_bucket" "source" {
  project = var.project
  # A bucket cannot move. Under another name, a change of the region makes the archive's object anew, too.
  name                        = "${var.project}-firesweep-source-${substr(sha256(var.region), 0, 6)}"
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
  name   = "source-${module.archive.hash}.zip"
  source = local.archive
  # Old archives stay: functions are built from one until the next is there, and where only the path of the archive changes,
  # Terraform would upload it and then delete it by the same name.
  deletion_policy = "ABANDON"

  depends_on = [module.archive]
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
    "roles/storage.objectViewer" = join(" || ", [
      for bucket in ["gcf-v2-sources-", google_storage_bucket.source.name] : "resource.name.startsWith(\"projects/_/buckets/${bucket}\")"
    ])
    "roles/logging.logWriter" = null
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

# Authoritative, as on everything that is Firesweep's alone: the next plan shows whoever else may push images.
resource "google_artifact_registry_repository_iam_binding" "build" {
  project    = var.project
  location   = var.region
  repository = google_artifact_registry_repository.images.name
  role       = "roles/artifactregistry.writer"
  members    = [google_service_account.build.member]
}
