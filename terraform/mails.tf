# What the alerts' mails say.
locals {
  # An alert's mail contains its section of the runbook, because at night a link may not work. Tables become lists, which all
  # channels can show, and links become absolute.
  runbook_page = file("${path.module}/../docs/operations.md")
  # Of this version, as the page is. Only a release has a tag.
  runbook_tag = endswith(local.release, "-dev") ? "main" : "v${local.release}"
  runbook_url = "https://github.com/firesweep/firesweep/blob/${local.runbook_tag}/docs/operations.md"
  runbook_sections = {
    failed-or-aborted    = regex("(?s)\n### Failed or aborted\n\n(.+?)\n##", local.runbook_page)[0]
    no-success           = regex("(?s)\n### No success\n\n(.+?)\n##", local.runbook_page)[0]
    needs-attention      = regex("(?s)\n### Needs attention\n\n(.+?)\n##", local.runbook_page)[0]
    worker-keeps-failing = regex("(?s)\n### Worker keeps failing\n\n(.+?)\n##", local.runbook_page)[0]
  }
  # How a mail says which service it is about.
  named = {
    failed-or-aborted    = "$${log.extracted_label.job}"
    no-success           = "$${metric_or_resource.label.service_name}"
    needs-attention      = "$${log.extracted_label.job}"
    worker-keeps-failing = "$${resource.label.service_name}"
  }
  runbook = {
    for kind, section in local.runbook_sections : kind => join("\n\n", [
      replace(replace(replace(replace(replace(
        section,
        "/(?m)^\\|[^|]*\\|[^|]*\\|\n\\|---\\|---\\|\n/", ""),
        "/(?m)^\\| (.+?) \\| (.+) \\|$/", "- $1: $2"),
        "](#", "](${local.runbook_url}#"),
      "JOB in lower case", local.named[kind]), "WORKER in lower case", local.named[kind]),
      "Project `${var.project}`, region `${var.region}`. Runbook: ${local.runbook_url}#${kind}",
    ])
  }

  # What is typed at night, whole: at that hour nobody fills in placeholders.
  command_environment = local.uses_bucket ? "STORAGE_BUCKET=${var.bucket} " : ""
  uses_bucket         = anytrue([for f in local.jobs : can(f.roles.storage)])
  # Only if not all jobs use the default database, because then no job's name needs to be looked up.
  database_note = join("; ", [
    for database, names in { for name, f in local.jobs : local.database[name] => name... } :
    "`FIRESTORE_DATABASE=${database}` for ${join(", ", names)}" if database != "(default)"
  ])
  # Of the run that the log line names. A line of the platform names none.
  commands_of_run = join("\n", [
    "- this run: `firesweep show --project ${var.project} $${log.extracted_label.run}`",
    join("", [
      "- its log: https://console.cloud.google.com/logs/query;query=labels.runId%3D%22$${log.extracted_label.run}%22;",
      "duration=P2D?project=${var.project}",
    ]),
  ])
  commands = {
    for kind, job in local.named : kind => join("\n", concat(
      ["- all jobs' last runs: `firesweep runs --project ${var.project}`"],
      kind == "worker-keeps-failing" ? [
        for name, queue in google_cloud_tasks_queue.worker :
        "- hold the tasks of ${name} back: `gcloud tasks queues pause ${queue.name} --project=${var.project} --location=${local.tasks_region}`"
        ] : [
        "- this job's: `firesweep runs --project ${var.project} ${job}`",
        "- hold it, and stop what runs: `firesweep hold --project ${var.project} --stop ${job}`",
        "- see its whole plan, writing nothing: `${local.command_environment}firesweep plan --project ${var.project} --force ${job}`",
        "- only if all of that is right, run it without its limits: `firesweep run --project ${var.project} --force ${job}`",
      ],
      local.database_note == "" ? [] : ["- before `firesweep`, write ${local.database_note}"],
      ["", "`firesweep` is `npx firesweep`."],
    ))
  }
}
