package accounts

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"strings"

	firebase "firebase.google.com/go/v4"
	"firebase.google.com/go/v4/auth"
	"firebase.google.com/go/v4/errorutils"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/identitytoolkit/v1"
	"google.golang.org/api/option"
	transport "google.golang.org/api/transport/http"
)

// sdk makes the calls by Firebase's Admin SDK: it deletes accounts.
type sdk struct{ auth *auth.Client }

// openSDK opens the SDK. On an emulator, the SDK takes none of these options.
func openSDK(ctx context.Context, project string, options ...option.ClientOption) (sdk, error) {
	base := http.DefaultTransport
	if os.Getenv(emulatorHost) == "" {
		var err error
		options = append(options, option.WithScopes(identitytoolkit.CloudPlatformScope))
		if base, err = transport.NewTransport(ctx, base, options...); err != nil {
			return sdk{}, err
		}
	}
	return newSDK(ctx, project, base)
}

func newSDK(ctx context.Context, project string, base http.RoundTripper) (sdk, error) {
	app, err := firebase.NewApp(ctx, &firebase.Config{ProjectID: project}, option.WithHTTPClient(&http.Client{Transport: once{base}}))
	if err != nil {
		return sdk{}, err
	}
	client, err := app.Auth(ctx)
	return sdk{client}, err
}

// DeleteUsers implements [API]. It deletes accounts that are not disabled as well.
func (s sdk) DeleteUsers(ctx context.Context, uids []string) (map[int]string, error) {
	answer, err := s.auth.DeleteUsers(ctx, uids)
	if err != nil {
		return nil, asGoogles(err)
	}
	refused := map[int]string{}
	for _, e := range answer.Errors {
		refused[e.Index] = e.Reason
	}
	return refused, nil
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

// once has the SDK send a deletion once: where the connection breaks or the answer is 503, it would send it again by itself, up to
// four times, and ask nobody whether there is time. [Writer] does. So a broken connection is an answer too, and none is 503.
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
		text := "the answer was lost: " + err.Error()
		return &http.Response{StatusCode: http.StatusInternalServerError, Request: r, Body: io.NopCloser(strings.NewReader(text))}, nil
	case answer.StatusCode == http.StatusServiceUnavailable:
		answer.StatusCode = http.StatusInternalServerError
	}
	answer.Body = io.NopCloser(bytes.NewReader(body))
	return answer, nil
}
