# The number says whose the bucket is.
data "google_project" "this" {
  count = local.uses_bucket ? 1 : 0

  project_id = var.project
}

# The application's bucket is yours. It is looked at in the plan, because Google refuses one that does not fit only when
# everything else was made, or takes it and refuses every request of the jobs.
data "google_storage_bucket" "application" {
  count = local.uses_bucket ? 1 : 0

  name    = var.bucket
  project = var.project # without it, the provider asks Compute Engine, an API that Firesweep does not need

  lifecycle {
    postcondition {
      condition     = tostring(self.project_number) == data.google_project.this[0].number
      error_message = "The bucket ${var.bucket} belongs to the project with the number ${self.project_number}, not to ${var.project} (${data.google_project.this[0].number}). Set bucket to a bucket of ${var.project}: `gcloud storage buckets list --project=${var.project}` lists them."
    }
    postcondition {
      condition     = !coalesce(self.requester_pays, false)
      error_message = "The bucket ${var.bucket} has requester pays. The jobs name no project to bill, so all their requests would fail: gcloud storage buckets update gs://${var.bucket} --no-requester-pays"
    }
  }
}
