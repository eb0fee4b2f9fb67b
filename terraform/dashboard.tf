locals {
  sum_24h = {
    for name in concat([google_logging_metric.runs.name], [for m in google_logging_metric.distribution : "${m.name}_sum"]) :
    name => "increase(logging_googleapis_com:user_${name}{monitored_resource=\"cloud_run_revision\"}[1d])"
  }
  count_24h = "increase(logging_googleapis_com:user_firesweep_duration_ms_count{monitored_resource=\"cloud_run_revision\"}[1d])"

  charts = [
    { title = "Runs in 24 hours, by job and status", query = "sum by (function, status) (${local.sum_24h["firesweep_runs"]})" },
    {
      title = "Failed and aborted runs in 24 hours"
      query = "sum by (function, status) (${replace(local.sum_24h["firesweep_runs"], "}", ",status=~\"failed|aborted\"}")})"
    },
    {
      title = "Documents deleted in 24 hours"
      query = "sum by (function) (${local.sum_24h["firesweep_firestore_deletes_sum"]})"
    },
    { title = "Files deleted in 24 hours", query = "sum by (function) (${local.sum_24h["firesweep_storage_deletes_sum"]})" },
    {
      title = "Billed Firestore reads in 24 hours"
      query = "sum by (function) (${local.sum_24h["firesweep_firestore_reads_sum"]})"
    },
    {
      title = "Mean duration of a run over 24 hours, ms"
      query = "sum by (function) (${local.sum_24h["firesweep_duration_ms_sum"]}) / sum by (function) (${local.count_24h})"
    },
  ]
}

resource "google_monitoring_dashboard" "firesweep" {
  project = var.project
  dashboard_json = jsonencode({
    displayName = "Firesweep"
    mosaicLayout = {
      columns = 48
      tiles = [
        for i, chart in local.charts : merge(
          # Google's answer leaves out positions that are zero. If they were set here, every later plan would change them.
          i % 2 == 0 ? {} : { xPos = 24 },
          i < 2 ? {} : { yPos = 16 * floor(i / 2) },
          {
            width  = 24
            height = 16
            widget = {
              title = chart.title
              xyChart = {
                dataSets = [{ plotType = "LINE", timeSeriesQuery = { prometheusQuery = chart.query } }]
              }
            }
          },
        )
      ]
    }
  })
}
