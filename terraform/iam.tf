# One account a function, with the roles that functions/manifest.json names and no other.
resource "google_service_account" "function" {
  for_each = local.deployed

  project      = var.project
  account_id   = lower(each.key)
  display_name = "Firesweep: ${each.key}"

  lifecycle {
    precondition {
      condition     = can(regex("^[a-z]([-a-z0-9]{4,28}[a-z0-9])$", lower(each.key)))
      error_message = "functions/manifest.json: ${each.key} cannot be a service account's id: 6 to 30 letters, digits and hyphens."
    }
  }

  depends_on = [google_project_service.api]
}

locals {
  # Every role of every function: "function role" => its parts.
  grants = merge([
    for name, f in local.deployed : merge([
      for backend, roles in f.roles : {
        for role in roles : "${name} ${role}" => { function = name, backend = backend, role = role }
      }
    ]...)
  ]...)

  # Whether a job that deletes accounts keeps them for undoing.
  keeps_accounts = anytrue([for name, f in local.deployed : can(f.roles.auth) && local.environment[name].UNDO_DAYS != "0"])

  # Roles of our own, for what no predefined role is narrow enough. Names in manifest.json without "roles/" stand here.
  custom_roles = {
    firesweepAccountDeleter = {
      title = "Firesweep: deletes accounts of Firebase Authentication, and looks at them if that can be undone"
      # All that accounts:batchDelete asks for, and accounts:lookup, by which an account is kept for undo_days.
      permissions = concat(["firebaseauth.users.delete"], local.keeps_accounts ? ["firebaseauth.users.get"] : [])
    }
    firesweepAccountReader = {
      title = "Firesweep: lists accounts of Firebase Authentication and looks at them"
      # All that accounts:batchGet and accounts:lookup ask for. It does not show password hashes.
      permissions = ["firebaseauth.users.get"]
    }
    firesweepObjectCleaner = {
      title       = "Firesweep: lists, looks at and deletes objects of Cloud Storage, and writes none"
      permissions = ["storage.objects.delete", "storage.objects.get", "storage.objects.list"]
    }
  }
}

resource "google_project_iam_custom_role" "custom" {
  for_each = {
    for name, role in local.custom_roles : name => role if contains([for g in values(local.grants) : g.role], name)
  }

  project     = var.project
  role_id     = each.key
  title       = each.value.title
  permissions = each.value.permissions

  depends_on = [google_project_service.api]
}

locals {
  # What a binding calls a role: Google's own by their names, ours by their ids.
  role_id = { for key, g in local.grants : key => startswith(g.role, "roles/") ? g.role : google_project_iam_custom_role.custom[g.role].id }
}

# Firestore: on the function's database, not on the project's others.
resource "google_project_iam_member" "firestore" {
  for_each = { for key, g in local.grants : key => g if g.backend == "firestore" }

  project = var.project
  role    = local.role_id[each.key]
  member  = google_service_account.function[each.value.function].member

  condition {
    title      = "firesweep-database-only"
    expression = "resource.name==\"projects/${var.project}/databases/${local.database[each.value.function]}\""
  }
}

# Storage: on the bucket.
resource "google_storage_bucket_iam_member" "storage" {
  for_each = { for key, g in local.grants : key => g if g.backend == "storage" }

  bucket = var.bucket
  role   = local.role_id[each.key]
  member = google_service_account.function[each.value.function].member
}

# Authentication knows no smaller scope than the project.
resource "google_project_iam_member" "auth" {
  for_each = { for key, g in local.grants : key => g if g.backend == "auth" }

  project = var.project
  role    = local.role_id[each.key]
  member  = google_service_account.function[each.value.function].member
}

# Cloud Tasks: on the queue of the function's own worker.
resource "google_cloud_tasks_queue_iam_member" "tasks" {
  for_each = { for key, g in local.grants : key => g if g.backend == "tasks" }

  project  = var.project
  location = var.region
  name     = google_cloud_tasks_queue.worker[local.deployed[each.value.function].worker].name
  role     = local.role_id[each.key]
  member   = google_service_account.function[each.value.function].member
}

# And on the queue by which jobs go on by themselves.
resource "google_cloud_tasks_queue_iam_member" "continue" {
  for_each = local.continuing

  project  = var.project
  location = var.region
  name     = google_cloud_tasks_queue.continue[0].name
  role     = "roles/cloudtasks.enqueuer"
  member   = google_service_account.function[each.key].member
}

# Who calls: one account for Cloud Scheduler, one for Cloud Tasks, neither with a role on anything but what it calls.
resource "google_service_account" "scheduler_invoker" {
  project      = var.project
  account_id   = "firesweep-scheduler"
  display_name = "Firesweep: Cloud Scheduler calls the jobs as this account"

  depends_on = [google_project_service.api]
}

resource "google_service_account" "tasks_invoker" {
  count = length(local.workers) + length(local.continuing) > 0 ? 1 : 0

  project      = var.project
  account_id   = "firesweep-tasks"
  display_name = "Firesweep: Cloud Tasks calls workers, and jobs that go on, as this account"

  depends_on = [google_project_service.api]
}

# A task that carries an account's token can only be created by who may act as that account.
resource "google_service_account_iam_member" "acts_as_tasks_invoker" {
  for_each = setunion(values(local.job_of), keys(local.continuing))

  service_account_id = google_service_account.tasks_invoker[0].name
  role               = "roles/iam.serviceAccountUser"
  member             = google_service_account.function[each.key].member
}

# On the Cloud Run service behind the function, for that is where calls are checked.
resource "google_cloud_run_v2_service_iam_member" "scheduler" {
  for_each = local.jobs

  project  = var.project
  location = var.region
  name     = basename(module.job[each.key].function.service_config[0].service)
  role     = "roles/run.invoker"
  member   = google_service_account.scheduler_invoker.member
}

resource "google_cloud_run_v2_service_iam_member" "tasks" {
  for_each = local.workers

  project  = var.project
  location = var.region
  name     = basename(module.worker[each.key].function.service_config[0].service)
  role     = "roles/run.invoker"
  member   = google_service_account.tasks_invoker[0].member
}

resource "google_cloud_run_v2_service_iam_member" "continue" {
  for_each = local.continuing

  project  = var.project
  location = var.region
  name     = basename(module.job[each.key].function.service_config[0].service)
  role     = "roles/run.invoker"
  member   = google_service_account.tasks_invoker[0].member
}
