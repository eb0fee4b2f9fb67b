# The archive holds the files that the functions need, as source.json says. It is a module of its own because Terraform takes a second
# or two each time that it looks at all these texts: its tests look at them once, and leave the module out elsewhere.
terraform {
  required_version = ">= 1.9.0"

  required_providers {
    archive = {
      source  = "hashicorp/archive"
      version = ">= 2.4.0, < 3.0.0"
    }
  }
}

variable "rules_file" {
  description = "What takes the place of functions/rules.json."
  type        = string
}

variable "path" {
  description = "Where the archive is written."
  type        = string
}

locals {
  root = "${path.module}/../.."
  rule = jsondecode(file("${path.module}/../source.json"))
  files = [
    for f in setunion([
      for pattern in ["go.*", "*.go", "functions/**", "shared/**"] : fileset(local.root, pattern)
    ]...) : f
    if length(regexall(local.rule.include, f)) > 0 && length(regexall(local.rule.exclude, f)) == 0
  ]
  # What the archive holds, by path. Each path depends on a variable, so validating, which knows none, reads no file.
  contents = { for f in local.files : f => file(replace("${local.root}/${f}", "${local.root}/functions/rules.json", var.rules_file)) }
}

data "archive_file" "source" {
  type        = "zip"
  output_path = var.path

  dynamic "source" {
    for_each = local.contents
    content {
      filename = source.key
      content  = source.value
    }
  }
}

# Of the contents and not of the archive, which is made only while applying if this module waits for something (depends_on).
output "hash" {
  description = "The digest of what the archive holds."
  value       = sha256(jsonencode({ for f, text in local.contents : f => sha256(text) }))
}
