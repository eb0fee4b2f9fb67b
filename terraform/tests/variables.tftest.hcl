# What is refused, what is taken, and what a disabled job leaves.
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

run "disabled_jobs_leave_nothing" {
  command = apply
  variables {
    enabled = ["cleanupReports"]
    dry_run = { cleanupReports = true }
    bucket  = null
  }

  assert {
    condition = alltrue([
      for names in [
        keys(module.job), keys(google_service_account.function), keys(google_cloud_scheduler_job.job), keys(google_cloud_run_v2_service_iam_binding.caller),
        keys(time_static.since), flatten(values(local.watched_functions)),
        [for key in keys(google_project_iam_member.firestore) : split(" ", key)[0]],
      ] : names == ["cleanupReports"]
    ])
    error_message = "a job that is not enabled left something, or the enabled one is incomplete"
  }
  assert {
    condition = length(concat(
      keys(module.worker), keys(google_cloud_tasks_queue.worker), keys(google_cloud_tasks_queue_iam_binding.tasks),
      keys(google_service_account_iam_binding.acts_as_itself), data.google_project.this, data.google_storage_bucket.application,
      keys(google_storage_bucket_iam_member.storage), keys(google_project_iam_member.auth), keys(google_project_iam_custom_role.custom),
      google_monitoring_alert_policy.worker, [for api in keys(google_project_service.api) : api if api == "identitytoolkit.googleapis.com"],
      [for f in google_firestore_field.not_indexed : f if !contains(["cleanupRuns", "cleanupUndo"], f.collection)],
    )) == 0
    error_message = "what only other jobs need is there"
  }
  assert {
    condition     = !strcontains(google_monitoring_alert_policy.attention["0"].conditions[0].condition_matched_log[0].filter, "cloud_tasks_queue")
    error_message = google_monitoring_alert_policy.attention["0"].conditions[0].condition_matched_log[0].filter
  }
}

run "a_job_brings_its_worker" {
  command = plan
  variables {
    enabled = ["cleanupPlaceholderUsers"]
    dry_run = { cleanupPlaceholderUsers = false }
  }

  assert {
    condition     = keys(module.worker) == ["deletePlaceholderUser"] && keys(google_cloud_tasks_queue.worker) == ["deletePlaceholderUser"] && keys(google_project_iam_member.auth) == ["deletePlaceholderUser firesweepAccountDeleter"]
    error_message = "cleanupPlaceholderUsers needs deletePlaceholderUser and no other worker"
  }
}

# Each run holds one wrong value for each of several variables, to keep the number of plans small; all must be refused. A variable
# whose check looks at another one stands where that one is right.
run "refuses_names_and_formats" {
  command = plan
  variables {
    project                = "My App"
    region                 = "asia-northeast1-a" # a zone
    bucket                 = "gs://my-app-1a2b3.firebasestorage.app"
    databases              = { cleanupReport = "ghost" } # no such job
    memory                 = { cleanupReport = "1Gi" }
    timeouts               = { cleanupReport = 600 }
    retries                = { cleanupReport = 1 }
    schedules              = { cleanupReport = "0 3 * * *" }
    time_zones             = { cleanupReport = "UTC" }
    paused                 = ["cleanupReport"]
    labels                 = { Team = "ops" }
    queue_suffix           = "_2"
    notification_channels  = ["ops@example.com"]
    notification_locale    = "fr"
    placeholder_references = ["posts"]
    inquiry_folders        = ["inquiries"]
    orphans                = ["task"]
    undo_days              = { deletePlaceholderUser = 7 } # a worker has its job's
    dry_run                = {}                            # no decision about any job
  }
  expect_failures = [
    var.project, var.region, var.bucket, var.databases, var.memory, var.timeouts, var.retries, var.schedules, var.time_zones, var.paused, var.labels, var.queue_suffix,
    var.notification_channels, var.notification_locale, var.placeholder_references, var.inquiry_folders, var.orphans, var.undo_days, var.dry_run,
  ]
}

run "refuses_numbers_and_english" {
  command = plan
  variables {
    project         = "123456789012"
    region          = "nam5"
    databases       = { cleanupReports = "Ghost!" }
    memory          = { cleanupReports = "1 GB" }
    timeouts        = { cleanupReports = 1741 }
    retries         = { cleanupReports = 6 }
    schedules       = { cleanupReports = "every day 03:00" }
    time_zones      = { cleanupReports = "JST" }
    inquiry_folders = ["/inquiries/"]
    undo_days       = { cleanupReports = 91 }
    enabled         = ["cleanupReports"]
    dry_run         = { cleanupReports = true, cleanupBannedUsers = true } # one of them is not enabled
  }
  expect_failures = [
    var.project, var.region, var.databases, var.memory, var.timeouts, var.retries, var.schedules, var.time_zones, var.inquiry_folders, var.undo_days, var.dry_run,
  ]
}

run "refuses_what_only_looks_right" {
  command = plan
  variables {
    region     = "asia-northeast9"
    memory     = { cleanupReports = "256Mi" } # has a whole CPU
    timeouts   = { cleanupReports = 59 }
    retries    = { cleanupReports = 0.5 }
    schedules  = { cleanupReports = "0 3 * *" }
    time_zones = { cleanupReports = "Asia/Tokio" }
    dry_run    = { cleanupReports = null }
    enabled    = ["cleanupReports"]
  }
  expect_failures = [var.region, var.memory, var.timeouts, var.retries, var.schedules, var.time_zones, var.dry_run]
}

# Nothing starts with what shared/objects, placeholderusers/places and shared/config refuse.
run "refuses_what_no_function_takes" {
  command = plan
  variables {
    inquiry_folders        = ["gs://my-app-1a2b3.firebasestorage.app/inquiries/"]
    placeholder_references = ["posts.userId", "posts.userId"]
    schedules              = { cleanupReports = "0 3 1 1 *" }
    bucket                 = null
    safety_limits          = { max_action = 5 }
    job_safety_limits      = { cleanupReports = { max_due_percent = 101 } }
  }
  expect_failures = [
    var.inquiry_folders, var.placeholder_references, var.schedules, var.bucket, var.safety_limits, var.job_safety_limits,
  ]
}

run "refuses_empty_parts_and_too_many_places" {
  command = plan
  variables {
    inquiry_folders        = ["a//"]
    placeholder_references = [for i in range(51) : "posts.user${i}"]
    safety_limits          = { max_actions = 1000001 }
    job_safety_limits      = { cleanupReports = { max_action = 5 } }
  }
  expect_failures = [var.inquiry_folders, var.placeholder_references, var.safety_limits, var.job_safety_limits]
}

run "refuses_dots_and_reserved_fields" {
  command = plan
  variables {
    inquiry_folders        = ["../"]
    placeholder_references = ["posts.__x__"]
    enabled                = ["cleanupReports"]
    dry_run                = { cleanupReports = true }
    safety_limits          = { max_due_percent = 101 }
    job_safety_limits      = { cleanupReports = { max_actions = 1000001 } }
  }
  expect_failures = [var.inquiry_folders, var.placeholder_references, var.safety_limits, var.job_safety_limits]
}

run "refuses_blanks_and_reserved_paths" {
  command = plan
  variables {
    inquiry_folders        = [" /"]
    placeholder_references = ["group:posts.__a.b__"]
    safety_limits          = { max_due_percent = 0 }
    job_safety_limits      = { cleanupReport = { max_actions = 5 } } # no such job
    enabled                = ["cleanupReports", "cleanupBannedUsers"]
    dry_run                = { cleanupReports = true } # says nothing about the other
  }
  expect_failures = [var.inquiry_folders, var.placeholder_references, var.safety_limits, var.job_safety_limits, var.dry_run]
}

run "refuses_folders_without_room_for_a_name" {
  command = plan
  variables {
    inquiry_folders        = ["x${join("", [for i in range(511) : "ä"])}/"]       # 1024 bytes
    placeholder_references = ["posts.x${join("", [for i in range(750) : "xx"])}"] # 1501 bytes
    safety_limits          = { max_actions = 0 }
  }
  expect_failures = [var.inquiry_folders, var.placeholder_references, var.safety_limits]
}

run "refuses_an_unknown_job" {
  command = plan
  variables {
    enabled = ["cleanupReports", "cleanupReport"]
    dry_run = { cleanupReports = true }
  }
  expect_failures = [var.enabled]
}

run "refuses_a_worker_as_job" {
  command = plan
  variables {
    enabled = ["cleanupReports", "deletePlaceholderUser"]
    dry_run = { cleanupReports = true }
  }
  expect_failures = [var.enabled]
}

# The other safety limits, each alone, on jobs of 256Mi and of 512Mi.
run "refuses_a_limit_that_is_gone" {
  command = plan
  variables {
    enabled       = ["cleanupReports"]
    dry_run       = { cleanupReports = true }
    safety_limits = { min_lookups = 20 }
  }
  expect_failures = [var.safety_limits]
}

run "refuses_half_a_user" {
  command = plan
  variables {
    enabled       = ["cleanupReports"]
    dry_run       = { cleanupReports = true }
    safety_limits = { max_users = 1.5 }
  }
  expect_failures = [var.safety_limits]
}

run "refuses_no_limit" {
  command = plan
  variables {
    enabled       = ["cleanupReports"]
    dry_run       = { cleanupReports = true }
    safety_limits = { max_actions = null }
  }
  expect_failures = [var.safety_limits]
}

run "refuses_schedules_out_of_range" {
  command = plan
  variables {
    enabled = ["cleanupReports", "cleanupBannedUsers", "checkGhostCircles", "cleanExpiredComped", "cleanupOrphanedMedia", "cleanupResolvedInquiries", "deleteInactiveProjects"]
    dry_run = {
      cleanupReports = true, cleanupBannedUsers = true, checkGhostCircles = true, cleanExpiredComped = true, cleanupOrphanedMedia = true, cleanupResolvedInquiries = true, deleteInactiveProjects = true
    }
    schedules = {
      cleanupReports           = "99 99 * * *"
      cleanupBannedUsers       = "0 24 * * *"
      checkGhostCircles        = "0 3 0 * *"
      cleanExpiredComped       = "9~5 3 * * *"
      cleanupOrphanedMedia     = "*/0 * * * *"
      cleanupResolvedInquiries = "0 3 * * 7"
      deleteInactiveProjects   = "0,60 * * * *"
    }
  }
  expect_failures = [
    google_cloud_scheduler_job.job["cleanupReports"], google_cloud_scheduler_job.job["cleanupBannedUsers"], google_cloud_scheduler_job.job["checkGhostCircles"],
    google_cloud_scheduler_job.job["cleanExpiredComped"], google_cloud_scheduler_job.job["cleanupOrphanedMedia"], google_cloud_scheduler_job.job["cleanupResolvedInquiries"],
    google_cloud_scheduler_job.job["deleteInactiveProjects"],
  ]
}

run "accepts_what_only_looks_wrong" {
  command = plan
  variables {
    safety_limits          = { max_actions = 1000000, max_users = 1000 }
    inquiry_folders        = ["..a/.b./c d/", "${join("", [for i in range(511) : "ä"])}/"]
    placeholder_references = concat(["posts.__x", "group:posts.__x", "posts.x__"], [for i in range(47) : "posts.user${i}"])
    undo_days              = { cleanupPlaceholderUsers = 14, cleanupBannedUsers = 0, cleanupReports = 0 }
    schedules = {
      cleanupReports           = "59 23 31 * 6"
      cleanupBannedUsers       = "0-59/15 0,12 1-15 * 0"
      checkGhostCircles        = "0~59 22~23 * * 1-5"
      cleanupOrphanedMedia     = "*/59 * * * *"
      cleanupResolvedInquiries = "1,2,3-5,*/30 * * * *"
    }
  }

  assert {
    condition     = local.environment["cleanupReports"].MAX_ACTIONS == "1000000" && local.environment["cleanupReports"].MAX_DUE_PERCENT == "50"
    error_message = "a safety limit that is given is not used, or one that is not given has no default"
  }
  assert {
    condition     = alltrue([for problems in values(local.cron_problems) : length(problems) == 0])
    error_message = jsonencode(local.cron_problems)
  }
  assert {
    condition = { for name in ["deletePlaceholderUser", "cleanupReports", "cleanExpiredComped"] : name => local.environment[name].UNDO_DAYS } == {
      deletePlaceholderUser = "14" # its job's
      cleanupReports        = "0"
      cleanExpiredComped    = "7"
    }
    error_message = "what a job deletes is kept for seven days unless something else is said"
  }
}
