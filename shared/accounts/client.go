package accounts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	firebase "firebase.google.com/go/v4"
	"firebase.google.com/go/v4/auth"
	"firebase.google.com/go/v4/errorutils"
	"github.com/googleapis/gax-go/v2"
	"golang.org/x/time/rate"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/identitytoolkit/v1"
	identitytoolkitv2 "google.golang.org/api/identitytoolkit/v2"
	"google.golang.org/api/option"
	transport "google.golang.org/api/transport/http"

	"github.com/firesweep/firesweep/shared/quota"
	"github.com/firesweep/firesweep/shared/usage"
)

// emulatorHost names the variable with the emulator's address, which Firebase's SDK reads as well.
const emulatorHost = "FIREBASE_AUTH_EMULATOR_HOST"

// Client is a project's Authentication. It is safe for concurrent use by any number of runs.
//
// Firebase's Admin SDK deletes accounts. Google's client of the API that the SDK calls too does what the SDK leaves out:
//   - Of an account that is read, whether somebody has signed in by a custom token, without which such an account
//     cannot be told from an anonymous one; claims as they are, of which the SDK makes float64; and when a token was last got,
//     to the millisecond. One account with a second factor that the SDK does not know fails its whole call.
//   - Of an import, what keeps it from replacing accounts and from making second ones: sanityCheck and allowOverwrite.
//   - Whether the project may have tenants.
type Client struct {
	project string
	sdk     *auth.Client
	users   *identitytoolkit.ProjectsAccountsService
	config  *identitytoolkitv2.ProjectsService
	around  Around

	batches *rate.Limiter // of the process, not of a run
	sleep   func(context.Context, time.Duration) error
}

// Around is put around each call of Authentication: DeleteUsers, GetUsers, ListUsers, ImportUsers or Tenants. uids are those that
// the call is given. send makes the call, and what Around returns is the error that the caller gets.
type Around func(method string, uids []string, send func() error) error

// ReadOnly puts around calls what refuses those that do not only read, before they are sent. inner may be nil.
func ReadOnly(inner Around) Around {
	return func(method string, uids []string, send func() error) error {
		switch {
		case method == "DeleteUsers", method == "ImportUsers":
			return fmt.Errorf("the call %s was not sent: this connection only reads", method)
		case inner == nil:
			return send()
		}
		return inner(method, uids, send)
	}
}

// Open connects to a project's Authentication, or to the emulator that FIREBASE_AUTH_EMULATOR_HOST names. around, if not nil, is
// put around the calls. It fails where no credentials are found; nothing of a failed attempt is kept.
// forOperator: the credentials may be a person's, whose calls count against the project's quota.
func Open(ctx context.Context, project string, forOperator bool, around Around) (*Client, error) {
	c := &Client{project: project, around: around, batches: rate.NewLimiter(batchesPerSecond, 1), sleep: gax.Sleep}
	var err error
	if host := os.Getenv(emulatorHost); host != "" {
		err = c.open(ctx, asOwner{}, option.WithEndpoint("http://"+host+"/identitytoolkit.googleapis.com/"))
	} else {
		options := []option.ClientOption{option.WithScopes(identitytoolkit.CloudPlatformScope)}
		if forOperator {
			options = append(options, quota.Of(ctx, project)...)
		}
		var base http.RoundTripper
		if base, err = transport.NewTransport(ctx, http.DefaultTransport, options...); err == nil {
			err = c.open(ctx, base)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open Authentication of project %s: %w", project, err)
	}
	return c, nil
}

// open opens the clients. On an emulator, Firebase's SDK takes nothing but the variable.
func (c *Client) open(ctx context.Context, base http.RoundTripper, at ...option.ClientOption) error {
	sent := option.WithHTTPClient(&http.Client{Transport: once{base}})
	app, err := firebase.NewApp(ctx, &firebase.Config{ProjectID: c.project}, sent)
	if err != nil {
		return err
	}
	if c.sdk, err = app.Auth(ctx); err != nil {
		return err
	}
	at = append(at, option.WithHTTPClient(&http.Client{Transport: base}))
	users, err := identitytoolkit.NewService(ctx, at...)
	if err != nil {
		return err
	}
	config, err := identitytoolkitv2.NewService(ctx, at...)
	if err == nil {
		c.users, c.config = identitytoolkit.NewProjectsAccountsService(users), config.Projects
	}
	return err
}

// Unpace lets calls follow each other at once: for tests, on a local Authentication.
func (c *Client) Unpace() {
	c.batches = rate.NewLimiter(rate.Inf, 1)
	c.sleep = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
}

// asOwner sends requests as the emulator's administrator.
type asOwner struct{}

// RoundTrip implements [http.RoundTripper].
func (asOwner) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer owner")
	return http.DefaultTransport.RoundTrip(r)
}

// call makes a call, and counts it.
func call[T any](ctx context.Context, c *Client, method string, uids []string, send func() (T, error)) (answer T, err error) {
	usage.FromContext(ctx).Add(usage.Usage{AuthCalls: 1})
	if c.around == nil {
		return send()
	}
	err = c.around(method, uids, func() (err error) {
		answer, err = send()
		return err
	})
	return answer, err
}

// repeated is [call] for a call of Google's client that may be made again, as [again] makes it.
func repeated[T any](
	ctx context.Context, c *Client, method string, uids []string, do func(...googleapi.CallOption) (T, error),
) (T, error) {
	return again(ctx, c, func(o ...googleapi.CallOption) (T, error) {
		return call(ctx, c, method, uids, func() (T, error) { return do(o...) })
	})
}

// deleteUsers deletes accounts in one call, also those that are not disabled. One that does not exist counts as deleted.
func (c *Client) deleteUsers(ctx context.Context, uids []string) (refused []*auth.DeleteUsersErrorInfo, err error) {
	answer, err := call(ctx, c, "DeleteUsers", uids, func() (*auth.DeleteUsersResult, error) {
		answer, err := c.sdk.DeleteUsers(ctx, uids)
		return answer, asGoogles(err)
	})
	if err != nil {
		return nil, err
	}
	return answer.Errors, nil
}

// asGoogles returns an error of the SDK as Google's clients have it: with the status and the words of the API.
func asGoogles(err error) error {
	answer := errorutils.HTTPResponse(err) // nil also without an error
	if answer == nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	return googleapi.CheckResponse(answer)
}

// once has the SDK send a deletion once: where the connection breaks or the answer is 503, it would send it again by itself, up
// to four times, and ask nobody whether there is time. [Writer] does. So a broken connection is an answer too, and none is 503.
type once struct{ base http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (o once) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := o.base.RoundTrip(r)
	var body []byte
	if err == nil {
		body, err = io.ReadAll(answer.Body)
		_ = answer.Body.Close() // all is read, or it is broken
	}
	switch {
	case r.Context().Err() != nil:
		return nil, r.Context().Err()
	case err != nil:
		text := io.NopCloser(strings.NewReader("the answer was lost: " + err.Error()))
		//nolint:nilerr // the answer says so
		return &http.Response{StatusCode: http.StatusInternalServerError, Request: r, Body: text}, nil
	case answer.StatusCode == http.StatusServiceUnavailable:
		answer.StatusCode = http.StatusInternalServerError
	}
	answer.Body = io.NopCloser(bytes.NewReader(body))
	return answer, nil
}

// again makes a call that may be repeated, a few times if what stands in the way is likely to pass. Google's client makes it
// once.
func again[T any](ctx context.Context, c *Client, do func(...googleapi.CallOption) (T, error)) (answer T, err error) {
	backoff := gax.Backoff{Initial: time.Second, Max: 16 * time.Second, Multiplier: 2}
	for attempt := 1; ; attempt++ {
		answer, err = do()
		if err == nil || attempt == maxAttempts || !passing(err) || c.sleep(ctx, backoff.Pause()) != nil {
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
