output "schedules" {
  description = "When each job runs."
  value = {
    for name, job in google_cloud_scheduler_job.job :
    name => "${job.schedule} ${job.time_zone}${job.paused == true ? " (paused)" : ""}"
  }
}

output "urls" {
  description = "The address of each function. Only Cloud Scheduler and Cloud Tasks of the project can call them."
  value       = { for name, f in merge(module.job, module.worker) : name => f.function.service_config[0].uri }
}

output "queues" {
  description = "The Cloud Tasks queue of each worker."
  value       = { for name, queue in google_cloud_tasks_queue.worker : name => queue.name }
}

output "service_accounts" {
  description = "The account that each function runs as."
  value       = { for name, account in google_service_account.function : name => account.email }
}

output "alerts" {
  description = "The alert policies, by what they look for: resource names."
  value = {
    failed     = [for a in google_monitoring_alert_policy.failed : a.name]
    no_success = [for a in google_monitoring_alert_policy.no_success : a.name]
    attention  = [for a in google_monitoring_alert_policy.attention : a.name]
    worker     = [for a in google_monitoring_alert_policy.worker : a.name]
  }
}

output "collection_group_indexes" {
  description = "The indexes of single fields that the jobs need and Terraform does not make, by database: `firesweep check --indexes`."
  value = {
    for database, indexes in local.group_indexes : database => sort(distinct(flatten(indexes))) if length(flatten(indexes)) > 0
  }
}

output "archive" {
  description = "What the functions are built from."
  value       = "gs://${google_storage_bucket_object.source.bucket}/${google_storage_bucket_object.source.name}"
}

output "dry_run" {
  description = "The jobs that only plan."
  value       = [for name in keys(local.jobs) : name if lookup(var.dry_run, name, true)]
}

output "dashboard" {
  description = "Where the runs are shown."
  value = join("", [
    "https://console.cloud.google.com/monitoring/dashboards/builder/",
    "${element(split("/", google_monitoring_dashboard.firesweep.id), -1)}?project=${var.project}",
  ])
}
