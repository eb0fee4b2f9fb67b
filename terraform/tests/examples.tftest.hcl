# The examples can be planned, the module in them called once, and with for_each and providers.
mock_provider "google" {
  source = "./tests/mocks"
}
mock_provider "google" {
  alias  = "deployer"
  source = "./tests/mocks"
}
mock_provider "archive" {}
mock_provider "time" {}
override_module {
  target  = module.firesweep.module.archive
  outputs = { hash = "0123456789abcdef" }
}

run "nine_jobs" {
  command = apply
  module {
    source = "./examples/nine-jobs"
  }
  variables {
    project = "my-app-1a2b3"
  }

  assert {
    condition     = toset(keys(output.schedules)) == toset([for f in jsondecode(file("../functions/manifest.json")).functions : f.name if try(f.trigger, "schedule") == "schedule"])
    error_message = "each of the nine jobs is scheduled, and nothing else"
  }
}

run "own_rules" {
  command = apply
  module {
    source = "./examples/own-rules"
  }
  variables {
    project = "my-app-1a2b3"
  }

  assert {
    condition     = toset(keys(output.schedules)) == toset([for f in jsondecode(file("examples/own-rules/rules.json")).rules : f.name])
    error_message = "your own rules are scheduled, and no other job"
  }
}

run "all_jobs" {
  command = apply
  module {
    source = "./examples/all-jobs"
  }
  variables {
    project = "my-app-1a2b3"
    mail    = "ops@example.com"
  }
  override_resource {
    target = google_monitoring_notification_channel.mail
    values = { name = "projects/my-app-1a2b3/notificationChannels/1234567890" }
  }

  assert {
    condition     = toset(keys(output.urls)) == toset([for f in concat(jsondecode(file("../functions/manifest.json")).functions, jsondecode(file("examples/own-rules/rules.json")).rules) : f.name])
    error_message = "every function is deployed"
  }
}

run "part_of_a_larger_configuration" {
  command = apply
  module {
    source = "./examples/module"
  }
  variables {
    projects = { "my-app-1a2b3" = { deletes = true }, "another-app" = { deletes = false } }
    deployer = "deployer@my-app-1a2b3.iam.gserviceaccount.com"
  }

  assert {
    condition     = { for project, alerts in output.alerts : project => length(alerts.failed) } == { "my-app-1a2b3" = 1, "another-app" = 1 }
    error_message = "one installation in each project"
  }
}
