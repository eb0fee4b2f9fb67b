# Indexes, TTL, alerts and dashboard.
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
    condition = toset([for f in google_firestore_field.not_indexed : "${f.database} ${f.collection} ${f.field}"]) == setunion(
      ["support archivedInquiries messages", "support earlier messages"],
      [for of in setproduct(["(default)", "support", "ghost", "gitlab"], ["cleanupRuns expireAt", "cleanupUndo expireAt", "cleanupUndo *"]) : join(" ", of)],
    )
    error_message = "reports of runs must expire in each database in use, and no field is exempted in one that does not have it"
  }
}

run "of_all_jobs" {
  command = apply
  override_resource {
    target = time_static.since
    values = { unix = 1000000 }
  }

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
    # Nobody would delete what is there when Firesweep leaves a database: so what ends a TTL policy is not done.
    condition = { for key, f in google_firestore_field.not_indexed : key => [length(f.ttl_config), f.deletion_policy == "ABANDON"] } == {
      for o in jsondecode(file("../firestore.indexes.json")).fieldOverrides : "(default) ${o.collectionGroup} ${o.fieldPath}" =>
      try(o.ttl, false) ? [1, true] : [0, false] if length(o.indexes) == 0
    }
    error_message = "firestore.indexes.json says otherwise what expires and what is not indexed: the Firebase CLI would change what Terraform makes. ${jsonencode(google_firestore_field.not_indexed)}"
  }
  assert {
    condition = toset([for f in google_firestore_field.not_indexed : "${f.database} ${f.collection}.${f.field}" if length(f.ttl_config) > 0]) == toset([
      "(default) cleanupRuns.expireAt", "(default) cleanupUndo.expireAt",
    ])
    error_message = "reports of runs and what is kept of them must expire, and nothing else"
  }
  assert {
    condition     = alltrue([for f in google_firestore_field.not_indexed : length(f.index_config) == 1 && length(f.index_config[0].indexes) == 0])
    error_message = "a field is indexed that no query asks for, or one of the application's is managed"
  }
  assert {
    condition     = alltrue([for i in google_firestore_index.index : i.timeouts.create == "4h"])
    error_message = "an index of a large collection takes longer than the provider waits"
  }
  assert {
    condition     = length(google_monitoring_alert_policy.failed) == 1 && keys(google_monitoring_alert_policy.no_success) == ["log"] && length(google_monitoring_alert_policy.attention) == 1 && length(google_monitoring_alert_policy.worker) == 1
    error_message = "each kind of alert is one policy, however many jobs there are"
  }
  assert {
    condition = google_monitoring_alert_policy.failed["0"].conditions[0].condition_matched_log[0].filter == join(" AND ", [
      "resource.type=\"cloud_run_revision\"", "resource.labels.service_name=~\"^(${join("|", [for name in sort(local.job_names) : lower(name)])})$\"",
      "((jsonPayload.report.status=(\"failed\" OR \"aborted\") AND NOT jsonPayload.report.dryRun=true) OR (severity>=ERROR AND jsonPayload.message=~\"( did not run:| panicked$)\") OR (severity>=ERROR AND logName=\"projects/my-app-1a2b3/logs/run.googleapis.com%2Fvarlog%2Fsystem\") OR httpRequest.status>=502)",
    ])
    error_message = google_monitoring_alert_policy.failed["0"].conditions[0].condition_matched_log[0].filter
  }
  assert {
    condition = google_monitoring_alert_policy.attention["0"].conditions[0].condition_matched_log[0].filter == join("", [
      "(resource.type=\"cloud_run_revision\" AND jsonPayload.alert=~\".+\" AND NOT jsonPayload.report.dryRun=true",
      " AND resource.labels.service_name=~\"^(${join("|", [for name in keys(local.functions) : lower(name)])})$\")",
      " OR (resource.type=\"cloud_tasks_queue\" AND resource.labels.queue_id=\"deletePlaceholderUser\"",
      " AND NOT jsonPayload.attemptResponseLog.status=\"OK\" AND jsonPayload.attemptResponseLog.dispatchCount=\"25\")",
      " OR (resource.type=\"cloud_tasks_queue\" AND resource.labels.queue_id=\"sendInactiveProjectWarning\"",
      " AND NOT jsonPayload.attemptResponseLog.status=\"OK\" AND jsonPayload.attemptResponseLog.dispatchCount=\"25\")",
    ])
    error_message = google_monitoring_alert_policy.attention["0"].conditions[0].condition_matched_log[0].filter
  }
  assert {
    # Cloud Monitoring takes 2048 characters. With 20 names of 30 characters they are still fewer.
    condition = alltrue([
      for a in [google_monitoring_alert_policy.failed["0"], google_monitoring_alert_policy.attention["0"]] :
      length(a.conditions[0].condition_matched_log[0].filter) + 20 * 31 - length(join("|", keys(local.functions))) <= 2048
    ])
    error_message = "a filter can be too long"
  }
  assert {
    condition     = strcontains(google_monitoring_alert_policy.worker[0].conditions[0].condition_threshold[0].filter, " AND resource.labels.service_name=one_of(\"deleteplaceholderuser\", \"sendinactiveprojectwarning\") AND ")
    error_message = google_monitoring_alert_policy.worker[0].conditions[0].condition_threshold[0].filter
  }
  assert {
    # Two days would be more than is looked back on, so a day and an hour. A job on dry run succeeds by planning.
    condition = alltrue([
      for part in [
        "label_replace(vector(1090000), \"service_name\", \"cleanupreports\", \"\", \"\")", ") < time() unless on(service_name) (",
        " or label_replace(vector(1002100), \"service_name\", \"deleteinactiveprojects\", \"\", \"\")",
        "sum by (service_name) (increase(logging_googleapis_com:user_firesweep_runs{monitored_resource=\"cloud_run_revision\",status=~\"completed|partial\",service_name=~\"${join("|", [for name in sort(local.job_names) : lower(name) if var.dry_run[name] && name != "deleteInactiveProjects"])}\"}[1500m])) >= 0.5",
        "sum by (service_name) (increase(logging_googleapis_com:user_firesweep_runs{monitored_resource=\"cloud_run_revision\",status=~\"completed|partial\",dry_run=\"false\",service_name=~\"${join("|", [for name in sort(local.job_names) : lower(name) if !var.dry_run[name] && name != "deleteInactiveProjects"])}\"}[1500m])) >= 0.5",
      ] : strcontains(google_monitoring_alert_policy.no_success["log"].conditions[0].condition_prometheus_query_language[0].query, part)
    ]) && contains(values(var.dry_run), true) && contains(values(var.dry_run), false)
    error_message = google_monitoring_alert_policy.no_success["log"].conditions[0].condition_prometheus_query_language[0].query
  }
  assert {
    condition = alltrue([
      for kind, a in {
        "failed-or-aborted"    = google_monitoring_alert_policy.failed["0"]
        "no-success"           = google_monitoring_alert_policy.no_success["log"]
        "needs-attention"      = google_monitoring_alert_policy.attention["0"]
        "worker-keeps-failing" = google_monitoring_alert_policy.worker[0]
        } : (
        a.documentation[0].links[0].url == "https://github.com/firesweep/firesweep/blob/${endswith(local.release, "-dev") ? "main" : "v${local.release}"}/docs/operations.md#${kind}"
        && strcontains(a.documentation[0].content, a.documentation[0].links[0].url)
        # Whether it can wait, and the table, as a list with absolute links, for this function.
        && strcontains(a.documentation[0].content, "**It can wait") && length(regexall("\n- .+: .+", a.documentation[0].content)) >= 2
        && length(regexall("(?m)^\\||\\]\\(#|in lower case", a.documentation[0].content)) == 0
        && length(a.documentation[0].subject) <= 255 && strcontains(a.documentation[0].subject, local.named[kind]) && strcontains(a.documentation[0].content, local.named[kind])
        # Cloud Monitoring takes 8192 characters and 10240 bytes.
        && length(a.documentation[0].content) <= 8192 && length(base64encode(a.documentation[0].content)) / 4 * 3 <= 10240
      )
    ])
    error_message = "an alert's mail does not say what to do: ${google_monitoring_alert_policy.failed["0"].documentation[0].content}"
  }
  assert {
    # What the mail names is extracted from the line that raised the alert.
    condition = alltrue([
      for a in [google_monitoring_alert_policy.failed["0"], google_monitoring_alert_policy.attention["0"]] :
      toset(flatten(regexall("\\$\\{log\\.extracted_label\\.([a-z]+)\\}", "${a.documentation[0].subject} ${a.documentation[0].content}"))) == toset(keys(a.conditions[0].condition_matched_log[0].label_extractors))
    ])
    error_message = "a mail names a label that is not extracted, or one is extracted in vain"
  }
  assert {
    condition = google_monitoring_alert_policy.failed["0"].conditions[0].condition_matched_log[0].label_extractors == tomap({
      job     = "EXTRACT(resource.labels.service_name)"
      run     = "EXTRACT(labels.runId)"
      status  = "EXTRACT(jsonPayload.report.status)"
      problem = "EXTRACT(jsonPayload.problem)"
      message = "EXTRACT(jsonPayload.message)"
    })
    error_message = "the mail about a failed run names something else than job, run, status and problem"
  }
  assert {
    # No subject ends with a colon or dash and nothing behind it where a line names no problem.
    condition     = endswith(google_monitoring_alert_policy.failed["0"].documentation[0].subject, " failed or was aborted. $${log.extracted_label.problem}")
    error_message = google_monitoring_alert_policy.failed["0"].documentation[0].subject
  }
  assert {
    condition = alltrue([
      for part in [
        "firesweep show --project ${var.project} $${log.extracted_label.run}`", "query=labels.runId%3D%22$${log.extracted_label.run}%22;",
        "firesweep hold --project ${var.project} --stop $${log.extracted_label.job}`",
        "STORAGE_BUCKET=${var.bucket} firesweep plan --project ${var.project} --force $${log.extracted_label.job}`",
        "firesweep run --project ${var.project} --force $${log.extracted_label.job}`",
      ] : strcontains(google_monitoring_alert_policy.failed["0"].documentation[0].content, part)
    ]) && !strcontains(google_monitoring_alert_policy.failed["0"].documentation[0].content, "FIRESTORE_DATABASE=")
    error_message = google_monitoring_alert_policy.failed["0"].documentation[0].content
  }
  assert {
    condition = alltrue([
      strcontains(google_monitoring_alert_policy.no_success["log"].documentation[0].content, "firesweep runs --project ${var.project} $${metric_or_resource.label.service_name}`"),
      strcontains(google_monitoring_alert_policy.worker[0].documentation[0].content, "gcloud tasks queues pause deletePlaceholderUser --project=${var.project}"),
    ])
    error_message = google_monitoring_alert_policy.no_success["log"].documentation[0].content
  }
  assert {
    condition     = length(jsondecode(google_monitoring_dashboard.firesweep.dashboard_json).mosaicLayout.tiles) == 4
    error_message = "runs, failures, duration, log"
  }
  assert {
    # A position that is left out is 0; one that is written as 0 would be changed by every later plan.
    condition = [for t in jsondecode(google_monitoring_dashboard.firesweep.dashboard_json).mosaicLayout.tiles : "${try(t.xPos, 0)} ${try(t.yPos, 0)}"] == [
      "0 0", "24 0", "0 16", "24 16",
    ] && length(regexall("[xy]Pos\":0\\b", google_monitoring_dashboard.firesweep.dashboard_json)) == 0
    error_message = "two charts lie over each other, or a position is written that Google leaves out"
  }
  assert {
    condition     = distinct(flatten(regexall("user_([a-z_]+)\\{", google_monitoring_dashboard.firesweep.dashboard_json))) == tolist(["firesweep_runs"])
    error_message = "a chart shows a metric that is not made"
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
      cleanupResolvedInquiries      = "30 2 * * *"
    }
    time_zones            = { cleanupResolvedInquiries = "Europe/Berlin" }
    databases             = { cleanupReports = "ghost" }
    notification_channels = ["projects/my-app-1a2b3/notificationChannels/1234567890"]
  }

  assert {
    # Two periods, the run's time and ten minutes for the log, in minutes; 25 hours at most on metrics made from the log.
    condition = { for name in local.job_names : name => ceil(local.silence[name] / 60) } == {
      cleanupReports                = 11520
      cleanupBannedUsers            = 46080
      cleanupOrphanedMedia          = 740
      checkGhostCircles             = 139
      cleanExpiredComped            = 21
      deleteInactiveProjects        = 35
      removeUnacceptedMemberInvites = 1459
      cleanupPlaceholderUsers       = 1500
      cleanupResolvedInquiries      = 2880 # one night a year has no 02:30
    }
    error_message = "look-back: ${jsonencode(local.silence)}"
  }
  assert {
    # What runs less than once a day is watched by Cloud Run's own metric, on which alerts look back farther.
    condition = google_monitoring_alert_policy.no_success["requests"].conditions[0].condition_prometheus_query_language[0].query == join("", [
      "(label_replace(vector(3764800), \"service_name\", \"cleanupbannedusers\", \"\", \"\") or label_replace(vector(1691200), \"service_name\", \"cleanupreports\", \"\", \"\") or label_replace(vector(1172800), \"service_name\", \"cleanupresolvedinquiries\", \"\", \"\"))",
      " < time() unless on(service_name) (",
      "sum by (service_name) (increase(run_googleapis_com:request_count{monitored_resource=\"cloud_run_revision\",response_code_class=\"2xx\",service_name=~\"cleanupreports\"}[11520m])) >= 0.5 or ",
      "sum by (service_name) (increase(run_googleapis_com:request_count{monitored_resource=\"cloud_run_revision\",response_code_class=\"2xx\",service_name=~\"cleanupresolvedinquiries\"}[2880m])) >= 0.5 or ",
      "sum by (service_name) (increase(run_googleapis_com:request_count{monitored_resource=\"cloud_run_revision\",response_code_class=\"2xx\",service_name=~\"cleanupbannedusers\"}[46080m])) >= 0.5)",
    ])
    error_message = google_monitoring_alert_policy.no_success["requests"].conditions[0].condition_prometheus_query_language[0].query
  }
  assert {
    condition = { for kind, a in google_monitoring_alert_policy.no_success : kind => a.conditions[0].condition_prometheus_query_language[0].evaluation_interval } == {
      log = "300s", requests = "3600s"
    }
    error_message = "the longer the look-back, the fewer evaluations"
  }
  assert {
    condition = alltrue([
      for minutes in flatten(regexall("\\[([0-9]+)m\\]", google_monitoring_alert_policy.no_success["log"].conditions[0].condition_prometheus_query_language[0].query)) : tonumber(minutes) <= 25 * 60
    ])
    error_message = "an alert looks back more than 25 hours on a metric made from the log"
  }
  assert {
    condition = alltrue([for a in concat(
      values(google_monitoring_alert_policy.failed), values(google_monitoring_alert_policy.no_success), values(google_monitoring_alert_policy.attention),
      google_monitoring_alert_policy.worker,
    ) : a.notification_channels == tolist(["projects/my-app-1a2b3/notificationChannels/1234567890"])])
    error_message = "an alert goes nowhere"
  }
  assert {
    condition     = strcontains(google_monitoring_alert_policy.failed["0"].documentation[0].content, "- before `firesweep`, write `FIRESTORE_DATABASE=ghost` for cleanupReports")
    error_message = "a command of a mail would look into another database than the job's"
  }
}

