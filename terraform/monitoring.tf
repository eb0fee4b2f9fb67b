# The metric and most alerts are made from the summary line that each run logs, jsonPayload.report (see docs/operations.md). Each
# kind of alert is one policy for all functions, because Google charges for each: the label job says which function it is, as Cloud
# Run calls it, in lower case.
locals {
  # service_name of the function in logs and metrics.
  service = { for name in keys(local.deployed) : name => lower(name) }
  # A filter on the log has at most 2,048 characters, so a policy is for at most 20 functions.
  watched_jobs      = { for i, names in chunklist(keys(local.jobs), 20) : i => names }
  watched_functions = { for i, names in chunklist(keys(local.deployed), 20) : i => names }

  # How long a job may be without success, in seconds: two periods, the time of a run, and the delay of the log. On metrics
  # made from the log, alerts look back 25 hours at most, so a daily job has these 25 hours. Jobs that run less often are
  # watched through a metric of Cloud Run, on which alerts look back farther. So are daily jobs at night in a zone that puts clocks
  # forward: one night a year has no 02:30, and passes without a run.
  by_log = {
    for name, job in local.jobs : name => local.period[name] <= 86400 && !(
      can(regex("^[0-3]$", split(" ", local.crontab[name])[1])) && can(regex(
        "^(America|Antarctica|Atlantic|Australia|Europe|Pacific|Africa/C|Asia/(Beirut|Famagusta|Gaza|Hebron|Jerusalem|Nicosia))",
        local.time_zone[name],
      ))
    )
  }
  silence = {
    for name in keys(local.jobs) : name => (
      local.by_log[name] ? min(2 * local.period[name] + local.timeout[name] + 600, 25 * 3600) : local.period[name] + 86400
    )
  }
  # The jobs that run, by what their successes are found in. A preview is not a success of a job that deletes.
  running = { for name in keys(local.jobs) : local.by_log[name] ? "log" : "requests" => name... if !local.paused[name] }
  successes = {
    for name in keys(local.jobs) : name => join("", [
      local.by_log[name] ? "logging_googleapis_com:user_${google_logging_metric.runs.name}" : "run_googleapis_com:request_count",
      "{monitored_resource=\"cloud_run_revision\",",
      local.by_log[name] ? "status=~\"completed|partial\"," : "response_code_class=\"2xx\",",
      local.by_log[name] && !lookup(var.dry_run, name, true) ? "dry_run=\"false\"," : "",
      "service_name=~\"SERVICES\"}[${ceil(local.silence[name] / 60)}m]",
    ])
  }
  # The running jobs whose time for a success has passed, unless they had one. Correct whether Google reports nothing or 0 for what
  # did not happen.
  unsuccessful = {
    for kind, names in local.running : kind => join("", [
      "(", join(" or ", [
        for name in names : join("", [
          "label_replace(vector(${time_static.since[name].unix + local.silence[name]}),",
          " \"service_name\", \"${local.service[name]}\", \"\", \"\")",
        ])
        ]), ") < time() unless on(service_name) (", join(" or ", [
        for asked, services in { for name in names : local.successes[name] => local.service[name]... } :
        "sum by (service_name) (increase(${replace(asked, "SERVICES", join("|", services))})) >= 0.5"
      ]), ")",
    ])
  }
}

resource "google_logging_metric" "runs" {
  project = var.project
  name    = "firesweep_runs"
  filter  = "resource.type=\"cloud_run_revision\" AND jsonPayload.report.job:* AND jsonPayload.report.status:*"

  metric_descriptor {
    metric_kind = "DELTA"
    value_type  = "INT64"
    unit        = "1"
    labels {
      key = "function"
    }
    labels {
      key = "status"
    }
    labels {
      key = "dry_run"
    }
  }
  label_extractors = {
    function = "EXTRACT(jsonPayload.report.job)"
    status   = "EXTRACT(jsonPayload.report.status)"
    dry_run  = "EXTRACT(jsonPayload.report.dryRun)"
  }

  depends_on = [google_project_service.api]
}

# A run failed or was aborted, or ended without a report: out of memory, out of time, not configured. Previews do not count,
# so the alert does not look for the answer 500, which a failed preview has, too.
resource "google_monitoring_alert_policy" "failed" {
  for_each = local.watched_jobs

  project               = var.project
  display_name          = "Firesweep: a job failed or was aborted"
  combiner              = "OR"
  severity              = "ERROR"
  notification_channels = var.notification_channels
  user_labels           = var.labels

  conditions {
    display_name = "A run failed or was aborted"
    condition_matched_log {
      filter = join(" AND ", [
        "resource.type=\"cloud_run_revision\"",
        "resource.labels.service_name=~\"^(${join("|", [for name in each.value : local.service[name]])})$\"",
        "(${join(" OR ", [
          "(jsonPayload.report.status=(\"failed\" OR \"aborted\") AND NOT jsonPayload.report.dryRun=true)",
          "(severity>=ERROR AND jsonPayload.message=~\"( did not run:| panicked$)\")",
          "(severity>=ERROR AND logName=\"projects/${var.project}/logs/run.googleapis.com%2Fvarlog%2Fsystem\")",
          "httpRequest.status>=502",
        ])})",
      ])
      label_extractors = {
        job     = "EXTRACT(resource.labels.service_name)"
        run     = "EXTRACT(labels.runId)"
        status  = "EXTRACT(jsonPayload.report.status)"
        problem = "EXTRACT(jsonPayload.problem)"
        message = "EXTRACT(jsonPayload.message)"
      }
    }
  }

  alert_strategy {
    auto_close = "86400s"
    # A failed run and its retries raise one alert. A policy notifies at most 20 times a day: one job that fails every ten minutes
    # must not use that up.
    notification_rate_limit {
      period = "4500s"
    }
  }

  documentation {
    mime_type = "text/markdown"
    subject   = "Firesweep: $${log.extracted_label.job} failed or was aborted. $${log.extracted_label.problem}"
    content   = <<-TEXT
      Run `$${log.extracted_label.run}` of `$${log.extracted_label.job}` ended `$${log.extracted_label.status}`.

      First problem: $${log.extracted_label.problem}

      Log line: $${log.extracted_label.message}

      (A value is empty if the run ended without a report. Other jobs may have failed since the last such mail.)

      ${local.commands_of_run}
      ${local.commands["failed-or-aborted"]}

      ${local.runbook["failed-or-aborted"]}
    TEXT
    links {
      display_name = "Runbook: failed or aborted"
      url          = "${local.runbook_url}#failed-or-aborted"
    }
  }

  depends_on = [google_project_service.api]
}

# The time from which a job must have a success: when it was deployed, or when dry_run, paused or its schedule changed.
resource "time_static" "since" {
  for_each = local.jobs

  triggers = {
    dry_run  = tostring(lookup(var.dry_run, each.key, true))
    paused   = tostring(local.paused[each.key])
    schedule = local.called[each.key]
  }
}

# In PromQL, because conditions on absent metrics look back 23.5 hours at most. One policy for the jobs that are watched by their
# log, and one for the others, if any.
resource "google_monitoring_alert_policy" "no_success" {
  for_each = local.running

  project               = var.project
  display_name          = "Firesweep: a job had no success in time${each.key == "log" ? "" : " (jobs that run less than daily, or at night where clocks change)"}"
  combiner              = "OR"
  severity              = "ERROR"
  notification_channels = var.notification_channels
  user_labels           = var.labels

  conditions {
    display_name = each.key == "log" ? "No run ended completed or partial" : "No call was answered 2xx"
    condition_prometheus_query_language {
      query    = local.unsuccessful[each.key]
      duration = "0s"
      # The longer the look-back, the fewer evaluations Cloud Monitoring allows.
      evaluation_interval = max([for name in each.value : local.silence[name]]...) <= 8 * 86400 ? "300s" : "3600s"
      # Before the first run the metric does not exist.
      disable_metric_validation = true
    }
  }

  alert_strategy {
    auto_close = "604800s"
  }

  documentation {
    mime_type = "text/markdown"
    subject   = "Firesweep: $${metric_or_resource.label.service_name} had no success in time"
    content   = <<-TEXT
      No run of `$${metric_or_resource.label.service_name}` ended well in time.

      ${local.commands["no-success"]}

      ${local.runbook["no-success"]}
    TEXT
    links {
      display_name = "Runbook: no success"
      url          = "${local.runbook_url}#no-success"
    }
  }

  depends_on = [google_project_service.api]
}

# No run failed, but somebody should look: a job does not keep up, an account cannot be deleted, or a task was dropped. The last
# attempt of a task shows in the log of Cloud Tasks, which writes the count as a text.
resource "google_monitoring_alert_policy" "attention" {
  for_each = local.watched_functions

  project               = var.project
  display_name          = "Firesweep: a job needs attention"
  combiner              = "OR"
  severity              = "WARNING"
  notification_channels = var.notification_channels
  user_labels           = var.labels

  conditions {
    display_name = "A log line carries an alert, or a task failed for the last time"
    condition_matched_log {
      filter = join(" OR ", concat(
        [join("", [
          "(resource.type=\"cloud_run_revision\" AND jsonPayload.alert=~\".+\" AND NOT jsonPayload.report.dryRun=true",
          " AND resource.labels.service_name=~\"^(${join("|", [for name in each.value : local.service[name]])})$\")",
        ])],
        [for name in each.value : join("", [
          "(resource.type=\"cloud_tasks_queue\" AND resource.labels.queue_id=\"${name}${var.queue_suffix}\"",
          " AND NOT jsonPayload.attemptResponseLog.status=\"OK\"",
          " AND jsonPayload.attemptResponseLog.dispatchCount=\"${local.workers[name].queue.maxAttempts}\")",
        ]) if can(local.workers[name])],
      ))
      label_extractors = {
        job     = "EXTRACT(resource.labels.service_name)"
        run     = "EXTRACT(labels.runId)"
        alert   = "EXTRACT(jsonPayload.alert)"
        message = "EXTRACT(jsonPayload.message)"
        queue   = "EXTRACT(resource.labels.queue_id)"
        task    = "EXTRACT(jsonPayload.task)"
        status  = "EXTRACT(jsonPayload.attemptResponseLog.status)"
      }
    }
  }

  alert_strategy {
    auto_close = "604800s"
    # A job that does not keep up now will not keep up in an hour.
    notification_rate_limit {
      period = "14400s"
    }
  }

  documentation {
    mime_type = "text/markdown"
    # The line is of a function or of a queue, and the labels of the other are empty.
    subject = join("", [
      "Firesweep: $${log.extracted_label.job}$${log.extracted_label.queue} needs attention: ",
      "$${log.extracted_label.alert}$${log.extracted_label.status}",
    ])
    content = <<-TEXT
      Run `$${log.extracted_label.run}` of `$${log.extracted_label.job}` raised `$${log.extracted_label.alert}`:

      $${log.extracted_label.message}

      Or, if all of that is empty, the queue `$${log.extracted_label.queue}` dropped a task, last answered
      `$${log.extracted_label.status}`: `$${log.extracted_label.task}`

      ${local.commands_of_run}
      ${local.commands["needs-attention"]}

      ${local.runbook["needs-attention"]}
    TEXT
    links {
      display_name = "Runbook: needs attention"
      url          = "${local.runbook_url}#needs-attention"
    }
  }

  depends_on = [google_project_service.api]
}

# A single failed attempt is retried and harmless. Many in a row are not.
resource "google_monitoring_alert_policy" "worker" {
  count = length(local.workers) > 0 ? 1 : 0

  project               = var.project
  display_name          = "Firesweep: a worker keeps failing"
  combiner              = "OR"
  severity              = "ERROR"
  notification_channels = var.notification_channels
  user_labels           = var.labels

  conditions {
    display_name = "More than 10 attempts failed within an hour"
    condition_threshold {
      filter = join(" AND ", [
        "resource.type=\"cloud_run_revision\"",
        "resource.labels.service_name=one_of(${join(", ", [for name in keys(local.workers) : "\"${local.service[name]}\""])})",
        "metric.type=\"run.googleapis.com/request_count\"",
        "metric.labels.response_code_class!=\"2xx\"",
      ])
      comparison      = "COMPARISON_GT"
      threshold_value = 10
      duration        = "0s"
      aggregations {
        alignment_period     = "3600s"
        per_series_aligner   = "ALIGN_DELTA"
        cross_series_reducer = "REDUCE_SUM"
        group_by_fields      = ["resource.label.service_name"]
      }
    }
  }

  alert_strategy {
    auto_close = "86400s"
  }

  documentation {
    mime_type = "text/markdown"
    subject   = "Firesweep: $${resource.label.service_name} keeps failing"
    content   = <<-TEXT
      Tasks for `$${resource.label.service_name}` fail again and again.

      ${local.commands["worker-keeps-failing"]}

      ${local.runbook["worker-keeps-failing"]}
    TEXT
    links {
      display_name = "Runbook: worker keeps failing"
      url          = "${local.runbook_url}#worker-keeps-failing"
    }
  }

  depends_on = [google_project_service.api]
}
