# Rules are deployed as their lock file says, which must be of the rules, of the nine jobs and of this version.
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
  enabled = ["cleanupBannedUsers"]
  dry_run = { cleanupBannedUsers = true }
}

run "rules_of_another_folder" {
  command = plan
  variables {
    rules_file = "examples/own-rules/rules.json"
    enabled    = ["cleanupBannedUsers", "cleanupReports", "cleanupStaleDrafts", "cleanupActivity", "cleanupAnonymousAccounts"]
    dry_run    = { cleanupBannedUsers = false, cleanupReports = false, cleanupActivity = false }
  }

  assert {
    condition = toset(keys(local.functions)) == setunion(
      [for f in jsondecode(file("../functions/manifest.json")).functions : f.name], ["cleanupStaleDrafts", "cleanupActivity", "cleanupAnonymousAccounts"],
    ) && toset(keys(module.job)) == toset(["cleanupBannedUsers", "cleanupReports", "cleanupStaleDrafts", "cleanupActivity", "cleanupAnonymousAccounts"])
    error_message = "the rules are deployed beside the jobs that are enabled: ${jsonencode(keys(local.functions))}"
  }
  assert {
    condition = { for name, job in module.job : name => job.function.service_config[0].environment_variables["DRY_RUN"] } == {
      cleanupBannedUsers = "false", cleanupReports = "false", cleanupStaleDrafts = "true", cleanupActivity = "false", cleanupAnonymousAccounts = "true"
    }
    error_message = "a rule deletes only if dry_run says so"
  }
  assert {
    condition = (
      "${google_cloud_scheduler_job.job["cleanupStaleDrafts"].schedule} ${google_cloud_scheduler_job.job["cleanupStaleDrafts"].time_zone}" == "0 4 * * * Europe/Berlin"
      && google_cloud_scheduler_job.job["cleanupActivity"].time_zone == "UTC" && google_cloud_scheduler_job.job["cleanupActivity"].retry_config[0].retry_count == 3
      && module.job["cleanupActivity"].function.service_config[0].available_memory == "512Mi" && module.job["cleanupActivity"].function.service_config[0].timeout_seconds == 540
    )
    error_message = "schedule, time zone, retries, memory or timeout are not the lock file's"
  }
  assert {
    condition = toset([for key, g in local.grants : key if startswith(g.function, "cleanupAnon") || startswith(g.function, "cleanupStale")]) == toset([
      "cleanupStaleDrafts roles/datastore.user", "cleanupStaleDrafts firesweepObjectCleaner",
      "cleanupAnonymousAccounts roles/datastore.user", "cleanupAnonymousAccounts firesweepAccountDeleter",
    ])
    error_message = "the rules' roles are ${jsonencode(local.grants)}"
  }
  assert {
    condition = toset(keys(google_firestore_index.index)) == toset([
      "(default) users COLLECTION banStatus:ASCENDING permanentBanScheduledDeletionAt:ASCENDING", "(default) reports COLLECTION status:ASCENDING createdAt:ASCENDING",
    ])
    error_message = "indexes are ${jsonencode(keys(google_firestore_index.index))}"
  }
  assert {
    # A resource of the field would reset what the application has set: its other indexes, its TTL policy.
    condition = (
      toset(keys(google_firestore_field.not_indexed)) == toset(["(default) cleanupRuns expireAt", "(default) cleanupUndo *", "(default) cleanupUndo expireAt"])
      && jsonencode(output.collection_group_indexes) == jsonencode({ "(default)" = ["activity.at ASCENDING"] })
    )
    error_message = "Terraform would make ${jsonencode(keys(google_firestore_field.not_indexed))}, and names ${jsonencode(local.group_indexes)} as the application's to make"
  }
}

# Without `enabled`, the file says which jobs there are, and its rules only plan.
run "what_the_file_uses" {
  command = plan
  variables {
    rules_file = "tests/rules/uses.json"
    enabled    = null
    dry_run    = { cleanupReports = false }
  }

  assert {
    condition = { for name, job in module.job : name => job.function.service_config[0].environment_variables["DRY_RUN"] } == {
      cleanupReports = "false", cleanupActivity = "true"
    }
    error_message = "one rule and one of the nine jobs are used: ${jsonencode(keys(module.job))}"
  }
}

run "refuses_to_decide_for_a_job" {
  command = plan
  variables {
    rules_file = "tests/rules/uses.json"
    enabled    = null
    dry_run    = {}
  }
  expect_failures = [var.dry_run]
}

run "line_ends_of_windows" {
  command = plan
  variables {
    rules_file = "tests/rules/crlf.json"
  }
}

run "refuses_rules_that_do_not_exist" {
  command = plan
  variables {
    rules_file = "tests/rules/none.json"
  }
  expect_failures = [var.rules_file]
}

run "refuses_rules_without_a_lock_file" {
  command = plan
  variables {
    rules_file = "tests/rules/missing.json"
  }
  expect_failures = [var.rules_file]
}

run "refuses_a_lock_file_of_other_rules" {
  command = plan
  variables {
    rules_file = "tests/rules/stale.json"
  }
  expect_failures = [var.rules_file]
}

run "refuses_a_lock_file_of_another_version" {
  command = plan
  variables {
    rules_file = "tests/rules/version.json"
  }
  expect_failures = [var.rules_file]
}

run "refuses_a_lock_file_of_other_jobs" {
  command = plan
  variables {
    rules_file = "tests/rules/manifest.json"
  }
  expect_failures = [var.rules_file]
}

run "refuses_roles_that_are_not_on_its_list" {
  command = plan
  variables {
    rules_file = "tests/rules/roles.json"
    enabled    = ["ownerOfAll", "foreignRole", "foreignBackend"]
    dry_run    = {}
  }
  expect_failures = [
    google_service_account.function["ownerOfAll"], google_service_account.function["foreignRole"], google_service_account.function["foreignBackend"],
  ]
}

run "refuses_indexes_that_its_rules_do_not_need" {
  command = plan
  variables {
    rules_file = "tests/rules/indexes.json"
    enabled    = ["itsOwn", "indexElsewhere", "indexOfOther", "indexByOther"]
    dry_run    = {}
  }
  expect_failures = [
    google_service_account.function["indexElsewhere"], google_service_account.function["indexOfOther"], google_service_account.function["indexByOther"],
  ]
}

run "refuses_entries_of_no_rule" {
  command = plan
  variables {
    rules_file = "tests/rules/forged.json"
    enabled    = ["cleanupBannedUsers", "cleanupReports", "otherName", "withWorker", "withPackage", "withoutIndex"]
    dry_run    = { cleanupBannedUsers = true, cleanupReports = true }
  }
  expect_failures = [
    google_service_account.function["cleanupBannedUsers"], google_service_account.function["cleanupReports"], google_service_account.function["otherName"],
    google_service_account.function["withWorker"], google_service_account.function["withPackage"], google_service_account.function["withoutIndex"],
  ]
}

# And what the file says of a job of the nine counts nowhere.
run "the_nine_are_those_of_this_version" {
  command = plan
  variables {
    rules_file = "tests/rules/forged.json"
    enabled    = ["cleanupPlaceholderUsers"]
    dry_run    = { cleanupPlaceholderUsers = true }
  }

  assert {
    condition = alltrue([
      for f in jsondecode(file("../functions/manifest.json")).functions : jsonencode(local.functions[f.name]) == jsonencode(f) if can(f.package)
    ]) && jsonencode(local.functions["cleanupReports"]) == jsonencode(jsondecode(file("../functions/rules.lock.json")).functions["cleanupReports"])
    error_message = "a lock file takes the place of one of the nine jobs: ${jsonencode(local.functions)}"
  }
  assert {
    condition     = alltrue(flatten([for f in values(local.functions) : [for backend, roles in f.roles : [for role in roles : contains(local.grantable[backend], role)]]]))
    error_message = "a job asks for a role that Terraform does not grant"
  }
}
