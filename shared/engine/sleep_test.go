package engine_test

import (
	"strings"
	"testing"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"firebase.google.com/go/v4/auth"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/documents/wire"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/undo"
)

// What a laptop was about to delete when it fell asleep may be anything once it wakes: its last look is long ago.

func TestSleepBeforeDocumentsGo(t *testing.T) {
	f := thingsFunction(t, 10, 3)
	late, sent := lateClock(f), 0
	onCalls(f, deletions, func(n int) error {
		sent = n
		return nil
	})
	f.Hooks.Dial = append(f.Hooks.Dial, wire.After(func(method string, _ any, err error) error {
		if strings.HasSuffix(method, "/BatchGetDocuments") { // the transaction has read what is to go
			late.Store(true)
		}
		return err
	})...)
	got := f.Run(t, "")
	enginetest.Want(t, "requests", 0, sent)
	enginetest.Want(t, "left", 3, len(left(t, f)))
	enginetest.Want(t, "done, failed", [2]int{}, [2]int{got.Actions["delete thing"].Done, got.Actions["delete thing"].Failed})
}

// TestSleepBetweenAttempts: a commit whose answer was lost may have taken effect, which its entry tells, and no other follows.
func TestSleepBetweenAttempts(t *testing.T) {
	for arrives, done := range map[bool]int{true: 3, false: 0} {
		f := thingsFunction(t, 10, 3)
		late := lateClock(f)
		f.OnCommit(func(_ int, r *firestorepb.CommitRequest, send func() error) error {
			if len(thingsIn(r)) == 0 {
				return send()
			}
			if late.Swap(true) {
				t.Error("sent again")
			}
			if arrives {
				_ = send()
			}
			return status.Error(codes.Unavailable, "the connection broke")
		})
		got := f.Run(t, "").Actions["delete thing"]
		enginetest.Want(t, "counts", report.Counts{Planned: 3, Done: done}, got)
		enginetest.Want(t, "left", 3-done, len(left(t, f)))
	}
}

func TestSleepBeforeAnAccountGoes(t *testing.T) {
	f := ruleFunction(t, accountsJob(boxes))
	f.Import(t, (&auth.UserToImport{}).UID("ann"))
	late, looks := lateClock(f), 0
	f.Hooks.Accounts = func(method string, _ []string, send func() error) error {
		switch method {
		case "DeleteUsers":
			t.Error("sent")
		case "GetUsers":
			looks++
			late.Store(looks == 2) // the first is what is saved for undo
		}
		return send()
	}
	got := f.Run(t, "")
	enginetest.Want(t, "accounts", []string{"ann"}, f.Accounts(t))
	enginetest.Want(t, "done, failed", [2]int{}, [2]int{got.Actions["delete account"].Done, got.Actions["delete account"].Failed})
	entries := 0
	err := f.Restorer(t, f.Clock).Contents(t.Context(), got.RunID, func(_, _ int, records []undo.Record) error {
		entries++
		for _, r := range records { // what stayed has the place of its record, and nothing in it
			if r != (undo.Record{}) {
				t.Errorf("the undo log says %+v", r)
			}
		}
		return nil
	})
	if err != nil || entries != 1 {
		t.Errorf("%d entries, %v", entries, err)
	}
}
