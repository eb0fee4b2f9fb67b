# Each worker has a queue. The name of a deleted queue cannot be used again for some days: var.queue_suffix changes it.
resource "google_cloud_tasks_queue" "worker" {
  for_each = local.workers

  project  = var.project
  location = local.tasks_region
  name     = "${each.key}${var.queue_suffix}"

  rate_limits {
    max_dispatches_per_second = each.value.queue.maxDispatchesPerSecond
    max_concurrent_dispatches = each.value.queue.maxConcurrentDispatches
  }

  retry_config {
    max_attempts = each.value.queue.maxAttempts
    min_backoff  = "${each.value.queue.minBackoffSeconds}s"
    max_backoff  = "${each.value.queue.maxBackoffSeconds}s"
  }

  # Every attempt is logged. There are few tasks, and the log is the only trace of one that never reached its worker.
  stackdriver_logging_config {
    sampling_ratio = 1
  }

  depends_on = [google_project_service.api]
}
