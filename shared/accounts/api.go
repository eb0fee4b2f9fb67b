package accounts

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"time"

	"github.com/googleapis/gax-go/v2"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/identitytoolkit/v1"
	identitytoolkitv2 "google.golang.org/api/identitytoolkit/v2"
	"google.golang.org/api/option"
)

// What Google's API has of accounts. Firebase's SDK leaves out whether somebody has signed in by a custom token, without which
// such an account cannot be told from an anonymous one, and what keeps an import from replacing accounts and making second ones.
type (
	// User is an account.
	User = identitytoolkit.GoogleCloudIdentitytoolkitV1UserInfo
	// Identifiers name accounts, by uid or by what they have.
	Identifiers = identitytoolkit.GoogleCloudIdentitytoolkitV1GetAccountInfoRequest
	// Upload is what is imported, and how.
	Upload = identitytoolkit.GoogleCloudIdentitytoolkitV1UploadAccountRequest
)

// API are the calls of Authentication that are made. What a call refuses of what it is given is returned by its index.
type API interface {
	// DeleteUsers deletes accounts in one call. One that does not exist counts as deleted.
	DeleteUsers(ctx context.Context, uids []string) (refused map[int]string, err error)
	// GetUsers returns those of some accounts that there are, in one call.
	GetUsers(ctx context.Context, by *Identifiers) ([]*User, error)
	// ListUsers returns a page of the project's accounts, and the token of the next page, which is empty if there is none.
	ListUsers(ctx context.Context, token string) (users []*User, next string, err error)
	// Tenants reports whether the project may have tenants, whose accounts no other call sees.
	Tenants(ctx context.Context) (bool, error)
	// ImportUsers imports accounts in one call.
	ImportUsers(ctx context.Context, upload *Upload) (refused map[int]string, err error)
}

// toolkit makes the calls by Google's client of the API.
type toolkit struct {
	project string
	users   *identitytoolkit.ProjectsAccountsService
	config  *identitytoolkitv2.ProjectsService
	header  http.Header // of each call
}

// emulatorHost names the variable with the emulator's address, which Firebase's SDK reads as well.
const emulatorHost = "FIREBASE_AUTH_EMULATOR_HOST"

func openToolkit(ctx context.Context, project string, options ...option.ClientOption) (toolkit, error) {
	header := http.Header{}
	if host := os.Getenv(emulatorHost); host != "" {
		options = append(options, option.WithEndpoint("http://"+host+"/identitytoolkit.googleapis.com/"),
			option.WithoutAuthentication())
		header.Set("Authorization", "Bearer owner") // the emulator's administrator
	}
	service, err := identitytoolkit.NewService(ctx, options...)
	if err != nil {
		return toolkit{}, err
	}
	config, err := identitytoolkitv2.NewService(ctx, options...)
	if err != nil {
		return toolkit{}, err
	}
	return toolkit{project, identitytoolkit.NewProjectsAccountsService(service), config.Projects, header}, nil
}

// DeleteUsers implements [API]. It deletes accounts that are not disabled as well.
func (t toolkit) DeleteUsers(ctx context.Context, uids []string) (map[int]string, error) {
	call := t.users.BatchDelete(t.project, &identitytoolkit.GoogleCloudIdentitytoolkitV1BatchDeleteAccountsRequest{
		LocalIds: uids, Force: true,
	}).Context(ctx)
	maps.Copy(call.Header(), t.header)
	answer, err := call.Do() // [Writer] repeats it
	if err != nil {
		return nil, err
	}
	refused := map[int]string{}
	for _, e := range answer.Errors {
		refused[int(e.Index)] = e.Message
	}
	return refused, nil
}

// ImportUsers implements [API].
func (t toolkit) ImportUsers(ctx context.Context, upload *Upload) (map[int]string, error) {
	call := t.users.BatchCreate(t.project, upload).Context(ctx)
	maps.Copy(call.Header(), t.header)
	answer, err := call.Do() // [Importer] repeats it
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
	call := t.users.Lookup(t.project, by).Context(ctx)
	maps.Copy(call.Header(), t.header)
	answer, err := again(ctx, gax.Sleep, call.Do)
	if err != nil {
		return nil, err
	}
	return answer.Users, nil
}

// ListUsers implements [API].
func (t toolkit) ListUsers(ctx context.Context, token string) (users []*User, next string, err error) {
	call := t.users.BatchGet(t.project).MaxResults(PageSize).Context(ctx)
	if token != "" {
		call.NextPageToken(token)
	}
	maps.Copy(call.Header(), t.header)
	answer, err := again(ctx, gax.Sleep, call.Do)
	if err != nil {
		return nil, "", err
	}
	return answer.Users, answer.NextPageToken, nil
}

// Tenants implements [API]. Google's answer has a name. That of Firebase's emulator has none and says nothing of tenants, so
// it is asked for these themselves.
func (t toolkit) Tenants(ctx context.Context) (bool, error) {
	call := t.config.GetConfig("projects/"+t.project+"/config").Fields("name", "multiTenant/allowTenants").Context(ctx)
	maps.Copy(call.Header(), t.header)
	config, err := again(ctx, gax.Sleep, call.Do)
	if err != nil {
		return false, err
	}
	if config.Name != "" {
		return config.MultiTenant != nil && config.MultiTenant.AllowTenants, nil
	}
	list := t.config.Tenants.List("projects/" + t.project).PageSize(1).Context(ctx)
	maps.Copy(list.Header(), t.header)
	answer, err := again(ctx, gax.Sleep, list.Do)
	if err != nil {
		return false, err
	}
	return len(answer.Tenants) > 0, nil
}

// again makes a call that may be repeated, a few times if what stands in the way is likely to pass. Google's client makes it
// once.
func again[T any](ctx context.Context, sleep func(context.Context, time.Duration) error,
	do func(...googleapi.CallOption) (T, error)) (answer T, err error) {
	backoff := gax.Backoff{Initial: 200 * time.Millisecond, Max: 5 * time.Second, Multiplier: 2}
	for attempt := 1; ; attempt++ {
		answer, err = do()
		if err == nil || attempt == maxAttempts || !passing(err) || sleep(ctx, backoff.Pause()) != nil {
			return answer, err
		}
	}
}

// passing reports whether an error is likely to pass: too many calls, or what [broken] says.
func passing(err error) bool { return isQuota(err) || broken(err) }

// broken reports a fault of Google's, or of the connection.
func broken(err error) bool {
	var refused *googleapi.Error
	if !errors.As(err, &refused) {
		return !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
	}
	return refused.Code >= http.StatusInternalServerError
}

// Around is put around each call of Authentication, by the call's name in [API]. uids are those that the call is given. send
// makes the call, and what Around returns is its answer.
type Around func(method string, uids []string, send func() error) error

// Wrap puts something around calls of Authentication.
func Wrap(base API, around Around) API { return wrapped{base, around} }

type wrapped struct {
	base   API
	around Around
}

// through puts what is around calls around one of them.
func through[T any](around Around, method string, uids []string, send func() (T, error)) (answer T, err error) {
	err = around(method, uids, func() (err error) {
		answer, err = send()
		return err
	})
	return answer, err
}

// DeleteUsers implements [API].
func (w wrapped) DeleteUsers(ctx context.Context, uids []string) (map[int]string, error) {
	return through(w.around, "DeleteUsers", uids, func() (map[int]string, error) { return w.base.DeleteUsers(ctx, uids) })
}

// GetUsers implements [API].
func (w wrapped) GetUsers(ctx context.Context, by *Identifiers) ([]*User, error) {
	return through(w.around, "GetUsers", by.LocalId, func() ([]*User, error) { return w.base.GetUsers(ctx, by) })
}

// ListUsers implements [API].
func (w wrapped) ListUsers(ctx context.Context, token string) (users []*User, next string, err error) {
	err = w.around("ListUsers", nil, func() (err error) {
		users, next, err = w.base.ListUsers(ctx, token)
		return err
	})
	return users, next, err
}

// Tenants implements [API].
func (w wrapped) Tenants(ctx context.Context) (bool, error) {
	return through(w.around, "Tenants", nil, func() (bool, error) { return w.base.Tenants(ctx) })
}

// ImportUsers implements [API].
func (w wrapped) ImportUsers(ctx context.Context, upload *Upload) (map[int]string, error) {
	return through(w.around, "ImportUsers", nil, func() (map[int]string, error) { return w.base.ImportUsers(ctx, upload) })
}

// ReadOnly wraps the calls of Authentication so that those that do not only read are refused before they are sent.
func ReadOnly(base API) API {
	writes := map[string]string{"DeleteUsers": "deletion", "ImportUsers": "import"}
	return Wrap(base, func(method string, _ []string, send func() error) error {
		if what := writes[method]; what != "" {
			return fmt.Errorf("the %s was not sent: this connection only reads", what)
		}
		return send()
	})
}
