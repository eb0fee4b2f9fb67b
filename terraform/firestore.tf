# What the enabled jobs need in their databases: indexes, fields that are not indexed, and TTL policies. The databases
# themselves are yours; Terraform does not manage them here.
locals {
  databases = toset(values(local.database))

  # A key describes the index, so that two jobs on a database share an index that both need.
  indexes = merge([
    for name, f in local.deployed : {
      for index in try(f.indexes, []) : join(" ", concat(
        [local.database[name], index.collectionGroup, index.queryScope],
        [for field in index.fields : "${field.fieldPath}:${try(field.order, field.arrayConfig)}"],
      )) => merge(index, { database = local.database[name] }) if length(index.fields) > 1
    }
  ]...)

  # Fields that no query asks for, by "database collection field": those of Firesweep's own records, and those that a job names. An
  # undo log holds whole documents: each of its values would be an index entry.
  not_indexed = concat(
    [for of in setproduct(local.databases, ["cleanupRuns expireAt", "cleanupUndo expireAt", "cleanupUndo *"]) : join(" ", of)],
    flatten([
      for name, f in local.deployed : [for o in try(f.notIndexed, []) : "${local.database[name]} ${o.collectionGroup} ${o.fieldPath}"]
    ]),
  )

  # Indexes of single fields of collection groups that rules need, by database. These fields are the application's, which may have
  # a TTL policy on them. A resource would hold all settings of such a field and reset those that it does not know.
  group_indexes = {
    for name, f in local.deployed : local.database[name] => [
      for i in try(f.indexes, []) : "${i.collectionGroup}.${i.fields[0].fieldPath} ${try(i.fields[0].order, i.fields[0].arrayConfig)}"
      if length(i.fields) == 1
    ]... if f.package != "placeholderusers"
  }

  # Fields of collection groups that refer to users. They hold ids, so there is no TTL policy on them.
  references = merge([
    for name, f in local.deployed : {
      for r in length(var.placeholder_references) == 0 ? toset([
        for i in try(f.indexes, []) : "group:${i.collectionGroup}.${i.fields[0].fieldPath}" if length(i.fields) == 1
      ]) : var.placeholder_references :
      "${local.database[name]} ${trimprefix(r, "group:")}" => merge(
        regex("^group:(?P<collection>[^.]+)[.](?P<field>.+)$", r), { database = local.database[name] },
      ) if startswith(r, "group:")
    } if f.package == "placeholderusers"
  ]...)

  # What a rule asks Terraform to make that does not follow from the list of rules: an index of what the list does not name.
  rules_text  = file(local.rules_file)
  collections = flatten(regexall("\"(?:collection|collectionGroup|subcollection)\"\\s*:\\s*\"(?:[^\"]*/)?([^\"/]+)\"", local.rules_text))
  not_needed = {
    for name, f in local.deployed : name => contains(keys(local.nine), name) ? [] : [
      for i in try(f.indexes, []) : "an index of ${i.collectionGroup}" if !contains(local.collections, i.collectionGroup)
      || !alltrue([for field in i.fields : strcontains(local.rules_text, "\"${field.fieldPath}")])
    ]
  }
}

# Building the index of a large collection takes longer than the provider's 20 minutes. After a timeout the provider would
# forget the index that is still being built, and the next apply would fail because it exists.
resource "google_firestore_index" "index" {
  for_each = local.indexes

  project     = var.project
  database    = each.value.database
  collection  = each.value.collectionGroup
  query_scope = each.value.queryScope

  dynamic "fields" {
    for_each = each.value.fields
    content {
      field_path   = fields.value.fieldPath
      order        = try(fields.value.order, null)
      array_config = try(fields.value.arrayConfig, null)
    }
  }

  timeouts {
    create = "4h"
    delete = "1h"
  }

  depends_on = [google_project_service.api]
}

# Reports of runs are deleted after 90 days, and undo logs after undo_days: both say in expireAt when.
resource "google_firestore_field" "not_indexed" {
  for_each = toset(local.not_indexed)

  project    = var.project
  database   = split(" ", each.key)[0]
  collection = split(" ", each.key)[1]
  field      = split(" ", each.key)[2]

  index_config {}

  dynamic "ttl_config" {
    for_each = endswith(each.key, " expireAt") ? [1] : []
    content {}
  }

  # What is there when Firesweep leaves the database must still expire.
  deletion_policy = endswith(each.key, " expireAt") ? "ABANDON" : null

  timeouts {
    create = "4h"
    update = "4h"
    delete = "4h"
  }

  depends_on = [google_project_service.api]
}

# A resource takes the place of all that was set for a field. It has each index that a field can have, so no query misses one, and
# leaves them if Firesweep goes.
resource "google_firestore_field" "reference" {
  for_each = local.references

  project    = var.project
  database   = each.value.database
  collection = each.value.collection
  field      = each.value.field

  index_config {
    dynamic "indexes" {
      for_each = setproduct(["COLLECTION", "COLLECTION_GROUP"], ["ASCENDING", "DESCENDING", "CONTAINS"])
      content {
        query_scope  = indexes.value[0]
        order        = indexes.value[1] == "CONTAINS" ? null : indexes.value[1]
        array_config = indexes.value[1] == "CONTAINS" ? "CONTAINS" : null
      }
    }
  }

  deletion_policy = "ABANDON"

  timeouts {
    create = "4h"
    update = "4h"
    delete = "4h"
  }

  depends_on = [google_project_service.api]
}
