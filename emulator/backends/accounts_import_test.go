package backends

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"firebase.google.com/go/v4/auth"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/identitytoolkit/v1"
	"google.golang.org/api/option"
)

type (
	uploaded  = identitytoolkit.GoogleCloudIdentitytoolkitV1UserInfo
	importing = identitytoolkit.GoogleCloudIdentitytoolkitV1UploadAccountRequest
	provided  = identitytoolkit.GoogleCloudIdentitytoolkitV1ProviderUserInfo
)

func at(provider, id string) []*provided { return []*provided{{ProviderId: provider, RawId: id}} }

// TestImportByGooglesClient: what the API's reference says of sanityCheck and allowOverwrite.
func TestImportByGooglesClient(t *testing.T) {
	never := []string{"AllowOverwrite"} // sent as false
	for name, tt := range map[string]struct {
		upload  importing
		whole   string         // why none is imported
		refused map[int]string // why one is not
		want    []string       // the users there are, with their names
	}{
		"no check": {
			importing{Users: []*uploaded{
				{LocalId: "a", Email: "One@example.com"}, {LocalId: "b", PhoneNumber: "+819012345678"}, {LocalId: "c",
					ProviderUserInfo: at("google.com", "g1")},
				{LocalId: "one", DisplayName: "new"}, {LocalId: "a", DisplayName: "later"},
			}},
			"", nil, []string{"a later", "b ", "c ", "one new"},
		},
		"overwrite": {
			importing{AllowOverwrite: true, SanityCheck: true,
				Users: []*uploaded{{LocalId: "one", DisplayName: "new", Email: "one@example.com"}}},
			"", nil, []string{"one new"},
		},
		"overwrite nobody": {
			importing{ForceSendFields: never, Users: []*uploaded{{LocalId: "one", DisplayName: "new"},
				{LocalId: "a", Email: "one@example.com"}}},
			"", map[int]string{0: "localId belongs to an existing account"}, []string{"a ", "one old"},
		},
		"check": {
			importing{SanityCheck: true, ForceSendFields: never, Users: []*uploaded{
				{LocalId: "a", Email: "One@example.com"}, {LocalId: "b", PhoneNumber: "+819012345678"}, {LocalId: "c",
					ProviderUserInfo: at("google.com", "g1")},
				{LocalId: "d", ProviderUserInfo: at("apple.com", "g1")}, {LocalId: "e", PhoneNumber: "+819012345678"},
			}},
			"", map[int]string{0: "email exists in other account", 2: "raw id exists in other account"}, []string{"b ", "d ", "e ",
				"one old"},
		},
		"address twice": {
			importing{SanityCheck: true, Users: []*uploaded{{LocalId: "a", Email: "a@example.com"},
				{LocalId: "b", Email: "A@example.com"}, {LocalId: "c"}}},
			"DUPLICATE_EMAIL : a@example.com", nil, []string{"one old"},
		},
		"identity twice": {
			importing{SanityCheck: true, Users: []*uploaded{{LocalId: "a", ProviderUserInfo: at("x.com", "1")},
				{LocalId: "b", ProviderUserInfo: at("x.com", "1")}}},
			"DUPLICATE_RAW_ID : Provider id(x.com), Raw id(1)", nil, []string{"one old"},
		},
		"uid twice": {importing{ForceSendFields: never, Users: []*uploaded{{LocalId: "a"}, {LocalId: "a"}}}, "DUPLICATE_LOCAL_ID : a",
			nil, []string{"one old"}},
		"without id": {importing{Users: []*uploaded{{DisplayName: "x"}, {LocalId: "a"}}}, "", map[int]string{0: "localId is missing"},
			[]string{"a ", "one old"}},
		"none": {importing{}, "MISSING_USER_ACCOUNT", nil, []string{"one old"}},
		"too many": {importing{Users: slices.Repeat([]*uploaded{{LocalId: "a"}}, 1001)}, "MISSING_USER_ACCOUNT", nil,
			[]string{"one old"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := withoutFirestore(t, Options{})
			client := authClient(t, "demo-a")
			createUser(t, client, new(auth.UserToCreate).UID("one").Email("one@example.com").DisplayName("old").PhoneNumber(
				"+819012345678"))
			if !b.Auth().Set("demo-a", "one", map[string]any{
				"providerUserInfo": []any{account{"providerId": "google.com", "rawId": "g1"}}}) {
				t.Fatal("there is nobody")
			}
			service, err := identitytoolkit.NewService(t.Context(), option.WithoutAuthentication(),
				option.WithEndpoint("http://"+b.Environment()[AuthHost]+"/identitytoolkit.googleapis.com/"))
			if err != nil {
				t.Fatal(err)
			}
			answer, err := identitytoolkit.NewProjectsAccountsService(service).BatchCreate("demo-a", &tt.upload).Context(t.Context()).Do()
			var refusal *googleapi.Error
			said := ""
			if errors.As(err, &refusal) && refusal.Code == http.StatusBadRequest {
				said = refusal.Message
			}
			same(t, "why none is imported", tt.whole, said)
			if answer != nil && len(answer.Error) != len(tt.refused) {
				t.Errorf("%d refused, want %v", len(answer.Error), tt.refused)
			}
			for i := range tt.refused {
				if !slices.ContainsFunc(answer.Error, func(e *identitytoolkit.GoogleCloudIdentitytoolkitV1ErrorInfo) bool {
					return int(e.Index) == i && strings.HasPrefix(e.Message, tt.refused[i])
				}) {
					t.Errorf("user %d is not refused: %s", i, tt.refused[i])
				}
			}
			var there []string
			for _, uid := range uids(t, client, 100) {
				user, err := client.GetUser(t.Context(), uid)
				if err != nil {
					t.Fatal(err)
				}
				there = append(there, uid+" "+user.DisplayName)
			}
			same(t, "users", tt.want, there)
		})
	}
}
