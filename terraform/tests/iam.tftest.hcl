# Who may do what. The tables are complete: a role more or less anywhere fails.
mock_provider "google" {
  source = "./tests/mocks"
}
mock_provider "archive" {}
mock_provider "time" {}

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
      firesweepAccountDeleter = toset(["firebaseauth.users.delete", "firebaseauth.users.get"])
      firesweepObjectCleaner  = toset(["storage.objects.get", "storage.objects.list", "storage.objects.delete"])
    }
    error_message = "our own roles may do what the code does and nothing else"
  }
  assert {
    condition     = toset(local.custom_roles.firesweepAccountReader.permissions) == toset(["firebaseauth.users.get"])
    error_message = "a rule about accounts lists them and looks at them, and nothing else; it deletes by another role"
  }
  assert {
    condition = { for key, b in google_cloud_tasks_queue_iam_member.tasks : key => b.name } == {
      for name, f in local.jobs : "${name} roles/cloudtasks.enqueuer" => f.worker if can(f.worker)
    }
    error_message = "Cloud Tasks: a job with a worker, on that worker's queue"
  }
  assert {
    condition = toset(keys(google_service_account_iam_member.acts_as_tasks_invoker)) == toset(local.job_names) && alltrue([
      for name, b in google_service_account_iam_member.acts_as_tasks_invoker :
      b.role == "roles/iam.serviceAccountUser" && b.service_account_id == google_service_account.tasks_invoker[name].name && b.member == google_service_account.function[name].member
    ])
    error_message = "only who enqueues may act as the account of its own tasks, and as no other"
  }
  assert {
    condition = toset(keys(google_cloud_tasks_queue_iam_member.continue)) == setsubtract(local.job_names, ["deleteInactiveProjects"]) && alltrue([
      for name, b in google_cloud_tasks_queue_iam_member.continue :
      b.role == "roles/cloudtasks.enqueuer" && b.name == "${name}-continue" && b.member == google_service_account.function[name].member
      ]) && alltrue([
      for name, b in google_cloud_run_v2_service_iam_member.continue :
      b.role == "roles/run.invoker" && b.name == basename(module.job[name].function.service_config[0].service) && b.member == google_service_account.tasks_invoker[name].member
    ]) && keys(google_cloud_run_v2_service_iam_member.continue) == keys(google_cloud_tasks_queue_iam_member.continue)
    error_message = "a job that continues hands itself over to its own queue, and the account of its own tasks calls it"
  }
  assert {
    condition = alltrue(concat(
      [for key, b in google_project_iam_member.firestore : b.member == google_service_account.function[split(" ", key)[0]].member],
      [for key, b in google_storage_bucket_iam_member.storage : b.member == google_service_account.function[split(" ", key)[0]].member],
      [for key, b in google_project_iam_member.auth : b.member == google_service_account.function[split(" ", key)[0]].member],
      [for key, b in google_cloud_tasks_queue_iam_member.tasks : b.member == google_service_account.function[split(" ", key)[0]].member],
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
    condition = toset(keys(google_cloud_run_v2_service_iam_member.scheduler)) == toset(local.job_names) && alltrue([
      for name, b in google_cloud_run_v2_service_iam_member.scheduler :
      b.role == "roles/run.invoker" && b.name == basename(module.job[name].function.service_config[0].service) && b.member == google_service_account.scheduler_invoker.member
    ])
    error_message = "Cloud Scheduler's account calls the jobs, by the names of their Cloud Run services"
  }
  assert {
    condition = toset(keys(google_cloud_run_v2_service_iam_member.tasks)) == setsubtract(keys(local.functions), local.job_names) && alltrue([
      for name, b in google_cloud_run_v2_service_iam_member.tasks :
      b.role == "roles/run.invoker" && b.name == basename(module.worker[name].function.service_config[0].service) && b.member == google_service_account.tasks_invoker[local.job_of[name]].member
    ])
    error_message = "the account of a job's tasks calls its worker, by the name of its Cloud Run service"
  }
  assert {
    condition = length(distinct(concat(
      [google_service_account.scheduler_invoker.account_id], [for a in google_service_account.tasks_invoker : a.account_id],
      [for a in google_service_account.function : a.account_id],
      ))) == 1 + length(local.job_names) + length(local.functions) && alltrue([
      for a in google_service_account.tasks_invoker : can(regex("^[a-z]([-a-z0-9]{4,28}[a-z0-9])$", a.account_id))
    ])
    error_message = "each caller needs an account of its own: ${jsonencode([for a in google_service_account.tasks_invoker : a.account_id])}"
  }
  assert {
    condition = { for role, b in google_project_iam_member.build : role => [for c in b.condition : c.expression] } == {
      "roles/storage.objectViewer" = ["resource.name.startsWith(\"projects/_/buckets/gcf-v2-sources-\")"]
      "roles/logging.logWriter"    = []
    }
    error_message = "the account that builds reads the functions' sources and writes its log, no more"
  }
  assert {
    condition     = google_artifact_registry_repository_iam_member.build.role == "roles/artifactregistry.writer" && google_storage_bucket_iam_member.build_source.role == "roles/storage.objectViewer"
    error_message = "the account that builds writes images, and reads the archive"
  }
  assert {
    condition     = alltrue([for f in merge(module.job, module.worker) : f.function.build_config[0].service_account == google_service_account.build.name])
    error_message = "a function is built by another account"
  }
  assert {
    condition = alltrue([
      for b in concat(
        values(google_project_iam_member.firestore), values(google_project_iam_member.auth), values(google_project_iam_member.build),
        values(google_storage_bucket_iam_member.storage), [google_storage_bucket_iam_member.build_source],
        values(google_cloud_tasks_queue_iam_member.tasks), values(google_service_account_iam_member.acts_as_tasks_invoker),
        values(google_cloud_run_v2_service_iam_member.scheduler), values(google_cloud_run_v2_service_iam_member.tasks),
        values(google_cloud_tasks_queue_iam_member.continue), values(google_cloud_run_v2_service_iam_member.continue),
        [google_artifact_registry_repository_iam_member.build],
      ) : !contains(["allUsers", "allAuthenticatedUsers"], b.member)
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
}

run "another_database" {
  command = apply
  variables {
    databases = { cleanupPlaceholderUsers = "gitlab" }
  }

  assert {
    condition = toset([for key, b in google_project_iam_member.firestore : split(" ", key)[0] if b.condition[0].expression == "resource.name==\"projects/my-app-1a2b3/databases/gitlab\""]) == toset([
      "cleanupPlaceholderUsers", "deletePlaceholderUser",
    ])
    error_message = "a job with another database, and its worker, may use that one; all others the default one"
  }
}
