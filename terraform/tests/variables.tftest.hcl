# What is refused, and what a disabled job leaves.
mock_provider "google" {}
mock_provider "archive" {}
mock_provider "time" {}

variables {
  project = "my-app-1a2b3"
  region  = "asia-northeast1"
  bucket  = "my-app-1a2b3.firebasestorage.app"
  dry_run = {
    cleanupOrphanedMedia          = true
    cleanupResolvedInquiries      = false
    checkGhostCircles             = true
    cleanupBannedUsers            = true
    cleanupReports                = false
    cleanExpiredComped            = true
    deleteInactiveProjects        = false
    removeUnacceptedMemberInvites = true
    cleanupPlaceholderUsers       = true
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

run "refuses_project_name" {
  command = plan
  variables {
    project = "My App"
  }
  expect_failures = [var.project]
}

run "refuses_project_number" {
  command = plan
  variables {
    project = "123456789012"
  }
  expect_failures = [var.project]
}

run "refuses_zone" {
  command = plan
  variables {
    region = "asia-northeast1-a"
  }
  expect_failures = [var.region]
}

run "refuses_multi_region" {
  command = plan
  variables {
    region = "nam5"
  }
  expect_failures = [var.region]
}

run "refuses_bucket_url" {
  command = plan
  variables {
    bucket = "gs://my-app-1a2b3.firebasestorage.app"
  }
  expect_failures = [var.bucket]
}

run "refuses_missing_bucket" {
  command = plan
  variables {
    bucket = null
  }
  expect_failures = [var.bucket]
}

run "refuses_unknown_job" {
  command = plan
  variables {
    enabled = ["cleanupReports", "cleanupReport"]
    dry_run = { cleanupReports = true }
  }
  expect_failures = [var.enabled]
}

run "refuses_worker_as_job" {
  command = plan
  variables {
    enabled = ["cleanupReports", "deletePlaceholderUser"]
    dry_run = { cleanupReports = true }
  }
  expect_failures = [var.enabled]
}

run "refuses_no_decision" {
  command = plan
  variables {
    enabled = ["cleanupReports", "cleanupBannedUsers"]
    dry_run = { cleanupReports = true }
  }
  expect_failures = [var.dry_run]
}

run "refuses_decision_about_a_disabled_job" {
  command = plan
  variables {
    enabled = ["cleanupReports"]
    dry_run = { cleanupReports = true, cleanupBannedUsers = true }
  }
  expect_failures = [var.dry_run]
}

run "refuses_null_decision" {
  command = plan
  variables {
    enabled = ["cleanupReports"]
    dry_run = { cleanupReports = null }
  }
  expect_failures = [var.dry_run]
}

run "refuses_database_of_unknown_job" {
  command = plan
  variables {
    databases = { cleanupReport = "ghost" }
  }
  expect_failures = [var.databases]
}

run "refuses_database_name" {
  command = plan
  variables {
    databases = { cleanupReports = "Ghost!" }
  }
  expect_failures = [var.databases]
}

run "refuses_no_actions" {
  command = plan
  variables {
    belts = { max_actions = 0 }
  }
  expect_failures = [var.belts]
}

run "refuses_too_many_actions" {
  command = plan
  variables {
    belts = { max_actions = 1000001 }
  }
  expect_failures = [var.belts]
}

run "refuses_more_than_all_missing" {
  command = plan
  variables {
    belts = { max_missing_percent = 101 }
  }
  expect_failures = [var.belts]
}

run "refuses_no_lookups" {
  command = plan
  variables {
    belts = { min_lookups = 0 }
  }
  expect_failures = [var.belts]
}

run "refuses_half_a_user" {
  command = plan
  variables {
    belts = { max_users = 1.5 }
  }
  expect_failures = [var.belts]
}

run "refuses_schedule_of_unknown_job" {
  command = plan
  variables {
    schedules = { cleanupReport = "0 3 * * *" }
  }
  expect_failures = [var.schedules]
}

run "refuses_english_schedule" {
  command = plan
  variables {
    schedules = { cleanupReports = "every day 03:00" }
  }
  expect_failures = [var.schedules]
}

run "refuses_four_fields" {
  command = plan
  variables {
    schedules = { cleanupReports = "0 3 * *" }
  }
  expect_failures = [var.schedules]
}

run "refuses_month" {
  command = plan
  variables {
    schedules = { cleanupReports = "0 3 1 1 *" }
  }
  expect_failures = [var.schedules]
}

run "refuses_reversed_range" {
  command = plan
  variables {
    schedules = { cleanupReports = "9~5 3 * * *" }
  }
  expect_failures = [var.schedules]
}

run "refuses_time_zone_of_unknown_job" {
  command = plan
  variables {
    time_zones = { cleanupReport = "UTC" }
  }
  expect_failures = [var.time_zones]
}

run "refuses_abbreviated_time_zone" {
  command = plan
  variables {
    time_zones = { cleanupReports = "JST" }
  }
  expect_failures = [var.time_zones]
}

run "refuses_pausing_an_unknown_job" {
  command = plan
  variables {
    paused = ["cleanupReport"]
  }
  expect_failures = [var.paused]
}

run "refuses_channel_by_mail" {
  command = plan
  variables {
    notification_channels = ["ops@example.com"]
  }
  expect_failures = [var.notification_channels]
}

run "refuses_locale" {
  command = plan
  variables {
    notification_locale = "fr"
  }
  expect_failures = [var.notification_locale]
}

run "refuses_reference_without_field" {
  command = plan
  variables {
    placeholder_references = ["posts"]
  }
  expect_failures = [var.placeholder_references]
}

run "refuses_runbook_section" {
  command = plan
  variables {
    runbook_url = "https://example.com/runbook#here"
  }
  expect_failures = [var.runbook_url]
}

