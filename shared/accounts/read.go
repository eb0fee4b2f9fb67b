package accounts

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"os"
	"slices"
	"time"

	"firebase.google.com/go/v4/auth"
	"github.com/googleapis/gax-go/v2"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/identitytoolkit/v1"
	"google.golang.org/api/option"

	"github.com/firesweep/firesweep/shared/usage"
)

// User is an account as Google's API has it. Firebase's SDK leaves out whether somebody has signed in by a custom token, without
// which such an account cannot be told from an anonymous one.
type User = identitytoolkit.GoogleCloudIdentitytoolkitV1UserInfo

// PageSize is how many accounts one call lists, and maxLookup how many one call looks up.
const (
	PageSize  = 1000
	maxLookup = 100
)

// ErrToken says that Authentication does not take the token of a page. How long it takes one is documented nowhere.
var ErrToken = errors.New("the page token for accounts was refused")

// Reader looks at the project's accounts.
type Reader struct{ c *Client }

// Page is a page of accounts, and the token of the next one, empty if there is none.
type Page struct {
	Accounts []Account
	Next     string
}

// Pages goes through all accounts from a page on, the first if token is empty. Its error may be [ErrToken].
func (r Reader) Pages(ctx context.Context, token string) iter.Seq2[Page, error] {
	return func(yield func(Page, error) bool) {
		for first := true; first || token != ""; first = false {
			usage.FromContext(ctx).AuthCalls()
			users, next, err := r.c.api.ListUsers(ctx, token)
			if err == nil && next != "" && next == token {
				err = errors.New("the listing makes no progress")
			}
			var refused *googleapi.Error
			if token != "" && errors.As(err, &refused) && refused.Code == http.StatusBadRequest {
				err = fmt.Errorf("%w: %w", ErrToken, err)
			}
			if err != nil {
				yield(Page{}, fmt.Errorf("list accounts: %w", readable(err)))
				return
			}
			if !yield(Page{Accounts: accountsOf(users), Next: next}, nil) {
				return
			}
			token = next
		}
	}
}

// Get returns those of some accounts that there are, in no order, in one call for up to 100 of them.
func (r Reader) Get(ctx context.Context, uids []string) ([]Account, error) {
	var found []Account
	uids = slices.DeleteFunc(slices.Clone(uids), func(uid string) bool { return !Deletable(uid) })
	for chunk := range slices.Chunk(uids, maxLookup) {
		usage.FromContext(ctx).AuthCalls()
		users, err := r.c.api.GetUsers(ctx, chunk)
		if err != nil {
			return nil, fmt.Errorf("look up %d accounts: %w", len(chunk), readable(err))
		}
		found = append(found, accountsOf(users)...)
	}
	return found, nil
}

func accountsOf(users []*User) []Account {
	all := make([]Account, len(users))
	for i, user := range users {
		all[i] = accountOf(user)
	}
	return all
}

// toolkit reads by Google's client of the API.
type toolkit struct {
	project string
	users   *identitytoolkit.ProjectsAccountsService
	header  http.Header // of each call
}

// emulatorHost names the variable with the emulator's address, which Firebase's SDK reads as well.
const emulatorHost = "FIREBASE_AUTH_EMULATOR_HOST"

func openToolkit(ctx context.Context, project string) (toolkit, error) {
	var options []option.ClientOption
	header := http.Header{}
	if host := os.Getenv(emulatorHost); host != "" {
		options = append(options, option.WithEndpoint("http://"+host+"/identitytoolkit.googleapis.com/"), option.WithoutAuthentication())
		header.Set("Authorization", "Bearer owner") // the emulator's administrator
	}
	service, err := identitytoolkit.NewService(ctx, options...)
	if err != nil {
		return toolkit{}, err
	}
	return toolkit{project, identitytoolkit.NewProjectsAccountsService(service), header}, nil
}

// GetUsers implements [API].
func (t toolkit) GetUsers(ctx context.Context, uids []string) ([]*User, error) {
	call := t.users.Lookup(t.project, &identitytoolkit.GoogleCloudIdentitytoolkitV1GetAccountInfoRequest{LocalId: uids}).Context(ctx)
	maps.Copy(call.Header(), t.header)
	answer, err := again(ctx, call.Do)
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
	answer, err := again(ctx, call.Do)
	if err != nil {
		return nil, "", err
	}
	return answer.Users, answer.NextPageToken, nil
}

// again makes a call that only reads, a few times if what stands in the way is likely to pass. Google's client makes it once.
func again[T any](ctx context.Context, do func(...googleapi.CallOption) (T, error)) (answer T, err error) {
	backoff := gax.Backoff{Initial: 200 * time.Millisecond, Max: 5 * time.Second, Multiplier: 2}
	for attempt := 1; ; attempt++ {
		answer, err = do()
		if err == nil || attempt == maxAttempts || !passing(err) || gax.Sleep(ctx, backoff.Pause()) != nil {
			return answer, err
		}
	}
}

// passing reports whether an error is likely to pass: too many calls, a fault of Google's, or a connection that broke.
func passing(err error) bool {
	var refused *googleapi.Error
	if !errors.As(err, &refused) {
		return !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
	}
	return refused.Code == http.StatusTooManyRequests || refused.Code >= http.StatusInternalServerError
}

// ReadOnly wraps the calls of Authentication so that those that do not only read are refused before they are sent.
func ReadOnly(base API) API { return readOnly{base} }

type readOnly struct{ API }

// DeleteUsers implements [API].
func (readOnly) DeleteUsers(context.Context, []string) (*auth.DeleteUsersResult, error) {
	return nil, errors.New("the deletion was not sent: this connection only reads")
}
