# functions/manifest.json lists the functions with their properties, and the lock file of your rules has what follows from them.
locals {
  # The safety limits' defaults and bounds are those of shared/config.
  limits = {
    max_actions         = { default = 100000, least = 1, most = 1000000 }
    max_missing_percent = { default = 50, least = 0, most = 100 }
    max_due_percent     = { default = 50, least = 1, most = 100 }
    max_per_owner       = { default = 1000, least = 1, most = 1000000 }
    min_lookups         = { default = 20, least = 1, most = 1000000 }
    max_users           = { default = 20, least = 1, most = 1000 }
  }
  limits_are = "The safety limits, all whole numbers, are ${join(", ", [for name, of in local.limits : "${name} from ${of.least} to ${of.most}"])}."
  safety_limits = {
    for name in keys(local.deployed) : name => merge(
      { for limit, of in local.limits : limit => of.default }, var.safety_limits,
      lookup(var.job_safety_limits, lookup(local.job_of, name, name), {}),
    )
  }

  # Of Firesweep, and of the lock files that it takes.
  release      = regex("const Release = \"([^\"]+)\"", file("${path.module}/../shared/version/version.go"))[0]
  lock_version = "${local.release}${regex("const Lock = Release \\+ \"([^\"]+)\"", file("${path.module}/../shared/version/version.go"))[0]}"

  manifest   = jsondecode(file("${path.module}/../functions/manifest.json"))
  rules_file = coalesce(var.rules_file, "${path.module}/../functions/rules.json")
  lock       = jsondecode(file("${trimsuffix(local.rules_file, ".json")}.lock.json"))
  functions  = merge({ for f in local.manifest.functions : f.name => f if can(f.package) }, local.lock.functions)
  own        = setsubtract(keys(local.lock.functions), local.manifest.functions[*].name)
  job_names  = [for name, f in local.functions : name if f.trigger == "schedule"]

  # A file of your own says by itself which jobs it uses: its rules, and those of the nine that it enables.
  used    = var.rules_file == null ? local.job_names : setunion(local.own, try(local.lock.enabled, []))
  enabled = var.enabled == null ? local.used : var.enabled

  jobs = { for name, f in local.functions : name => f if f.trigger == "schedule" && contains(local.enabled, name) }
  # A worker is deployed with the job whose tasks it does, and uses that job's settings.
  job_of  = { for name, f in local.jobs : f.worker => name if can(f.worker) }
  workers = { for name, f in local.functions : name => f if f.trigger == "tasks" && contains(keys(local.job_of), name) }

  deployed = merge(local.jobs, local.workers)

  # Jobs that stop before their timeout on purpose continue with their next scheduled run.
  own_stop = [for name, f in local.functions : name if can(f.stopAfterSeconds)]
  continue_for = {
    for name in keys(local.jobs) : name => lookup(var.continue_for, name, "6h") if !contains(local.own_stop, name)
  }
  # The jobs that continue by themselves.
  continuing = {
    for name, duration in local.continue_for : name => duration if try(tonumber(regex("^[0-9]+", duration)) > 0, true)
  }

  # Into how many shards a job is split. Only jobs that can be split have a number.
  splittable = { for name, f in local.functions : name => f.shards if can(f.shards) }
  shards     = { for name, n in local.splittable : name => lookup(var.shards, name, n) }

  memory  = { for name, f in local.deployed : name => lookup(var.memory, name, f.memory) }
  timeout = { for name, f in local.deployed : name => lookup(var.timeouts, name, f.timeoutSeconds) }
  mebibytes = {
    for name, memory in local.memory :
    name => try(tonumber(regex("^([0-9]+)(?:Mi|Gi)$", memory)[0]) * (endswith(memory, "Gi") ? 1024 : 1), 0)
  }

  database = { for name in keys(local.deployed) : name => lookup(var.databases, lookup(local.job_of, name, name), "(default)") }

  environment = {
    for name, f in local.deployed : name => merge(
      {
        GOOGLE_CLOUD_PROJECT = var.project
        FIRESTORE_DATABASE   = local.database[name]
        # The validation of dry_run demands a value for each job; true stands for a missing one until then.
        DRY_RUN = tostring(lookup(var.dry_run, lookup(local.job_of, name, name), true))
        # The default is that of shared/config.
        UNDO_DAYS           = tostring(lookup(var.undo_days, lookup(local.job_of, name, name), 7))
        NOTIFICATION_LOCALE = var.notification_locale
        # Near this limit the garbage collector works harder, before the platform kills the process for its memory.
        GOMEMLIMIT = "${floor(local.mebibytes[name] * 0.85)}MiB"
      },
      { for limit, n in local.safety_limits[name] : upper(limit) => tostring(n) },
      # A function knows the timeout in manifest.json. Its lease and its end depend on it, so it must know another one.
      contains(keys(var.timeouts), name) ? { TIMEOUT_SECONDS = tostring(local.timeout[name]) } : {},
      f.package == "resolvedinquiries" && length(var.inquiry_folders) > 0 ? {
        INQUIRY_FOLDERS = join(",", var.inquiry_folders)
      } : {},
      f.package == "orphanedmedia" && length(var.orphans) > 0 ? { ORPHANS = join(",", var.orphans) } : {},
      f.package == "orphanedmedia" ? { MAX_OWNERS = tostring(var.max_owners) } : {},
      lookup(local.shards, name, 1) > 1 ? { SHARDS = tostring(local.shards[name]) } : {},
      can(f.roles.storage) ? { STORAGE_BUCKET = var.bucket } : {},
      f.package == "placeholderusers" && length(var.placeholder_references) > 0 ? {
        PLACEHOLDER_REFERENCES = join(",", var.placeholder_references)
      } : {},
    )
  }
}

# Cloud Run knows a service by an address of this number, before the service is there: a job is told its own.
data "google_project" "this" {
  project_id = var.project
}

# Workers are made first, because a job's environment has its worker's address.
module "worker" {
  source   = "./function"
  for_each = local.workers

  function        = merge(each.value, { memory = local.memory[each.key], timeoutSeconds = local.timeout[each.key] })
  project         = var.project
  region          = var.region
  labels          = var.labels
  service_account = google_service_account.function[each.key].email
  environment     = local.environment[each.key]
  # An instance does one task at a time, so there are as many instances as the queue sends tasks at a time.
  max_instances = each.value.queue.maxConcurrentDispatches
  build         = local.build
  kms_key       = var.kms_key

  depends_on = [time_sleep.settled]
}

module "job" {
  source   = "./function"
  for_each = local.jobs

  function        = merge(each.value, { memory = local.memory[each.key], timeoutSeconds = local.timeout[each.key] })
  project         = var.project
  region          = var.region
  labels          = var.labels
  service_account = google_service_account.function[each.key].email
  environment = merge(local.environment[each.key], can(each.value.worker) || can(local.continuing[each.key]) ? {
    TASKS_LOCATION        = local.tasks_region
    TASKS_SERVICE_ACCOUNT = google_service_account.function[each.key].email
    } : {}, can(each.value.worker) ? {
    TASKS_QUEUE      = google_cloud_tasks_queue.worker[each.value.worker].name
    TASKS_TARGET_URL = module.worker[each.value.worker].function.service_config[0].uri
    } : {}, can(local.continuing[each.key]) ? {
    CONTINUE_FOR   = local.continuing[each.key]
    CONTINUE_QUEUE = google_cloud_tasks_queue.continue[each.key].name
    CONTINUE_URL   = "https://${lower(each.key)}-${data.google_project.this.number}.${var.region}.run.app"
  } : {})
  # One run at a time, or one for each shard: the leases in Firestore guarantee this. Another instance answers who calls meanwhile
  # that the job is busy, and is there for the run that split. Without it Cloud Run would answer 429, which slows the queue.
  max_instances = lookup(local.shards, each.key, 1) + 1
  build         = local.build
  kms_key       = var.kms_key

  depends_on = [time_sleep.settled]
}
