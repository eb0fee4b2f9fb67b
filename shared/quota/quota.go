// Package quota says whose quota an operator's calls of Google's services count against.
package quota

import (
	"context"
	"encoding/json"
	"os"
	"slices"

	"google.golang.org/api/option"
	"google.golang.org/api/transport"
)

// people are the kinds of credentials that a person has after gcloud auth application-default login. Service accounts have a
// project of their own, and need no right to use the quota of another: so the functions', too, never ask for it.
var people = []string{"authorized_user", "external_account_authorized_user"}

// variable names a project that somebody has chosen. Google's clients read it.
const variable = "GOOGLE_CLOUD_QUOTA_PROJECT"

// Of returns the options of a client with which a person's calls count against the quota of the project that they are about.
// Without these, some services, Authentication among them, refuse them. Where it cannot tell who calls, there are none: the
// client then says what is wrong with the credentials.
func Of(ctx context.Context, project string) []option.ClientOption {
	if os.Getenv(variable) != "" {
		return nil
	}
	found, err := transport.Creds(ctx, option.WithScopes("https://www.googleapis.com/auth/cloud-platform"))
	if err != nil {
		return nil
	}
	var credentials struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(found.JSON, &credentials) != nil || !slices.Contains(people, credentials.Type) {
		return nil
	}
	return []option.ClientOption{option.WithQuotaProject(project)}
}
