# Everything here is made from the one summary line that each run logs, jsonPayload.report (see docs/operations.md).
locals {
  # service_name of the function in logs and metrics.
  service = { for name in keys(local.deployed) : name => lower(name) }

  distributions = {
    firesweep_duration_ms       = "durationMs"
    firesweep_firestore_reads   = "usage.firestoreReads"
    firesweep_firestore_deletes = "usage.firestoreDeletes"
    firesweep_storage_deletes   = "usage.storageDeletes"
  }

  # How long a job may be without success, in seconds: two periods, and what a run may take, and what the log may lag.
  silence = { for name, f in local.jobs : name => 2 * local.period[name] + f.timeoutSeconds + 600 }
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
}

# A run failed or was aborted, or ended without saying so: out of memory, out of time, not configured.
resource "google_monitoring_alert_policy" "failed" {
  for_each = local.jobs

  project               = var.project
  display_name          = "Firesweep: ${each.key} failed or was aborted"
  combiner              = "OR"
  severity              = "ERROR"
  notification_channels = var.notification_channels

  conditions {
    display_name = "A run failed or was aborted"
    condition_matched_log {
      filter = join(" AND ", [
        "resource.type=\"cloud_run_revision\"",
        "resource.labels.service_name=\"${local.service[each.key]}\"",
        "(jsonPayload.report.status=(\"failed\" OR \"aborted\") OR httpRequest.status>=500)",
      ])
    }
  }

  alert_strategy {
    auto_close = "86400s"
    # A failed run and its retries are one matter.
    notification_rate_limit {
      period = "3600s"
    }
  }

  documentation {
    mime_type = "text/markdown"
    content   = <<-TEXT
      A run of `${each.key}` failed, was aborted by a belt, or ended without a report.

      What to do: ${var.runbook_url}#failed-or-aborted

      ```
      resource.type="cloud_run_revision"
      resource.labels.service_name="${local.service[each.key]}"
      severity>=WARNING
      ```
    TEXT
    links {
      display_name = "Runbook: failed or aborted"
      url          = "${var.runbook_url}#failed-or-aborted"
    }
  }

  depends_on = [google_project_service.api]
}

# From here a job that was just deployed, or changed in a way that begins a new life, has two periods to succeed.
resource "time_static" "since" {
  for_each = local.jobs

  triggers = {
    dry_run  = tostring(lookup(var.dry_run, each.key, true))
    paused   = tostring(local.paused[each.key])
    schedule = "${local.crontab[each.key]} ${lookup(var.time_zones, each.key, each.value.timeZone)}"
  }
}

# In PromQL, because conditions on absent metrics look back 23.5 hours at most, and a daily job needs two days.
resource "google_monitoring_alert_policy" "no_success" {
  for_each = local.jobs

  project               = var.project
  display_name          = "Firesweep: ${each.key} had no success for two periods"
  enabled               = !local.paused[each.key]
  combiner              = "OR"
  severity              = "ERROR"
  notification_channels = var.notification_channels

  conditions {
    display_name = "No run ended completed or partial"
    condition_prometheus_query_language {
      # A preview is no success of a job that is to delete.
      query = join("", [
        "absent_over_time(logging_googleapis_com:user_${google_logging_metric.runs.name}{",
        "monitored_resource=\"cloud_run_revision\",function=\"${each.key}\",status=~\"completed|partial\"",
        lookup(var.dry_run, each.key, true) ? "" : ",dry_run=\"false\"",
        "}[${ceil(local.silence[each.key] / 60)}m])",
        " and on() (vector(time()) > ${time_static.since[each.key].unix + local.silence[each.key]})",
      ])
      duration = "0s"
      # The longer the look-back, the fewer evaluations Cloud Monitoring allows.
      evaluation_interval = local.silence[each.key] <= 25 * 3600 ? "60s" : local.silence[each.key] <= 8 * 86400 ? "300s" : "3600s"
      # Before the first run the metric does not exist.
      disable_metric_validation = true
    }
  }

  alert_strategy {
    auto_close = "604800s"
  }

  documentation {
    mime_type = "text/markdown"
    content   = <<-TEXT
      No run of `${each.key}` ended well within two periods: nothing is cleaned up.

      What to do: ${var.runbook_url}#no-success

      ```
      (resource.type="cloud_scheduler_job" AND resource.labels.job_id="${each.key}") OR
      (resource.type="cloud_run_revision" AND resource.labels.service_name="${local.service[each.key]}")
      ```
    TEXT
    links {
      display_name = "Runbook: no success"
      url          = "${var.runbook_url}#no-success"
    }
  }

  depends_on = [google_project_service.api]
}

# A single refused attempt is retried and harmless; one after another is not.
resource "google_monitoring_alert_policy" "worker" {
  for_each = local.workers

  project               = var.project
  display_name          = "Firesweep: ${each.key} keeps failing"
  combiner              = "OR"
  severity              = "ERROR"
  notification_channels = var.notification_channels

  conditions {
    display_name = "More than ${each.value.queue.maxAttempts} attempts failed within an hour"
    condition_threshold {
      filter = join(" AND ", [
        "resource.type=\"cloud_run_revision\"",
        "resource.labels.service_name=\"${local.service[each.key]}\"",
        "metric.type=\"run.googleapis.com/request_count\"",
        "metric.labels.response_code_class!=\"2xx\"",
      ])
      comparison      = "COMPARISON_GT"
      threshold_value = each.value.queue.maxAttempts
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
    content   = <<-TEXT
      Tasks of the queue `${each.key}` fail again and again. After ${each.value.queue.maxAttempts} attempts a task is dropped.

      What to do: ${var.runbook_url}#worker-keeps-failing

      ```
      resource.type="cloud_run_revision"
      resource.labels.service_name="${local.service[each.key]}"
      severity>=WARNING
      ```
    TEXT
    links {
      display_name = "Runbook: worker keeps failing"
      url          = "${var.runbook_url}#worker-keeps-failing"
    }
  }

  depends_on = [google_project_service.api]
}
