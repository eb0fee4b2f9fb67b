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
      )) => merge(index, { database = local.database[name] })
    }
  ]...)

  # Fields that are not indexed at all, which only Firesweep's own records have.
  exemptions = merge([
    for name, f in local.deployed : {
      for o in try(f.fieldOverrides, []) : "${local.database[name]} ${o.collectionGroup} ${o.fieldPath}" =>
      merge(o, { database = local.database[name] }) if length(o.indexes) == 0
    }
  ]...)

  # Indexes of single fields of collection groups that rules need, by database. These fields are the application's, which may have
  # a TTL policy on them. A resource would hold all settings of such a field and reset those that it does not know.
  group_indexes = {
    for name, f in local.deployed : local.database[name] => flatten([
      for o in try(f.fieldOverrides, []) : [
        for i in o.indexes : "${o.collectionGroup}.${o.fieldPath} ${try(i.order, i.arrayConfig)}" if i.queryScope == "COLLECTION_GROUP"
      ]
    ])... if f.package != "placeholderusers"
  }

  # Fields of collection groups that refer to users. They hold ids, so there is no TTL policy on them.
  references = merge([
    for name, f in local.deployed : {
      for r in length(var.placeholder_references) == 0 ? [
        for o in try(f.fieldOverrides, []) : "group:${o.collectionGroup}.${o.fieldPath}" if length(o.indexes) > 0
      ] : var.placeholder_references :
      "${local.database[name]} ${trimprefix(r, "group:")}" => merge(
        regex("^group:(?P<collection>[^.]+)[.](?P<field>.+)$", r), { database = local.database[name] },
      ) if startswith(r, "group:")
    } if f.package == "placeholderusers"
  ]...)

  # What a rule asks Terraform to make that does not follow from the list of rules: an index of what the list does not name, or a
  # field without indexes that is not of Firesweep's own records.
  rules_text  = file(local.rules_file)
  collections = flatten(regexall("\"(?:collection|collectionGroup|subcollection)\"\\s*:\\s*\"(?:[^\"]*/)?([^\"/]+)\"", local.rules_text))
  not_needed = {
    for name, f in local.deployed : name => contains(keys(local.nine), name) ? [] : concat(
      [
        for i in try(f.indexes, []) : "an index of ${i.collectionGroup}" if !contains(local.collections, i.collectionGroup)
        || !alltrue([for field in i.fields : strcontains(local.rules_text, "\"${field.fieldPath}")])
      ],
      [
        for o in try(f.fieldOverrides, []) : "no index of ${o.collectionGroup}.${o.fieldPath}"
        if length(o.indexes) == 0 && "${o.collectionGroup}.${o.fieldPath}" != "cleanupUndo.*"
      ],
    )
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

# Large values that no query uses: each element of a list would be an index entry.
resource "google_firestore_field" "override" {
  for_each = local.exemptions

  project    = var.project
  database   = each.value.database
  collection = each.value.collectionGroup
  field      = each.value.fieldPath

  index_config {}

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

# Reports of runs are deleted after 90 days. No query asks for the time.
resource "google_firestore_field" "run_retention" {
  for_each = local.databases

  project    = var.project
  database   = each.key
  collection = "cleanupRuns"
  field      = "expireAt"

  index_config {}
  ttl_config {}

  # What is there when Firesweep leaves the database must still expire.
  deletion_policy = "ABANDON"

  timeouts {
    create = "4h"
    update = "4h"
    delete = "4h"
  }

  depends_on = [google_project_service.api]
}

# The undo logs of runs are deleted after undo_days: whole documents as they were.
resource "google_firestore_field" "undo_retention" {
  for_each = local.databases

  project    = var.project
  database   = each.key
  collection = "cleanupUndo"
  field      = "expireAt"

  index_config {}
  ttl_config {}

  # What is there when Firesweep leaves the database must still expire.
  deletion_policy = "ABANDON"

  timeouts {
    create = "4h"
    update = "4h"
    delete = "4h"
  }

  depends_on = [google_project_service.api]
}
