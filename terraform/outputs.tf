output "schedules" {
  description = "When each job runs."
  value = {
    for name, job in google_cloud_scheduler_job.job : name => "${job.schedule} ${job.time_zone}${job.paused == true ? " (paused)" : ""}"
  }
}

output "service_accounts" {
  description = "The account that each function runs as."
  value       = { for name, account in google_service_account.function : name => account.email }
}

output "dry_run" {
  description = "The jobs that only plan."
  value       = [for name in keys(local.jobs) : name if var.dry_run[name]]
}

output "dashboard" {
  description = "Where the runs are shown."
  value       = "https://console.cloud.google.com/monitoring/dashboards/builder/${element(split("/", google_monitoring_dashboard.firesweep.id), -1)}?project=${var.project}"
}
