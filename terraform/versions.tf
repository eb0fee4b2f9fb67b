# No provider is configured here, so that the module can be used with count, for_each, depends_on and providers. Every
# resource names its project and region. In a root module, the provider takes its credentials from the environment.
terraform {
  # 1.9 lets a variable's validation look at the job list and at other variables.
  required_version = ">= 1.9.0"

  required_providers {
    google = {
      source = "hashicorp/google"
      # 7.33 has deletion_policy.
      version = ">= 7.33.0, < 8.0.0"
    }
    archive = {
      source  = "hashicorp/archive"
      version = ">= 2.4.0, < 3.0.0"
    }
    time = {
      source  = "hashicorp/time"
      version = ">= 0.9.0, < 1.0.0"
    }
  }
}
