// Package accounts is what the bundle knows of Firebase Authentication: listing accounts, looking at them, deleting them, and
// importing those that an undo brings back. It knows those of the project; accounts of the tenants of Identity Platform's
// multi-tenancy it does not know, so that each of them seems to be missing. [Reader.Tenants] tells whether there may be any.
//
// account.go says what an account is, client.go by which clients calls are made and why by these, read.go how accounts are read,
// import.go how they come back, and this file how they are deleted.
package accounts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/api/googleapi"
)

// Limits of the API: users a call, characters of a uid, and calls a second that delete, which are a project's: whoever else
// deletes accounts, another instance of the function among them, has a share in them. So a call that comes too early is no
// failure, but made again.
const (
	maxUsers         = 1000
	maxUID           = 128
	batchesPerSecond = 1
	maxAttempts      = 6 // over some 20 seconds
)

// ValidUID reports whether an account can have the uid: 1 to 128 characters.
func ValidUID(uid string) bool { return uid != "" && utf8.RuneCountInString(uid) <= maxUID }

// Deletable reports whether an account of the uid is deleted. Authentication counts characters, but Firebase's SDKs count bytes
// and refuse a call that names a longer one, and nothing says that Authentication takes it.
func Deletable(uid string) bool { return ValidUID(uid) && len(uid) <= maxUID }

// errLongUID is why an account whose uid has at most 128 characters but more than 128 bytes is not deleted.
var errLongUID = errors.New(
	"a uid of more than 128 bytes is not sent, lest the whole call be refused: delete the account in the Firebase console")

// Writer deletes accounts. Only the engine holds one.
type Writer struct {
	Reader
	InTime func() error // where set, is asked right before a call is made; its error is that of the call
}

// Writer returns what deletes the project's accounts.
func (c *Client) Writer() Writer { return Writer{Reader: Reader{c}} }

// Delete deletes the accounts of the uids, in one call for up to 1000 of them, within what Authentication allows a project. The
// errors are one per uid, nil for an account that is gone, never was, or cannot be (see [ValidUID]).
//
// A single account goes by the same call, which fires no onDelete trigger: the call for one account does, so that what an
// application does in it would depend on how many were due.
func (w Writer) Delete(ctx context.Context, uids []string) []error {
	failed := map[string]error{} // by uid
	var possible []string
	for _, uid := range uids {
		switch {
		case !ValidUID(uid):
		case len(uid) > maxUID:
			failed[uid] = errLongUID
		default:
			possible = append(possible, uid)
		}
	}
	for chunk := range slices.Chunk(possible, maxUsers) {
		w.deleteChunk(ctx, chunk, failed)
	}
	results := make([]error, len(uids))
	for i, uid := range uids {
		if failed[uid] != nil {
			results[i] = fmt.Errorf("delete account %s: %w", uid, failed[uid])
		}
	}
	return results
}

// deleteChunk deletes at most [maxUsers] accounts, again as long as what stands in the way is likely to pass.
func (w Writer) deleteChunk(ctx context.Context, chunk []string, failed map[string]error) {
	_, _ = again(ctx, w.c, func(...googleapi.CallOption) (_ any, err error) { // what became of each is in failed
		if chunk = w.call(ctx, chunk, failed); len(chunk) > 0 {
			err = failed[chunk[0]]
		}
		return nil, err
	})
}

// call makes one call and returns those of the accounts for which to make another. One that is not made leaves the errors of the
// one before, which may have taken effect.
func (w Writer) call(ctx context.Context, chunk []string, failed map[string]error) (again []string) {
	fail := func(err error) {
		for _, uid := range chunk {
			failed[uid] = err
		}
	}
	err := w.c.batches.Wait(ctx)
	if err == nil && w.InTime != nil {
		err = w.InTime()
	}
	if err != nil {
		for _, uid := range chunk {
			failed[uid] = cmp.Or(failed[uid], err)
		}
		return nil
	}
	fail(nil)
	refused, err := w.c.deleteUsers(ctx, chunk)
	if err != nil {
		fail(readable(err))
		if passing(err) {
			return chunk
		}
		return nil
	}
	for _, e := range refused {
		if e.Index < 0 || e.Index >= len(chunk) {
			// Whose error it is cannot be told, so no account counts as deleted.
			fail(fmt.Errorf("the answer names user %d of %d: %s", e.Index, len(chunk), e.Reason))
			return nil
		}
		uid := chunk[e.Index]
		failed[uid] = refusal{e.Reason, &googleapi.Error{Code: http.StatusBadRequest}}
		if isQuota(failed[uid]) {
			again = append(again, uid)
		}
	}
	return again
}

// isQuota reports whether a refusal says that there were too many calls. Apart from the HTTP status 429, the API says so
// with several words.
func isQuota(err error) bool {
	var refused *googleapi.Error
	return errors.As(err, &refused) && refused.Code == http.StatusTooManyRequests ||
		slices.ContainsFunc([]string{"QUOTA_EXCEEDED", "TOO_MANY_ATTEMPTS", "RESOURCE_EXHAUSTED"}, func(word string) bool {
			return strings.Contains(err.Error(), word)
		})
}

// readable returns the API's own words of an error that it answered.
func readable(err error) error {
	var refused *googleapi.Error
	if errors.As(err, &refused) && refused.Message != "" {
		return refusal{refused.Message, err}
	}
	return err
}

// Refused reports whether an error of [Writer.Delete] says that Authentication deletes no such account, so that it stays.
func Refused(err error) bool { return errors.As(err, new(refusal)) && !broken(err) }

// refusal is an error that the API answered.
type refusal struct {
	message string
	error
}

// Error returns what the API said.
func (r refusal) Error() string { return r.message }

// Unwrap returns the client's error.
func (r refusal) Unwrap() error { return r.error }
