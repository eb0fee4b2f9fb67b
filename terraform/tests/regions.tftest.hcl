# Where each service is, whose the bucket is, and what an organization's policy may demand.
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
  enabled = ["cleanupOrphanedMedia", "cleanupPlaceholderUsers"]
  dry_run = { cleanupOrphanedMedia = true, cleanupPlaceholderUsers = true }
}

run "one_region_unless_told_otherwise" {
  command = plan

  assert {
    condition = toset(concat(
      values(google_cloud_scheduler_job.job)[*].region, values(google_cloud_tasks_queue.worker)[*].location,
      values(module.job)[*].function.location,
    )) == toset(["asia-northeast1"])
    error_message = "everything runs in region"
  }
  assert {
    condition     = length(google_project_service.api) > 10 && google_artifact_registry_repository.images.kms_key_name == null && length(google_storage_bucket.source.encryption) == 0
    error_message = "APIs are enabled, and Google's keys encrypt"
  }
  assert {
    condition     = alltrue([for service in ["functions", "tasks", "scheduler"] : tolist(local.region_file[service]) == sort(distinct(local.region_file[service]))])
    error_message = "a list of regions.json is not sorted, or has a region twice"
  }
}

# Paris has functions; regions.json knows of neither Cloud Tasks nor Cloud Scheduler there.
run "refuses_a_region_without_cloud_tasks_and_cloud_scheduler" {
  command = plan
  variables {
    region = "europe-west9"
  }

  expect_failures = [var.tasks_region, var.scheduler_region]
}

# And the organization has a key, and enables the APIs itself.
run "each_service_can_be_elsewhere" {
  command = plan
  variables {
    enable_apis      = false
    kms_key          = "projects/my-keys/locations/europe-west9/keyRings/firesweep/cryptoKeys/firesweep"
    region           = "europe-west9"
    tasks_region     = "europe-west1"
    scheduler_region = "europe-west3"
  }

  assert {
    condition     = toset(values(module.job)[*].function.location) == toset(["europe-west9"]) && module.worker["deletePlaceholderUser"].function.location == "europe-west9"
    error_message = "the functions are in region"
  }
  assert {
    condition = toset(concat(
      values(google_cloud_tasks_queue.worker)[*].location,
      [module.job["cleanupPlaceholderUsers"].function.service_config[0].environment_variables.TASKS_LOCATION],
    )) == toset(["europe-west1"])
    error_message = "the queues and TASKS_LOCATION are those of tasks_region"
  }
  assert {
    condition     = toset(values(google_cloud_scheduler_job.job)[*].region) == toset(["europe-west3"])
    error_message = "the schedules are in scheduler_region"
  }
  assert {
    condition     = strcontains(jsonencode(local.commands), " --location=europe-west1`") && !strcontains(jsonencode(local.commands), "europe-west9")
    error_message = "the alerts' commands name Cloud Tasks' region for queues"
  }
  assert {
    condition = toset(concat(
      [google_artifact_registry_repository.images.kms_key_name, google_storage_bucket.source.encryption[0].default_kms_key_name],
      [for f in concat(values(module.job), values(module.worker)) : f.function.kms_key_name],
    )) == toset([var.kms_key])
    error_message = "functions, images and source have the key"
  }
  assert {
    condition     = length(google_project_service.api) == 0
    error_message = "an API would be enabled"
  }
}

# The Netherlands have Cloud Scheduler but no Cloud Tasks, which only jobs with a worker need.
run "needs_no_cloud_tasks_and_no_bucket_where_no_job_does" {
  command = plan
  variables {
    region  = "europe-west4"
    enabled = ["cleanupReports"]
    dry_run = { cleanupReports = true }
  }

  assert {
    condition     = length(google_cloud_tasks_queue.worker) == 0
    error_message = "a queue would be made where Cloud Tasks is not"
  }
  assert {
    condition     = length(data.google_storage_bucket.application) == 0
    error_message = "whoever deploys only jobs without Storage needs no right to read the bucket"
  }
}

run "refuses_queues_schedules_and_a_key_where_they_cannot_be" {
  command = plan
  variables {
    tasks_region     = "europe-west4"
    scheduler_region = "europe-west9"
    kms_key          = "projects/my-keys/locations/global/keyRings/firesweep/cryptoKeys/firesweep"
  }

  expect_failures = [var.tasks_region, var.scheduler_region, var.kms_key]
}

# What Google brought to a region after regions.json was written.
run "lists_that_are_out_of_date_lock_nobody_out" {
  command = plan
  variables {
    region       = "europe-west15"
    tasks_region = "europe-west9"
    new_regions  = { functions = ["europe-west15"], tasks = ["europe-west9"], scheduler = ["europe-west15"] }
  }

  assert {
    condition     = google_cloud_scheduler_job.job["cleanupOrphanedMedia"].region == "europe-west15" && google_cloud_tasks_queue.worker["deletePlaceholderUser"].location == "europe-west9"
    error_message = "new_regions adds to each list"
  }
}

run "refuses_new_regions_of_no_service" {
  command = plan
  variables {
    new_regions = { queues = ["europe-west9"] }
  }

  expect_failures = [var.new_regions]
}

run "refuses_zones_as_new_regions" {
  command = plan
  variables {
    new_regions = { tasks = ["europe-west9-a"] }
  }

  expect_failures = [var.new_regions]
}

run "refuses_a_bucket_of_another_project" {
  command = plan
  override_data {
    target = data.google_storage_bucket.application
    values = { project_number = 210987654321, requester_pays = false }
  }

  expect_failures = [data.google_storage_bucket.application]
}

run "refuses_a_bucket_with_requester_pays" {
  command = plan
  override_data {
    target = data.google_storage_bucket.application
    values = { project_number = 123456789012, requester_pays = true }
  }

  expect_failures = [data.google_storage_bucket.application]
}

