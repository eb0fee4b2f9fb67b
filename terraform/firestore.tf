# Indexes and TTL in every database that a job works on. The databases themselves are yours and are left alone.
locals {
  firestore = jsondecode(file("${path.module}/../firestore.indexes.json"))
  databases = toset(values(local.database))

  indexes = merge([
    for db in local.databases : {
      for index in local.firestore.indexes : join(" ", concat(
        [db, index.collectionGroup, index.queryScope],
        [for f in index.fields : "${f.fieldPath}:${try(f.order, f.arrayConfig)}"],
      )) => merge(index, { database = db })
    }
  ]...)

  field_overrides = merge([
    for db in local.databases : {
      for o in try(local.firestore.fieldOverrides, []) : "${db} ${o.collectionGroup} ${o.fieldPath}" => {
        database   = db
        collection = o.collectionGroup
        field      = o.fieldPath
        ttl        = try(o.ttl, false)
        indexes    = try(o.indexes, [])
      }
    }
  ]...)
}

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

  depends_on = [google_project_service.api]
}

resource "google_firestore_field" "override" {
  for_each = local.field_overrides

  project    = var.project
  database   = each.value.database
  collection = each.value.collection
  field      = each.value.field

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

  dynamic "ttl_config" {
    for_each = each.value.ttl ? [true] : []
    content {}
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

  depends_on = [google_project_service.api]
}
