package load_test

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/emulator/each"
	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/documents/wire"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/runlog"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
)

const reports = "cleanupReports"

var reportCount = flag.Int("reports", 1_000,
	"how many documents a run deletes, all of which are taken back, at most 100,000; over a bad link 5,000 at least")

var reportsNow = time.Date(2026, 1, 10, 15, 0, 0, 0, time.UTC)

// report returns a report that is due: some 400 bytes of all that a document holds.
func (w world) report(t *testing.T, i int) map[string]any {
	return map[string]any{
		"status": "reviewed", "createdAt": reportsNow.AddDate(0, -2, 0).Add(-time.Duration(i) * time.Second),
		"reporter": w.Firestore(t).Doc(fmt.Sprintf("users/u%05d", i%1000)), "score": 0.5 + float64(i),
		"text": strings.Repeat(fmt.Sprintf("報告 %d ", i*7919), 10), "tags": []any{"spam", int64(i), nil, map[string]any{"n": int64(i)}},
	}
}

// TestUndoOverABadLink takes many documents back over a link that loses every hundredth answer, half of them after Firestore did
// what it was asked to. All come back, each told once, and no write is sent before the pace lets it.
func TestUndoOverABadLink(t *testing.T) {
	n := max(5_000, *reportCount)
	besideOthers(t, n <= 5_000)
	w := world{Project: backendstest.Start(t)}
	const run = reports + "-20260110T150000Z-0123abcd"
	w.deletedReports(t, run, n)
	var link badLink
	p := enginetest.OpenRestorer(t, restore.Hooks{Dial: wire.DialOptions(link.begin), Pace: &link},
		func(name string) string { return w.Environment[name] }, nil,
		config.Firestore)
	p.Jobs = functions.Registered()
	told := map[string]bool{}
	err := p.Undo(t.Context(), run, restore.Options{Apply: true}, func(o restore.Outcome) error {
		if o.Step != undo.Recreate || told[o.Target] {
			t.Errorf("%+v, told before: %v", o, told[o.Target])
		}
		told[o.Target] = true
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	w.wantReports(t, n)
	undone, _ := w.Documents(t, collections.Runs)[run]["undone"].(map[string]any)
	enginetest.Want(t, "what the report says came back", int64(n), undone["things"])
	requests, lost, sent := link.requests.Load(), link.lost.Load(), int(link.sent.Load())
	t.Logf("%d requests, %d answers lost, %d writes sent for %d documents", requests, lost, sent, n)
	if len(told) != n || lost == 0 {
		t.Errorf("%d told, want %d; %d lost, want some", len(told), n, lost)
	}
	if most := n + n/20 + 200*int(lost); sent > most {
		t.Errorf("%d writes were sent, want at most %d", sent, most)
	}
	if link.early.Load() {
		t.Error("a write was sent before its time")
	}
}

// deletedReports makes the records of a run that has deleted n reports.
func (w world) deletedReports(t *testing.T, run string, n int) {
	t.Helper()
	w.Set(t, collections.Runs+"/"+run, map[string]any{"runId": run, "job": reports, "status": "completed"})
	const perEntry = 1000
	for first := 0; first < n; first += perEntry {
		var records []undo.Record
		for i := first; i < min(n, first+perEntry); i++ {
			ref := documents.Ref{Collection: "reports", ID: fmt.Sprintf("r%06d", i)}
			deleted, err := undo.Of(documents.Write{Op: documents.Delete, Ref: ref}, documents.Document{Data: w.report(t, i)}, true)
			if err != nil {
				t.Fatal(err)
			}
			records = append(records, undo.Record{Item: ref.Path(), Action: "delete report", Reason: "due"}, deleted)
		}
		packed, err := runlog.Pack(records)
		if err != nil {
			t.Fatal(err)
		}
		for part, data := range packed {
			w.Set(t, fmt.Sprintf("%s/%06d-%02d", runlog.DoneOf(run), first/perEntry, part),
				map[string]any{"data": data, "parts": len(packed), "at": documents.ServerTimestamp, "expireAt": time.Now().Add(time.Hour)})
		}
	}
}

// badLink loses answers, and is the pace that writes keep to.
type badLink struct {
	requests, lost atomic.Int64
	allowed, sent  atomic.Int64 // writes
	early          atomic.Bool  // one was sent before it was allowed
}

// Wait implements documents.Pace. It takes no time.
func (l *badLink) WaitN(_ context.Context, n int) error {
	l.allowed.Add(int64(n))
	return nil
}

// loses says what becomes of the next request: it is lost, or its answer is.
func (l *badLink) loses() (request, answer bool) {
	n := l.requests.Add(1)
	if n%100 != 30 {
		return false, false
	}
	l.lost.Add(1)
	return n/100%2 == 0, n/100%2 == 1
}

var errLink = status.Error(codes.Unavailable, "the link lost it")

// begin loses a request or its answer.
func (l *badLink) begin(_ context.Context, method string) wire.Request {
	request, answer := l.loses()
	return sent{l, request, answer, strings.Contains(method, "/Run") || strings.Contains(method, "/BatchGet")}
}

// sent is a request that somebody sends.
type sent struct {
	*badLink
	dropped  bool // it never arrives
	lost     bool // its answer is
	streamed bool // its answer comes in several messages
}

// Send implements wire.Request.
func (s sent) Send(m any) error {
	if s.dropped {
		return errLink
	}
	commit, _ := m.(*firestorepb.CommitRequest)
	for _, w := range commit.GetWrites() {
		if strings.Contains(w.GetUpdate().GetName(), "/reports/") && s.sent.Add(1) > s.allowed.Load() {
			s.early.Store(true)
		}
	}
	return nil
}

// Receive implements wire.Request. Of a lost answer with several messages the end is lost: to break off would break the
// emulator's connection.
func (s sent) Receive(_ any, err error) error {
	if s.lost && (!s.streamed || err != nil) {
		return errLink
	}
	return err
}

// wantReports compares each report with what it was.
func (w world) wantReports(t *testing.T, n int) {
	t.Helper()
	i := 0
	byID := w.Firestore(t).Collection("reports").OrderBy(firestore.DocumentID, firestore.Asc)
	for d, err := range each.Of(byID.Documents(t.Context())) {
		if err != nil {
			t.Fatal(err)
		}
		sameRef := cmp.Comparer(func(a, b *firestore.DocumentRef) bool { return a.Path == b.Path })
		if diff := cmp.Diff(w.report(t, i), d.Data(), sameRef); d.Ref.ID != fmt.Sprintf("r%06d", i) || diff != "" {
			t.Fatalf("report %d is %s (-want +got):\n%s", i, d.Ref.ID, diff)
		}
		i++
	}
	if i != n {
		t.Errorf("%d reports are back, want %d", i, n)
	}
}
