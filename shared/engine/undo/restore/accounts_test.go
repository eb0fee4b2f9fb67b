package restore_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"firebase.google.com/go/v4/auth"
	"google.golang.org/api/googleapi"

	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/shared/backends"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
)

// onImport puts around around the calls by which undoes import.
func (w *world) onImport(t *testing.T, around func(uids []string, send func() error) error) {
	t.Helper()
	w.disturb(t, backends.Hooks{Accounts: func(method string, uids []string, send func() error) error {
		if method != "ImportUsers" {
			return send()
		}
		return around(uids, send)
	}})
}

// outcomes takes a run back and returns what is said of the accounts, by uid.
func (w *world) outcomes(t *testing.T, runID string, o restore.Options) (map[string]restore.Outcome, error) {
	t.Helper()
	all := map[string]restore.Outcome{}
	err := w.restorer.Undo(t.Context(), runID, o, func(o restore.Outcome) error {
		if uid, is := strings.CutPrefix(o.Target, "account "); is {
			all[uid] = o
		}
		return nil
	})
	return all, err
}

var (
	apply    = restore.Options{Apply: true}
	identity = []*auth.UserProvider{{UID: "g1", ProviderID: "google.com"}}
)

const phone = "+4915112345678"

// TestSignedUpSince: an account does not come back beside one that has its address, its number or its identity since, for
// Authentication would take it.
func TestSignedUpSince(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	client := w.Auth(t)
	w.Import(t,
		new(auth.UserToImport).UID("u1").PhoneNumber(phone), new(auth.UserToImport).UID("u2").ProviderData(identity),
	)
	report := w.run(t)
	w.Import(t,
		new(auth.UserToImport).UID("new0").Email("U0@example.com"), new(auth.UserToImport).UID("new1").PhoneNumber(phone),
		new(auth.UserToImport).UID("new2").ProviderData(identity),
	)
	for _, apply := range []bool{false, true} {
		steps, why := w.undo(t, report.RunID, restore.Options{Apply: apply})
		for uid, what := range map[string]string{"u0": "address since: account new0", "u1": "phone number since: account new1", "u2": "identity since: account new2"} {
			if !slices.Contains(steps[undo.Conflict], "account "+uid) || !strings.Contains(why["account "+uid], what) {
				t.Errorf("apply %t: account %s: %q", apply, uid, why["account "+uid])
			}
		}
	}
	_, err := client.GetUser(ctx, "u0")
	enginetest.Want(t, "that u0 is not found", true, auth.IsUserNotFound(err))
}

// TestSignedUpMeanwhile: whoever signs up after an undo has looked and before it imports keeps the account, and the one that was
// deleted does not come back beside it. Phone numbers Authentication does not compare, so that the undo says it, also if the
// answer was lost.
func TestSignedUpMeanwhile(t *testing.T) {
	for _, lost := range []bool{false, true} {
		t.Run(fmt.Sprintf("lost %t", lost), func(t *testing.T) {
			w := newWorld(t)
			for _, id := range []string{"u3", "u4"} {
				w.Set(t, "users/"+id, map[string]any{"name": id})
				w.Set(t, "friends/"+id, map[string]any{"friend": id})
			}
			w.Import(t,
				new(auth.UserToImport).UID("u2").ProviderData(identity), new(auth.UserToImport).UID("u3").PhoneNumber(phone),
				new(auth.UserToImport).UID("u4").Email("u4@example.com"),
			)
			report := w.run(t)
			calls := 0
			w.onImport(t, func(_ []string, send func() error) error {
				if calls++; calls > 1 {
					return send()
				}
				w.Import(t,
					new(auth.UserToImport).UID("u0").DisplayName("new").Metadata(&auth.UserMetadata{CreationTimestamp: 5000}),
					new(auth.UserToImport).UID("new1").Email("U1@example.com"), new(auth.UserToImport).UID("new2").ProviderData(identity),
					new(auth.UserToImport).UID("new3").PhoneNumber(phone),
				)
				err := send()
				if lost {
					return errors.New("connection reset")
				}
				return err
			})
			outcomes, err := w.outcomes(t, report.RunID, apply)
			ok(t, err)
			for uid, want := range map[string]restore.Outcome{
				"u0": {Step: undo.Conflict, Why: "somebody has signed up with that id since"},
				"u1": {Step: undo.Conflict, Why: "somebody has signed up with its address since: account new1"},
				"u2": {Step: undo.Conflict, Why: "somebody has signed up with its identity since: account new2"},
				"u3": {Step: undo.Recreate, Note: "phone number " + phone + "; somebody has signed up with its phone number since: account new3: delete one of the two"},
				"u4": {Step: undo.Recreate, Note: "address u4@example.com"},
			} {
				want.Target = "account " + uid
				enginetest.Want(t, uid, want, outcomes[uid])
			}
			enginetest.Want(t, "accounts", []string{"new1", "new2", "new3", "u0", "u3", "u4"}, w.Accounts(t))
			if user, err := w.Auth(t).GetUser(t.Context(), "u0"); err != nil || user.DisplayName != "new" {
				t.Errorf("%+v, %v: the new account was replaced", user, err)
			}
		})
	}
}

// TestNoAnswerOfAnImport: an undo that gives up says that any may be back.
func TestNoAnswerOfAnImport(t *testing.T) {
	w, report := newRun(t)
	w.onImport(t, func([]string, func() error) error {
		return &googleapi.Error{Code: http.StatusForbidden, Message: "no right"}
	})
	_, err := w.outcomes(t, report.RunID, apply)
	check.Fails(t, err, "of which any may be back: run undo again: ", "no right")
}

// TestRefusedImport: what nobody foresaw is told in Authentication's words, and the others come back.
func TestRefusedImport(t *testing.T) {
	w, report := newRun(t)
	w.onImport(t, func(uids []string, send func() error) error {
		if slices.Contains(uids, "u1") { // which fails the whole call, so that it is made again without it
			return &googleapi.Error{Code: http.StatusBadRequest, Message: "provider is not enabled"}
		}
		return send()
	})
	outcomes, err := w.outcomes(t, report.RunID, apply)
	ok(t, err)
	o := outcomes["u1"]
	enginetest.Want(t, "u1", []any{undo.Conflict, "Authentication refuses it: provider is not enabled"}, []any{o.Step, o.Why})
	enginetest.Want(t, "the others", []undo.Step{undo.Recreate, undo.Recreate}, []undo.Step{outcomes["u0"].Step, outcomes["u2"].Step})
}
