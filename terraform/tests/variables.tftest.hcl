# What is refused, and what a disabled job leaves.
mock_provider "google" {
  source = "./tests/mocks"
}
mock_provider "archive" {}
mock_provider "time" {}

variables {
  # Every other job only plans.
  dry_run = {
    for i, name in [for f in jsondecode(file("../functions/schedule.json")).functions : f.name if f.trigger == "schedule"] : name => i % 2 == 0
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
        keys(module.job), keys(google_service_account.function), keys(google_cloud_scheduler_job.job), keys(google_cloud_run_v2_service_iam_member.scheduler),
        keys(google_monitoring_alert_policy.failed), keys(google_monitoring_alert_policy.no_success), keys(time_static.since),
        [for key in keys(google_project_iam_member.firestore) : split(" ", key)[0]],
      ] : names == ["cleanupReports"]
    ])
    error_message = "a job that is not enabled left something, or the enabled one is incomplete"
  }
  assert {
    condition = length(concat(
      keys(module.worker), keys(google_cloud_tasks_queue.worker), keys(google_cloud_run_v2_service_iam_member.tasks), google_service_account.tasks_invoker[*].email,
      keys(google_storage_bucket_iam_member.storage), keys(google_project_iam_member.auth), keys(google_project_iam_custom_role.custom),
      keys(google_cloud_tasks_queue_iam_member.tasks), keys(google_service_account_iam_member.acts_as_tasks_invoker), keys(google_monitoring_alert_policy.worker),
    )) == 0
    error_message = "what only other jobs need is there"
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

# Each run holds one wrong value for each of several variables, to keep the number of plans small; all must be refused.
run "refuses_names_and_formats" {
  command = plan
  variables {
    project                = "My App"
    region                 = "asia-northeast1-a" # a zone
    bucket                 = "gs://my-app-1a2b3.firebasestorage.app"
    databases              = { cleanupReport = "ghost" } # no such job
    belts                  = { max_actions = 0 }
    schedules              = { cleanupReport = "0 3 * * *" }
    time_zones             = { cleanupReport = "UTC" }
    paused                 = ["cleanupReport"]
    notification_channels  = ["ops@example.com"]
    notification_locale    = "fr"
    placeholder_references = ["posts"]
    runbook_url            = "https://example.com/runbook#here"
  }
  expect_failures = [var.project, var.region, var.bucket, var.databases, var.belts, var.schedules, var.time_zones, var.paused, var.notification_channels, var.notification_locale, var.placeholder_references, var.runbook_url]
}

run "refuses_numbers_and_english" {
  command = plan
  variables {
    project    = "123456789012"
    region     = "nam5"
    databases  = { cleanupReports = "Ghost!" }
    belts      = { max_actions = 1000001 }
    schedules  = { cleanupReports = "every day 03:00" }
    time_zones = { cleanupReports = "JST" }
  }
  expect_failures = [var.project, var.region, var.databases, var.belts, var.schedules, var.time_zones]
}

run "refuses_four_fields" {
  command = plan
  variables {
    belts     = { max_missing_percent = 101 }
    schedules = { cleanupReports = "0 3 * *" }
  }
  expect_failures = [var.belts, var.schedules]
}

run "refuses_a_month" {
  command = plan
  variables {
    belts     = { min_lookups = 0 }
    schedules = { cleanupReports = "0 3 1 1 *" }
  }
  expect_failures = [var.belts, var.schedules]
}

run "refuses_a_reversed_range" {
  command = plan
  variables {
    belts     = { max_users = 1.5 }
    schedules = { cleanupReports = "9~5 3 * * *" }
  }
  expect_failures = [var.belts, var.schedules]
}

run "refuses_a_missing_bucket" {
  command = plan
  variables {
    bucket = null
  }
  expect_failures = [var.bucket]
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

run "refuses_a_job_without_decision" {
  command = plan
  variables {
    enabled = ["cleanupReports", "cleanupBannedUsers"]
    dry_run = { cleanupReports = true }
  }
  expect_failures = [var.dry_run]
}

run "refuses_a_decision_about_no_job" {
  command = plan
  variables {
    enabled = ["cleanupReports"]
    dry_run = { cleanupReports = true, cleanupBannedUsers = true }
  }
  expect_failures = [var.dry_run]
}

run "refuses_no_decision" {
  command = plan
  variables {
    enabled = ["cleanupReports"]
    dry_run = { cleanupReports = null }
  }
  expect_failures = [var.dry_run]
}
