package accounts

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/googleapis/gax-go/v2"
	"google.golang.org/api/googleapi"
)

// API are the calls of Authentication that are made: the first by Firebase's SDK, the others by the API below it. What a call
// refuses of what it is given is returned by its index. Errors that Authentication answered are of [googleapi.Error].
type API interface {
	// DeleteUsers deletes accounts in one call. One that does not exist counts as deleted.
	DeleteUsers(ctx context.Context, uids []string) (refused map[int]string, err error)
	// GetUsers returns the accounts that these identify, in one call.
	GetUsers(ctx context.Context, by *Identifiers) ([]*User, error)
	// ListUsers returns a page of the project's accounts, and the token of the next page, which is empty if there is none.
	ListUsers(ctx context.Context, token string) (*Listed, error)
	// Tenants reports whether the project may have tenants, whose accounts no other call sees.
	Tenants(ctx context.Context) (bool, error)
	// ImportUsers imports accounts in one call.
	ImportUsers(ctx context.Context, upload *Upload) (refused map[int]string, err error)
}

// emulatorHost names the variable with the emulator's address, which Firebase's SDK reads as well.
const emulatorHost = "FIREBASE_AUTH_EMULATOR_HOST"

// client makes the calls.
type client struct {
	sdk
	toolkit
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
func (w wrapped) ListUsers(ctx context.Context, token string) (*Listed, error) {
	return through(w.around, "ListUsers", nil, func() (*Listed, error) { return w.base.ListUsers(ctx, token) })
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
