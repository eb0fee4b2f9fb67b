# How much Terraform makes: each resource takes time to plan and to make, and some cost money. .ci/run counts what these plans create
# and compares it with the number in the run's name.
mock_provider "google" {
  source = "./tests/mocks"
}
mock_provider "archive" {}
mock_provider "time" {}
override_module {
  target  = module.archive
  outputs = { hash = "0123456789abcdef" }
}

run "all_jobs_at_most_150" {
  command = plan
  variables {
    dry_run = { for f in jsondecode(file("../functions/manifest.json")).functions : f.name => true if try(f.trigger, "schedule") == "schedule" }
  }

  assert {
    condition     = length(local.jobs) == length(local.job_names)
    error_message = "a job is left out"
  }
}

# A rule with a role for accounts and an API of its own.
run "one_rule_about_accounts_at_most_40" {
  command = plan
  variables {
    rules_file = "examples/own-rules/rules.json"
    enabled    = ["cleanupAnonymousAccounts"]
    dry_run    = { cleanupAnonymousAccounts = true }
  }

  assert {
    condition     = keys(local.jobs) == ["cleanupAnonymousAccounts"]
    error_message = "another job is made"
  }
}

# README's rule, alone.
run "one_rule_at_most_40" {
  command = plan
  variables {
    rules_file = "examples/own-rules/rules.json"
    enabled    = ["cleanupStaleDrafts"]
    dry_run    = { cleanupStaleDrafts = true }
  }

  assert {
    condition     = keys(local.jobs) == ["cleanupStaleDrafts"]
    error_message = "another job is made"
  }
}
