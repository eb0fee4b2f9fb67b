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

# One queue for all jobs that go on by themselves with what a run had no time for: see var.continue_for.
resource "google_cloud_tasks_queue" "continue" {
  count = length(local.continuing) > 0 ? 1 : 0

  project  = var.project
  location = var.region
  name     = "firesweep-continue${var.queue_suffix}"

  rate_limits {
    max_dispatches_per_second = 1
    max_concurrent_dispatches = sum([for name in keys(local.continuing) : lookup(local.shards, name, 1)])
  }

  # As Cloud Scheduler's: a task that comes again while the lease of a run that crashed still holds would be skipped, which is a
  # success to Cloud Tasks. The first waits longer than any of the jobs can hold it.
  retry_config {
    max_attempts = 4
    min_backoff  = "${60 * ceil((max([for name in keys(local.continuing) : local.timeout[name]]...) + 120) / 60)}s"
    max_backoff  = "3600s"
  }

  stackdriver_logging_config {
    sampling_ratio = 1
  }

  depends_on = [google_project_service.api]
}
