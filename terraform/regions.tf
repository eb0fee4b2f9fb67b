# Not every service is in every region, and Google says so only when much else was made. The services call each other by
# public addresses, so they need not be in one region.
locals {
  # By service, the command of gcloud that lists its regions.
  region_lists = { functions = "functions regions list", tasks = "tasks locations list", scheduler = "scheduler locations list" }

  # As Google's pages listed them in the month asOf.
  region_file = jsondecode(file("${path.module}/regions.json"))
  regions = {
    for service in keys(local.region_lists) : service => setunion(local.region_file[service], lookup(var.new_regions, service, []))
  }

  tasks_region     = coalesce(var.tasks_region, var.region)
  scheduler_region = coalesce(var.scheduler_region, var.region)

  # Google may have brought a service to a region since then.
  newer_regions = {
    for service, gcloud in local.region_lists : service => join("", [
      "The list is of ${local.region_file.asOf}. If `gcloud ${gcloud}` names the region now, ",
      "set new_regions = { ${service} = [\"REGION\"] }.",
    ])
  }
}
