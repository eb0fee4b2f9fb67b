locals {
  cron = { for name, f in local.jobs : name => lookup(var.schedules, name, f.schedule) }

  # A field a~b stands for a value from a to b that differs between projects and never changes within one. Cloud Scheduler
  # does not know this notation. Each field uses other digits of the hash, so that minute and hour are independent.
  crontab = {
    for name, cron in local.cron : name => join(" ", [
      for i, field in split(" ", cron) : can(regex("^[0-9]+~[0-9]+$", field)) ? tostring(
        tonumber(split("~", field)[0]) + parseint(substr(sha256("${var.project}/${name}"), 8 * i, 8), 16)
        % (tonumber(split("~", field)[1]) - tonumber(split("~", field)[0]) + 1)
      ) : field
    ])
  }

  time_zone = { for name, f in local.jobs : name => lookup(var.time_zones, name, f.timeZone) }
  called    = { for name, cron in local.crontab : name => "${cron} ${local.time_zone[name]}" }

  # The longest time between two runs, in seconds, for the alert on missing successes. Lists and ranges are rounded up:
  # weekdays only counts as a week.
  period = {
    for name, cron in local.crontab : name => (
      split(" ", cron)[4] != "*" ? 7 * 86400 :
      split(" ", cron)[2] != "*" ? 31 * 86400 :
      can(regex("^\\*/[0-9]+$", split(" ", cron)[1])) ? 3600 * tonumber(trimprefix(split(" ", cron)[1], "*/")) :
      split(" ", cron)[1] != "*" ? 86400 :
      split(" ", cron)[0] == "*" ? 60 :
      can(regex("^\\*/[0-9]+$", split(" ", cron)[0])) ? 60 * tonumber(trimprefix(split(" ", cron)[0], "*/")) :
      3600
    )
  }

  # The problems of a schedule: each part of each list in each field is checked.
  cron_fields = [
    { name = "minute", least = 0, most = 59 }, { name = "hour", least = 0, most = 23 },
    { name = "day of the month", least = 1, most = 31 }, { name = "month", least = 1, most = 12 },
    { name = "day of the week", least = 0, most = 6 },
  ]
  cron_problems = {
    for name, cron in local.cron : name => flatten([
      for i, field in split(" ", cron) : [
        for part in split(",", field) :
        join("", [
          "\"${part}\" is not a valid ${local.cron_fields[i].name}, which is a value from ${local.cron_fields[i].least} ",
          "to ${local.cron_fields[i].most}, or *, a range a-b or a~b with a not greater than b, ",
          "or one of * and a-b with a step such as /5",
        ])
        if !try(
          (can(regex("^((\\*|[0-9]+-[0-9]+)(/[1-9][0-9]?)?|[0-9]+)$", part)) || can(regex("^[0-9]+~[0-9]+$", field)))
          && alltrue([
            for n in regexall("[0-9]+", split("/", part)[0]) :
            tonumber(n) >= local.cron_fields[i].least && tonumber(n) <= local.cron_fields[i].most
          ])
          && alltrue([for r in regexall("([0-9]+)[-~]([0-9]+)", part) : tonumber(r[0]) <= tonumber(r[1])])
          && alltrue([for r in regexall("/([0-9]+)", part) : tonumber(r[0]) <= local.cron_fields[i].most]),
        false)
      ]
    ])
  }

  paused = { for name in keys(local.jobs) : name => length(setintersection(var.paused, [name, "all"])) > 0 }
}

resource "google_cloud_scheduler_job" "job" {
  for_each = local.jobs

  project     = var.project
  region      = local.scheduler_region
  name        = each.key
  description = each.value.description

  schedule  = local.crontab[each.key]
  time_zone = local.time_zone[each.key]
  paused    = local.paused[each.key]

  # The function ends by itself before its timeout. Cloud Scheduler waits a little longer, and at most 30 minutes.
  attempt_deadline = "${min(local.timeout[each.key] + 30, 1800)}s"

  retry_config {
    retry_count = lookup(var.retries, each.key, each.value.retryCount)
    # A run that crashed at its start holds its lease for its timeout and a minute. A retry within that time would be
    # skipped, which Cloud Scheduler counts as a success, so it would not try again.
    min_backoff_duration = "${60 * ceil((local.timeout[each.key] + 120) / 60)}s"
    max_backoff_duration = "3600s"
    max_doublings        = 2
  }

  http_target {
    uri         = module.job[each.key].function.service_config[0].uri
    http_method = "POST"

    oidc_token {
      service_account_email = google_service_account.scheduler_invoker.email
      audience              = module.job[each.key].function.service_config[0].uri
    }
  }

  lifecycle {
    precondition {
      condition     = length(local.cron_problems[each.key]) == 0
      error_message = "schedules, ${each.key}: ${join("; ", local.cron_problems[each.key])}."
    }
  }

  depends_on = [google_cloud_run_v2_service_iam_binding.caller]
}
