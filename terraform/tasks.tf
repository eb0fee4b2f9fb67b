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

locals {
  continue_attempts = 4
}

# Each job that can continue by itself with what a run had no time for has a queue. It stays when continue_for is 0, because it
# could not be made again for some days, and costs nothing. Where Cloud Tasks is not, there is none: no job continues then.
resource "google_cloud_tasks_queue" "continue" {
  for_each = contains(local.regions.tasks, local.tasks_region) ? local.continue_for : {}

  project  = var.project
  location = local.tasks_region
  name     = "${each.key}-continue${var.queue_suffix}"

  rate_limits {
    max_dispatches_per_second = 1
    max_concurrent_dispatches = lookup(local.shards, each.key, 1)
  }

  # As with Cloud Scheduler's retries: a task that comes again while a crashed run still holds its lease would be skipped,
  # which Cloud Tasks counts as a success. So the first retry comes later than the job can hold its lease.
  retry_config {
    max_attempts = local.continue_attempts
    min_backoff  = "${60 * ceil((local.timeout[each.key] + 120) / 60)}s"
    max_backoff  = "3600s"
  }

  stackdriver_logging_config {
    sampling_ratio = 1
  }

  depends_on = [google_project_service.api]
}
