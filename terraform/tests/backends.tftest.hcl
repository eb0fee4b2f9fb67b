# Indexes, TTL, alerts and dashboard.
mock_provider "google" {
  source = "./tests/mocks"
}
mock_provider "archive" {}
mock_provider "time" {}

variables {
  # Every other job only plans.
  dry_run = {
    for i, name in [for f in jsondecode(file("../functions/manifest.json")).functions : f.name if try(f.trigger, "schedule") == "schedule"] : name => i % 2 == 0
  }
}

run "indexes" {
  command = plan

  assert {
    # Those of your own rules need not stand in the file.
    condition = alltrue([
      for file in [toset([
        for i in jsondecode(file("../firestore.indexes.json")).indexes :
        "(default) ${i.collectionGroup} ${i.queryScope} ${join(" ", [for f in i.fields : "${f.fieldPath}:${try(f.order, f.arrayConfig)}"])}"
      ])] :
      length(setsubtract(file, keys(google_firestore_index.index))) == 0 && (length(local.own) > 0 || toset(keys(google_firestore_index.index)) == file)
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
    condition = alltrue([
      for file in [{
        for o in jsondecode(file("../firestore.indexes.json")).fieldOverrides : "(default) ${o.collectionGroup} ${o.fieldPath}" => [length(o.indexes)] if !try(o.ttl, false)
      }] :
      { for key, o in google_firestore_field.override : key => [for c in o.index_config : length(c.indexes)] if length(local.own) == 0 || contains(keys(file), key) } == file && length(file) > 0
    ])
    error_message = "fields that nobody asks for are indexed: ${jsonencode(keys(google_firestore_field.override))}"
  }
  assert {
    condition     = alltrue([for i in google_firestore_index.index : i.timeouts.create == "4h"])
    error_message = "an index of a large collection takes longer than the provider waits"
  }
  assert {
    condition = (
      [for f in google_firestore_field.run_retention : "${f.database} ${f.collection} ${f.field} ${length(f.ttl_config)}"] == ["(default) cleanupRuns expireAt 1"]
    )
    error_message = "reports of runs must expire"
  }
  assert {
    condition = toset(concat(
      [for f in google_firestore_field.run_retention : "${f.collection}.${f.field}"], [for f in google_firestore_field.undo_retention : "${f.collection}.${f.field}"],
    )) == toset([for o in jsondecode(file("../firestore.indexes.json")).fieldOverrides : "${o.collectionGroup}.${o.fieldPath}" if try(o.ttl, false)])
    error_message = "firestore.indexes.json has other TTL policies: the Firebase CLI would change what Terraform makes"
  }
  assert {
    condition = (
      [for f in google_firestore_field.undo_retention : "${f.database} ${f.collection} ${f.field} ${length(f.ttl_config)}"] == ["(default) cleanupUndo expireAt 1"]
    )
    error_message = "what is kept of runs must expire"
  }
}

run "only_what_is_needed_where_it_is_needed" {
  command = plan
  variables {
    enabled   = ["cleanupReports", "cleanupResolvedInquiries", "cleanExpiredComped", "deleteInactiveProjects"]
    dry_run   = { cleanupReports = true, cleanupResolvedInquiries = true, cleanExpiredComped = true, deleteInactiveProjects = true }
    databases = { cleanupResolvedInquiries = "support", cleanExpiredComped = "ghost", deleteInactiveProjects = "gitlab" }
  }

  assert {
    condition = toset(keys(google_firestore_index.index)) == toset([
      "(default) reports COLLECTION status:ASCENDING createdAt:ASCENDING",
      "support inquiries COLLECTION status:ASCENDING resolvedAt:ASCENDING",
    ])
    error_message = "an enabled job's index is missing, or another's is made: ${jsonencode(keys(google_firestore_index.index))}"
  }
  assert {
    condition = toset([for o in google_firestore_field.override : "${o.database} ${o.collection}"]) == toset([
      "(default) cleanupUndo", "support archivedInquiries", "support cleanupUndo", "support earlier", "support journal", "ghost cleanupUndo", "ghost journal",
      "gitlab cleanupUndo", "gitlab journal",
    ])
    error_message = "fields are exempted in a database that does not have them"
  }
  assert {
    condition = alltrue([
      for fields in [google_firestore_field.run_retention, google_firestore_field.undo_retention] :
      toset(keys(fields)) == toset(["(default)", "support", "ghost", "gitlab"])
    ])
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
    condition = alltrue([
      for policies in [google_monitoring_alert_policy.failed, google_monitoring_alert_policy.no_success] : toset(keys(policies)) == toset(local.job_names)
      ]) && toset(keys(google_monitoring_alert_policy.attention)) == toset(keys(local.functions)) && alltrue([
      for policies in [google_monitoring_alert_policy.worker, google_monitoring_alert_policy.task_dropped] : toset(keys(policies)) == setsubtract(keys(local.functions), local.job_names)
    ])
    error_message = "each job and each worker has its alerts"
  }
  assert {
    condition = google_monitoring_alert_policy.failed["cleanupReports"].conditions[0].condition_matched_log[0].filter == join(" AND ", [
      "resource.type=\"cloud_run_revision\"", "resource.labels.service_name=\"cleanupreports\"",
      "((jsonPayload.report.status=(\"failed\" OR \"aborted\") AND NOT jsonPayload.report.dryRun=true) OR (severity>=ERROR AND jsonPayload.message=~\"( did not run:| panicked$)\") OR (severity>=ERROR AND logName=\"projects/my-app-1a2b3/logs/run.googleapis.com%2Fvarlog%2Fsystem\") OR httpRequest.status>=502)",
    ])
    error_message = google_monitoring_alert_policy.failed["cleanupReports"].conditions[0].condition_matched_log[0].filter
  }
  assert {
    condition = google_monitoring_alert_policy.attention["cleanupBannedUsers"].conditions[0].condition_matched_log[0].filter == join(" AND ", [
      "resource.type=\"cloud_run_revision\"", "resource.labels.service_name=\"cleanupbannedusers\"", "jsonPayload.alert=~\".+\"", "NOT jsonPayload.report.dryRun=true",
    ])
    error_message = google_monitoring_alert_policy.attention["cleanupBannedUsers"].conditions[0].condition_matched_log[0].filter
  }
  assert {
    condition = google_monitoring_alert_policy.task_dropped["deletePlaceholderUser"].conditions[0].condition_matched_log[0].filter == join(" AND ", [
      "resource.type=\"cloud_tasks_queue\"", "resource.labels.queue_id=\"deletePlaceholderUser\"",
      "jsonPayload.attemptResponseLog.dispatchCount=\"25\"", "NOT jsonPayload.attemptResponseLog.status=\"OK\"",
    ])
    error_message = google_monitoring_alert_policy.task_dropped["deletePlaceholderUser"].conditions[0].condition_matched_log[0].filter
  }
  assert {
    # Two days would be more than is looked back on, so a day and an hour. A job on dry run succeeds by planning.
    condition = google_monitoring_alert_policy.no_success["cleanupReports"].conditions[0].condition_prometheus_query_language[0].query == join("", [
      "((sum(increase(logging_googleapis_com:user_firesweep_runs{monitored_resource=\"cloud_run_revision\",function=\"cleanupReports\",status=~\"completed|partial\"",
      var.dry_run["cleanupReports"] ? "" : ",dry_run=\"false\"",
      "}[1500m])) or on() vector(0)) < 0.5) and on() (vector(time()) > 1090000)",
    ])
    error_message = google_monitoring_alert_policy.no_success["cleanupReports"].conditions[0].condition_prometheus_query_language[0].query
  }
  assert {
    condition = alltrue([
      for name, a in google_monitoring_alert_policy.no_success :
      strcontains(a.conditions[0].condition_prometheus_query_language[0].query, ",dry_run=\"false\"") != lookup(var.dry_run, name, true)
    ]) && contains(values(var.dry_run), true) && contains(values(var.dry_run), false)
    error_message = "a preview is no success of a job that is to delete, and the only one of a job that only plans"
  }
  assert {
    condition = alltrue([
      for kind, policies in {
        "failed-or-aborted"    = google_monitoring_alert_policy.failed
        "no-success"           = google_monitoring_alert_policy.no_success
        "needs-attention"      = google_monitoring_alert_policy.attention
        "worker-keeps-failing" = google_monitoring_alert_policy.worker
        "task-dropped"         = google_monitoring_alert_policy.task_dropped
        } : alltrue([
          for name, a in policies :
          a.documentation[0].links[0].url == "https://github.com/firesweep/firesweep/blob/main/docs/operations.md#${kind}"
          && strcontains(a.documentation[0].content, a.documentation[0].links[0].url)
          # Whether it can wait, and the table, as a list with absolute links, for this function.
          && strcontains(a.documentation[0].content, "**It can wait") && length(regexall("\n- .+: .+", a.documentation[0].content)) >= 2
          && length(regexall("(?m)^\\||\\]\\(#|in lower case", a.documentation[0].content)) == 0
          && length(a.documentation[0].subject) <= 255 && strcontains(a.documentation[0].subject, name)
          # Cloud Monitoring takes 8192 characters and 10240 bytes.
          && length(a.documentation[0].content) <= 8192 && length(base64encode(a.documentation[0].content)) / 4 * 3 <= 10240
      ])
    ])
    error_message = "an alert's mail does not say what to do: ${google_monitoring_alert_policy.no_success["cleanupReports"].documentation[0].content}"
  }
  assert {
    # What the mail names is extracted from the line that raised the alert.
    condition = alltrue([
      for a in concat(values(google_monitoring_alert_policy.failed), values(google_monitoring_alert_policy.attention), values(google_monitoring_alert_policy.task_dropped)) :
      toset(flatten(regexall("\\$\\{log\\.extracted_label\\.([a-z]+)\\}", "${a.documentation[0].subject} ${a.documentation[0].content}"))) == toset(keys(a.conditions[0].condition_matched_log[0].label_extractors))
    ])
    error_message = "a mail names a label that is not extracted, or one is extracted in vain"
  }
  assert {
    condition = google_monitoring_alert_policy.failed["cleanupReports"].conditions[0].condition_matched_log[0].label_extractors == tomap({
      run     = "EXTRACT(labels.runId)"
      status  = "EXTRACT(jsonPayload.report.status)"
      problem = "EXTRACT(jsonPayload.problem)"
      message = "EXTRACT(jsonPayload.message)"
    })
    error_message = "the mail about a failed run names something else than run, status and problem"
  }
}

run "alerts_bring_their_commands" {
  command = apply
  override_resource {
    target = time_static.since
    values = { unix = 1000000 }
  }
  assert {
    # No subject ends with a colon or dash and nothing behind it where a line names no problem.
    condition = alltrue([
      for a in values(google_monitoring_alert_policy.failed) : endswith(a.documentation[0].subject, " failed or was aborted. $${log.extracted_label.problem}")
    ])
    error_message = google_monitoring_alert_policy.failed["cleanupReports"].documentation[0].subject
  }
  assert {
    condition = alltrue([
      for name, a in google_monitoring_alert_policy.failed : alltrue([
        for part in [
          "firesweep show --project ${var.project} $${log.extracted_label.run}`", "query=labels.runId%3D%22$${log.extracted_label.run}%22;",
          "firesweep pause --project ${var.project} --location ${var.region} ${name}`", "firesweep plan --project ${var.project} --force ${name}`",
          "firesweep run --project ${var.project} --location ${var.region} --force ${name}`",
        ] : strcontains(a.documentation[0].content, part)
      ])
    ])
    error_message = google_monitoring_alert_policy.failed["cleanupReports"].documentation[0].content
  }
  assert {
    condition = alltrue(concat(
      [for name, a in google_monitoring_alert_policy.no_success : strcontains(a.documentation[0].content, "firesweep runs --project ${var.project} ${name}`")],
      [for name, a in google_monitoring_alert_policy.worker : strcontains(a.documentation[0].content, "gcloud tasks queues pause ${name} --project=${var.project}")],
      [for name, a in google_monitoring_alert_policy.worker : strcontains(a.documentation[0].content, "The account of the job's tasks, `${lower(local.job_of[name])}-tasks`, may")],
    ))
    error_message = google_monitoring_alert_policy.no_success["cleanupReports"].documentation[0].content
  }
}

run "alerts_of_every_kind_of_schedule" {
  command = apply
  override_resource {
    target = time_static.since
    values = { unix = 1000000 }
  }
  variables {
    schedules = {
      cleanupReports                = "0 3 * * 1"
      cleanupBannedUsers            = "0 3 1 * *"
      cleanupOrphanedMedia          = "0 */6 * * *"
      checkGhostCircles             = "15 * * * *"
      cleanExpiredComped            = "* * * * *"
      removeUnacceptedMemberInvites = "0 */12 * * *"
      cleanupPlaceholderUsers       = "30 1,13 * * *"
    }
    notification_channels = ["projects/my-app-1a2b3/notificationChannels/1234567890"]
  }

  assert {
    # Two periods, the run's time and ten minutes for the log, in minutes; 25 hours at most on metrics made from the log.
    condition = {
      for name, a in google_monitoring_alert_policy.no_success :
      name => "${regex("\\[(.*)\\]", a.conditions[0].condition_prometheus_query_language[0].query)[0]} ${a.conditions[0].condition_prometheus_query_language[0].evaluation_interval}"
      if contains(["cleanupReports", "cleanupBannedUsers", "cleanupOrphanedMedia", "checkGhostCircles", "cleanExpiredComped", "removeUnacceptedMemberInvites", "cleanupPlaceholderUsers", "deleteInactiveProjects"], name)
      } == {
      cleanupReports                = "11520m 300s"
      cleanupBannedUsers            = "46080m 3600s"
      cleanupOrphanedMedia          = "740m 300s"
      checkGhostCircles             = "139m 60s"
      cleanExpiredComped            = "21m 60s"
      deleteInactiveProjects        = "35m 60s"
      removeUnacceptedMemberInvites = "1459m 300s"
      cleanupPlaceholderUsers       = "1500m 300s"
    }
    error_message = "look-back and interval: ${jsonencode({ for name, a in google_monitoring_alert_policy.no_success : name => "${a.conditions[0].condition_prometheus_query_language[0].query} ${a.conditions[0].condition_prometheus_query_language[0].evaluation_interval}" })}"
  }
  assert {
    # What runs less than once a day is watched by Cloud Run's own metric, on which alerts look back farther.
    condition = google_monitoring_alert_policy.no_success["cleanupReports"].conditions[0].condition_prometheus_query_language[0].query == join("", [
      "((sum(increase(run_googleapis_com:request_count{monitored_resource=\"cloud_run_revision\",service_name=\"cleanupreports\",response_code_class=\"2xx\"}[11520m]))",
      " or on() vector(0)) < 0.5) and on() (vector(time()) > 1691200)",
    ])
    error_message = google_monitoring_alert_policy.no_success["cleanupReports"].conditions[0].condition_prometheus_query_language[0].query
  }
  assert {
    condition = alltrue([
      for a in google_monitoring_alert_policy.no_success :
      !strcontains(a.conditions[0].condition_prometheus_query_language[0].query, "logging_googleapis_com:user_") || tonumber(regex("\\[([0-9]+)m\\]", a.conditions[0].condition_prometheus_query_language[0].query)[0]) <= 25 * 60
    ])
    error_message = "an alert looks back more than 25 hours on a metric made from the log"
  }
  assert {
    condition = alltrue([for a in concat(
      values(google_monitoring_alert_policy.failed), values(google_monitoring_alert_policy.no_success), values(google_monitoring_alert_policy.attention),
      values(google_monitoring_alert_policy.worker), values(google_monitoring_alert_policy.task_dropped),
    ) : a.notification_channels == tolist(["projects/my-app-1a2b3/notificationChannels/1234567890"])])
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
    # A position that is left out is 0; one that is written as 0 would be changed by every later plan.
    condition = [for t in jsondecode(google_monitoring_dashboard.firesweep.dashboard_json).mosaicLayout.tiles : "${try(t.xPos, 0)} ${try(t.yPos, 0)}"] == [
      "0 0", "24 0", "0 16", "24 16", "0 32", "24 32",
    ] && length(regexall("[xy]Pos\":0\\b", google_monitoring_dashboard.firesweep.dashboard_json)) == 0
    error_message = "two charts lie over each other, or a position is written that Google leaves out"
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
  assert {
    condition     = alltrue([for m in google_logging_metric.distribution : length(m.bucket_options[0].explicit_buckets[0].bounds) > 0])
    error_message = "a distribution without a layout gets one from Google, which every later plan would change"
  }
}
