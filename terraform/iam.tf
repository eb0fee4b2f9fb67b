# Each function has its own account: with the roles that its entry in functions/manifest.json or in the lock file names, on what it works
# on, and with those of handing tasks over and of calling, which are the same for all. No other.
locals {
  # What a function can be granted on each backend. Nobody reads a lock file as he reads a program, so no file can ask for more.
  grantable = {
    firestore = ["roles/datastore.user"]
    storage   = ["firesweepObjectCleaner"]
    auth      = ["firesweepAccountDeleter", "firesweepAccountReader"]
    tasks     = ["roles/cloudtasks.enqueuer"]
  }
  refused = {
    for name, f in local.deployed : name => flatten([
      for backend, roles in f.roles : [
        for role in roles : "${role} on ${backend}" if !contains(lookup(local.grantable, backend, []), role)
      ]
    ])
  }
}

resource "google_service_account" "function" {
  for_each = local.deployed

  project      = var.project
  account_id   = lower(each.key)
  display_name = "Firesweep: ${each.key}"

  lifecycle {
    precondition {
      condition     = can(regex("^[a-z]([-a-z0-9]{4,28}[a-z0-9])$", lower(each.key)))
      error_message = "${each.key} cannot be a service account's id: rename the job to 6 to 30 letters, digits and hyphens."
    }
    precondition {
      condition     = length(local.refused[each.key]) == 0
      error_message = "${each.key} asks for ${join(", ", local.refused[each.key])}. Terraform grants only ${join("; ", [for backend, roles in local.grantable : "${join(" or ", roles)} on ${backend}"])}. If it is a rule, somebody changed the lock file: write it again with firesweep check --write."
    }
    precondition {
      condition     = length(local.not_needed[each.key]) == 0
      error_message = "${each.key} asks for ${join(", ", local.not_needed[each.key])}, which does not follow from ${local.rules_file}. Somebody changed the lock file: write it again with firesweep check --write. If the list writes letters of the name as \\u escapes, write them as they are."
    }
    precondition {
      condition     = !contains(local.forged, each.key)
      error_message = "The lock file of ${local.rules_file} has an entry ${each.key} that is not of a rule, or not what this version says of this job. Somebody changed it: write the file again with firesweep check --write."
    }
  }

  depends_on = [google_project_service.api]
}

locals {
  # Every role of every function, by "function role".
  grants = merge([
    for name, f in local.deployed : merge([
      for backend, roles in f.roles : {
        for role in roles : "${name} ${role}" => { function = name, backend = backend, role = role }
      }
    ]...)
  ]...)

  # Custom roles, where no predefined role is narrow enough. manifest.json names them without "roles/".
  custom_roles = {
    firesweepAccountDeleter = {
      title       = "Firesweep: account deleter"
      description = "Deletes accounts of Firebase Authentication, looks at them before, and sees whether the project allows tenants"
      # All that accounts:batchDelete needs, and what the reader below has: one grant for who needs both. A third role for these would
      # come and go with them, and Google blocks the id of a deleted role for weeks.
      permissions = ["firebaseauth.configs.get", "firebaseauth.users.delete", "firebaseauth.users.get"]
    }
    firesweepAccountReader = {
      title       = "Firesweep: account reader"
      description = "Lists accounts of Firebase Authentication, looks at them, and sees whether the project allows tenants"
      # All that accounts:batchGet, accounts:lookup and projects.getConfig need. It shows no password hashes and no secrets.
      permissions = ["firebaseauth.configs.get", "firebaseauth.users.get"]
    }
    firesweepObjectCleaner = {
      title       = "Firesweep: object cleaner"
      description = "Lists, looks at and deletes objects of Cloud Storage, and writes none"
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
  description = each.value.description
  permissions = each.value.permissions

  depends_on = [google_project_service.api]
}

locals {
  # The role in a binding: the name of a role of Google's, the id of a custom role.
  role_id = {
    for key, g in local.grants : key =>
    startswith(g.role, "roles/") ? g.role : google_project_iam_custom_role.custom[g.role].id
  }
}

# Firestore: on the function's database only.
resource "google_project_iam_member" "firestore" {
  for_each = { for key, g in local.grants : key => g if g.backend == "firestore" }

  project = var.project
  role    = local.role_id[each.key]
  member  = google_service_account.function[each.value.function].member

  condition {
    title      = "firesweep-database-only"
    expression = "resource.name==\"projects/${var.project}/databases/${local.database[each.value.function]}\""
  }

  # A job that moves to another database has its role there before it loses the one here.
  lifecycle {
    create_before_destroy = true
  }
}

# Storage: on the bucket.
resource "google_storage_bucket_iam_member" "storage" {
  for_each = { for key, g in local.grants : key => g if g.backend == "storage" }

  bucket = var.bucket
  role   = local.role_id[each.key]
  member = google_service_account.function[each.value.function].member
}

# Authentication: on the project, because there is no smaller scope.
resource "google_project_iam_member" "auth" {
  for_each = { for key, g in local.grants : key => g if g.backend == "auth" }

  project = var.project
  role    = local.role_id[each.key]
  member  = google_service_account.function[each.value.function].member
}

# Cloud Tasks: on the queue of the function's own worker. On what is Firesweep's alone the bindings are authoritative: the next plan
# shows whoever else was given the role, and the apply takes it back.
resource "google_cloud_tasks_queue_iam_binding" "tasks" {
  for_each = { for key, g in local.grants : key => g if g.backend == "tasks" }

  project  = var.project
  location = local.tasks_region
  name     = google_cloud_tasks_queue.worker[local.deployed[each.value.function].worker].name
  role     = local.role_id[each.key]
  members  = [google_service_account.function[each.value.function].member]
}

# The tasks of a job call its worker as the job's own account: a task can have the token of no account that the job may not act as, so
# that whoever has taken one job over cannot call the workers of others.
resource "google_service_account_iam_binding" "acts_as_itself" {
  for_each = toset(values(local.job_of))

  service_account_id = google_service_account.function[each.key].name
  role               = "roles/iam.serviceAccountUser"
  members            = [google_service_account.function[each.key].member]
}

# Cloud Scheduler calls the jobs as an account that may do nothing else: who makes its schedules must be allowed to act as it.
resource "google_service_account" "scheduler_invoker" {
  project      = var.project
  account_id   = "firesweep-scheduler"
  display_name = "Firesweep: Cloud Scheduler calls the jobs as this account"

  depends_on = [google_project_service.api]
}

# On the Cloud Run service behind the function, which checks the calls.
resource "google_cloud_run_v2_service_iam_binding" "caller" {
  for_each = local.deployed

  project  = var.project
  location = var.region
  name     = basename(merge(module.job, module.worker)[each.key].function.service_config[0].service)
  role     = "roles/run.invoker"
  members = [
    contains(keys(local.job_of), each.key)
    ? google_service_account.function[local.job_of[each.key]].member
    : google_service_account.scheduler_invoker.member
  ]
}
