locals {
  # The duration is Cloud Run's own measure. What runs read and deleted stands in their log lines, which need no metric.
  latency_24h = join("", [
    "increase(run_googleapis_com:request_latencies_SUFFIX{monitored_resource=\"cloud_run_revision\",",
    "service_name=~\"${join("|", values(local.service))}\"}[1d])",
  ])
  runs_24h = "increase(logging_googleapis_com:user_${google_logging_metric.runs.name}{monitored_resource=\"cloud_run_revision\"}[1d])"

  charts = [
    { title = "Runs in 24 hours, by job and status", query = "sum by (function, status) (${local.runs_24h})" },
    {
      title = "Failed and aborted runs in 24 hours"
      query = "sum by (function, status) (${replace(local.runs_24h, "}", ",status=~\"failed|aborted\"}")})"
    },
    {
      title = "Mean duration of a call over 24 hours, ms"
      query = join(" / ", [for part in ["sum", "count"] : "sum by (service_name) (${replace(local.latency_24h, "SUFFIX", part)})"])
    },
  ]
  widgets = concat(
    [for chart in local.charts : {
      title   = chart.title
      xyChart = { dataSets = [{ plotType = "LINE", timeSeriesQuery = { prometheusQuery = chart.query } }] }
    }],
    [{ title = "The runs, with what they read and deleted", logsPanel = { filter = google_logging_metric.runs.filter } }],
  )
}

resource "google_monitoring_dashboard" "firesweep" {
  project = var.project
  dashboard_json = jsonencode({
    displayName = "Firesweep"
    mosaicLayout = {
      columns = 48
      tiles = [
        for i, widget in local.widgets : merge(
          # Google's answer leaves out positions that are zero. If they were set here, every later plan would change them.
          i % 2 == 0 ? {} : { xPos = 24 },
          i < 2 ? {} : { yPos = 16 * floor(i / 2) },
          { width = 24, height = 16, widget = widget },
        )
      ]
    }
  })
}
