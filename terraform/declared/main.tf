# Derives from a declared rule its entry with defaults, roles, index and overrides, as shared/manifest does in the functions. A
# test compares the two.
terraform {
  required_version = ">= 1.9.0"
}

variable "functions" {
  description = "Entries of functions/manifest.json or functions/rules.json, some with a rule."
  type        = any
}

locals {
  declared    = { for f in var.functions : f.name => f if can(f.rule) }
  text_fields = { for name, f in local.declared : name => [for w in try(f.rule.where, []) : w.field if try(w.is, "") == "text"] }

  # The fields of the query's index, in its order: fields compared for equality, a text, the age.
  index_fields = {
    for name, f in local.declared : name => can(f.rule.objects) || can(f.rule.accounts) ? [] : concat(
      [for w in try(f.rule.where, []) : w.field if can(w["=="]) || can(w.in) || try(w.is, "") == "true"],
      slice(local.text_fields[name], 0, min(1, length(local.text_fields[name]))),
      [try(f.rule.age.field, "")],
    )
  }

  source = {
    for name, f in local.declared : name => try(f.rule.collection, f.rule.collectionGroup, f.rule.objects, f.rule.accounts, "")
  }

  uses_storage = {
    for name, f in local.declared : name =>
    can(f.rule.objects) || anytrue([for a in try(f.rule.with, []) : can(a.object) || can(a.folder)])
  }
  uses_auth = {
    for name, f in local.declared : name =>
    can(f.rule.accounts) || anytrue([for a in try(f.rule.with, []) : try(a.account, false)])
  }
  # The collections that a function reads, as far as they are one each: no archive may be among them.
  reads = {
    for f in var.functions : f.name => concat(
      try(f.collections, []), [for key in ["collection"] : f.rule[key] if can(f.rule[key])],
      [for a in try(f.rule.with, []) : a.collection if can(a.collection)], [try(f.rule.owner.collection, "-")],
      [for u in try(f.rule.unless, []) : trimsuffix(regex("^.*/", u.document), "/") if can(regex("^.*/", u.document))],
    )
  }

  # This finds typing errors. The functions read rules more strictly, and do not start with a wrong one.
  schema = jsondecode(file("${path.module}/../../rules.schema.json")).properties.functions.items.properties
  problems = flatten([
    for name, f in local.declared : [
      [
        for key in setsubtract(keys(f), keys(local.schema)) :
        "${name}: there is no key ${key}: it is derived from the rule, or misspelt"
      ],
      [for key in setsubtract(keys(f.rule), keys(local.schema.rule.properties)) : "${name}: rule: there is no key ${key}"],
      [for part in ["age", "owner"] : [
        for key in setsubtract(keys(try(f.rule[part], {})), keys(local.schema.rule.properties[part].properties)) :
        "${name}: rule.${part}: there is no key ${key}"
      ]],
      [for part in ["where", "with", "unless"] : [
        for item in try(f.rule[part], []) : [
          for key in setsubtract(keys(item), keys(local.schema.rule.properties[part].items.properties)) :
          "${name}: rule.${part}: there is no key ${key}"
        ]
      ]],
      length([for key in ["hours", "days", "months"] : key if try(f.rule.age[key] > 0, false)]) == 1 ? [] : [
        "${name}: rule.age: give one of hours, days and months"
      ],
      length([for key in ["collection", "collectionGroup", "objects", "accounts"] : key if can(f.rule[key])]) == 1 ? [] : [
        "${name}: rule: give one of collection, collectionGroup, objects and accounts"
      ],
      [
        for other in var.functions : "${name}: rule.archive: ${other.name} reads ${f.rule.archive}: choose another collection"
        if contains(local.reads[other.name], try(f.rule.archive, "")) ||
        try(other.rule.collectionGroup == reverse(split("/", f.rule.archive))[0], false)
      ],
      !can(regex("^(cleanupJobs|cleanupRuns|cleanupUndo|authDeletionRetries)(/|$)", local.source[name])) ? [] : [
        "${name}: rule: ${local.source[name]} belongs to Firesweep itself: choose another collection"
      ],
    ]
  ])

  # A plain rule only deletes documents.
  plain = {
    for name, f in local.declared : name => !can(f.rule.objects) && !can(f.rule.accounts)
    && length(concat(try(f.rule.with, []), try(f.rule.unless, []))) == 0 && !can(f.rule.archive) && !can(f.rule.set)
  }
}

output "functions" {
  description = "The same entries, complete, by name."

  precondition {
    condition     = length(local.problems) == 0
    error_message = "A declared rule is wrong (functions/rules.json, see docs/rules.md): ${join("; ", local.problems)}."
  }

  value = merge(
    { for f in var.functions : f.name => f if !can(f.rule) },
    {
      for name, f in local.declared : name => merge(
        {
          description = "A declared rule", trigger = "schedule", timeZone = "UTC", timeoutSeconds = 540, memory = "512Mi",
          cpu         = "1", retryCount = 3
        },
        f,
        {
          package = ""
          roles = merge(
            { firestore = ["roles/datastore.user"] },
            { for b in ["storage"] : b => ["firesweepObjectCleaner"] if local.uses_storage[name] },
            {
              for b in ["auth"] : b => concat(["firesweepAccountDeleter"], can(f.rule.accounts) ? ["firesweepAccountReader"] : [])
              if local.uses_auth[name]
            },
          )
          indexes = [
            for fields in [local.index_fields[name]] : {
              collectionGroup = reverse(split("/", local.source[name]))[0]
              queryScope      = can(f.rule.collectionGroup) ? "COLLECTION_GROUP" : "COLLECTION"
              fields          = [for field in fields : { fieldPath = field, order = "ASCENDING" }]
            } if length(fields) > 1
          ]
          fieldOverrides = concat(
            # An override replaces the automatic indexes, so it lists them.
            [
              for fields in [local.index_fields[name]] : {
                collectionGroup = f.rule.collectionGroup
                fieldPath       = fields[0]
                indexes = [
                  { queryScope = "COLLECTION", order = "ASCENDING" },
                  { queryScope = "COLLECTION", order = "DESCENDING" },
                  { queryScope = "COLLECTION", arrayConfig = "CONTAINS" },
                  { queryScope = "COLLECTION_GROUP", order = "ASCENDING" },
                ]
              } if length(fields) == 1 && can(f.rule.collectionGroup)
            ],
            [
              for path in concat(["cleanupUndo *"], local.plain[name] ? [] : ["journal next", "journal then"]) : {
                collectionGroup = split(" ", path)[0]
                fieldPath       = split(" ", path)[1]
                indexes         = []
              }
            ],
          )
        },
      )
    },
  )
}
