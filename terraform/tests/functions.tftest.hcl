# What is deployed, from which source, with which settings.
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

run "functions" {
  command = apply

  assert {
    condition     = toset(keys(module.job)) == toset(local.job_names) && toset(keys(module.worker)) == setsubtract(keys(local.functions), local.job_names)
    error_message = "every function of manifest.json is deployed once"
  }
  assert {
    condition = alltrue([
      for name, f in merge(module.job, module.worker) :
      f.function.name == name && f.function.build_config[0].entry_point == name && f.function.build_config[0].runtime == "go126"
    ])
    error_message = "a function has its own name as entry point, and runs on Go 1.26"
  }
  assert {
    condition = { for name, f in merge(module.job, module.worker) : name => "${f.function.service_config[0].timeout_seconds} ${f.function.service_config[0].available_memory}" } == {
      for name, f in local.functions : name => "${f.timeoutSeconds} ${f.memory}"
    }
    error_message = "timeout and memory come from manifest.json"
  }
  assert {
    # Where nothing is said, the provider takes what Google gives, which the mock makes up.
    condition = alltrue([for name, f in merge(module.job, module.worker) : f.function.service_config[0].available_cpu == local.functions[name].cpu if can(local.functions[name].cpu)]) && length([
      for f in values(local.functions) : f if can(f.cpu)
    ]) > 0
    error_message = "a job that works hard has the CPU that manifest.json says"
  }
  assert {
    condition = alltrue([
      for name, f in merge(module.job, module.worker) :
      f.function.service_config[0].environment_variables["GOMEMLIMIT"] == { "256Mi" = "217MiB", "512Mi" = "435MiB" }[f.function.service_config[0].available_memory]
      if contains(["256Mi", "512Mi"], f.function.service_config[0].available_memory)
    ])
    error_message = "the garbage collector's limit is 85 % of the function's memory"
  }
  assert {
    condition = alltrue([for f in merge(module.job, module.worker) : f.function.service_config[0].max_instance_request_concurrency == 1]) && alltrue(concat(
      [for f in module.job : f.function.service_config[0].max_instance_count == 2],
      [for name, f in module.worker : f.function.service_config[0].max_instance_count == local.functions[name].queue.maxConcurrentDispatches],
    ))
    error_message = "one request an instance; one instance for a job and one that answers meanwhile, and as many for a worker as its queue sends tasks at a time"
  }
  assert {
    condition = alltrue([
      for name, q in google_cloud_tasks_queue.worker :
      q.name == name
      && q.rate_limits[0].max_dispatches_per_second == local.functions[name].queue.maxDispatchesPerSecond
      && q.rate_limits[0].max_concurrent_dispatches == local.functions[name].queue.maxConcurrentDispatches
      && q.retry_config[0].max_attempts == local.functions[name].queue.maxAttempts
      && q.retry_config[0].min_backoff == "${local.functions[name].queue.minBackoffSeconds}s"
      && q.retry_config[0].max_backoff == "${local.functions[name].queue.maxBackoffSeconds}s"
    ])
    error_message = "rates and retries come from manifest.json"
  }
  assert {
    condition     = google_storage_bucket_object.source.name == "source-${module.archive.hash}.zip"
    error_message = "the object's name must hold the hash of its contents, or a new source would not be deployed"
  }
  assert {
    # A name may be uploaded again, from another path: Terraform must not delete it after that.
    condition     = google_storage_bucket_object.source.deletion_policy == "ABANDON"
    error_message = "the archive that the functions were just built from can be deleted"
  }
  assert {
    condition = { for name, f in merge(module.job, module.worker) : name => f.function.description } == { for name, f in local.functions : name => f.description } && alltrue([
      for name, job in google_cloud_scheduler_job.job : job.description == local.functions[name].description
    ])
    error_message = "functions and schedules say what they do"
  }
  assert {
    condition = alltrue([for f in merge(module.job, module.worker) :
      f.function.build_config[0].source[0].storage_source[0].object == google_storage_bucket_object.source.name && f.function.build_config[0].source[0].storage_source[0].bucket == google_storage_bucket.source.name
    ])
    error_message = "a function is built from something else"
  }
}

run "environment" {
  command = apply
  variables {
    dry_run                = { for f in jsondecode(file("../functions/manifest.json")).functions : f.name => f.name != "deleteInactiveProjects" if try(f.trigger, "schedule") == "schedule" }
    databases              = { deleteInactiveProjects = "gitlab" }
    memory                 = { cleanupOrphanedMedia = "1Gi", deletePlaceholderUser = "512Mi" }
    timeouts               = { cleanupOrphanedMedia = 1740 }
    inquiry_folders        = ["inquiries/", "support/images/"]
    safety_limits          = { max_actions = 500, max_due_percent = 60, max_users = 3 }
    job_safety_limits      = { deleteInactiveProjects = { max_due_percent = 90, max_users = 4 } }
    orphans                = ["posts", "postsOfCircles"]
    undo_days              = { cleanupOrphanedMedia = 30 }
    notification_locale    = "en"
    placeholder_references = ["posts.userId", "group:notes.author.id"]
  }

  assert {
    condition = module.job["cleanupOrphanedMedia"].function.service_config[0].environment_variables == tomap({
      GOOGLE_CLOUD_PROJECT = "my-app-1a2b3"
      STORAGE_BUCKET       = "my-app-1a2b3.firebasestorage.app"
      FIRESTORE_DATABASE   = "(default)"
      DRY_RUN              = "true"
      MAX_ACTIONS          = "500"
      MAX_DUE_PERCENT      = "60"
      MAX_USERS            = "3"
      UNDO_DAYS            = "30"
      NOTIFICATION_LOCALE  = "en"
      GOMEMLIMIT           = "870MiB"
      TIMEOUT_SECONDS      = "1740"
      SCHEDULE             = "0 3 * * * Asia/Tokyo"
      ORPHANS              = "posts,postsOfCircles"
    })
    error_message = "cleanupOrphanedMedia: ${jsonencode(module.job["cleanupOrphanedMedia"].function.service_config[0].environment_variables)}"
  }
  assert {
    condition = module.job["deleteInactiveProjects"].function.service_config[0].environment_variables == tomap({
      GOOGLE_CLOUD_PROJECT  = "my-app-1a2b3"
      FIRESTORE_DATABASE    = "gitlab"
      DRY_RUN               = "false"
      MAX_ACTIONS           = "500"
      MAX_DUE_PERCENT       = "90"
      MAX_USERS             = "4"
      UNDO_DAYS             = "7"
      NOTIFICATION_LOCALE   = "en"
      GOMEMLIMIT            = "217MiB"
      SCHEDULE              = "*/10 * * * * UTC"
      TASKS_LOCATION        = "asia-northeast1"
      TASKS_QUEUE           = "sendInactiveProjectWarning"
      TASKS_SERVICE_ACCOUNT = google_service_account.function["deleteInactiveProjects"].email
      TASKS_TARGET_URL      = module.worker["sendInactiveProjectWarning"].function.service_config[0].uri
    })
    error_message = "deleteInactiveProjects: ${jsonencode(module.job["deleteInactiveProjects"].function.service_config[0].environment_variables)}"
  }
  assert {
    condition = (
      module.worker["sendInactiveProjectWarning"].function.service_config[0].environment_variables["FIRESTORE_DATABASE"] == "gitlab"
      && module.worker["sendInactiveProjectWarning"].function.service_config[0].environment_variables["DRY_RUN"] == "false"
      && module.worker["deletePlaceholderUser"].function.service_config[0].environment_variables["FIRESTORE_DATABASE"] == "(default)"
      && module.worker["deletePlaceholderUser"].function.service_config[0].environment_variables["DRY_RUN"] == "true"
    )
    error_message = "a worker has its job's database and dry_run"
  }
  assert {
    condition = module.worker["deletePlaceholderUser"].function.service_config[0].environment_variables["PLACEHOLDER_REFERENCES"] == "posts.userId,group:notes.author.id" && (
      module.job["cleanupPlaceholderUsers"].function.service_config[0].environment_variables["PLACEHOLDER_REFERENCES"] == "posts.userId,group:notes.author.id"
      ) && (
      !contains(keys(module.job["cleanupReports"].function.service_config[0].environment_variables), "PLACEHOLDER_REFERENCES")
    )
    error_message = "placeholder_references reach the functions that ask for them, and no other"
  }
  assert {
    condition = output.collection_group_indexes == {} && keys(google_firestore_field.reference) == ["(default) notes.author.id"] && alltrue([
      for r in values(google_firestore_field.reference) :
      "${r.collection} ${r.field} ${r.deletion_policy}" == "notes author.id ABANDON" && length(r.ttl_config) == 0
      && toset([for i in r.index_config[0].indexes : join(" ", [i.query_scope, i.order == null ? i.array_config : i.order])]) == toset([
        for of in setproduct(["COLLECTION", "COLLECTION_GROUP"], ["ASCENDING", "DESCENDING", "CONTAINS"]) : join(" ", of)
      ])
    ])
    error_message = "what refers to users in a group has not each index: ${jsonencode(google_firestore_field.reference)}, ${jsonencode(output.collection_group_indexes)}"
  }
  assert {
    condition     = output.queues == { for name in ["deletePlaceholderUser", "sendInactiveProjectWarning"] : name => name }
    error_message = "each worker has one queue, and nobody else has: ${jsonencode(output.queues)}"
  }
  assert {
    condition     = sort([for name, f in merge(module.job, module.worker) : name if can(f.function.service_config[0].environment_variables.TASKS_LOCATION)]) == tolist(["cleanupPlaceholderUsers", "deleteInactiveProjects"])
    error_message = "only who hands tasks over is told where"
  }
  assert {
    condition = toset([for key, b in google_project_iam_member.firestore : split(" ", key)[0] if b.condition[0].expression == "resource.name==\"projects/my-app-1a2b3/databases/gitlab\""]) == toset([
      "deleteInactiveProjects", "sendInactiveProjectWarning",
    ])
    error_message = "a job with another database, and its worker, may use that one; all others the default one"
  }
  assert {
    condition = (
      module.job["cleanupOrphanedMedia"].function.service_config[0].available_memory == "1Gi" && module.job["cleanupOrphanedMedia"].function.service_config[0].timeout_seconds == 1740
      && module.worker["deletePlaceholderUser"].function.service_config[0].available_memory == "512Mi"
      && module.job["checkGhostCircles"].function.service_config[0].available_memory == local.functions["checkGhostCircles"].memory
    )
    error_message = "an override of memory or timeout is not used, or another function's is"
  }
  assert {
    condition = { for name, f in merge(module.job, module.worker) : name => f.function.service_config[0].environment_variables["INQUIRY_FOLDERS"] if contains(keys(f.function.service_config[0].environment_variables), "INQUIRY_FOLDERS") } == {
      cleanupResolvedInquiries = "inquiries/,support/images/"
    }
    error_message = "inquiry_folders reach the function that asks for them, and no other"
  }
  assert {
    condition     = toset([for name, f in merge(module.job, module.worker) : name if contains(keys(f.function.service_config[0].environment_variables), "STORAGE_BUCKET")]) == toset([for name, f in local.functions : name if can(f.roles.storage)])
    error_message = "only who works on the bucket is told its name"
  }
}

# A bucket cannot be made anew under its name before it is deleted, and an object would not be made anew in one that was.
run "another_region_with_names_and_labels" {
  command = apply
  variables {
    region       = "europe-west1"
    labels       = { team = "trust-and-safety" }
    queue_suffix = "-2"
  }

  assert {
    condition = (
      alltrue([for f in merge(module.job, module.worker) : f.function.labels == tomap({ team = "trust-and-safety" })])
      && google_storage_bucket.source.labels == tomap({ team = "trust-and-safety" })
      && google_artifact_registry_repository.images.labels == tomap({ team = "trust-and-safety" })
      && alltrue([for a in concat(values(google_monitoring_alert_policy.failed), values(google_monitoring_alert_policy.attention)) : a.user_labels == tomap({ team = "trust-and-safety" })])
    )
    error_message = "something that can have labels has none"
  }
  assert {
    condition = alltrue([for name, q in google_cloud_tasks_queue.worker : q.name == "${name}-2"]) && alltrue([
      for name, f in local.jobs : module.job[name].function.service_config[0].environment_variables["TASKS_QUEUE"] == "${f.worker}-2" if can(f.worker)
    ])
    error_message = "a queue has another name than its job is told"
  }
  assert {
    condition     = [for p in google_artifact_registry_repository.images.cleanup_policies : p.action] == ["DELETE", "KEEP"]
    error_message = "old images must go, and the newest stay"
  }
  assert {
    condition     = google_storage_bucket.source.name == "my-app-1a2b3-firesweep-source-${substr(sha256("europe-west1"), 0, 6)}" && length("my-app-1a2b3-firesweep-source-123456") - length("my-app-1a2b3") + 30 <= 63
    error_message = "the bucket has the same name in another region, or a name that is too long: ${google_storage_bucket.source.name}"
  }
  assert {
    condition     = time_sleep.settled.triggers["repository"] == google_artifact_registry_repository.images.id
    error_message = "the first build in another region does not wait for its repository"
  }
}
