# The APIs that Firesweep uses. They stay enabled when it is removed, because the project may use them, too. Those of Firestore
# and of projects are on already: there is a database, and roles are set on the project.
resource "google_project_service" "api" {
  for_each = toset(!var.enable_apis ? [] : concat([
    "artifactregistry.googleapis.com",
    "cloudbuild.googleapis.com",
    "cloudfunctions.googleapis.com",
    "cloudscheduler.googleapis.com",
    "cloudtasks.googleapis.com",
    "iam.googleapis.com",
    "logging.googleapis.com",
    "monitoring.googleapis.com",
    "run.googleapis.com",
    "storage.googleapis.com",
  ], anytrue([for f in local.deployed : can(f.roles.auth)]) ? ["identitytoolkit.googleapis.com"] : []))

  project            = var.project
  service            = each.key
  disable_on_destroy = false
}

# A new API or role takes effect only after a minute or two. Without this wait the first build would fail.
resource "time_sleep" "settled" {
  create_duration = "90s"
  triggers = {
    build_account = google_service_account.build.email
    repository    = google_artifact_registry_repository.images.id # another one after a change of the region
  }

  depends_on = [
    google_project_service.api,
    google_project_iam_member.build,
    google_artifact_registry_repository_iam_binding.build,
  ]
}
