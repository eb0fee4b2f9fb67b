# Each job is scheduled once, as its source says, with time to end and to be retried.
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

run "schedules" {
  command = apply

  assert {
    condition = { for name, job in google_cloud_scheduler_job.job : name => "${job.schedule} ${job.time_zone}" if !strcontains(local.functions[name].schedule, "~") } == {
      for name, f in local.functions : name => "${f.schedule} ${f.timeZone}" if try(f.trigger, "schedule") == "schedule" && !strcontains(try(f.schedule, ""), "~")
    }
    error_message = "a schedule or time zone is not manifest.json's: ${jsonencode({ for name, job in google_cloud_scheduler_job.job : name => "${job.schedule} ${job.time_zone}" })}"
  }
  assert {
    condition     = toset(keys(google_cloud_scheduler_job.job)) == toset(local.job_names) && length(google_cloud_tasks_queue.worker) == length(local.functions) - length(local.job_names)
    error_message = "each job has one scheduler job, each worker one queue"
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
    # cleanupReports ends within 300 s.
    condition = (
      "${google_cloud_scheduler_job.job["cleanupReports"].attempt_deadline} ${google_cloud_scheduler_job.job["cleanupReports"].retry_config[0].min_backoff_duration}" == "330s 420s"
      && { for name, job in google_cloud_scheduler_job.job : name => job.retry_config[0].retry_count } == { for name in local.job_names : name => local.functions[name].retryCount }
    )
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

# Nothing runs, and each minute is another.
run "all_paused_in_another_project" {
  command = plan
  variables {
    project = "another-app"
    bucket  = "another-app.firebasestorage.app"
    paused  = ["all"]
  }

  assert {
    condition     = google_cloud_scheduler_job.job["cleanExpiredComped"].schedule != trimsuffix(run.schedules.schedules["cleanExpiredComped"], " UTC")
    error_message = "two projects have the same minute"
  }
  assert {
    condition     = alltrue([for job in google_cloud_scheduler_job.job : job.paused]) && length(google_monitoring_alert_policy.no_success) == 0
    error_message = "paused = [\"all\"] left a job running, or an alert that waits for it"
  }
}

run "overrides" {
  command = plan
  variables {
    schedules  = { cleanupReports = "5~9 2 * * *", checkGhostCircles = "0 3 * * 1" }
    time_zones = { cleanupReports = "Europe/Berlin" }
    retries    = { cleanupReports = 0 }
    timeouts   = { cleanupReports = 1740 }
    paused     = ["checkGhostCircles"]
  }

  assert {
    condition     = can(regex("^[5-9] 2 \\* \\* \\*$", google_cloud_scheduler_job.job["cleanupReports"].schedule)) && google_cloud_scheduler_job.job["cleanupReports"].time_zone == "Europe/Berlin"
    error_message = "an override of schedule and time zone is not used: ${google_cloud_scheduler_job.job["cleanupReports"].schedule}"
  }
  assert {
    condition = { for name, job in module.job : name => job.function.service_config[0].environment_variables["SCHEDULE"] } == {
      for name, job in google_cloud_scheduler_job.job : name => "${job.schedule} ${job.time_zone}"
    } && !contains(keys(module.worker["deletePlaceholderUser"].function.service_config[0].environment_variables), "SCHEDULE")
    error_message = "a job does not say by which schedule it is called, or a worker does"
  }
  assert {
    condition     = google_cloud_scheduler_job.job["cleanExpiredComped"].schedule == trimsuffix(run.schedules.schedules["cleanExpiredComped"], " UTC")
    error_message = "the minute changed between two plans of one project"
  }
  assert {
    condition     = google_cloud_scheduler_job.job["checkGhostCircles"].schedule == "0 3 * * 1" && google_cloud_scheduler_job.job["checkGhostCircles"].time_zone == "Asia/Tokyo"
    error_message = "a job's override touched its time zone, or is not used"
  }
  assert {
    condition = (
      google_cloud_scheduler_job.job["cleanupReports"].retry_config[0].retry_count == 0
      && google_cloud_scheduler_job.job["cleanupReports"].attempt_deadline == "1770s"
      && google_cloud_scheduler_job.job["cleanupReports"].retry_config[0].min_backoff_duration == "1860s"
      && google_cloud_scheduler_job.job["checkGhostCircles"].retry_config[0].retry_count == local.functions["checkGhostCircles"].retryCount
    )
    error_message = "an override of retries or timeout is not used, or another job's is"
  }
  assert {
    condition     = [for name, job in google_cloud_scheduler_job.job : name if job.paused] == ["checkGhostCircles"]
    error_message = "exactly the job named must be paused"
  }
  assert {
    condition     = !contains(flatten(values(local.running)), "checkGhostCircles") && contains(local.running["requests"], "cleanupReports")
    error_message = "a paused job must not be reported for having no success, and others must"
  }
}
