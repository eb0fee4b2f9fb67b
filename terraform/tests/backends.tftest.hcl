# Indexes, TTL, alerts and dashboard.
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

run "indexes" {
  command = plan

  assert {
    condition = toset(keys(google_firestore_index.index)) == toset([
      for i in jsondecode(file("../firestore.indexes.json")).indexes :
      "(default) ${i.collectionGroup} ${i.queryScope} ${join(" ", [for f in i.fields : "${f.fieldPath}:${try(f.order, f.arrayConfig)}"])}"
    ])
    error_message = "not every index of firestore.indexes.json is created: ${jsonencode(keys(google_firestore_index.index))}"
  }
  assert {
    condition = (
      google_firestore_index.index["(default) reports COLLECTION status:ASCENDING createdAt:ASCENDING"].collection == "reports"
      && [for f in google_firestore_index.index["(default) reports COLLECTION status:ASCENDING createdAt:ASCENDING"].fields : "${f.field_path} ${f.order}"] == ["status ASCENDING", "createdAt ASCENDING"]
    )
    error_message = "an index has other fields than the file says"
  }
  assert {
    condition = (
      [for f in google_firestore_field.run_retention : "${f.database} ${f.collection} ${f.field} ${length(f.ttl_config)}"] == ["(default) cleanupRuns expireAt 1"]
    )
    error_message = "reports of runs must expire"
  }
}

run "two_databases" {
  command = plan
  variables {
    databases = { deleteInactiveProjects = "gitlab", cleanupPlaceholderUsers = "gitlab" }
  }

  assert {
    condition     = length(google_firestore_index.index) == 2 * length(jsondecode(file("../firestore.indexes.json")).indexes)
    error_message = "each database in use needs the indexes, once"
  }
  assert {
    condition     = toset(keys(google_firestore_field.run_retention)) == toset(["(default)", "gitlab"])
    error_message = "reports of runs must expire in each database in use"
  }
}

run "alerts" {
  command = apply
  override_resource {
    target = time_static.since
    values = { unix = 1000000 }
  }

  assert {
    condition     = toset(keys(google_monitoring_alert_policy.failed)) == toset(local.job_names) && toset(keys(google_monitoring_alert_policy.no_success)) == toset(local.job_names)
    error_message = "each job has two alerts"
  }
  assert {
    condition = google_monitoring_alert_policy.failed["cleanupReports"].conditions[0].condition_matched_log[0].filter == join(" AND ", [
      "resource.type=\"cloud_run_revision\"", "resource.labels.service_name=\"cleanupreports\"",
      "(jsonPayload.report.status=(\"failed\" OR \"aborted\") OR httpRequest.status>=500)",
    ])
    error_message = "the alert on failures looks for something else"
  }
  assert {
    # Two days, the run's five minutes, and ten for the log: 2 * 1440 + 5 + 10 minutes. It deletes, so previews do not count.
    condition     = google_monitoring_alert_policy.no_success["cleanupReports"].conditions[0].condition_prometheus_query_language[0].query == "absent_over_time(logging_googleapis_com:user_firesweep_runs{monitored_resource=\"cloud_run_revision\",function=\"cleanupReports\",status=~\"completed|partial\",dry_run=\"false\"}[2895m]) and on() (vector(time()) > 1173700)"
    error_message = google_monitoring_alert_policy.no_success["cleanupReports"].conditions[0].condition_prometheus_query_language[0].query
  }
  assert {
    # A job that only plans succeeds by planning.
    condition     = !strcontains(google_monitoring_alert_policy.no_success["cleanupBannedUsers"].conditions[0].condition_prometheus_query_language[0].query, "dry_run=")
    error_message = "a job on dry run would always be reported"
  }
  assert {
    condition = { for name, a in google_monitoring_alert_policy.no_success : name => "${regex("\\[(.*)\\]", a.conditions[0].condition_prometheus_query_language[0].query)[0]} ${a.conditions[0].condition_prometheus_query_language[0].evaluation_interval}" } == {
      cleanupOrphanedMedia          = "2900m 300s"
      cleanupResolvedInquiries      = "2899m 300s"
      checkGhostCircles             = "2899m 300s"
      cleanupBannedUsers            = "2899m 300s"
      cleanupReports                = "2895m 300s"
      cleanExpiredComped            = "2899m 300s"
      deleteInactiveProjects        = "35m 60s"
      removeUnacceptedMemberInvites = "2899m 300s"
      cleanupPlaceholderUsers       = "2899m 300s"
    }
    error_message = "two periods: of a day, and of ten minutes for deleteInactiveProjects"
  }
  assert {
    condition = alltrue([
      for kind, policies in { "failed-or-aborted" = google_monitoring_alert_policy.failed, "no-success" = google_monitoring_alert_policy.no_success, "worker-keeps-failing" = google_monitoring_alert_policy.worker } : alltrue([
        for a in policies :
        a.documentation[0].links[0].url == "https://github.com/firesweep/firesweep/blob/main/docs/operations.md#${kind}" && strcontains(a.documentation[0].content, a.documentation[0].links[0].url)
      ])
    ])
    error_message = "an alert does not link to its part of the runbook"
  }
  assert {
    condition = alltrue([
      for kind in ["failed-or-aborted", "no-success", "worker-keeps-failing"] : strcontains(file("../docs/operations.md"), "\n### ${title(split("-", kind)[0])}${trimprefix(replace(kind, "-", " "), split("-", kind)[0])}\n")
    ]) && length(google_monitoring_alert_policy.worker) == 2
    error_message = "docs/operations.md has no section for an alert"
  }
}

run "alerts_of_weekly_and_frequent_schedules" {
  command = apply
  variables {
    schedules = {
      cleanupReports       = "0 3 * * 1"
      cleanupBannedUsers   = "0 3 1 * *"
      cleanupOrphanedMedia = "0 */6 * * *"
      checkGhostCircles    = "15 * * * *"
      cleanExpiredComped   = "* * * * *"
    }
    notification_channels = ["projects/my-app-1a2b3/notificationChannels/1234567890"]
  }

  assert {
    condition = { for name in ["cleanupReports", "cleanupBannedUsers", "cleanupOrphanedMedia", "checkGhostCircles", "cleanExpiredComped"] : name => local.period[name] } == {
      cleanupReports       = 604800
      cleanupBannedUsers   = 2678400
      cleanupOrphanedMedia = 21600
      checkGhostCircles    = 3600
      cleanExpiredComped   = 60
    }
    error_message = "periods: ${jsonencode(local.period)}"
  }
  assert {
    condition     = google_monitoring_alert_policy.no_success["cleanupReports"].conditions[0].condition_prometheus_query_language[0].evaluation_interval == "3600s"
    error_message = "a look-back of more than 8 days is evaluated every hour"
  }
  assert {
    condition     = alltrue([for a in concat(values(google_monitoring_alert_policy.failed), values(google_monitoring_alert_policy.no_success), values(google_monitoring_alert_policy.worker)) : a.notification_channels == tolist(["projects/my-app-1a2b3/notificationChannels/1234567890"])])
    error_message = "an alert goes nowhere"
  }
}

run "dashboard" {
  command = plan

  assert {
    condition     = length(jsondecode(google_monitoring_dashboard.firesweep.dashboard_json).mosaicLayout.tiles) == 6
    error_message = "runs, failures, deleted documents and files, billed reads, duration"
  }
  assert {
    condition     = length(distinct([for t in jsondecode(google_monitoring_dashboard.firesweep.dashboard_json).mosaicLayout.tiles : "${t.xPos} ${t.yPos}"])) == 6
    error_message = "two charts lie over each other"
  }
  assert {
    condition = alltrue([
      for t in jsondecode(google_monitoring_dashboard.firesweep.dashboard_json).mosaicLayout.tiles : alltrue([
        for m in flatten(regexall("user_([a-z_]+?)(?:_sum|_count)?\\{", t.widget.xyChart.dataSets[0].timeSeriesQuery.prometheusQuery)) :
        contains(concat(["firesweep_runs"], keys(google_logging_metric.distribution)), m)
      ])
    ])
    error_message = "a chart shows a metric that is not made"
  }
  assert {
    condition = { for name, m in google_logging_metric.distribution : name => m.value_extractor } == {
      firesweep_duration_ms       = "EXTRACT(jsonPayload.report.durationMs)"
      firesweep_firestore_reads   = "EXTRACT(jsonPayload.report.usage.firestoreReads)"
      firesweep_firestore_deletes = "EXTRACT(jsonPayload.report.usage.firestoreDeletes)"
      firesweep_storage_deletes   = "EXTRACT(jsonPayload.report.usage.storageDeletes)"
    }
    error_message = "a metric is extracted from another field than the report's"
  }
}
