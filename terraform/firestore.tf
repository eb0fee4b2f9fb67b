# What the enabled jobs need of their databases: indexes, fields that are not indexed, and TTL. The databases themselves
# are yours and are left alone.
locals {
  databases = toset(values(local.database))

  # Keys name what is made, so that two jobs on one database share what both need.
  indexes = merge([
    for name, f in local.deployed : {
      for index in try(f.indexes, []) : join(" ", concat(
        [local.database[name], index.collectionGroup, index.queryScope],
        [for field in index.fields : "${field.fieldPath}:${try(field.order, field.arrayConfig)}"],
      )) => merge(index, { database = local.database[name] })
    }
  ]...)

  field_overrides = merge([
    for name, f in local.deployed : {
      for o in try(f.fieldOverrides, []) : "${local.database[name]} ${o.collectionGroup} ${o.fieldPath}" => merge(o, { database = local.database[name] })
    }
  ]...)
}

# A large collection takes longer than the provider's 20 minutes. After a timeout the provider would forget an index that
# is still being built, and the next apply would find that it exists already.
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

# Large lists that nobody asks for: each element would be an index entry.
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

# Reports of runs go after 90 days.
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

# What is kept of a run to take it back goes after the days that undo_days says.
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
