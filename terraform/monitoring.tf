# Metrics and most alerts are made from the summary line that each run logs, jsonPayload.report (see docs/operations.md).
locals {
  # service_name of the function in logs and metrics.
  service = { for name in keys(local.deployed) : name => lower(name) }

  distributions = {
    firesweep_duration_ms       = "durationMs"
    firesweep_firestore_reads   = "usage.firestoreReads"
    firesweep_firestore_deletes = "usage.firestoreDeletes"
    firesweep_storage_deletes   = "usage.storageDeletes"
  }

  # How long a job may be without success, in seconds: two periods, the time of a run, and the delay of the log. On metrics
  # made from the log, alerts look back 25 hours at most, so a daily job has these 25 hours. Jobs that run less often are
  # watched through a metric of Cloud Run, on which alerts look back farther.
  by_log = { for name in keys(local.jobs) : name => local.period[name] <= 86400 }
  silence = {
    for name in keys(local.jobs) : name => (
      local.by_log[name] ? min(2 * local.period[name] + local.timeout[name] + 600, 25 * 3600) : local.period[name] + 86400
    )
  }
  successes = {
    for name in keys(local.jobs) : name => local.by_log[name] ? join("", [
      "logging_googleapis_com:user_${google_logging_metric.runs.name}{monitored_resource=\"cloud_run_revision\",",
      "function=\"${name}\",status=~\"completed|partial\"",
      # A preview is not a success of a job that deletes.
      lookup(var.dry_run, name, true) ? "" : ",dry_run=\"false\"",
      "}",
      ]) : join("", [
      "run_googleapis_com:request_count{monitored_resource=\"cloud_run_revision\",",
      "service_name=\"${local.service[name]}\",response_code_class=\"2xx\"}",
    ])
  }

  # An alert's mail contains its section of the runbook, because at night a link may not work. Tables become lists, which all
  # channels can show, and links become absolute.
  runbook_page = file("${path.module}/../docs/operations.md")
  runbook_sections = {
    failed-or-aborted    = regex("(?s)\n### Failed or aborted\n\n(.+?)\n##", local.runbook_page)[0]
    no-success           = regex("(?s)\n### No success\n\n(.+?)\n##", local.runbook_page)[0]
    needs-attention      = regex("(?s)\n### Needs attention\n\n(.+?)\n##", local.runbook_page)[0]
    worker-keeps-failing = regex("(?s)\n### Worker keeps failing\n\n(.+?)\n##", local.runbook_page)[0]
    task-dropped         = regex("(?s)\n### Task dropped\n\n(.+?)\n##", local.runbook_page)[0]
  }
  runbook = {
    for name in keys(local.deployed) : name => {
      for kind, section in local.runbook_sections : kind => join("\n\n", [
        replace(replace(replace(replace(replace(
          section,
          "/(?m)^\\|[^|]*\\|[^|]*\\|\n\\|---\\|---\\|\n/", ""),
          "/(?m)^\\| (.+?) \\| (.+) \\|$/", "- $1: $2"),
          "](#", "](${var.runbook_url}#"),
          # The account of the tasks of this job, or of the job whose tasks this worker does.
          "`JOB-tasks` in lower case", try("`${google_service_account.tasks_invoker[lookup(local.job_of, name, name)].account_id}`", "none")),
        "/\\b(JOB|WORKER) in lower case/", local.service[name]),
        join("", [
          "Project `${var.project}`, region `${var.region}`, function `${name}`, database `${local.database[name]}`. ",
          "Runbook: ${var.runbook_url}#${kind}",
        ]),
      ])
    }
  }

  # What is typed at night, whole: at that hour nobody fills in placeholders. A worker's tasks are held back by its queue.
  command_options = { for name in keys(local.deployed) : name => "--project ${var.project} --location ${local.scheduler_region}" }
  tasks_option    = local.tasks_region == local.scheduler_region ? "" : " --tasks-location ${local.tasks_region}"
  command_environment = {
    for name in keys(local.jobs) : name => join("", [
      local.database[name] == "(default)" ? "" : "FIRESTORE_DATABASE=${local.database[name]} ",
      can(local.jobs[name].roles.storage) ? "STORAGE_BUCKET=${var.bucket} " : "",
    ])
  }
  commands = {
    for name in keys(local.deployed) : name => join("\n", contains(keys(local.jobs), name) ? [
      "- the last runs: `${local.command_environment[name]}firesweep runs --project ${var.project} ${name}`",
      "- pause it, and stop what runs: `${local.command_environment[name]}firesweep pause ${local.command_options[name]}${local.tasks_option} ${name}`",
      "- see its whole plan, writing nothing: `${local.command_environment[name]}firesweep plan --project ${var.project} --force ${name}`",
      "- only if all of that is right, run it without its limits: `firesweep run ${local.command_options[name]} --force ${name}`",
      ] : [
      "- hold its tasks back: `gcloud tasks queues pause ${google_cloud_tasks_queue.worker[name].name} --project=${var.project} --location=${local.tasks_region}`",
    ])
  }
  # Of the run that the log line names. A line of the platform names none.
  commands_of_run = {
    for name in keys(local.deployed) : name => join("\n", [
      "- this run: `${lookup(local.command_environment, name, "")}firesweep show --project ${var.project} $${log.extracted_label.run}`",
      join("", [
        "- its log: https://console.cloud.google.com/logs/query;query=labels.runId%3D%22$${log.extracted_label.run}%22;",
        "duration=P2D?project=${var.project}",
      ]),
      local.commands[name],
      "",
      "`firesweep` is `go run ./scripts/firesweep` in the repository.",
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

resource "google_logging_metric" "distribution" {
  for_each = local.distributions

  project         = var.project
  name            = each.key
  filter          = google_logging_metric.runs.filter
  value_extractor = "EXTRACT(jsonPayload.report.${each.value})"

  metric_descriptor {
    metric_kind = "DELTA"
    value_type  = "DISTRIBUTION"
    unit        = "1"
    labels {
      key = "function"
    }
  }
  label_extractors = { function = "EXTRACT(jsonPayload.report.job)" }

  # Only sums and counts are shown, for which any layout will do. Without one, Google would choose.
  bucket_options {
    explicit_buckets {
      bounds = [1, 10, 100, 1000, 10000, 100000, 1000000]
    }
  }
}

# A run failed or was aborted, or ended without a report: out of memory, out of time, not configured. Previews do not count,
# so the alert does not look for the answer 500, which a failed preview has, too.
resource "google_monitoring_alert_policy" "failed" {
  for_each = local.jobs

  project               = var.project
  display_name          = "Firesweep: ${each.key} failed or was aborted"
  combiner              = "OR"
  severity              = "ERROR"
  notification_channels = var.notification_channels
  user_labels           = var.labels

  conditions {
    display_name = "A run failed or was aborted"
    condition_matched_log {
      filter = join(" AND ", [
        "resource.type=\"cloud_run_revision\"",
        "resource.labels.service_name=\"${local.service[each.key]}\"",
        "(${join(" OR ", [
          "(jsonPayload.report.status=(\"failed\" OR \"aborted\") AND NOT jsonPayload.report.dryRun=true)",
          "(severity>=ERROR AND jsonPayload.message=~\"( did not run:| panicked$)\")",
          "(severity>=ERROR AND logName=\"projects/${var.project}/logs/run.googleapis.com%2Fvarlog%2Fsystem\")",
          "httpRequest.status>=502",
        ])})",
      ])
      label_extractors = {
        run     = "EXTRACT(labels.runId)"
        status  = "EXTRACT(jsonPayload.report.status)"
        problem = "EXTRACT(jsonPayload.problem)"
        message = "EXTRACT(jsonPayload.message)"
      }
    }
  }

  alert_strategy {
    auto_close = "86400s"
    # A failed run and its retries raise one alert.
    notification_rate_limit {
      period = "3600s"
    }
  }

  documentation {
    mime_type = "text/markdown"
    subject   = "Firesweep: ${each.key} failed or was aborted. $${log.extracted_label.problem}"
    content   = <<-TEXT
      Run `$${log.extracted_label.run}` of `${each.key}` ended `$${log.extracted_label.status}`.

      First problem: $${log.extracted_label.problem}

      Log line: $${log.extracted_label.message}

      (A value is empty if the run ended without a report.)

      ${local.commands_of_run[each.key]}

      ${local.runbook[each.key]["failed-or-aborted"]}
    TEXT
    links {
      display_name = "Runbook: failed or aborted"
      url          = "${var.runbook_url}#failed-or-aborted"
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
    schedule = "${local.crontab[each.key]} ${lookup(var.time_zones, each.key, each.value.timeZone)}"
  }
}

# In PromQL, because conditions on absent metrics look back 23.5 hours at most.
resource "google_monitoring_alert_policy" "no_success" {
  for_each = local.jobs

  project               = var.project
  display_name          = "Firesweep: ${each.key} had no success in time"
  enabled               = !local.paused[each.key]
  combiner              = "OR"
  severity              = "ERROR"
  notification_channels = var.notification_channels
  user_labels           = var.labels

  conditions {
    display_name = local.by_log[each.key] ? "No run ended completed or partial" : "No call was answered 2xx"
    condition_prometheus_query_language {
      # Correct whether Google reports nothing or 0 for what did not happen.
      query = join("", [
        "((sum(increase(${local.successes[each.key]}[${ceil(local.silence[each.key] / 60)}m])) or on() vector(0)) < 0.5)",
        " and on() (vector(time()) > ${time_static.since[each.key].unix + local.silence[each.key]})",
      ])
      duration = "0s"
      # The longer the look-back, the fewer evaluations Cloud Monitoring allows.
      evaluation_interval = (
        local.silence[each.key] <= 6 * 3600 ? "60s" : local.silence[each.key] <= 8 * 86400 ? "300s" : "3600s"
      )
      # Before the first run the metric does not exist.
      disable_metric_validation = true
    }
  }

  alert_strategy {
    auto_close = "604800s"
  }

  documentation {
    mime_type = "text/markdown"
    subject   = "Firesweep: ${each.key} had no success in ${ceil(local.silence[each.key] / 60)} minutes"
    content   = <<-TEXT
      No run of `${each.key}` (${local.crontab[each.key]} ${lookup(var.time_zones, each.key, each.value.timeZone)}) ended well in ${ceil(local.silence[each.key] / 60)} minutes.

      ${local.commands[each.key]}

      ${local.runbook[each.key]["no-success"]}
    TEXT
    links {
      display_name = "Runbook: no success"
      url          = "${var.runbook_url}#no-success"
    }
  }

  depends_on = [google_project_service.api]
}

# No run failed, but somebody should look: a job does not keep up, or an account cannot be deleted.
resource "google_monitoring_alert_policy" "attention" {
  for_each = local.deployed

  project               = var.project
  display_name          = "Firesweep: ${each.key} needs attention"
  combiner              = "OR"
  severity              = "WARNING"
  notification_channels = var.notification_channels
  user_labels           = var.labels

  conditions {
    display_name = "A log line carries an alert"
    condition_matched_log {
      filter = join(" AND ", [
        "resource.type=\"cloud_run_revision\"",
        "resource.labels.service_name=\"${local.service[each.key]}\"",
        "jsonPayload.alert=~\".+\"",
        "NOT jsonPayload.report.dryRun=true",
      ])
      label_extractors = {
        run     = "EXTRACT(labels.runId)"
        alert   = "EXTRACT(jsonPayload.alert)"
        message = "EXTRACT(jsonPayload.message)"
      }
    }
  }

  alert_strategy {
    auto_close = "604800s"
    # A job that does not keep up today will not keep up in an hour.
    notification_rate_limit {
      period = "86400s"
    }
  }

  documentation {
    mime_type = "text/markdown"
    subject   = "Firesweep: ${each.key}: $${log.extracted_label.alert}"
    content   = <<-TEXT
      `$${log.extracted_label.alert}`, raised by run `$${log.extracted_label.run}` of `${each.key}`: $${log.extracted_label.message}

      ${local.commands_of_run[each.key]}

      ${local.runbook[each.key]["needs-attention"]}
    TEXT
    links {
      display_name = "Runbook: needs attention"
      url          = "${var.runbook_url}#needs-attention"
    }
  }

  depends_on = [google_project_service.api]
}

# A single failed attempt is retried and harmless. Many in a row are not.
resource "google_monitoring_alert_policy" "worker" {
  for_each = local.workers

  project               = var.project
  display_name          = "Firesweep: ${each.key} keeps failing"
  combiner              = "OR"
  severity              = "ERROR"
  notification_channels = var.notification_channels
  user_labels           = var.labels

  conditions {
    display_name = "More than 10 attempts failed within an hour"
    condition_threshold {
      filter = join(" AND ", [
        "resource.type=\"cloud_run_revision\"",
        "resource.labels.service_name=\"${local.service[each.key]}\"",
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
      }
    }
  }

  alert_strategy {
    auto_close = "86400s"
  }

  documentation {
    mime_type = "text/markdown"
    subject   = "Firesweep: ${each.key} keeps failing"
    content   = <<-TEXT
      Tasks of the queue `${google_cloud_tasks_queue.worker[each.key].name}` fail again and again.

      ${local.commands[each.key]}

      ${local.runbook[each.key]["worker-keeps-failing"]}
    TEXT
    links {
      display_name = "Runbook: worker keeps failing"
      url          = "${var.runbook_url}#worker-keeps-failing"
    }
  }

  depends_on = [google_project_service.api]
}

# A single poisoned task never fails ten times an hour: its attempts are too far apart. Its last attempt shows in the log of
# Cloud Tasks, which writes the count as a text.
resource "google_monitoring_alert_policy" "task_dropped" {
  for_each = local.workers

  project               = var.project
  display_name          = "Firesweep: a task of ${each.key} was dropped"
  combiner              = "OR"
  severity              = "WARNING"
  notification_channels = var.notification_channels
  user_labels           = var.labels

  conditions {
    display_name = "The last of ${each.value.queue.maxAttempts} attempts failed"
    condition_matched_log {
      filter = join(" AND ", [
        "resource.type=\"cloud_tasks_queue\"",
        "resource.labels.queue_id=\"${google_cloud_tasks_queue.worker[each.key].name}\"",
        "jsonPayload.attemptResponseLog.dispatchCount=\"${each.value.queue.maxAttempts}\"",
        "NOT jsonPayload.attemptResponseLog.status=\"OK\"",
      ])
      label_extractors = {
        task   = "EXTRACT(jsonPayload.task)"
        status = "EXTRACT(jsonPayload.attemptResponseLog.status)"
      }
    }
  }

  alert_strategy {
    auto_close = "86400s"
    notification_rate_limit {
      period = "3600s"
    }
  }

  documentation {
    mime_type = "text/markdown"
    subject   = "Firesweep: a task of ${each.key} was dropped: $${log.extracted_label.status}"
    content   = <<-TEXT
      The last of ${each.value.queue.maxAttempts} attempts was answered `$${log.extracted_label.status}`. Task: `$${log.extracted_label.task}`

      ${local.runbook[each.key]["task-dropped"]}
    TEXT
    links {
      display_name = "Runbook: task dropped"
      url          = "${var.runbook_url}#task-dropped"
    }
  }

  depends_on = [google_project_service.api]
}
