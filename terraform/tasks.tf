# One queue a worker. Its name cannot be used again for some days after it was deleted: var.queue_suffix gives it another.
resource "google_cloud_tasks_queue" "worker" {
  for_each = local.workers

  project  = var.project
  location = var.region
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

  # Every attempt in the log: few tasks, and the only trace of one that never reached its worker.
  stackdriver_logging_config {
    sampling_ratio = 1
  }

  depends_on = [google_project_service.api]
}
