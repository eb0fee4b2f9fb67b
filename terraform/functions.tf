# Which functions there are, and what each is like, stands in functions/schedule.json and nowhere else.
locals {
  functions = { for f in jsondecode(file("${path.module}/../functions/schedule.json")).functions : f.name => f }
  job_names = [for name, f in local.functions : name if f.trigger == "schedule"]

  jobs = {
    for name, f in local.functions : name => f
    if f.trigger == "schedule" && (var.enabled == null ? true : contains(var.enabled, name))
  }
  # A worker is deployed with the job whose tasks it does, and takes that job's settings.
  job_of  = { for name, f in local.jobs : f.worker => name if can(f.worker) }
  workers = { for name, f in local.functions : name => f if f.trigger == "tasks" && contains(keys(local.job_of), name) }

  deployed = merge(local.jobs, local.workers)
  database = { for name in keys(local.deployed) : name => lookup(var.databases, lookup(local.job_of, name, name), "(default)") }

  environment = {
    for name, f in local.deployed : name => merge(
      {
        GOOGLE_CLOUD_PROJECT = var.project
        FIRESTORE_DATABASE   = local.database[name]
        # true until the variable is complete, which its validation demands.
        DRY_RUN             = tostring(lookup(var.dry_run, lookup(local.job_of, name, name), true))
        MAX_ACTIONS         = tostring(var.belts.max_actions)
        MAX_MISSING_PERCENT = tostring(var.belts.max_missing_percent)
        MIN_LOOKUPS         = tostring(var.belts.min_lookups)
        MAX_USERS           = tostring(var.belts.max_users)
        NOTIFICATION_LOCALE = var.notification_locale
      },
      can(f.roles.storage) ? { STORAGE_BUCKET = var.bucket } : {},
      f.package == "placeholderusers" && length(var.placeholder_references) > 0 ? {
        PLACEHOLDER_REFERENCES = join(",", var.placeholder_references)
      } : {},
    )
  }
}

# Workers come first: a job is told its worker's address.
module "worker" {
  source   = "./function"
  for_each = local.workers

  function        = each.value
  project         = var.project
  region          = var.region
  service_account = google_service_account.function[each.key].email
  environment     = local.environment[each.key]
  # One task an instance; no more instances than the queue sends tasks at a time.
  max_instances = each.value.queue.maxConcurrentDispatches
  build         = local.build

  depends_on = [time_sleep.settled]
}

module "job" {
  source   = "./function"
  for_each = local.jobs

  function        = each.value
  project         = var.project
  region          = var.region
  service_account = google_service_account.function[each.key].email
  environment = merge(local.environment[each.key], can(each.value.worker) ? {
    TASKS_LOCATION        = var.region
    TASKS_QUEUE           = google_cloud_tasks_queue.worker[each.value.worker].name
    TASKS_SERVICE_ACCOUNT = google_service_account.tasks_invoker[0].email
    TASKS_TARGET_URL      = module.worker[each.value.worker].function.service_config[0].uri
  } : {})
  max_instances = 1 # one run at a time; the lease in Firestore is what guarantees it
  build         = local.build

  depends_on = [time_sleep.settled]
}
