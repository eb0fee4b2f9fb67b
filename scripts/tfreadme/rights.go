package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// rights are the roles that making resources takes, by how the resources' types begin.
var rights = map[string][]string{
	"google_artifact_registry_":      {"roles/artifactregistry.admin"},
	"google_cloud_run_":              {"roles/run.admin"},
	"google_cloud_scheduler_":        {"roles/cloudscheduler.admin", "roles/iam.serviceAccountUser"},
	"google_cloud_tasks_":            {"roles/cloudtasks.admin"},
	"google_cloudfunctions2_":        {"roles/cloudfunctions.admin", "roles/iam.serviceAccountUser"},
	"google_firestore_":              {"roles/datastore.indexAdmin"},
	"google_logging_":                {"roles/logging.configWriter"},
	"google_monitoring_":             {"roles/monitoring.editor"},
	"google_project_iam_custom_role": {"roles/iam.roleAdmin"},
	"google_project_iam_member":      {"roles/resourcemanager.projectIamAdmin"},
	"google_project_service":         {"roles/serviceusage.serviceUsageAdmin"},
	"google_service_account":         {"roles/iam.serviceAccountAdmin"},
	"google_storage_":                {"roles/storage.admin"},
	"time_":                          {},
}

// rolesFor returns, by role, the types of resources that it is needed for.
func rolesFor(types []string) (map[string][]string, error) {
	roles := map[string][]string{}
	for _, kind := range slices.Compact(slices.Sorted(slices.Values(types))) {
		known := false
		for prefix, needed := range rights {
			if !strings.HasPrefix(kind, prefix) {
				continue
			}
			known = true
			for _, role := range needed {
				roles[role] = append(roles[role], kind)
			}
		}
		if !known {
			return nil, fmt.Errorf("say in scripts/tfreadme/rights.go which role making a %s takes", kind)
		}
	}
	return roles, nil
}

// apiPattern is the name of an API in Terraform's language.
var apiPattern = regexp.MustCompile(`"([a-z]+\.googleapis\.com)"`)

// apisIn returns the APIs that an expression names.
func apisIn(expression string) []string {
	var apis []string
	for _, found := range apiPattern.FindAllStringSubmatch(expression, -1) {
		apis = append(apis, found[1])
	}
	slices.Sort(apis)
	return apis
}

// about returns the comment that a file begins with, on one line.
func about(source string) string {
	var words []string
	for line := range strings.Lines(source) {
		comment, ok := strings.CutPrefix(line, "#")
		if !ok {
			break
		}
		words = append(words, strings.Fields(comment)...)
	}
	return strings.Join(words, " ")
}
