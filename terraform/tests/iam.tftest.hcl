# Who may do what. The tables are complete: a role more or less anywhere fails.
mock_provider "google" {
  source = "./tests/mocks"
}
mock_provider "archive" {}
mock_provider "time" {}
override_module {
  target  = module.archive
  outputs = { hash = "0123456789abcdef" }
}

variables {
  # Every other job only plans.
  dry_run = {
    for i, name in [for f in jsondecode(file("../functions/manifest.json")).functions : f.name if try(f.trigger, "schedule") == "schedule"] : name => i % 2 == 0
  }
}

run "least_privilege" {
  command = apply

  assert {
    condition = { for key, b in google_project_iam_member.firestore : split(" ", key)[0] => "${b.role} ${b.condition[0].expression}" } == {
      for name in keys(local.deployed) : name => "roles/datastore.user resource.name==\"projects/my-app-1a2b3/databases/(default)\""
    }
    error_message = "Firestore: every function has roles/datastore.user, on its database only"
  }
  assert {
    condition = toset([for key, b in google_storage_bucket_iam_member.storage : "${key} ${b.bucket}"]) == toset([
      for name, f in local.functions : "${name} firesweepObjectCleaner my-app-1a2b3.firebasestorage.app" if can(f.roles.storage)
    ]) && alltrue([for b in google_storage_bucket_iam_member.storage : b.role == google_project_iam_custom_role.custom["firesweepObjectCleaner"].id])
    error_message = "Storage: who works on files has our own role, on the bucket only"
  }
  assert {
    condition = toset(keys(google_project_iam_member.auth)) == toset([
      for name, f in local.functions : "${name} firesweepAccountDeleter" if can(f.roles.auth)
    ]) && alltrue([for b in google_project_iam_member.auth : b.role == google_project_iam_custom_role.custom["firesweepAccountDeleter"].id])
    error_message = "Authentication: who deletes accounts has our own role"
  }
  assert {
    condition = { for name, role in google_project_iam_custom_role.custom : name => role.permissions } == {
      firesweepAccountDeleter = toset(["firebaseauth.configs.get", "firebaseauth.users.delete", "firebaseauth.users.get"])
      firesweepObjectCleaner  = toset(["storage.objects.get", "storage.objects.list", "storage.objects.delete"])
    }
    error_message = "our own roles may do what the code does and nothing else"
  }
  assert {
    condition     = toset(local.custom_roles.firesweepAccountReader.permissions) == toset(["firebaseauth.configs.get", "firebaseauth.users.get"])
    error_message = "a rule that looks for accounts lists them, looks at them and sees whether there are tenants"
  }
  assert {
    condition = { for key, b in google_cloud_tasks_queue_iam_binding.tasks : key => "${b.name} ${one(b.members)}" } == {
      for name, f in local.jobs : "${name} roles/cloudtasks.enqueuer" => "${f.worker} ${google_service_account.function[name].member}" if can(f.worker)
    }
    error_message = "Cloud Tasks: a job with a worker, on that worker's queue"
  }
  assert {
    condition = toset(keys(google_service_account_iam_binding.acts_as_itself)) == toset(["cleanupPlaceholderUsers", "deleteInactiveProjects"]) && alltrue([
      for name, b in google_service_account_iam_binding.acts_as_itself :
      b.role == "roles/iam.serviceAccountUser" && b.service_account_id == google_service_account.function[name].name && one(b.members) == google_service_account.function[name].member
    ])
    error_message = "who enqueues may act as itself, for its tasks, and as nobody else"
  }
  assert {
    condition = alltrue(concat(
      [for key, b in google_project_iam_member.firestore : b.member == google_service_account.function[split(" ", key)[0]].member],
      [for key, b in google_storage_bucket_iam_member.storage : b.member == google_service_account.function[split(" ", key)[0]].member],
      [for key, b in google_project_iam_member.auth : b.member == google_service_account.function[split(" ", key)[0]].member],
    ))
    error_message = "a role was given to another account than the function's"
  }
  assert {
    condition = alltrue([for name, f in merge(module.job, module.worker) : f.function.service_config[0].service_account_email == google_service_account.function[name].email]) && (
      length(distinct([for a in google_service_account.function : a.account_id])) == length(local.functions)
    )
    error_message = "each function runs as an account of its own"
  }
  assert {
    # Cloud Scheduler's account calls jobs alone; a job's own account calls its worker, and no other.
    condition = { for name, b in google_cloud_run_v2_service_iam_binding.caller : name => [b.role, b.name, b.members] } == {
      for name, f in merge(module.job, module.worker) : name => ["roles/run.invoker", basename(f.function.service_config[0].service), toset([
        contains(local.job_names, name) ? google_service_account.scheduler_invoker.member : google_service_account.function[local.job_of[name]].member,
      ])]
    }
    error_message = jsonencode(google_cloud_run_v2_service_iam_binding.caller)
  }
  assert {
    condition     = length(distinct(concat([google_service_account.scheduler_invoker.account_id], [for a in google_service_account.function : a.account_id]))) == 1 + length(local.functions)
    error_message = "each function needs an account of its own"
  }
  assert {
    condition = { for role, b in google_project_iam_member.build : role => [for c in b.condition : c.expression] } == {
      "roles/storage.objectViewer" = ["resource.name.startsWith(\"projects/_/buckets/gcf-v2-sources-\") || resource.name.startsWith(\"projects/_/buckets/${google_storage_bucket.source.name}\")"]
      "roles/logging.logWriter"    = []
    }
    error_message = "the account that builds reads the functions' sources and writes its log, no more"
  }
  assert {
    condition     = google_artifact_registry_repository_iam_binding.build.role == "roles/artifactregistry.writer" && google_artifact_registry_repository_iam_binding.build.members == toset([google_service_account.build.member])
    error_message = "the account that builds writes images"
  }
  assert {
    condition     = alltrue([for f in merge(module.job, module.worker) : f.function.build_config[0].service_account == google_service_account.build.name])
    error_message = "a function is built by another account"
  }
  assert {
    condition = alltrue([
      for member in flatten([
        [for b in concat(
          values(google_project_iam_member.firestore), values(google_project_iam_member.auth), values(google_project_iam_member.build),
          values(google_storage_bucket_iam_member.storage),
        ) : b.member],
        [for b in concat(
          values(google_cloud_tasks_queue_iam_binding.tasks),
          values(google_service_account_iam_binding.acts_as_itself), values(google_cloud_run_v2_service_iam_binding.caller),
          [google_artifact_registry_repository_iam_binding.build],
        ) : tolist(b.members)],
      ]) : !contains(["allUsers", "allAuthenticatedUsers"], member)
    ])
    error_message = "something is open to allUsers or allAuthenticatedUsers"
  }
  assert {
    condition     = alltrue([for f in merge(module.job, module.worker) : f.function.service_config[0].ingress_settings == "ALLOW_INTERNAL_ONLY"])
    error_message = "a function can be reached from the internet"
  }
  assert {
    condition     = google_storage_bucket.source.public_access_prevention == "enforced" && google_storage_bucket.source.uniform_bucket_level_access
    error_message = "the source's bucket can be made public"
  }
  assert {
    # Google takes 100 bytes.
    condition     = alltrue([for role in local.custom_roles : length(role.title) <= 50 && length(role.description) <= 256])
    error_message = "a role's title or description is too long"
  }
}
