# What Terraform derives from declared rules is what the functions derive: declared.json is written by a test of shared/declared.
run "rules" {
  command = plan
  module {
    source = "./declared"
  }
  variables {
    functions = jsondecode(file("tests/declared.json")).Functions
  }

  assert {
    condition = {
      for name, f in output.functions : name => {
        Name           = f.name, Trigger = f.trigger, TimeZone = f.timeZone, Memory = f.memory, CPU = f.cpu, TimeoutSeconds = f.timeoutSeconds,
        RetryCount     = f.retryCount, Roles = f.roles, Indexes = [for i in f.indexes : merge(i, { fields = [for x in i.fields : x] })],
        FieldOverrides = [for o in f.fieldOverrides : merge(o, { indexes = [for x in o.indexes : { for k, v in x : k => v if v != null }] })]
      }
    } == jsondecode(file("tests/declared.json")).Derived
    error_message = "Terraform derives ${jsonencode(output.functions)}"
  }
}

run "refuses_what_is_misspelt" {
  command = plan
  module {
    source = "./declared"
  }
  variables {
    functions = [
      { name = "cleanupThings", schedule = "0 4 * * *", roles = {}, rule = { colection = "things", where = [{ field = "a", equals = 1 }], age = { field = "at" } } },
    ]
  }
  expect_failures = [output.functions]
}

run "refuses_our_own_records" {
  command = plan
  module {
    source = "./declared"
  }
  variables {
    functions = [{ name = "cleanupThings", schedule = "0 4 * * *", rule = { collection = "cleanupRuns", age = { field = "at", days = 1 } } }]
  }
  expect_failures = [output.functions]
}

run "refuses_a_rule_without_age" {
  command = plan
  module {
    source = "./declared"
  }
  variables {
    functions = [{ name = "cleanupThings", schedule = "0 4 * * *", rule = { collection = "things" } }]
  }
  expect_failures = [output.functions]
}

run "refuses_an_archive_that_another_rule_reads" {
  command = plan
  module {
    source = "./declared"
  }
  variables {
    functions = [
      { name = "cleanupThings", schedule = "0 4 * * *", rule = { collection = "things", archive = "holds", age = { field = "at", days = 1 } } },
      {
        name = "cleanupOthers", schedule = "0 4 * * *",
        rule = { collection = "others", unless = [{ document = "holds/{id}" }], age = { field = "at", days = 1 } }
      },
    ]
  }
  expect_failures = [output.functions]
}

run "refuses_an_archive_among_the_collections_of_a_job" {
  command = plan
  module {
    source = "./declared"
  }
  variables {
    functions = concat(jsondecode(file("../functions/manifest.json")).functions, [
      { name = "cleanupThings", schedule = "0 4 * * *", rule = { collection = "things", archive = "users", age = { field = "at", days = 1 } } },
    ])
  }
  expect_failures = [output.functions]
}
