# Each job is scheduled once, as its source says, with time to end and to be retried.
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

run "schedules" {
  command = apply

  assert {
    condition = { for name, job in google_cloud_scheduler_job.job : name => "${job.schedule} ${job.time_zone}" if name != "cleanExpiredComped" } == {
      cleanupOrphanedMedia          = "0 3 * * * Asia/Tokyo"
      cleanupResolvedInquiries      = "0 3 * * * Asia/Tokyo"
      checkGhostCircles             = "30 3 * * * Asia/Tokyo"
      cleanupBannedUsers            = "0 4 * * * Asia/Tokyo"
      cleanupReports                = "0 0 * * * Asia/Tokyo"
      deleteInactiveProjects        = "*/10 * * * * UTC"
      removeUnacceptedMemberInvites = "10 15 * * * UTC"
      cleanupPlaceholderUsers       = "0 0 * * * UTC"
    }
    error_message = "a schedule or time zone is not the source's: ${jsonencode({ for name, job in google_cloud_scheduler_job.job : name => "${job.schedule} ${job.time_zone}" })}"
  }
  assert {
    condition     = length(google_cloud_scheduler_job.job) == 9 && length(google_cloud_tasks_queue.worker) == 2
    error_message = "there are nine jobs, each with one scheduler job, and two workers, each with one queue"
  }
  assert {
    condition     = can(regex("^([0-9]|[1-5][0-9]) [0-5] \\* \\* \\*$", google_cloud_scheduler_job.job["cleanExpiredComped"].schedule)) && google_cloud_scheduler_job.job["cleanExpiredComped"].time_zone == "UTC"
    error_message = "0~59 0~5 * * * became ${google_cloud_scheduler_job.job["cleanExpiredComped"].schedule}"
  }
  assert {
    condition     = alltrue([for job in google_cloud_scheduler_job.job : job.paused == false])
    error_message = "nothing is paused unless it is said"
  }
  assert {
    condition = { for name, job in google_cloud_scheduler_job.job : name => "${job.attempt_deadline} ${job.retry_config[0].retry_count} ${job.retry_config[0].min_backoff_duration}" } == {
      cleanupOrphanedMedia          = "630s 3 720s"
      cleanupResolvedInquiries      = "570s 3 660s"
      checkGhostCircles             = "570s 3 660s"
      cleanupBannedUsers            = "570s 3 660s"
      cleanupReports                = "330s 3 420s"
      cleanExpiredComped            = "570s 3 660s"
      deleteInactiveProjects        = "330s 0 420s"
      removeUnacceptedMemberInvites = "570s 3 660s"
      cleanupPlaceholderUsers       = "570s 3 660s"
    }
    error_message = "deadline, retries or backoff changed"
  }
  assert {
    condition = alltrue([
      for name, job in google_cloud_scheduler_job.job :
      tonumber(trimsuffix(job.attempt_deadline, "s")) > module.job[name].function.service_config[0].timeout_seconds
      && tonumber(trimsuffix(job.attempt_deadline, "s")) <= 1800
    ])
    error_message = "Cloud Scheduler waits longer than the function's timeout, and at most 30 minutes"
  }
  assert {
    condition = alltrue([
      for name, job in google_cloud_scheduler_job.job :
      tonumber(trimsuffix(job.retry_config[0].min_backoff_duration, "s")) > module.job[name].function.service_config[0].timeout_seconds + 60
      && tonumber(trimsuffix(job.retry_config[0].min_backoff_duration, "s")) <= tonumber(trimsuffix(job.retry_config[0].max_backoff_duration, "s"))
    ])
    error_message = "a retry must come after a crashed run's lease (timeout and a minute) has expired"
  }
  assert {
    condition = alltrue([
      for name, job in google_cloud_scheduler_job.job :
      job.http_target[0].http_method == "POST"
      && job.http_target[0].uri == module.job[name].function.service_config[0].uri
      && job.http_target[0].oidc_token[0].audience == module.job[name].function.service_config[0].uri
      && job.http_target[0].oidc_token[0].service_account_email == google_service_account.scheduler_invoker.email
      && job.http_target[0].body == null
    ])
    error_message = "each job is called with POST at its own address, for that audience, by the scheduler's account, without a body"
  }
}

run "the_random_minute_is_stable" {
  command = plan

  assert {
    condition     = google_cloud_scheduler_job.job["cleanExpiredComped"].schedule == trimsuffix(run.schedules.schedules["cleanExpiredComped"], " UTC")
    error_message = "the minute changed between two plans of one project"
  }
}

run "the_random_minute_differs_between_projects" {
  command = plan
  variables {
    project = "another-app"
    bucket  = "another-app.firebasestorage.app"
  }

  assert {
    condition     = google_cloud_scheduler_job.job["cleanExpiredComped"].schedule != trimsuffix(run.schedules.schedules["cleanExpiredComped"], " UTC")
    error_message = "two projects have the same minute"
  }
}

run "overrides" {
  command = plan
  variables {
    schedules  = { cleanupReports = "5~9 2 * * *", checkGhostCircles = "0 3 * * 1" }
    time_zones = { cleanupReports = "Europe/Berlin" }
    paused     = ["checkGhostCircles"]
  }

  assert {
    condition     = can(regex("^[5-9] 2 \\* \\* \\*$", google_cloud_scheduler_job.job["cleanupReports"].schedule)) && google_cloud_scheduler_job.job["cleanupReports"].time_zone == "Europe/Berlin"
    error_message = "an override of schedule and time zone is not used: ${google_cloud_scheduler_job.job["cleanupReports"].schedule}"
  }
  assert {
    condition     = google_cloud_scheduler_job.job["checkGhostCircles"].schedule == "0 3 * * 1" && google_cloud_scheduler_job.job["checkGhostCircles"].time_zone == "Asia/Tokyo"
    error_message = "a job's override touched its time zone, or is not used"
  }
  assert {
    condition     = [for name, job in google_cloud_scheduler_job.job : name if job.paused] == ["checkGhostCircles"]
    error_message = "exactly the job named must be paused"
  }
  assert {
    condition     = !google_monitoring_alert_policy.no_success["checkGhostCircles"].enabled && google_monitoring_alert_policy.no_success["cleanupReports"].enabled
    error_message = "a paused job must not be reported for having no success, and others must"
  }
}

run "pause_all" {
  command = plan
  variables {
    paused = ["all"]
  }

  assert {
    condition     = alltrue([for job in google_cloud_scheduler_job.job : job.paused])
    error_message = "paused = [\"all\"] left a job running"
  }
}
