package backends

import (
	"context"
	"net/http"
	"strings"
	"testing"

	firebase "firebase.google.com/go/v4"
	"firebase.google.com/go/v4/auth"
)

// What clients of Authentication see is tested in backendstest. This is what only the server in this process has.

// authClient returns the Admin SDK's client for a project.
func authClient(t *testing.T, project string) *auth.Client {
	t.Helper()
	app, err := firebase.NewApp(context.Background(), &firebase.Config{ProjectID: project})
	if err != nil {
		t.Fatal(err)
	}
	client, err := app.Auth(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func createUser(t *testing.T, client *auth.Client, user *auth.UserToCreate) *auth.UserRecord {
	t.Helper()
	record, err := client.CreateUser(context.Background(), user)
	if err != nil {
		t.Fatal(err)
	}
	return record
}

// TestDeletionThatFails: an account fails to be deleted, alone or with others, until that ends; another project's does not.
func TestDeletionThatFails(t *testing.T) {
	ctx := t.Context()
	b := withoutFirestore(t)
	client := authClient(t, "demo-a")
	for _, uid := range []string{"u1", "u2", "u3"} {
		createUser(t, client, new(auth.UserToCreate).UID(uid))
	}
	b.Auth().FailDelete("demo-a", "u2", "INTERNAL")
	b.Auth().FailDelete("demo-b", "u3", "INTERNAL")
	result, err := client.DeleteUsers(ctx, []string{"u1", "u2", "u3"})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "deleted", 2, result.SuccessCount)
	same(t, "not deleted", []*auth.DeleteUsersErrorInfo{{Index: 1, Reason: "INTERNAL"}}, result.Errors)
	if err := client.DeleteUser(ctx, "u2"); err == nil || auth.IsUserNotFound(err) {
		t.Errorf("deleting the one that fails: %v", err)
	}
	b.Auth().FailDelete("demo-a", "u2", "")
	if err := client.DeleteUser(ctx, "u2"); err != nil {
		t.Error(err)
	}
}

// TestWhatOnlyGoogleSets of an account, and of a project.
func TestWhatOnlyGoogleSets(t *testing.T) {
	b := withoutFirestore(t)
	client := authClient(t, "demo-a")
	createUser(t, client, new(auth.UserToCreate).UID("u"))
	refreshed := func() int64 {
		user, err := client.GetUser(t.Context(), "u")
		if err != nil {
			t.Fatal(err)
		}
		return user.UserMetadata.LastRefreshTimestamp
	}
	for _, tt := range []struct {
		at   any
		want int64
	}{{"1970-01-01T00:00:07.5Z", 7000}, {nil, 0}} {
		same(t, "Set tells who there is", []bool{true, false}, []bool{
			b.Auth().Set("demo-a", "u", map[string]any{"lastRefreshAt": tt.at}), b.Auth().Set("demo-a", "nobody", nil)})
		same(t, "last refresh", tt.want, refreshed())
	}
	b.Auth().AllowTenants("demo-a")
	for project, want := range map[string]string{"demo-a": `"allowTenants":true`, "demo-b": `"multiTenant":{}`} {
		url := "http://" + b.Environment()[AuthHost] + "/identitytoolkit.googleapis.com/v2/projects/" + project + "/config"
		_, text := call(t, http.MethodGet, url, "")
		if !strings.Contains(text, want) {
			t.Errorf("%s: %s", project, text)
		}
	}
}

// TestInvalidPagesOfUsers: a page has from 1 to 1000 users, and there is no token but one that a page came with.
func TestInvalidPagesOfUsers(t *testing.T) {
	b := withoutFirestore(t)
	for query, want := range map[string]int{
		"maxResults=1": 200, "maxResults=1000": 200, "nextPageToken=page:u10": 200,
		"maxResults=0": 400, "maxResults=1001": 400, "maxResults=x": 400, "maxResults=-1": 400,
		"nextPageToken=u10": 400, "nextPageToken=page:": 400,
	} {
		status, text := call(t, http.MethodGet,
			"http://"+b.Environment()[AuthHost]+"/identitytoolkit.googleapis.com/v1/projects/demo-a/accounts:batchGet?"+query, "")
		if status != want {
			t.Errorf("%s: %d %s, want %d", query, status, text, want)
		}
	}
}
