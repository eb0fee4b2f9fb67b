# What the google provider checks even of mocked values, and what the configuration takes apart.
mock_resource "google_service_account" {
  defaults = {
    email  = "mocked@my-app-1a2b3.iam.gserviceaccount.com"
    member = "serviceAccount:mocked@my-app-1a2b3.iam.gserviceaccount.com"
    name   = "projects/my-app-1a2b3/serviceAccounts/mocked@my-app-1a2b3.iam.gserviceaccount.com"
  }
}

mock_data "google_project" {
  defaults = {
    number = "123456789012"
  }
}

mock_data "google_storage_bucket" {
  defaults = {
    project_number = 123456789012
    requester_pays = false
  }
}
