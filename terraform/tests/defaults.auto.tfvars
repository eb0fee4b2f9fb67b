# What every test begins with. Each variable is set, so that a terraform.tfvars beside the configuration, which
# `terraform test` reads too, changes no test. Only dry_run stands in the tests themselves: it is made from the job list.
project                = "my-app-1a2b3"
region                 = "asia-northeast1"
tasks_region           = null
scheduler_region       = null
new_regions            = {}
kms_key                = null
enable_apis            = true
bucket                 = "my-app-1a2b3.firebasestorage.app"
rules_file             = null
enabled                = null
databases              = {}
safety_limits          = {}
undo_days              = {}
memory                 = {}
timeouts               = {}
retries                = {}
schedules              = {}
time_zones             = {}
paused                 = []
labels                 = {}
queue_suffix           = ""
notification_channels  = []
notification_locale    = "ja"
placeholder_references = []
inquiry_folders        = []
orphans                = []
