variable "project" {
  description = "Id of the Firebase project."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{4,28}[a-z0-9]$", var.project))
    error_message = "project must be the project's id, such as my-app-1a2b3: 6 to 30 lower case letters, digits and hyphens. It is not the project's name or number."
  }
}

variable "region" {
  description = "Where everything runs, e.g. asia-northeast1. Best is the database's region."
  type        = string

  validation {
    condition     = contains(local.regions.functions, var.region)
    error_message = "region is ${var.region}, which is not among the regions of Cloud Functions. It must be a region, such as asia-northeast1; not a zone (asia-northeast1-a) and not a multi-region (nam5). ${local.newer_regions.functions}"
  }
}

variable "tasks_region" {
  description = "Where the queues of Cloud Tasks are, which is not in every region; region unless set. Only jobs with a worker need one."
  type        = string
  default     = null

  validation {
    condition = (
      length(local.job_of) == 0 || contains(local.regions.tasks, coalesce(var.tasks_region, var.region))
      || var.tasks_region == null && !contains(local.regions.functions, var.region) # which region itself says
    )
    error_message = "Cloud Tasks is not in ${coalesce(var.tasks_region, var.region)}: set tasks_region to one of ${join(", ", local.regions.tasks)}. ${local.newer_regions.tasks}"
  }
}

variable "scheduler_region" {
  description = "Where the jobs of Cloud Scheduler are, which is not in every region; region unless set."
  type        = string
  default     = null

  validation {
    condition = (
      contains(local.regions.scheduler, coalesce(var.scheduler_region, var.region))
      || var.scheduler_region == null && !contains(local.regions.functions, var.region)
    )
    error_message = "Cloud Scheduler is not in ${coalesce(var.scheduler_region, var.region)}: set scheduler_region to one of ${join(", ", local.regions.scheduler)}. ${local.newer_regions.scheduler}"
  }
}

variable "new_regions" {
  description = "Regions that Google gave a service after terraform/regions.json was written, e.g. { tasks = [\"europe-west4\"] }. The services are functions, tasks and scheduler."
  type        = map(set(string))
  default     = {}
  nullable    = false

  validation {
    condition     = length(setsubtract(keys(var.new_regions), keys(local.region_lists))) == 0
    error_message = "new_regions names unknown services: ${join(", ", setsubtract(keys(var.new_regions), keys(local.region_lists)))}. Services are ${join(", ", keys(local.region_lists))}."
  }
  validation {
    condition     = alltrue([for r in setunion([], values(var.new_regions)...) : can(regex("^[a-z]+-[a-z]+[0-9]+$", r))])
    error_message = "new_regions must hold regions, such as asia-northeast1; not zones (asia-northeast1-a) and not multi-regions (nam5)."
  }
}

# Google's service agents must be allowed to use the key. The keys of Cloud Tasks and Cloud Scheduler, of their own region, are set
# by hand and hold for all new tasks and jobs of the project there:
#
#   KEY=projects/KEY-PROJECT/locations/REGION/keyRings/RING/cryptoKeys/KEY
#   NUMBER=$(gcloud projects describe PROJECT --format='value(projectNumber)')
#   for api in artifactregistry cloudfunctions cloudscheduler cloudtasks eventarc run; do
#     gcloud beta services identity create --service=$api.googleapis.com --project=PROJECT
#   done
#   gcloud storage service-agent --project=PROJECT
#   for agent in gcf-admin-robot gcp-sa-artifactregistry gcp-sa-cloudscheduler gcp-sa-cloudtasks gcp-sa-eventarc \
#     gs-project-accounts serverless-robot-prod; do
#     gcloud kms keys add-iam-policy-binding "$KEY" --role=roles/cloudkms.cryptoKeyEncrypterDecrypter \
#       --member="serviceAccount:service-$NUMBER@$agent.iam.gserviceaccount.com"
#   done
#   gcloud tasks cmek-config update --project=PROJECT --location=REGION --kms-key-name="$KEY"
#   gcloud scheduler cmek-config update --project=PROJECT --location=REGION --kms-key-name="$KEY"
variable "kms_key" {
  description = "Key of Cloud KMS, in the same region, for functions, their images and their source, where your organization demands one. The comment above says who must be allowed to use it."
  type        = string
  default     = null

  validation {
    condition     = var.kms_key == null ? true : can(regex("^projects/[^/]+/locations/${var.region}/keyRings/[^/]+/cryptoKeys/[^/]+$", var.kms_key))
    error_message = "kms_key must be a key in ${var.region}, such as projects/my-keys/locations/${var.region}/keyRings/firesweep/cryptoKeys/firesweep. Google takes no other region's key, and none of global."
  }
}

variable "enable_apis" {
  description = "Whether Terraform enables the APIs that terraform/README.md lists. With false, which needs no right to do so, they must be on."
  type        = bool
  default     = true
  nullable    = false
}

variable "bucket" {
  description = "Bucket of the Firebase application, without gs://. Needed by the jobs that use Storage."
  type        = string
  default     = null

  validation {
    condition     = var.bucket == null ? true : can(regex("^[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]$", var.bucket))
    error_message = "bucket must be the bucket's name without gs:// and without a path, such as my-app-1a2b3.firebasestorage.app."
  }
  validation {
    condition     = var.bucket != null || alltrue([for f in values(local.jobs) : !can(f.roles.storage)])
    error_message = "bucket is not set, and these jobs need it: ${join(", ", [for name, f in local.jobs : name if can(f.roles.storage)])}. Set it, or leave them out of enabled."
  }
}

variable "rules_file" {
  description = "File with your own rules, such as \"$${path.root}/firesweep.json\"; `firesweep check --write` writes the lock file that must lie beside it. Null: functions/rules.json."
  type        = string
  default     = null

  # The version is shared/version's, and the digests are those of shared/manifest. No local may stand here that depends on this
  # variable.
  validation {
    condition = try(alltrue([
      for list in [coalesce(var.rules_file, "${path.module}/../functions/rules.json")] : alltrue([
        for lock in [jsondecode(file("${trimsuffix(list, ".json")}.lock.json"))] :
        lock.version == local.lock_version
        && lock.rules == sha256(replace(file(list), "\r\n", "\n"))
        && lock.manifest == sha256(replace(file("${path.module}/../functions/manifest.json"), "\r\n", "\n"))
      ])
    ]), false)
    error_message = "${trimsuffix(coalesce(var.rules_file, "${path.module}/../functions/rules.json"), ".json")}.lock.json is missing, or is not of these rules as they are now and of this version of Firesweep, ${local.lock_version}. With the command of this version, run: firesweep check --write --rules ${coalesce(var.rules_file, "${path.module}/../functions/rules.json")}"
  }
}

variable "enabled" {
  description = "Which jobs to deploy. A job's worker comes with it. Null: those that rules_file declares or enables; without rules_file, all."
  type        = set(string)
  default     = null

  validation {
    condition     = var.enabled == null ? true : length(setsubtract(var.enabled, local.job_names)) == 0
    error_message = "enabled names unknown jobs: ${var.enabled == null ? "" : join(", ", setsubtract(var.enabled, local.job_names))}. Jobs are ${join(", ", local.job_names)}."
  }
}

variable "dry_run" {
  description = "For each enabled job: true plans and logs only, false deletes. You decide for each of the nine jobs. Your own rules only plan until you set false."
  type        = map(bool)
  default     = {}
  nullable    = false

  validation {
    condition     = length(setsubtract(keys(local.jobs), setunion(keys(var.dry_run), local.own))) == 0
    error_message = "dry_run says nothing about ${join(", ", setsubtract(keys(local.jobs), setunion(keys(var.dry_run), local.own)))}. Decide for each enabled job; true is right for the first week."
  }
  validation {
    condition     = length(setsubtract(keys(var.dry_run), keys(local.jobs))) == 0
    error_message = "dry_run names jobs that are not enabled: ${join(", ", setsubtract(keys(var.dry_run), keys(local.jobs)))}. Enabled are ${join(", ", keys(local.jobs))}."
  }
  validation {
    condition     = alltrue([for v in values(var.dry_run) : v != null])
    error_message = "dry_run must be true or false for each job, not null."
  }
}

variable "databases" {
  description = "Firestore database of a job, if it is not (default). A worker uses its job's."
  type        = map(string)
  default     = {}
  nullable    = false

  validation {
    condition     = length(setsubtract(keys(var.databases), local.job_names)) == 0
    error_message = "databases names unknown jobs: ${join(", ", setsubtract(keys(var.databases), local.job_names))}. Jobs are ${join(", ", local.job_names)}."
  }
  validation {
    condition     = alltrue([for db in values(var.databases) : can(regex("^(\\(default\\)|[a-z][a-z0-9-]{2,61}[a-z0-9])$", db))])
    error_message = "databases must hold Firestore database ids: (default), or 4 to 63 lower case letters, digits and hyphens."
  }
}

variable "safety_limits" {
  description = "The safety limits, beyond which a run is aborted: max_actions (100000), max_due_percent (50), max_users (20). See docs/operations.md."
  type        = map(number) # an object would silently drop a misspelt name
  default     = {}
  nullable    = false

  validation {
    condition     = alltrue([for name, n in var.safety_limits : try(n >= local.limits[name].least && n <= local.limits[name].most && floor(n) == n, false)])
    error_message = "safety_limits: ${local.limits_are}"
  }
}

variable "job_safety_limits" {
  description = "The safety limits of single jobs, which go before safety_limits, e.g. { cleanupReports = { max_due_percent = 80 } }."
  type        = map(map(number))
  default     = {}
  nullable    = false

  validation {
    condition     = length(setsubtract(keys(var.job_safety_limits), local.job_names)) == 0
    error_message = "job_safety_limits names unknown jobs: ${join(", ", setsubtract(keys(var.job_safety_limits), local.job_names))}. Jobs are ${join(", ", local.job_names)}."
  }
  validation {
    condition = alltrue(flatten([
      for of in values(var.job_safety_limits) : [for name, n in of : try(n >= local.limits[name].least && n <= local.limits[name].most && floor(n) == n, false)]
    ]))
    error_message = "job_safety_limits: ${local.limits_are}"
  }
}

variable "undo_days" {
  description = "For how many days a job's runs can be taken back; 7 unless set, 90 at most. What the job deleted is kept for as long: set 0 if it must be gone at once, e.g. { cleanupReports = 0 }."
  type        = map(number)
  default     = {}
  nullable    = false

  validation {
    condition     = length(setsubtract(keys(var.undo_days), local.job_names)) == 0
    error_message = "undo_days names unknown jobs: ${join(", ", setsubtract(keys(var.undo_days), local.job_names))}. Jobs are ${join(", ", local.job_names)}."
  }
  validation {
    condition     = alltrue([for days in values(var.undo_days) : try(days >= 0 && days <= 90 && floor(days) == days, false)])
    error_message = "undo_days must be whole numbers from 0 to 90."
  }
}

variable "memory" {
  description = "Another amount of memory for a function, e.g. { cleanupOrphanedMedia = \"1Gi\" }."
  type        = map(string)
  default     = {}
  nullable    = false

  validation {
    condition     = length(setsubtract(keys(var.memory), keys(local.functions))) == 0
    error_message = "memory names unknown functions: ${join(", ", setsubtract(keys(var.memory), keys(local.functions)))}. Functions are ${join(", ", keys(local.functions))}."
  }
  validation {
    condition     = alltrue([for name, memory in var.memory : can(regex("^(256Mi|512Mi|1Gi|2Gi|4Gi)$", memory))])
    error_message = "memory must be 256Mi, 512Mi, 1Gi, 2Gi or 4Gi."
  }
  validation {
    condition     = alltrue([for name, memory in var.memory : memory != "256Mi" || !can(local.functions[name].cpu)])
    error_message = "memory of ${join(", ", [for name, memory in var.memory : name if can(local.functions[name].cpu)])} must be 512Mi or more: these functions have a whole CPU, for which Google requires as much."
  }
}

variable "timeouts" {
  description = "Another timeout for a function, in seconds, e.g. { cleanupOrphanedMedia = 1740 }."
  type        = map(number)
  default     = {}
  nullable    = false

  validation {
    condition     = length(setsubtract(keys(var.timeouts), keys(local.functions))) == 0
    error_message = "timeouts names unknown functions: ${join(", ", setsubtract(keys(var.timeouts), keys(local.functions)))}. Functions are ${join(", ", keys(local.functions))}."
  }
  validation {
    condition = alltrue([
      for seconds in values(var.timeouts) : try(seconds >= 60 && seconds <= 1740 && floor(seconds) == seconds, false)
    ])
    error_message = "timeouts must be whole numbers of seconds from 60 to 1740: Cloud Scheduler waits 30 minutes at most."
  }
}

variable "retries" {
  description = "How often Cloud Scheduler tries a failed run of a job again, e.g. { cleanupReports = 0 }."
  type        = map(number)
  default     = {}
  nullable    = false

  validation {
    condition     = length(setsubtract(keys(var.retries), local.job_names)) == 0
    error_message = "retries names unknown jobs: ${join(", ", setsubtract(keys(var.retries), local.job_names))}. Jobs are ${join(", ", local.job_names)}."
  }
  validation {
    condition     = alltrue([for n in values(var.retries) : try(n >= 0 && n <= 5 && floor(n) == n, false)])
    error_message = "retries must be whole numbers from 0 to 5."
  }
}

variable "labels" {
  description = "Labels of everything that can have labels: functions, the source's bucket, the images, the alerts."
  type        = map(string)
  default     = {}
  nullable    = false

  validation {
    condition = length(var.labels) <= 63 && alltrue([
      for key, value in var.labels :
      can(regex("^[a-z][a-z0-9_-]{0,62}$", key)) && can(regex("^[a-z0-9_-]{0,63}$", value))
    ])
    error_message = "labels must be at most 63, of lower case letters, digits, _ and -; a key begins with a letter, and neither is longer than 63."
  }
}

variable "queue_suffix" {
  description = "Added to the queues' names, e.g. \"-2\": the name of a queue that was deleted cannot be used again for some days."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9-]{0,30}$", var.queue_suffix))
    error_message = "queue_suffix must be at most 30 letters, digits and hyphens, such as \"-2\"."
  }
}

variable "schedules" {
  description = "Another unix-cron schedule for a job, e.g. { cleanupReports = \"30 2 * * *\" }."
  type        = map(string)
  default     = {}
  nullable    = false

  validation {
    condition     = length(setsubtract(keys(var.schedules), local.job_names)) == 0
    error_message = "schedules names unknown jobs: ${join(", ", setsubtract(keys(var.schedules), local.job_names))}. Jobs are ${join(", ", local.job_names)}."
  }
  # scheduler.tf checks that each value is in its field's range.
  validation {
    condition     = alltrue([for cron in values(var.schedules) : can(regex("^([0-9*/,~-]+ ){3}\\* [0-9*/,~-]+$", cron))])
    error_message = "schedules must be unix-cron: five fields of digits and * / , - ~ with one space between them, the fourth (month) a *, such as \"0 3 * * *\". Forms like \"every day 03:00\" have no schedule time."
  }
}

variable "time_zones" {
  description = "Another time zone for a job's schedule, e.g. { cleanupReports = \"Europe/Berlin\" }."
  type        = map(string)
  default     = {}
  nullable    = false

  validation {
    condition     = length(setsubtract(keys(var.time_zones), local.job_names)) == 0
    error_message = "time_zones names unknown jobs: ${join(", ", setsubtract(keys(var.time_zones), local.job_names))}. Jobs are ${join(", ", local.job_names)}."
  }
  validation {
    condition     = length(setsubtract(values(var.time_zones), jsondecode(file("${path.module}/../shared/manifest/time_zones.json")))) == 0
    error_message = "time_zones holds unknown time zones: ${join(", ", setsubtract(values(var.time_zones), jsondecode(file("${path.module}/../shared/manifest/time_zones.json"))))}. They are names of the IANA database, such as Asia/Tokyo or UTC; not JST or +09:00."
  }
}

variable "paused" {
  description = "Jobs that stay deployed but are not run; \"all\" means every job."
  type        = set(string)
  default     = []
  nullable    = false

  validation {
    condition     = length(setsubtract(var.paused, concat(local.job_names, ["all"]))) == 0
    error_message = "paused names unknown jobs: ${join(", ", setsubtract(var.paused, concat(local.job_names, ["all"])))}. Jobs are ${join(", ", local.job_names)}; \"all\" means every one."
  }
}

variable "notification_channels" {
  description = "Where alerts go: resource names of Cloud Monitoring notification channels. Empty: alerts are only shown in the console."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for c in var.notification_channels : can(regex("^projects/[^/]+/notificationChannels/[0-9]+$", c))])
    error_message = "notification_channels must hold resource names such as projects/my-app-1a2b3/notificationChannels/1234567890; `gcloud beta monitoring channels list` shows them."
  }
}

variable "notification_locale" {
  description = "Language of what users are told: ja, as the original had it, or en."
  type        = string
  default     = "ja"

  validation {
    condition     = contains(["ja", "en"], var.notification_locale)
    error_message = "notification_locale must be ja or en."
  }
}

variable "placeholder_references" {
  description = "Fields that may refer to a placeholder user, as collection.field or group:collection.field, where dots lead into maps; deletePlaceholderUser deletes no user that they name. Empty: the function's own list, which docs/jobs.md has."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition = alltrue([
      for r in var.placeholder_references : can(regex("^(group:)?[A-Za-z_][A-Za-z0-9_-]*(\\.[A-Za-z_][A-Za-z0-9_]*)+$", r))
    ])
    error_message = "placeholder_references must hold places such as posts.userId, projects.owner.id or group:notes.author_id."
  }
  # What the collection, a part of the field or the whole field is called, as in functions/placeholderusers/places.
  validation {
    condition = alltrue(flatten([
      for r in var.placeholder_references : [
        for name in concat(split(".", trimprefix(r, "group:")), flatten(regexall("[.](.*)$", r))) :
        length(name) <= 1500 && !can(regex("^__.*__$", name))
      ]
    ]))
    error_message = "placeholder_references holds a name of more than 1,500 bytes, which Firestore does not take, or one of the form __…__, which it reserves."
  }
  validation {
    condition     = length(var.placeholder_references) <= 50 && length(distinct(var.placeholder_references)) == length(var.placeholder_references)
    error_message = "placeholder_references must hold at most 50 places, each once: each is a query."
  }
}

variable "inquiry_folders" {
  description = "Folders of the bucket that hold inquiries' images, each with a slash at its end; cleanupResolvedInquiries deletes images from nowhere else. Empty: inquiries/."
  type        = list(string)
  default     = []
  nullable    = false

  # As in shared/objects. 1364 letters of base64 are 1023 bytes.
  validation {
    condition = alltrue([
      for folder in var.inquiry_folders :
      can(regex("^([^/,\\x00\\r\\n]+/)+$", folder)) && !can(regex("^gs:|(^|/)[.]{1,2}/", folder))
      && folder == trimspace(folder) && length(base64encode(folder)) <= 1364
    ])
    error_message = "inquiry_folders must hold folders of the bucket with a slash at their end, such as inquiries/: without gs://, slashes at their beginning, blanks at their ends, commas, or parts that are empty or only dots, and of less than 1,024 bytes."
  }
}

variable "orphans" {
  description = "Passes that cleanupOrphanedMedia makes: posts, circles, tasks, postsOfCircles. Leave out one whose owners are kept elsewhere. Empty: all."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = length(setsubtract(var.orphans, ["posts", "circles", "tasks", "postsOfCircles"])) == 0
    error_message = "orphans must hold names of posts, circles, tasks and postsOfCircles."
  }
}
