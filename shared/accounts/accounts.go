// Package accounts is what the bundle knows of Firebase Authentication: deleting accounts, many at a time.
package accounts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	firebase "firebase.google.com/go/v4"
	"firebase.google.com/go/v4/auth"
	"golang.org/x/time/rate"

	"github.com/firesweep/firesweep/shared/usage"
)

// Limits of the batch API: users a call, characters of a uid, calls a second.
const (
	maxUsers       = 1000
	maxUID         = 128
	callsPerSecond = 1
)

// ValidUID reports whether an account can have the uid: 1 to 128 characters.
func ValidUID(uid string) bool { return uid != "" && utf8.RuneCountInString(uid) <= maxUID }

// errLongUID is why an account whose uid has at most 128 characters but more than 128 bytes is not deleted: Firebase's
// SDK counts bytes and refuses the whole call.
var errLongUID = errors.New("a uid of more than 128 bytes is refused by the SDK: delete the account in the Firebase console")

// Deleter is the call of Firebase's SDK that deletes accounts.
type Deleter interface {
	DeleteUsers(ctx context.Context, uids []string) (*auth.DeleteUsersResult, error)
}

// Client is a project's Authentication. It is safe for concurrent use by any number of runs.
type Client struct {
	deleter Deleter
	pace    *rate.Limiter // of the project, not of a run
}

// Open connects to a project's Authentication, or to the emulator that FIREBASE_AUTH_EMULATOR_HOST names. wrap, where
// not nil, is put around the SDK's call. It fails where no credentials are found; nothing of a failed attempt is kept.
func Open(ctx context.Context, project string, wrap func(Deleter) Deleter) (*Client, error) {
	app, err := firebase.NewApp(ctx, &firebase.Config{ProjectID: project})
	if err != nil {
		return nil, fmt.Errorf("open Authentication of project %s: %w", project, err)
	}
	client, err := app.Auth(ctx)
	if err != nil {
		return nil, fmt.Errorf("open Authentication of project %s: %w", project, err)
	}
	c := &Client{deleter: client, pace: rate.NewLimiter(callsPerSecond, 1)}
	if wrap != nil {
		c.deleter = wrap(client)
	}
	return c, nil
}

// Writer deletes accounts. Only the engine holds one.
type Writer struct {
	c *Client
	// Written, where set, is called with the uids whose accounts a call deleted, or found gone already: its answer does not
	// tell the two apart.
	Written func(ctx context.Context, uids []string)
}

// Writer returns what deletes the project's accounts.
func (c *Client) Writer() Writer { return Writer{c: c} }

// Delete deletes the accounts of the uids, in one call for up to 1000 of them. The errors are one per uid, nil for an
// account that is gone, never was, or cannot be (see [ValidUID]).
func (w Writer) Delete(ctx context.Context, uids []string) []error {
	results := make([]error, len(uids))
	possible := make([]int, 0, len(uids)) // the indexes of the uids to send
	for i, uid := range uids {
		switch {
		case !ValidUID(uid):
		case len(uid) > maxUID:
			results[i] = fmt.Errorf("delete account %s: %w", uid, errLongUID)
		default:
			possible = append(possible, i)
		}
	}
	for chunk := range slices.Chunk(possible, maxUsers) {
		w.deleteChunk(ctx, uids, chunk, results)
	}
	w.tell(ctx, uids, possible, results)
	return results
}

func (w Writer) tell(ctx context.Context, uids []string, possible []int, results []error) {
	var gone []string
	for _, i := range possible {
		if results[i] == nil {
			gone = append(gone, uids[i])
		}
	}
	if w.Written != nil && len(gone) > 0 {
		w.Written(ctx, gone)
	}
}

func (w Writer) deleteChunk(ctx context.Context, uids []string, chunk []int, results []error) {
	fail := func(err error) {
		for _, i := range chunk {
			results[i] = fmt.Errorf("delete account %s: %w", uids[i], err)
		}
	}
	if err := w.c.pace.Wait(ctx); err != nil {
		fail(err)
		return
	}
	asked := make([]string, len(chunk))
	for n, i := range chunk {
		asked[n] = uids[i]
	}
	usage.FromContext(ctx).AuthCalls()
	result, err := w.c.deleter.DeleteUsers(ctx, asked)
	if err != nil {
		fail(err)
		return
	}
	for _, e := range result.Errors {
		if e.Index < 0 || e.Index >= len(chunk) {
			// Whose error it is cannot be told, so no account counts as deleted.
			fail(fmt.Errorf("the answer names user %d of %d: %s", e.Index, len(chunk), e.Reason))
			return
		}
		i := chunk[e.Index]
		results[i] = fmt.Errorf("delete account %s: %w", uids[i], errors.New(e.Reason))
	}
}
