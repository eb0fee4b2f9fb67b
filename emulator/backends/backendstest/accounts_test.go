package backendstest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"firebase.google.com/go/v4/auth"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/identitytoolkit/v1"
	"google.golang.org/api/option"

	"github.com/firesweep/firesweep/emulator/backends"
	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/emulator/check"
)

// TestAccountLife: an account is made, found, changed and deleted, and no two have an id, an address or a number in common.
func TestAccountLife(t *testing.T) {
	ctx := t.Context()
	client, other := backendstest.Start(t).Auth(t), backendstest.Start(t).Auth(t)
	create := func(u *auth.UserToCreate) (*auth.UserRecord, error) { return client.CreateUser(ctx, u) }
	update := func(uid string, u *auth.UserToUpdate) (*auth.UserRecord, error) {
		return client.UpdateUser(ctx, uid, u)
	}
	anew := func() *auth.UserToCreate { return new(auth.UserToCreate) }
	wants := func(what string, is func(error) bool) func(*auth.UserRecord, error) {
		return func(_ *auth.UserRecord, err error) {
			t.Helper()
			if !is(err) {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	fine := func(err error) bool { return err == nil }
	user, err := create(anew().UID("u1").Email("A@example.com").DisplayName("花").Password("secret7").Disabled(true))
	ok(t, err)
	same(t, "created", []any{"u1", "花", true, true},
		[]any{user.UID, user.DisplayName, user.Disabled, user.UserMetadata.CreationTimestamp > 0})
	made, err := create(anew())
	if err != nil || made.UID == "" {
		t.Errorf("without an id: %+v, %v", made, err)
	}
	wants("the same id", auth.IsUIDAlreadyExists)(create(anew().UID("u1")))
	wants("the same address", auth.IsEmailAlreadyExists)(create(anew().UID("u2").Email("a@EXAMPLE.com")))
	wants("a number", fine)(create(anew().UID("u3").PhoneNumber("+15550100")))
	wants("the same number", auth.IsPhoneNumberAlreadyExists)(create(anew().PhoneNumber("+15550100")))
	wants("another's number", auth.IsPhoneNumberAlreadyExists)(update("u1", new(auth.UserToUpdate).PhoneNumber("+15550100")))
	wants("its own number", fine)(update("u3", new(auth.UserToUpdate).PhoneNumber("+15550100")))
	wants("update nobody", auth.IsUserNotFound)(update("nobody", new(auth.UserToUpdate).Disabled(true)))
	wants("another project's", auth.IsUserNotFound)(other.GetUser(ctx, "u1"))
	byEmail, err := client.GetUserByEmail(ctx, "a@example.com")
	ok(t, err)
	same(t, "by address", "u1", byEmail.UID)
	updated, err := update("u1", new(auth.UserToUpdate).Disabled(false).Email("b@example.com").DisplayName(""))
	ok(t, err)
	same(t, "updated", []any{false, "b@example.com", ""}, []any{updated.Disabled, updated.Email, updated.DisplayName})
	ok(t, client.SetCustomUserClaims(ctx, "u1", map[string]any{"admin": true}))
	got, err := client.GetUser(ctx, "u1")
	ok(t, err)
	same(t, "claims", map[string]any{"admin": true}, got.CustomClaims)
	wants("delete", fine)(nil, client.DeleteUser(ctx, "u1"))
	wants("delete again", auth.IsUserNotFound)(nil, client.DeleteUser(ctx, "u1"))
	wants("by the address of the deleted", auth.IsUserNotFound)(client.GetUserByEmail(ctx, "b@example.com"))
}

// toolkit returns the client of the API below the Admin SDK.
func toolkit(t *testing.T, p *backendstest.Project) *identitytoolkit.ProjectsAccountsService {
	t.Helper()
	service, err := identitytoolkit.NewService(t.Context(), option.WithHTTPClient(&http.Client{Transport: owner{}}),
		option.WithEndpoint("http://"+p.Environment[backends.AuthHost]+"/identitytoolkit.googleapis.com/"))
	ok(t, err)
	return identitytoolkit.NewProjectsAccountsService(service)
}

// owner sends requests as the emulators' administrator.
type owner struct{}

// RoundTrip implements http.RoundTripper.
func (owner) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer owner")
	return http.DefaultTransport.RoundTrip(r)
}

// TestManyAccounts: pages have 20 accounts unless something else is asked for, each once and in the order of ids; the deletion of
// a batch keeps whoever is enabled unless it is forced.
func TestManyAccounts(t *testing.T) {
	ctx := t.Context()
	p := backendstest.Start(t)
	client := p.Auth(t)
	var want []string
	var users []*auth.UserToImport
	for i := range 1000 {
		want = append(want, fmt.Sprintf("u%04d", i))
		users = append(users, new(auth.UserToImport).UID(want[i]).Disabled(i < 2))
	}
	p.Import(t, users...)
	it := client.Users(ctx, "")
	it.PageInfo().MaxSize = 300
	uids := []string{}
	for _, user := range all(t, it) {
		uids = append(uids, user.UID)
	}
	same(t, "users", want, uids)
	api := toolkit(t, p)
	first, err := api.BatchGet(p.ID).Context(ctx).Do()
	ok(t, err)
	second, err := api.BatchGet(p.ID).MaxResults(30).NextPageToken(first.NextPageToken).Context(ctx).Do()
	ok(t, err)
	same(t, "pages", []any{20, "u0000", 30, "u0020"},
		[]any{len(first.Users), first.Users[0].LocalId, len(second.Users), second.Users[0].LocalId})
	type batch = identitytoolkit.GoogleCloudIdentitytoolkitV1BatchDeleteAccountsRequest
	answer, err := api.BatchDelete(p.ID, &batch{LocalIds: []string{"u0000", "u0002", "u0001"}}).Context(ctx).Do()
	if err != nil || len(answer.Errors) != 1 || answer.Errors[0].Index != 1 {
		t.Errorf("not forced: %+v, %v", answer, err)
	}
	_, err = api.BatchDelete(p.ID, &batch{LocalIds: make([]string, 1001), Force: true}).Context(ctx).Do()
	check.Fails(t, err)
	result, err := client.DeleteUsers(ctx, []string{"u0003", "nobody"})
	ok(t, err)
	same(t, "deleted", 2, result.SuccessCount)
	same(t, "left", append([]string{"u0002"}, want[4:]...), p.Accounts(t))
}

// TestWhatIsToldOfAnAccount: providers and times. The suite takes somebody whom an administrator has made for signed in.
func TestWhatIsToldOfAnAccount(t *testing.T) {
	p := backendstest.Start(t)
	client := p.Auth(t)
	for _, u := range []*auth.UserToCreate{
		new(auth.UserToCreate).UID("u1").Email("a@example.com").Password("secret7").PhoneNumber("+819012345678"),
		new(auth.UserToCreate).UID("u2").Email("b@example.com"),
	} {
		_, err := client.CreateUser(t.Context(), u)
		ok(t, err)
	}
	p.Import(t, new(auth.UserToImport).UID("u3").Metadata(&auth.UserMetadata{CreationTimestamp: 5000, LastLogInTimestamp: 6000}))
	got := map[string]auth.UserMetadata{}
	providers := map[string][]string{}
	for _, uid := range p.Accounts(t) {
		user, err := client.GetUser(t.Context(), uid)
		ok(t, err)
		got[uid] = *user.UserMetadata
		for _, p := range user.ProviderUserInfo {
			providers[uid] = append(providers[uid], p.ProviderID)
		}
	}
	same(t, "providers", map[string][]string{"u1": {"password", "phone"}}, providers)
	same(t, "times of u3", auth.UserMetadata{CreationTimestamp: 5000, LastLogInTimestamp: 6000}, got["u3"])
	same(t, "u2 was made, and has signed in", []bool{true, !p.EmbeddedAuth()},
		[]bool{got["u2"].CreationTimestamp > 0, got["u2"].LastLogInTimestamp > 0 || got["u2"].LastRefreshTimestamp > 0})
}

// TestImport: what the API's reference says of sanityCheck and allowOverwrite. The suite compares addresses as they are written,
// and refuses who is there, or has what another has, whatever is asked for.
func TestImport(t *testing.T) {
	type (
		account   = identitytoolkit.GoogleCloudIdentitytoolkitV1UserInfo
		importing = identitytoolkit.GoogleCloudIdentitytoolkitV1UploadAccountRequest
		outcome   struct {
			whole   string         // why none is imported
			refused map[int]string // how it begins why one is not
			want    string         // the users there are, with their names
		}
	)
	at := func(provider string) []*identitytoolkit.GoogleCloudIdentitytoolkitV1ProviderUserInfo {
		return []*identitytoolkit.GoogleCloudIdentitytoolkitV1ProviderUserInfo{{ProviderId: provider, RawId: "g1"}}
	}
	never := []string{"AllowOverwrite"} // sent as false
	const noDuplicates = "((Auth Emulator does not support importing duplicate email"
	for name, tt := range map[string]struct {
		upload importing
		google outcome
		suite  *outcome // nil: the same
	}{
		"no check": {
			importing{Users: []*account{{LocalId: "a", Email: "one@example.com"}, {LocalId: "b", PhoneNumber: "+819012345678"},
				{LocalId: "c", ProviderUserInfo: at("google.com")}, {LocalId: "one", DisplayName: "new"}}},
			outcome{want: "a , b , c , one new"},
			&outcome{refused: map[int]string{0: noDuplicates, 2: "", 3: ""}, want: "b , one old"},
		},
		"no check of those together": {
			importing{Users: []*account{{LocalId: "a", Email: "a@example.com"},
				{LocalId: "a", Email: "a@example.com", DisplayName: "later"}}},
			outcome{want: "a later, one old"}, &outcome{whole: "DUPLICATE_LOCAL_ID : a", want: "one old"},
		},
		"overwrite": {
			importing{AllowOverwrite: true, SanityCheck: true,
				Users: []*account{{LocalId: "one", DisplayName: "new", Email: "one@example.com"}}},
			outcome{want: "one new"}, nil,
		},
		"overwrite nobody": {
			importing{ForceSendFields: never, Users: []*account{{LocalId: "one", DisplayName: "new"}, {LocalId: "a"}}},
			outcome{refused: map[int]string{0: "localId belongs to an existing account"}, want: "a , one old"}, nil,
		},
		"check": {
			importing{SanityCheck: true, ForceSendFields: never, Users: []*account{{LocalId: "a", Email: "one@example.com"},
				{LocalId: "b", PhoneNumber: "+819012345678"}, {LocalId: "c", ProviderUserInfo: at("google.com")},
				{LocalId: "d", ProviderUserInfo: at("apple.com")}, {LocalId: "e", PhoneNumber: "+819012345678"}}},
			outcome{refused: map[int]string{0: "email exists in other account", 2: "raw id exists in other account"},
				want: "b , d , e , one old"}, nil,
		},
		"check an address in other letters": {
			importing{SanityCheck: true, Users: []*account{{LocalId: "a", Email: "One@example.com"}}},
			outcome{refused: map[int]string{0: "email exists in other account"}, want: "one old"}, &outcome{want: "a , one old"},
		},
		"address twice": {
			importing{SanityCheck: true, Users: []*account{{LocalId: "a", Email: "a@example.com"},
				{LocalId: "b", Email: "a@example.com"}, {LocalId: "c"}}},
			outcome{whole: "DUPLICATE_EMAIL : a@example.com", want: "one old"}, nil,
		},
		"identity twice": {
			importing{SanityCheck: true, Users: []*account{{LocalId: "a", ProviderUserInfo: at("x.com")},
				{LocalId: "b", ProviderUserInfo: at("x.com")}}},
			outcome{whole: "DUPLICATE_RAW_ID : Provider id(x.com), Raw id(g1)", want: "one old"}, nil,
		},
		"uid twice": {importing{ForceSendFields: never, Users: []*account{{LocalId: "a"}, {LocalId: "a"}}},
			outcome{whole: "DUPLICATE_LOCAL_ID : a", want: "one old"}, nil},
		"without id": {importing{Users: []*account{{DisplayName: "x"}, {LocalId: "a"}}},
			outcome{refused: map[int]string{0: "localId is missing"}, want: "a , one old"}, nil},
		"none": {importing{}, outcome{whole: "MISSING_USER_ACCOUNT", want: "one old"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := backendstest.Start(t)
			p.Import(t, new(auth.UserToImport).UID("one").Email("one@example.com").DisplayName("old").PhoneNumber("+819012345678").
				ProviderData([]*auth.UserProvider{{ProviderID: "google.com", UID: "g1"}}))
			want := tt.google
			if !p.EmbeddedAuth() && tt.suite != nil {
				want = *tt.suite
			}
			answer, err := toolkit(t, p).BatchCreate(p.ID, &tt.upload).Context(t.Context()).Do()
			said := ""
			if refusal, is := errors.AsType[*googleapi.Error](err); is {
				said, err = refusal.Message, nil
				answer = new(identitytoolkit.GoogleCloudIdentitytoolkitV1UploadAccountResponse)
			}
			ok(t, err)
			same(t, "why none is imported", want.whole, said)
			refused := map[int]string{}
			for _, e := range answer.Error {
				if refused[int(e.Index)] = e.Message; strings.HasPrefix(e.Message, want.refused[int(e.Index)]) {
					refused[int(e.Index)] = want.refused[int(e.Index)]
				}
			}
			if len(refused)+len(want.refused) > 0 {
				same(t, "refused", want.refused, refused)
			}
			same(t, "users", want.want, accounts(t, p))
		})
	}
}

// accounts returns the accounts with their names.
func accounts(t *testing.T, p *backendstest.Project) string {
	t.Helper()
	var there []string
	for _, uid := range p.Accounts(t) {
		user, err := p.Auth(t).GetUser(context.Background(), uid)
		ok(t, err)
		there = append(there, uid+" "+user.DisplayName)
	}
	return strings.Join(there, ", ")
}
