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

  field_overrides = merge(concat([
    for name, f in local.deployed : {
      for o in try(f.fieldOverrides, []) : "${local.database[name]} ${o.collectionGroup} ${o.fieldPath}" =>
      merge(o, { database = local.database[name] })
    }
    ], [
    for name, f in local.deployed : {
      for o in f.package == "placeholderusers" ? local.group_references : [] :
      "${local.database[name]} ${o.collectionGroup} ${o.fieldPath}" => merge(o, { database = local.database[name] })
    }
  ])...)

  # Collection groups have no automatic indexes. An override replaces those of collections, so it lists them as well.
  group_references = [
    for r in [for r in var.placeholder_references : trimprefix(r, "group:") if startswith(r, "group:")] : {
      collectionGroup = split(".", r)[0]
      fieldPath       = join(".", slice(split(".", r), 1, length(split(".", r))))
      indexes = [
        { queryScope = "COLLECTION", order = "ASCENDING" },
        { queryScope = "COLLECTION", order = "DESCENDING" },
        { queryScope = "COLLECTION", arrayConfig = "CONTAINS" },
        { queryScope = "COLLECTION_GROUP", order = "ASCENDING" },
        { queryScope = "COLLECTION_GROUP", arrayConfig = "CONTAINS" },
      ]
    }
  ]
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

# Large lists that no query uses: each element would be an index entry.
resource "google_firestore_field" "override" {
  for_each = local.field_overrides

  project    = var.project
  database   = each.value.database
  collection = each.value.collectionGroup
  field      = each.value.fieldPath

  index_config {
    dynamic "indexes" {
      for_each = each.value.indexes
      content {
        query_scope  = try(indexes.value.queryScope, "COLLECTION")
        order        = try(indexes.value.order, null)
        array_config = try(indexes.value.arrayConfig, null)
      }
    }
  }

  timeouts {
    create = "4h"
    update = "4h"
    delete = "4h"
  }

  depends_on = [google_project_service.api]
}

# Reports of runs are deleted after 90 days.
resource "google_firestore_field" "run_retention" {
  for_each = local.databases

  project    = var.project
  database   = each.key
  collection = "cleanupRuns"
  field      = "expireAt"

  ttl_config {}

  timeouts {
    create = "4h"
    update = "4h"
    delete = "4h"
  }

  depends_on = [google_project_service.api]
}

# The undo logs of runs are deleted after undo_days.
resource "google_firestore_field" "undo_retention" {
  for_each = local.databases

  project    = var.project
  database   = each.key
  collection = "cleanupUndo"
  field      = "expireAt"

  ttl_config {}

  timeouts {
    create = "4h"
    update = "4h"
    delete = "4h"
  }

  depends_on = [google_project_service.api]
}
