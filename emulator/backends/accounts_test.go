package backends

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"

	firebase "firebase.google.com/go/v4"
	"firebase.google.com/go/v4/auth"
)

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

// uids returns the ids of all users, read in pages.
func uids(t *testing.T, client *auth.Client, page int) []string {
	t.Helper()
	found := []string{}
	it := client.Users(context.Background(), "")
	it.PageInfo().MaxSize = page
	for _, user := range all(t, it) {
		found = append(found, user.UID)
	}
	return found
}

func TestAccountLife(t *testing.T) {
	ctx := context.Background()
	withoutFirestore(t, Options{})
	client, other := authClient(t, "demo-a"), authClient(t, "demo-b")

	user := createUser(t, client, new(auth.UserToCreate).UID("u1").Email("A@example.com").DisplayName("花").Password(
		"secret7").Disabled(true))
	same(t, "created", []any{"u1", "花", true}, []any{user.UID, user.DisplayName, user.Disabled})
	if user.UserMetadata.CreationTimestamp == 0 {
		t.Error("it is not told when it was created")
	}
	if made := createUser(t, client, new(auth.UserToCreate)); made.UID == "" {
		t.Error("no id was made")
	}
	if _, err := client.CreateUser(ctx, new(auth.UserToCreate).UID("u1")); !auth.IsUIDAlreadyExists(err) {
		t.Errorf("the same id again: %v", err)
	}
	if _, err := client.CreateUser(ctx, new(auth.UserToCreate).UID("u2").Email("a@EXAMPLE.com")); !auth.IsEmailAlreadyExists(err) {
		t.Errorf("the same address again: %v", err)
	}
	createUser(t, client, new(auth.UserToCreate).UID("u3").PhoneNumber("+15550100"))
	if _, err := client.CreateUser(ctx, new(auth.UserToCreate).PhoneNumber("+15550100")); !auth.IsPhoneNumberAlreadyExists(err) {
		t.Errorf("the same number again: %v", err)
	}
	_, err := client.UpdateUser(ctx, "u1", new(auth.UserToUpdate).PhoneNumber("+15550100"))
	if !auth.IsPhoneNumberAlreadyExists(err) {
		t.Errorf("another's number: %v", err)
	}
	if _, err := client.UpdateUser(ctx, "u3", new(auth.UserToUpdate).PhoneNumber("+15550100")); err != nil {
		t.Errorf("its own number: %v", err)
	}
	if byEmail, err := client.GetUserByEmail(ctx, "a@example.com"); err != nil || byEmail.UID != "u1" {
		t.Errorf("by address: %v, %v", byEmail, err)
	}
	updated, err := client.UpdateUser(ctx, "u1", new(auth.UserToUpdate).Disabled(false).Email("b@example.com").DisplayName(""))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "updated", []any{false, "b@example.com", ""}, []any{updated.Disabled, updated.Email, updated.DisplayName})
	if err := client.SetCustomUserClaims(ctx, "u1", map[string]any{"admin": true}); err != nil {
		t.Error(err)
	}
	if got, err := client.GetUser(ctx, "u1"); err != nil || got.CustomClaims["admin"] != true {
		t.Errorf("claims: %v, %v", got, err)
	}
	if _, err := other.GetUser(ctx, "u1"); !auth.IsUserNotFound(err) {
		t.Errorf("in another project: %v", err)
	}
	if _, err := client.UpdateUser(ctx, "nobody", new(auth.UserToUpdate).Disabled(true)); !auth.IsUserNotFound(err) {
		t.Errorf("update of nobody: %v", err)
	}
	if err := client.DeleteUser(ctx, "u1"); err != nil {
		t.Error(err)
	}
	if err := client.DeleteUser(ctx, "u1"); !auth.IsUserNotFound(err) {
		t.Errorf("deleted again: %v", err)
	}
	if _, err := client.GetUserByEmail(ctx, "b@example.com"); !auth.IsUserNotFound(err) {
		t.Errorf("by the address of the deleted: %v", err)
	}
}

func TestGetUsers(t *testing.T) {
	withoutFirestore(t, Options{})
	client := authClient(t, "demo-a")
	createUser(t, client, new(auth.UserToCreate).UID("u1"))
	createUser(t, client, new(auth.UserToCreate).UID("u2").Email("b@example.com"))
	got, err := client.GetUsers(context.Background(), []auth.UserIdentifier{
		auth.UIDIdentifier{UID: "u1"}, auth.UIDIdentifier{UID: "nobody"}, auth.EmailIdentifier{Email: "b@example.com"},
		auth.UIDIdentifier{UID: "u2"}, // whom two name
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Users) != 2 || len(got.NotFound) != 1 {
		t.Errorf("found %d, not %d", len(got.Users), len(got.NotFound))
	}
}

func TestImportListAndDeleteMany(t *testing.T) {
	ctx := context.Background()
	b := withoutFirestore(t, Options{})
	client := authClient(t, "demo-a")
	var want []string
	var users []*auth.UserToImport
	for i := range 1000 {
		uid := fmt.Sprintf("u%04d", i)
		want = append(want, uid)
		users = append(users, new(auth.UserToImport).UID(uid))
	}
	if result, err := client.ImportUsers(ctx, users); err != nil || result.SuccessCount != 1000 {
		t.Fatalf("import: %+v, %v", result, err)
	}
	same(t, "users", want, uids(t, client, 300))

	b.Auth().FailDelete("demo-a", "u0002", "INTERNAL")
	b.Auth().FailDelete("demo-b", "u0003", "INTERNAL") // another project's
	result, err := client.DeleteUsers(ctx, []string{"u0001", "nobody", "u0002", "u0003"})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "deleted", 3, result.SuccessCount)
	same(t, "not deleted", []*auth.DeleteUsersErrorInfo{{Index: 2, Reason: "INTERNAL"}}, result.Errors)
	if err := client.DeleteUser(ctx, "u0002"); err == nil || auth.IsUserNotFound(err) {
		t.Errorf("deleting the one that fails: %v", err)
	}
	left := slices.DeleteFunc(slices.Clone(want), func(uid string) bool { return uid == "u0001" || uid == "u0003" })
	same(t, "users left", left, uids(t, client, 1000))
	b.Auth().FailDelete("demo-a", "u0002", "")
	if result, err := client.DeleteUsers(ctx, left); err != nil || result.SuccessCount != len(left) {
		t.Errorf("delete the others: %+v, %v", result, err)
	}
	if got := uids(t, client, 1000); len(got) != 0 {
		t.Errorf("users left: %v", got)
	}
}

// get asks for a page of users, as any client may.
func get(t *testing.T, b *Backends, query string) (status int, answer struct {
	Users         []map[string]any
	NextPageToken string
},
) {
	t.Helper()
	status, text := call(t, http.MethodGet,
		"http://"+b.Environment()[AuthHost]+"/identitytoolkit.googleapis.com/v1/projects/demo-a/accounts:batchGet?"+query, "")
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		t.Fatal(err)
	}
	return status, answer
}

// TestPagesOfUsers: 20 a page unless said, from 1 to 1000, each once, and no token but one that a page came with.
func TestPagesOfUsers(t *testing.T) {
	b := withoutFirestore(t, Options{})
	client := authClient(t, "demo-a")
	for i := range 41 {
		createUser(t, client, new(auth.UserToCreate).UID(fmt.Sprintf("u%02d", i)))
	}
	status, first := get(t, b, "")
	if status != http.StatusOK || len(first.Users) != 20 {
		t.Fatalf("%d, %+v", status, first)
	}
	same(t, "first user", any("u00"), first.Users[0]["localId"])
	_, second := get(t, b, "maxResults=21&nextPageToken="+url.QueryEscape(first.NextPageToken))
	if len(second.Users) != 21 || second.NextPageToken != "" {
		t.Fatalf("second page: %+v", second)
	}
	same(t, "first user of the second page", any("u20"), second.Users[0]["localId"])
	for _, query := range []string{
		"maxResults=0", "maxResults=1001", "maxResults=x", "maxResults=-1", "nextPageToken=u10", "nextPageToken=page:", "pageToken=u10",
		"nextPageToken=" + url.QueryEscape(first.NextPageToken+"A"),
	} {
		if status, _ := get(t, b, query); status != http.StatusBadRequest {
			t.Errorf("%s: %d", query, status)
		}
	}
}

// TestWhatIsToldOfAUser: providers, times and what only Google sets, through Firebase's SDK.
func TestWhatIsToldOfAUser(t *testing.T) {
	b := withoutFirestore(t, Options{})
	client := authClient(t, "demo-a")
	createUser(t, client, new(auth.UserToCreate).UID("u1").Email("a@example.com").Password("secret7").PhoneNumber("+819012345678"))
	createUser(t, client, new(auth.UserToCreate).UID("u2").Email("b@example.com"))
	result, err := client.ImportUsers(t.Context(), []*auth.UserToImport{
		new(auth.UserToImport).UID("u3").Metadata(&auth.UserMetadata{CreationTimestamp: 5000, LastLogInTimestamp: 6000}),
	})
	if err != nil || result.FailureCount > 0 {
		t.Fatal(result, err)
	}
	if !b.Auth().Set("demo-a", "u3", map[string]any{"lastRefreshAt": "1970-01-01T00:00:07.5Z"}) ||
		b.Auth().Set("demo-a", "nobody", nil) {
		t.Error("Set does not tell who there is")
	}
	got := map[string]auth.UserMetadata{}
	providers := map[string][]string{}
	for _, uid := range uids(t, client, 2) {
		user, err := client.GetUser(t.Context(), uid)
		if err != nil {
			t.Fatal(err)
		}
		got[uid] = *user.UserMetadata
		for _, p := range user.ProviderUserInfo {
			providers[uid] = append(providers[uid], p.ProviderID)
		}
	}
	same(t, "providers", map[string][]string{"u1": {"password", "phone"}}, providers)
	same(t, "times of u3", auth.UserMetadata{CreationTimestamp: 5000, LastLogInTimestamp: 6000, LastRefreshTimestamp: 7000},
		got["u3"])
	made := got["u2"]
	if made.CreationTimestamp == 0 {
		t.Error("it is not told when an administrator has made u2")
	}
	same(t, "sign-ins of one that an administrator has made", [2]int64{},
		[2]int64{made.LastLogInTimestamp, made.LastRefreshTimestamp})
}

func TestBatchDeleteWithoutForceKeepsTheEnabled(t *testing.T) {
	s := NewAuth()
	p := s.project("demo-a")
	p.byID["on"], p.byID["off"] = account{"localId": "on"}, account{"localId": "off", "disabled": true}
	answer, failure := p.batchDelete(batchDeletion{LocalIds: []string{"on", "off"}})
	if failure != nil {
		t.Fatal(failure.message)
	}
	if errors, _ := answer.(account)["errors"].([]account); len(errors) != 1 || errors[0]["localId"] != "on" {
		t.Errorf("answer %v", answer)
	}
	if p.byID["on"] == nil || p.byID["off"] != nil {
		t.Errorf("left: %v", p.byID)
	}
	if _, failure := p.batchDelete(batchDeletion{LocalIds: make([]string, 1001)}); failure == nil {
		t.Error("1001 ids were taken")
	}
}

func TestDeleteAllAccounts(t *testing.T) {
	b := withoutFirestore(t, Options{})
	client, other := authClient(t, "demo-a"), authClient(t, "demo-b")
	createUser(t, client, new(auth.UserToCreate).UID("u1"))
	createUser(t, other, new(auth.UserToCreate).UID("u1"))
	url := "http://" + b.Environment()[AuthHost] + "/emulator/v1/projects/demo-a/accounts"
	if status, text := call(t, http.MethodDelete, url, ""); status != http.StatusOK {
		t.Errorf("%d %s", status, text)
	}
	if got := uids(t, client, 10); len(got) != 0 {
		t.Errorf("left: %v", got)
	}
	if got := uids(t, other, 10); len(got) != 1 {
		t.Errorf("left in the other project: %v", got)
	}
}
