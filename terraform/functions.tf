# functions/manifest.json lists the functions with their properties, and the lock file of your rules has what follows from them.
locals {
  # The safety limits' defaults and bounds are those of shared/config.
  limits = {
    max_actions     = { default = 100000, least = 1, most = 1000000 }
    max_due_percent = { default = 50, least = 1, most = 100 }
    max_users       = { default = 20, least = 1, most = 1000 }
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
  # Each of the nine jobs and their workers is what this version says, whatever a lock file says.
  nine = merge(
    { for f in local.manifest.functions : f.name => f if can(f.package) },
    { for f in local.manifest.functions : f.name => jsondecode(file("${path.module}/../functions/rules.lock.json")).functions[f.name] if !can(f.package) },
  )
  functions = merge(local.lock.functions, local.nine)
  # The entries of the lock file that no program wrote: one that takes the place of another function, or that is not a rule's.
  forged = [
    for name, f in local.lock.functions : name if !try(
      jsonencode(f) == jsonencode(local.functions[name]) && f.name == name && f.trigger == "schedule" && f.package == "" && !can(f.worker) && !can(f.notIndexed),
      false,
    )
  ]
  own       = setsubtract(keys(local.lock.functions), keys(local.nine))
  job_names = [for name, f in local.functions : name if f.trigger == "schedule"]

  # A file of your own says by itself which jobs it uses: its rules, and those of the nine that it enables.
  used    = var.rules_file == null ? local.job_names : setunion(local.own, try(local.lock.enabled, []))
  enabled = var.enabled == null ? local.used : var.enabled

  jobs = { for name, f in local.functions : name => f if f.trigger == "schedule" && contains(local.enabled, name) }
  # A worker is deployed with the job whose tasks it does, and uses that job's settings.
  job_of  = { for name, f in local.jobs : f.worker => name if can(f.worker) }
  workers = { for name, f in local.functions : name => f if f.trigger == "tasks" && contains(keys(local.job_of), name) }

  deployed = merge(local.jobs, local.workers)

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
      can(f.roles.storage) ? { STORAGE_BUCKET = var.bucket } : {},
      f.package == "placeholderusers" && length(var.placeholder_references) > 0 ? {
        PLACEHOLDER_REFERENCES = join(",", var.placeholder_references)
      } : {},
    )
  }
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
  # Its runs say by which schedule they are called, so that the command knows when the next one is due.
  environment = merge(local.environment[each.key], { SCHEDULE = local.called[each.key] }, can(each.value.worker) ? {
    TASKS_LOCATION        = local.tasks_region
    TASKS_SERVICE_ACCOUNT = google_service_account.function[each.key].email
    TASKS_QUEUE           = google_cloud_tasks_queue.worker[each.value.worker].name
    TASKS_TARGET_URL      = module.worker[each.value.worker].function.service_config[0].uri
  } : {})
  # The lease in Firestore lets one run go on at a time. The other instance tells whoever calls meanwhile that the job is busy: without
  # it, Cloud Run would answer 429.
  max_instances = 2
  build         = local.build
  kms_key       = var.kms_key

  depends_on = [time_sleep.settled]
}
