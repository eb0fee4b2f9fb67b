package declared_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/firesweep/firesweep/shared/documents/wire"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/undo"
)

// looked is what a function reads by requests that are in no transaction.
type looked struct {
	mu     sync.Mutex
	large  int   // queries for more than 1,000 documents
	most   int32 // documents that one query asks for
	bytes  int   // of the answers
	reads  int   // documents that are billed
	all    int   // queries
	denied bool  // there were far too many
}

// reset forgets what was read before.
func (l *looked) reset() { l.large, l.most, l.bytes, l.reads, l.all = 0, 0, 0, 0, 0 }

// look is a request that is under way.
type look struct {
	*looked
	counts bool // it is in no transaction
}

// Send implements [wire.Request].
func (l *look) Send(message any) error {
	in, ok := message.(interface{ GetTransaction() []byte })
	l.counts = ok && in.GetTransaction() == nil
	q, ok := message.(*firestorepb.RunQueryRequest)
	if !ok || !l.counts {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	limit := q.GetStructuredQuery().GetLimit().GetValue()
	if l.most = max(l.most, limit); limit > 1000 {
		l.large++
	}
	if l.all++; l.all > 4000 || l.large > 50 {
		l.denied = true
		return status.Error(codes.PermissionDenied, "far too many queries")
	}
	return nil
}

// Receive implements [wire.Request].
func (l *look) Receive(answer any, err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch r := answer.(type) {
	case *firestorepb.RunQueryResponse:
		if l.counts && r.GetDocument() != nil {
			l.bytes, l.reads = l.bytes+proto.Size(r.GetDocument()), l.reads+1
		}
	case *firestorepb.BatchGetDocumentsResponse:
		if l.counts {
			l.bytes, l.reads = l.bytes+proto.Size(r.GetFound()), l.reads+1
		}
	}
	return err
}

func lookOn(f *enginetest.Function) *looked {
	l := &looked{}
	f.Hooks.Dial = append(f.Hooks.Dial, wire.DialOptions(func(context.Context, string) wire.Request { return &look{looked: l} })...)
	return l
}

// TestLookingAheadEnds: of an item with more than 2,000 documents these are looked at, once, and what goes beyond is no reason not to
// begin. Something that is pinned among them keeps it.
func TestLookingAheadEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		with  fields
		set   func(t *testing.T, f *enginetest.Function)
		among string // a document that is seen
	}{
		"everything below": {fields{"subcollection": "**"}, func(t *testing.T, f *enginetest.Function) {
			f.SetMany(t, 30, func(i int) (string, fields) { return fmt.Sprintf("drafts/d/posts/p%02d", i), fields{"n": 1} })
			f.SetMany(t, 2100, func(i int) (string, fields) {
				return fmt.Sprintf("drafts/d/posts/p%02d/comments/c%02d", i/70, i%70), fields{"n": 1}
			})
		}, "drafts/d/posts/p27/comments/c00"},
		"within": {fields{"subcollection": "messages", "with": array{fields{"subcollection": "reactions"}}}, func(t *testing.T, f *enginetest.Function) {
			f.SetMany(t, 30, func(i int) (string, fields) { return fmt.Sprintf("drafts/d/messages/m%02d", i), fields{"n": 1} })
			f.SetMany(t, 2100, func(i int) (string, fields) {
				return fmt.Sprintf("drafts/d/messages/m%02d/reactions/r%02d", i/70, i%70), fields{"n": 1}
			})
		}, "drafts/d/messages/m27/reactions/r00"},
		"removed": {fields{"collection": "posts", "field": "drafts[]", "remove": true}, func(t *testing.T, f *enginetest.Function) {
			f.SetMany(t, 2100, func(i int) (string, fields) { return fmt.Sprintf("posts/p%04d", i), fields{"drafts": []any{"d", "e"}} })
		}, "posts/p1900"},
	} {
		left := func(f *enginetest.Function) (n int) {
			for path, data := range f.Everything(t) {
				if strings.HasPrefix(path, "drafts/") || strings.Contains(fmt.Sprint(data), ":[d ") {
					n++
				}
			}
			return n
		}
		t.Run(name, func(t *testing.T) {
			f := start(t, drafts(fields{"with": array{tt.with}}))
			f.Env["UNDO_DAYS"] = "0"
			f.Set(t, "drafts/d", fields{"updatedAt": old})
			tt.set(t, f)
			before, l := left(f), lookOn(f)
			f.Set(t, undo.PinnedIn+"/1", fields{undo.TargetsField: []string{tt.among}})
			l.reset()
			f.Run(t, "")
			enginetest.Want(t, "documents that one that is pinned keeps", before, left(f))
			f.Set(t, undo.PinnedIn+"/1", fields{undo.TargetsField: []string{"others/x"}})
			l.reset()
			enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("delete draft", 1))
			if l.denied || l.most > 2001 || l.large > 40 {
				t.Errorf("asked for %d documents at once, %d times for more than 1,000, and denied: %t", l.most, l.large, l.denied)
			}
			enginetest.Want(t, "documents left", 0, left(f))
		})
	}
}

// TestLookingAheadAtLargeElements: documents that are looked at whole are no more than have 2 MiB together; those behind them come next.
func TestLookingAheadAtLargeElements(t *testing.T) {
	for name, tt := range map[string]struct {
		with  fields
		owned fields
		reads int
	}{
		"a list": {fields{"collection": "teams", "field": "members[]", "remove": true}, fields{"members": array{"d", "e"}}, 70},
		"keys": {fields{"collection": "teams", "field": "owners.{id}", "remove": true}, fields{"owners": fields{"d": fields{}, "e": true}},
			140}, // for no cursor stands behind a map
		"documents": {fields{"collection": "teams", "field": "draft", "with": array{fields{"document": "owners/{owner}"}}},
			fields{"draft": "d", "owner": "o"}, 70},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, drafts(fields{"with": array{tt.with}}))
			f.Env["UNDO_DAYS"] = "0"
			f.Set(t, "drafts/d", fields{"updatedAt": old})
			for i := range 60 {
				f.Set(t, fmt.Sprintf("teams/t%02d", i), with(tt.owned, fields{"text": strings.Repeat("x", 200_000)}))
			}
			f.Set(t, undo.PinnedIn+"/1", fields{undo.TargetsField: []string{"teams/t59"}})
			before, l := f.Documents(t, "teams"), lookOn(f)
			got := f.Run(t, "")
			enginetest.Want(t, "kept", map[string]int{undo.KeptWithPinned: 1}, got.Kept)
			enginetest.Want(t, "teams", before, f.Documents(t, "teams"))
			if l.bytes > 14<<20 || l.reads > tt.reads {
				t.Errorf("%d bytes of %d documents were read to look ahead", l.bytes, l.reads)
			}
		})
	}
}

// TestLookingAheadAtKeys: whatever is under the key that names the document, it is looked at and removed.
func TestLookingAheadAtKeys(t *testing.T) {
	f := start(t, drafts(fields{"with": array{fields{"subcollection": "notes"},
		fields{"collection": "teams", "field": "owners.{id}", "remove": true}}}))
	f.Env["UNDO_DAYS"] = "0"
	f.Set(t, "drafts/d", fields{"updatedAt": old})
	f.SetMany(t, 450, func(i int) (string, fields) { return fmt.Sprintf("drafts/d/notes/n%03d", i), fields{"n": 1} })
	values := array{true, fields{"since": old}, "admin", array{1}, 7, fields{}}
	f.SetMany(t, 150, func(i int) (string, fields) {
		return fmt.Sprintf("teams/t%03d", i), fields{"owners": fields{"d": values[i%len(values)], "e": true}}
	})
	f.Set(t, undo.PinnedIn+"/1", fields{undo.TargetsField: []string{"teams/t145"}}) // the last in the order of the values
	before := f.Everything(t)
	enginetest.Want(t, "preview", []string{"nothing: teams/t145 is pinned, until it is released with firesweep release"},
		f.Run(t, `{"dryRun":true}`).Plan[0].Writes)
	enginetest.Want(t, "kept", map[string]int{undo.KeptWithPinned: 1}, f.Run(t, "").Kept)
	after := f.Everything(t)
	for path, data := range before {
		enginetest.Want(t, path, data, after[path])
	}
	f.Set(t, undo.PinnedIn+"/1", fields{undo.TargetsField: []string{"others/x"}})
	enginetest.Want(t, "preview", report.Completed, f.Run(t, `{"dryRun":true}`).Status)
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("delete draft", 1))
	enginetest.Want(t, "notes", 0, len(f.IDs(t, "drafts/d/notes")))
	for id, team := range f.Documents(t, "teams") {
		enginetest.Want(t, id, fields{"owners": fields{"e": true}}, team)
	}
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

// TestLeftHalfDone: an item that changes between two of its commits stays, and the log says what to do about those that went along. So
// it is where something new goes with an item that somebody approved.
func TestLeftHalfDone(t *testing.T) {
	const newer = "something that goes with it was written since the plan was approved"
	changed, kept := report.Counts{Planned: 1, Changed: 1}, report.Counts{Planned: 1}
	for name, tt := range map[string]struct {
		path     string
		data     fields
		approved bool
		counts   report.Counts
		why      string
	}{
		"changed":   {"drafts/d", fields{"updatedAt": now}, false, changed, "changed since it was judged"},
		"no time":   {"drafts/d", fields{"updatedAt": "soon"}, false, changed, "changed since it was judged, updatedAt is not a timestamp"},
		"a new one": {"drafts/d/notes/n999", fields{"n": 1}, true, kept, "drafts/d/notes/n999: " + newer},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, drafts(fields{"with": array{fields{"subcollection": "notes"}}}))
			f.Set(t, "drafts/d", fields{"updatedAt": old})
			f.SetMany(t, 900, func(i int) (string, fields) { return fmt.Sprintf("drafts/d/notes/n%03d", i), fields{"n": 1} })
			f.OnCommit(func(_ int, commit *firestorepb.CommitRequest, send func() error) error {
				err := send()
				if len(commit.GetWrites()) > 300 {
					f.Set(t, tt.path, tt.data)
				}
				return err
			})
			request := ""
			if tt.approved {
				request = approval(t, f)
			}
			got := f.Run(t, request)
			enginetest.WantReport(t, got, report.Completed, map[string]report.Counts{"delete draft": tt.counts})
			enginetest.Want(t, "drafts", []string{"d"}, f.IDs(t, "drafts"))
			if left := len(f.IDs(t, "drafts/d/notes")); left == 0 || left >= 900 {
				t.Errorf("%d notes are left", left)
			}
			wantHalfDone(t, f, got, "drafts/d", tt.why)
			if tt.approved {
				enginetest.Want(t, "kept", map[string]int{newer: 1}, got.Kept)
				enginetest.Want(t, "why", []string{"left half done, " + newer}, slices.Collect(maps.Values(got.Approved.Which)))
			}
		})
	}
}

// approval returns the request of a run that is restricted to all that is due.
func approval(t *testing.T, f *enginetest.Function) string {
	t.Helper()
	rep, err := f.Plan(t.Context(), engine.PlanOptions{Now: now, Versions: true})
	if err != nil {
		t.Fatal(err)
	}
	a := report.Approval{Binding: rep.Binding, Made: rep.Read, Items: map[string]string{}}
	for _, p := range rep.Plan {
		item, version := p.Key()
		a.Items[item] = version
	}
	text, err := json.Marshal(fields{"plan": a})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
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
			f.SetMany(t, 1000, func(i int) (string, fields) { return fmt.Sprintf("orders/o%03d", i), fields{"userId": "u"} })
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
			wantHalfDone(t, f, got, "users/u", "changed since it was judged")
		})
	}
}
