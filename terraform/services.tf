# The APIs that Firesweep uses. They stay enabled when it is removed, because the project may use them, too.
resource "google_project_service" "api" {
  for_each = toset(var.enable_apis ? [
    "artifactregistry.googleapis.com",
    "cloudbuild.googleapis.com",
    "cloudfunctions.googleapis.com",
    "cloudresourcemanager.googleapis.com",
    "cloudscheduler.googleapis.com",
    "cloudtasks.googleapis.com",
    "firestore.googleapis.com",
    "iam.googleapis.com",
    "identitytoolkit.googleapis.com",
    "logging.googleapis.com",
    "monitoring.googleapis.com",
    "run.googleapis.com",
    "storage.googleapis.com",
  ] : [])

  project            = var.project
  service            = each.key
  disable_on_destroy = false
}

# A new API or role takes effect only after a minute or two. Without this wait the first build would fail.
resource "time_sleep" "settled" {
  create_duration = "90s"
  triggers        = { build_account = google_service_account.build.email }

  depends_on = [
    google_project_service.api,
    google_project_iam_member.build,
    google_storage_bucket_iam_member.build_source,
    google_artifact_registry_repository_iam_member.build,
  ]
}
