# What the functions are built from. The other tests leave this out: looking at so many texts takes most of a plan's time.
mock_provider "google" {
  source = "./tests/mocks"
}
mock_provider "archive" {}
mock_provider "time" {}

run "archive" {
  command = plan
  module {
    source = "./archive"
  }
  variables {
    rules_file = "../functions/rules.json"
    path       = "firesweep.zip"
  }

  assert {
    condition     = output.hash == sha256(jsonencode({ for f in local.files : f => filesha256("../${f}") }))
    error_message = "the hash must be of the contents, or a new source would not be deployed"
  }
  assert {
    condition = length(setsubtract(
      ["bundle.go", "go.mod", "go.sum", "functions/manifest.json", "functions/functions.go", "functions/rules.json", "functions/bannedusers/rules.go", "shared/engine/run.go"],
      local.files,
    )) == 0
    error_message = "the archive lacks something"
  }
  assert {
    condition     = alltrue([for f in local.files : !endswith(f, "_test.go") && !strcontains(f, "enginetest") && !startswith(f, "emulator") && !startswith(f, "terraform")])
    error_message = "the archive holds tests, the emulator or Terraform"
  }
  assert {
    condition     = { for s in data.archive_file.source.source : s.filename => s.content } == { for f in local.files : f => file("../${f}") }
    error_message = "the archive's contents are not the repository's"
  }
}

run "archive_with_rules_of_your_own" {
  command = plan
  module {
    source = "./archive"
  }
  variables {
    rules_file = "examples/own-rules/rules.json"
    path       = "firesweep.zip"
  }

  assert {
    condition     = { for s in data.archive_file.source.source : s.filename => s.content }["functions/rules.json"] == file("examples/own-rules/rules.json")
    error_message = "the functions must be built with the rules that are deployed"
  }
}

# What the module waits for must not make the archive's name unknown, nor empty its bucket. It has the same rules.
run "as_a_module_that_waits" {
  command = plan
  module {
    source = "./tests/waits"
  }

  assert {
    condition     = output.archive == "gs://my-app-1a2b3-firesweep-source-${substr(sha256("asia-northeast1"), 0, 6)}/source-${run.archive_with_rules_of_your_own.hash}.zip"
    error_message = "the archive is not of the rules, or its name depends on what is known only while applying: ${output.archive}"
  }
}
