package accounts

import (
	"context"
	"errors"
	"net/http"
	"os"

	firebase "firebase.google.com/go/v4"
	"firebase.google.com/go/v4/auth"
	"firebase.google.com/go/v4/errorutils"
	"github.com/googleapis/gax-go/v2"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/identitytoolkit/v1"
	"google.golang.org/api/option"
	transport "google.golang.org/api/transport/http"
)

// sdk makes the calls by Firebase's Admin SDK: it deletes accounts, and tells which there are.
type sdk struct{ auth *auth.Client }

// openSDK opens the SDK. On an emulator, the SDK takes none of these options.
func openSDK(ctx context.Context, project string, options ...option.ClientOption) (sdk, error) {
	app := &http.Client{}
	if os.Getenv(emulatorHost) == "" {
		var err error
		options = append(options, option.WithScopes(identitytoolkit.CloudPlatformScope))
		if app.Transport, err = transport.NewTransport(ctx, timely{http.DefaultTransport}, options...); err != nil {
			return sdk{}, err
		}
	}
	return newSDK(ctx, project, app)
}

func newSDK(ctx context.Context, project string, by *http.Client) (sdk, error) {
	app, err := firebase.NewApp(ctx, &firebase.Config{ProjectID: project}, option.WithHTTPClient(by))
	if err != nil {
		return sdk{}, err
	}
	client, err := app.Auth(ctx)
	return sdk{client}, err
}

// DeleteUsers implements [API]. It deletes accounts that are not disabled as well.
func (s sdk) DeleteUsers(ctx context.Context, uids []string) (map[int]string, error) {
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	answer, err := s.auth.DeleteUsers(context.WithValue(ctx, giveUpKey{}, giveUp), uids) // [Writer] repeats it
	if errors.Is(context.Cause(ctx), errUnanswered) {
		err = errUnanswered
	}
	if err != nil {
		return nil, asGoogles(err)
	}
	refused := map[int]string{}
	for _, e := range answer.Errors {
		refused[e.Index] = e.Reason
	}
	return refused, nil
}

// FindUsers implements [API].
func (s sdk) FindUsers(ctx context.Context, by []auth.UserIdentifier) ([]*auth.UserRecord, error) {
	answer, err := again(ctx, gax.Sleep, func(...googleapi.CallOption) (*auth.GetUsersResult, error) {
		answer, err := s.auth.GetUsers(ctx, by)
		return answer, asGoogles(err)
	})
	if err != nil {
		return nil, err
	}
	return answer.Users, nil
}

// asGoogles returns an error of the SDK as Google's clients have it: with the status and the words of the API.
func asGoogles(err error) error {
	answer := errorutils.HTTPResponse(err)
	if answer == nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	return googleapi.CheckResponse(answer)
}

// errUnanswered is the error of a deletion that the SDK would have sent again, had there been time. It may have taken effect.
var errUnanswered = errors.New(
	"the Authentication service was not available, or its answer was lost, and there was no time to ask again")

// Keys of what a deletion's context has.
type (
	inTimeKey struct{} // asks whether there is time to send it
	giveUpKey struct{} // ends the SDK's waiting until it sends it again
)

// timely asks before each sending of a deletion whether there is time for it: where the connection breaks or the answer is 503,
// the SDK sends it again by itself, up to four times.
type timely struct{ base http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (t timely) RoundTrip(r *http.Request) (*http.Response, error) {
	if inTime, is := r.Context().Value(inTimeKey{}).(func() error); is {
		if err := inTime(); err != nil {
			if giveUp, is := r.Context().Value(giveUpKey{}).(context.CancelCauseFunc); is {
				giveUp(errUnanswered)
			}
			return nil, errors.Join(err, r.Body.Close())
		}
	}
	return t.base.RoundTrip(r)
}
