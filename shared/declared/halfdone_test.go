package declared_test

import (
	"fmt"
	"strings"
	"testing"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// TestAPreviewHoldsLittle: what names others that are deleted along is looked at whole, thirty documents of it.
func TestAPreviewHoldsLittle(t *testing.T) {
	f := start(t, drafts(fields{"with": array{fields{"collection": "messages", "field": "draft",
		"with": array{fields{"document": "owners/{owner}"}}}}}))
	f.Set(t, "drafts/d", fields{"updatedAt": old})
	f.Set(t, "owners/other", fields{"x": true})
	for first := 0; first < 150; first += 30 { // in a commit
		f.SetMany(t, 30, func(i int) (string, fields) {
			return fmt.Sprintf("messages/m%03d", first+i), fields{"draft": "d", "owner": "o", "text": strings.Repeat("x", 100_000)}
		})
	}
	preview := f.Run(t, `{"dryRun":true}`)
	enginetest.Want(t, "the preview tells not all", true, preview.Plan[0].More)
	if reads := preview.Usage.FirestoreReads; reads < 30 || reads > 60 { // of at most 6 MB
		t.Errorf("%d documents were read for a preview", reads)
	}
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("delete draft", 1))
	enginetest.Want(t, "messages", 0, len(f.IDs(t, "messages")))
}

// wantHalfDone makes sure that one warning of a run about a document says why it is left half done, and how to take that back.
func wantHalfDone(t *testing.T, f *enginetest.Function, got *report.Report, document, why string) {
	t.Helper()
	said := f.Warnings(t)[document]
	text := "left half done, " + why + ": look at it; what is gone comes back with: firesweep undo " + got.RunID
	if len(said) != 1 || !strings.Contains(fmt.Sprint(said), text) {
		t.Errorf("%v, want %s", said, text)
	}
}

// TestLeftHalfDone: an item that changes between two of its commits stays, and the log says what to do about those that went along.
func TestLeftHalfDone(t *testing.T) {
	for name, tt := range map[string]struct {
		data fields
		why  string
	}{
		"changed": {fields{"updatedAt": now}, "it changed since it was judged"},
		"no time": {fields{"updatedAt": "soon"}, "it changed since it was judged, updatedAt is not a timestamp"},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, drafts(fields{"with": array{fields{"subcollection": "notes"}}}))
			f.Set(t, "drafts/d", fields{"updatedAt": old})
			f.SetAlike(t, 900, "drafts/d/notes/n%03d", fields{"n": 1})
			f.AfterCommits(func(_ int, commit *firestorepb.CommitRequest) {
				if len(commit.GetWrites()) > 300 {
					f.Set(t, "drafts/d", tt.data)
				}
			})
			got := f.Run(t, "")
			enginetest.WantReport(t, got, report.Completed, map[string]report.Counts{"delete draft": {Planned: 1, Changed: 1}})
			enginetest.Want(t, "drafts", []string{"d"}, f.IDs(t, "drafts"))
			if left := len(f.IDs(t, "drafts/d/notes")); left == 0 || left >= 900 {
				t.Errorf("%d notes are left", left)
			}
			wantHalfDone(t, f, got, "drafts/d", tt.why)
		})
	}
}

// TestLeftHalfDoneBehindAnAccount: of what goes with an account that is gone, and with what an interrupted run has left to do, the log
// says so too.
func TestLeftHalfDoneBehindAnAccount(t *testing.T) {
	t.Parallel()
	for _, interrupted := range []bool{false, true} {
		t.Run(fmt.Sprint("interrupted: ", interrupted), func(t *testing.T) {
			f := start(t, guests(fields{
				"unless": array{fields{"document": "invoices/{uid}"}},
				"with":   array{fields{"document": "users/{uid}", "with": array{fields{"collection": "orders", "field": "userId"}}}},
			}))
			f.Set(t, "invoices/somebody", fields{"x": true})
			f.Import(t, signedIn("u", old))
			f.Set(t, "users/u", fields{"x": true})
			f.SetAlike(t, 1000, "orders/o%03d", fields{"userId": "u"})
			action, refuses := "delete account", interrupted
			f.OnCommit(func(_ int, commit *firestorepb.CommitRequest, send func() error) error {
				if len(commit.GetWrites()) <= 300 {
					return send()
				}
				if refuses {
					return status.Error(codes.PermissionDenied, "not now")
				}
				err := send()
				f.Set(t, "invoices/u", fields{"x": true})
				return err
			})
			if interrupted {
				action = "finish interrupted action"
				enginetest.Want(t, "status of the run before", report.Failed, f.Run(t, "").Status)
				refuses = false
			}
			got := f.Run(t, "")
			enginetest.WantReport(t, got, report.Completed, enginetest.Done(action, 1))
			enginetest.Want(t, "users", []string{"u"}, f.IDs(t, "users"))
			enginetest.Want(t, "accounts", 0, len(f.Accounts(t)))
			if left := len(f.IDs(t, "orders")); left == 0 || left == 1000 {
				t.Errorf("%d orders are left", left)
			}
			wantHalfDone(t, f, got, "users/u", "it changed since it was judged")
		})
	}
}
