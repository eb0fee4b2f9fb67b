package accounts

import (
	"context"
	"net/http"
	"os"

	"github.com/googleapis/gax-go/v2"
	"google.golang.org/api/identitytoolkit/v1"
	identitytoolkitv2 "google.golang.org/api/identitytoolkit/v2"
	"google.golang.org/api/option"
)

// This file is what Firebase's SDK leaves out, by Google's client of the API that the SDK calls too:
//   - Of an account that is read, whether somebody has signed in by a custom token, without which such an account
//     cannot be told from an anonymous one; claims as they are, of which the SDK makes float64; and when a token was last got,
//     to the millisecond. One account with a second factor that the SDK does not know fails its whole call.
//   - Of an import, what keeps it from replacing accounts and from making second ones: sanityCheck and allowOverwrite.
//   - Whether the project may have tenants.
type (
	// Identifiers say which accounts are looked for.
	Identifiers = identitytoolkit.GoogleCloudIdentitytoolkitV1GetAccountInfoRequest
	// User is an account.
	User = identitytoolkit.GoogleCloudIdentitytoolkitV1UserInfo
	// Listed is a page of accounts.
	Listed = identitytoolkit.GoogleCloudIdentitytoolkitV1DownloadAccountResponse
	// Upload is what is imported, and how.
	Upload = identitytoolkit.GoogleCloudIdentitytoolkitV1UploadAccountRequest
)

// toolkit makes the calls by Google's client of the API.
type toolkit struct {
	project string
	users   *identitytoolkit.ProjectsAccountsService
	config  *identitytoolkitv2.ProjectsService
}

func openToolkit(ctx context.Context, project string, options ...option.ClientOption) (toolkit, error) {
	if host := os.Getenv(emulatorHost); host != "" {
		options = append(options, option.WithEndpoint("http://"+host+"/identitytoolkit.googleapis.com/"),
			option.WithHTTPClient(&http.Client{Transport: asOwner{}}))
	}
	service, err := identitytoolkit.NewService(ctx, options...)
	if err != nil {
		return toolkit{}, err
	}
	config, err := identitytoolkitv2.NewService(ctx, options...)
	if err != nil {
		return toolkit{}, err
	}
	return toolkit{project, identitytoolkit.NewProjectsAccountsService(service), config.Projects}, nil
}

// asOwner sends requests as the emulator's administrator.
type asOwner struct{}

// RoundTrip implements [http.RoundTripper].
func (asOwner) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer owner")
	return http.DefaultTransport.RoundTrip(r)
}

// ImportUsers implements [API].
func (t toolkit) ImportUsers(ctx context.Context, upload *Upload) (map[int]string, error) {
	answer, err := t.users.BatchCreate(t.project, upload).Context(ctx).Do() // [Importer] repeats it
	if err != nil {
		return nil, err
	}
	refused := map[int]string{}
	for _, e := range answer.Error {
		refused[int(e.Index)] = e.Message
	}
	return refused, nil
}

// GetUsers implements [API].
func (t toolkit) GetUsers(ctx context.Context, by *Identifiers) ([]*User, error) {
	answer, err := again(ctx, gax.Sleep, t.users.Lookup(t.project, by).Context(ctx).Do)
	if err != nil {
		return nil, err
	}
	return answer.Users, nil
}

// ListUsers implements [API].
func (t toolkit) ListUsers(ctx context.Context, token string) (*Listed, error) {
	call := t.users.BatchGet(t.project).MaxResults(PageSize).Context(ctx)
	if token != "" {
		call.NextPageToken(token)
	}
	return again(ctx, gax.Sleep, call.Do)
}

// Tenants implements [API]. Google's answer has a name. That of Firebase's emulator has none and says nothing of tenants, so
// it is asked for these themselves.
func (t toolkit) Tenants(ctx context.Context) (bool, error) {
	call := t.config.GetConfig("projects/"+t.project+"/config").Fields("name", "multiTenant/allowTenants").Context(ctx)
	config, err := again(ctx, gax.Sleep, call.Do)
	if err != nil {
		return false, err
	}
	if config.Name != "" {
		return config.MultiTenant != nil && config.MultiTenant.AllowTenants, nil
	}
	list := t.config.Tenants.List("projects/" + t.project).PageSize(1).Context(ctx)
	answer, err := again(ctx, gax.Sleep, list.Do)
	if err != nil {
		return false, err
	}
	return len(answer.Tenants) > 0, nil
}
