package resolvedinquiries

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/undo"
)

// large is a message so large that two do not fit in one document.
func large(n int) map[string]any {
	m := message(n)
	m["content"] = strings.Repeat(fmt.Sprintf("%06d", n), 100_000)
	return m
}

// setLarge writes inquiry i1 with messages a, b and c. They are too large for one document, and take two commits to copy.
func setLarge(t *testing.T, f *enginetest.Function) map[string]map[string]any {
	t.Helper()
	f.Set(t, "inquiries/i1", inquiry(8*day))
	messages := map[string]map[string]any{"a": large(2), "b": large(1), "c": message(3)}
	for id, m := range messages {
		f.Set(t, "inquiries/i1/messages/"+id, m)
	}
	return messages
}

// afterWriting calls do each time a commit of the function has written or deleted a document. n counts from 1.
func afterWriting(f *enginetest.Function, document string, do func(n int)) {
	var n atomic.Int32
	f.OnCommit(func(_ int, commit *firestorepb.CommitRequest, send func() error) error {
		err := send()
		for _, w := range commit.GetWrites() {
			if err == nil && strings.HasSuffix(w.GetUpdate().GetName()+w.GetDelete(), "/documents/"+document) {
				do(int(n.Add(1)))
			}
		}
		return err
	})
}

// wantInParts compares the archive of inquiry i1, which has its messages in the subcollection, and checks that nothing else
// is left.
func wantInParts(t *testing.T, f *enginetest.Function, messages map[string]map[string]any) {
	t.Helper()
	want := inquiry(8 * day)
	want["archivedAt"], want["messagesInSubcollection"] = now, true
	enginetest.Want(t, "archive", want, f.Documents(t, "archivedInquiries")["i1"])
	enginetest.Want(t, "the archive's messages", messages, f.Documents(t, "archivedInquiries/i1/messages"))
	wantIDs(t, f, "inquiries")
	wantIDs(t, f, "inquiries/i1/messages")
	wantNothingBegun(t, f)
}

// wantKept makes sure that inquiry i1 and its messages exist, and nothing of an archive.
func wantKept(t *testing.T, f *enginetest.Function, data map[string]any, messages map[string]map[string]any) {
	t.Helper()
	enginetest.Want(t, "inquiry", data, f.Documents(t, "inquiries")["i1"])
	enginetest.Want(t, "messages", messages, f.Documents(t, "inquiries/i1/messages"))
	wantIDs(t, f, "archivedInquiries")
	wantIDs(t, f, "archivedInquiries/i1/messages")
	wantNothingBegun(t, f)
}

func TestArchiveBeyondOneDocument(t *testing.T) {
	f := newFunction(t)
	messages := setLarge(t, f)
	for i := range 60 {
		messages[fmt.Sprintf("m%03d", i)] = message(i)
	}
	messages["d"], messages["e"] = large(10), large(11)
	for id, m := range messages {
		f.Set(t, "inquiries/i1/messages/"+id, m)
	}
	odd := everyValue(f, t)
	f.Set(t, "inquiries/i1/messages/odd", odd)
	f.OnCommit(func(_ int, commit *firestorepb.CommitRequest, send func() error) error {
		err := send()
		if proto.Size(commit) > 2<<20 || err != nil {
			t.Errorf("a commit of %d bytes: %v; what is too large should have been known", proto.Size(commit), err)
		}
		return err
	})
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, archivedOnce)
	if diff := cmp.Diff(odd, f.Documents(t, "archivedInquiries/i1/messages")["odd"], sameValues); diff != "" {
		t.Errorf("message with every value (-want +got):\n%s", diff)
	}
	f.Delete(t, "archivedInquiries/i1/messages/odd")
	wantInParts(t, f, messages)
}

// deep returns a map with so many levels of maps.
func deep(levels int) map[string]any {
	m := map[string]any{"x": int64(1)}
	for range levels {
		m = map[string]any{"m": m}
	}
	return m
}

// TestCommitsThatFirestoreRefuses also refuses commits with many writes: Firestore counts the index entries, its emulator
// does not.
func TestCommitsThatFirestoreRefuses(t *testing.T) {
	f := newFunction(t)
	f.Set(t, "inquiries/i1", inquiry(8*day))
	messages := map[string]map[string]any{"deep": deep(19)} // Firestore allows 20 levels, and the archive would add some
	for i := range 60 {
		messages[fmt.Sprintf("m%03d", i)] = message(i)
	}
	for id, m := range messages {
		f.Set(t, "inquiries/i1/messages/"+id, m)
	}
	f.OnCommit(func(_ int, commit *firestorepb.CommitRequest, send func() error) error {
		if len(commit.GetWrites()) > 20 {
			return status.Error(codes.InvalidArgument, "Transaction too big. Decrease transaction size.")
		}
		return send()
	})
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, archivedOnce)
	wantInParts(t, f, messages)
}

// TestInquiryThatFitsIntoNoArchive has a field with one of the archive's names, as deep as a field can be: the archive would
// put it deeper.
func TestInquiryThatFitsIntoNoArchive(t *testing.T) {
	f := newFunction(t)
	data := inquiry(8 * day)
	data["messages"] = deep(19)
	f.Set(t, "inquiries/i1", data)
	f.Set(t, "inquiries/i1/messages/a", message(1))
	got := f.Run(t, "")
	enginetest.WantReport(t, got, report.Failed, map[string]report.Counts{"archive and delete inquiry": {Planned: 1, Failed: 1}})
	if !strings.Contains(got.Failures[0].Error, "inquiries/i1 is too large for an archive") {
		t.Errorf("failures %+v", got.Failures)
	}
	wantKept(t, f, data, map[string]map[string]any{"a": message(1)})
}

// TestWrittenToMeanwhile changes, deletes and adds messages when the first part has been copied. TestAtEveryStep does so after
// each of the other commits.
func TestWrittenToMeanwhile(t *testing.T) {
	f := newFunction(t)
	messages := setLarge(t, f)
	messages["a"], messages["d"] = map[string]any{"content": "edited"}, large(4)
	delete(messages, "b")
	afterWriting(f, "archivedInquiries/i1/messages/b", func(n int) {
		if n == 1 { // then the copy is deleted
			f.Set(t, "inquiries/i1/messages/a", messages["a"])
			f.Set(t, "inquiries/i1/messages/d", messages["d"])
			f.Delete(t, "inquiries/i1/messages/b")
		}
	})
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, archivedOnce)
	wantInParts(t, f, messages)
}

// TestWrittenToAllTheTime: if messages change in every round, the inquiry stays.
func TestWrittenToAllTheTime(t *testing.T) {
	f := newFunction(t)
	messages, last := setLarge(t, f), 0
	afterWriting(f, "archivedInquiries/i1/messages/b", func(n int) {
		last, messages["a"] = n, large(n)
		f.Set(t, "inquiries/i1/messages/a", messages["a"])
	})
	got := f.Run(t, "")
	enginetest.Want(t, "times that it was copied, and deleted", copyRounds+1, last)
	enginetest.WantReport(t, got, report.Completed, map[string]report.Counts{"archive and delete inquiry": {Planned: 1, Changed: 1}})
	wantKept(t, f, inquiry(8*day), messages)
}

// TestStagesLeftToDo: an inquiry goes on from the stage that a Todo names, by what it is by now. A Todo that names another is
// refused.
func TestStagesLeftToDo(t *testing.T) {
	edited := map[string]any{"content": "edited"}
	reopened := map[string]any{"status": "open"}
	type all = map[string]map[string]any
	set := func(t *testing.T, f *enginetest.Function, collection string, messages all) {
		t.Helper()
		for id, m := range messages {
			f.Set(t, collection+"/messages/"+id, m)
		}
	}
	partly := func(t *testing.T, f *enginetest.Function, messages all) {
		set(t, f, "archivedInquiries/i1", all{"a": messages["a"], "b": edited, "deleted": message(4)})
		set(t, f, "inquiries/i1", all{"b": messages["b"]})
	}
	reopen := func(t *testing.T, f *enginetest.Function, messages all) {
		partly(t, f, messages)
		f.Set(t, "inquiries/i1", reopened)
	}
	stays := func(t *testing.T, f *enginetest.Function, messages all) { wantKept(t, f, reopened, messages) }
	archived := func(t *testing.T, f *enginetest.Function, messages all) {
		f.Set(t, "archivedInquiries/i1", map[string]any{"status": "resolved", "archivedAt": now, "messagesInSubcollection": true})
		set(t, f, "archivedInquiries/i1", messages)
		for id := range messages {
			f.Delete(t, "inquiries/i1/messages/"+id)
		}
		f.Delete(t, "inquiries/i1")
	}
	for name, tt := range map[string]struct {
		from          string // the progress in the entry
		arrange, want func(*testing.T, *enginetest.Function, all)
	}{
		"copying":               {`{"stage":"copy"}`, partly, wantInParts},
		"copying, and reopened": {`{"stage":"copy"}`, reopen, stays},
		"copying once more":     {`{"stage":"copy","round":1}`, partly, wantInParts},
		"moving back": {`{"stage":"move","moved":"n"}`, func(t *testing.T, f *enginetest.Function, _ all) {
			f.Set(t, "inquiries/i1", reopened)
			set(t, f, "archivedInquiries/i1", all{"a": edited})
			set(t, f, "archivedInquiries/i1/earlier/n", all{"b": edited})
		}, func(t *testing.T, f *enginetest.Function, messages all) {
			wantIDs(t, f, "archivedInquiries/i1/messages", "a", "b")
			f.Delete(t, "archivedInquiries/i1/messages/a")
			f.Delete(t, "archivedInquiries/i1/messages/b")
			stays(t, f, messages)
		}},
		"deleting": {`{"stage":"finish"}`, func(t *testing.T, f *enginetest.Function, messages all) {
			archive := inquiry(8 * day)
			archive["archivedAt"], archive["messagesInSubcollection"] = now, true
			f.Set(t, "archivedInquiries/i1", archive)
			set(t, f, "archivedInquiries/i1", messages)
			messages["c"], messages["d"] = edited, message(4)
			set(t, f, "inquiries/i1", all{"c": edited, "d": message(4)})
			f.Delete(t, "inquiries/i1/messages/a")
			f.Delete(t, "inquiries/i1")
		}, wantInParts},
		"deleting, and restored":                                  {`{"stage":"finish"}`, func(t *testing.T, f *enginetest.Function, _ all) { f.Set(t, "inquiries/i1", reopened) }, stays},
		"deleting an archive's messages":                          {`{"stage":"copy"}`, archived, nil},
		"deleting an archive's messages, as if others were moved": {`{"stage":"copy","moved":"n"}`, archived, nil},
		"another's entry":                                         {`{"stage":"later"}`, partly, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFunction(t)
			messages := setLarge(t, f)
			f.SetTodo(t, "e1", enginetest.ItemOf("inquiry", "inquiries/i1", tt.from))
			tt.arrange(t, f, messages)
			if tt.want != nil {
				enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("finish interrupted action", 1))
				tt.want(t, f, messages)
				return
			}
			for range 2 { // every run fails until somebody looks
				got := f.Run(t, "")
				enginetest.WantReport(t, got, report.Failed, map[string]report.Counts{"finish interrupted action": {Planned: 1, Failed: 1}})
				if why := got.Failures[0].Error; !strings.Contains(why, "this program did not write") && !strings.Contains(why, "are the archive's") {
					t.Errorf("failures %+v", got.Failures)
				}
			}
			if len(f.Documents(t, "inquiries")) == 0 {
				wantIDs(t, f, "archivedInquiries/i1/messages", slices.Sorted(maps.Keys(messages))...)
			}
		})
	}
}

// TestPreviewOfSeveralCommits has an inquiry that is archived in parts: more follows than its first commit.
func TestPreviewOfSeveralCommits(t *testing.T) {
	f := newFunction(t)
	setLarge(t, f)
	f.Set(t, "archivedInquiries/i1", oldArchive)
	f.Set(t, "archivedInquiries/i1/messages/a", message(1))
	planned := f.Run(t, `{"dryRun":true}`).Plan[0]
	enginetest.Want(t, "more", true, planned.More)
}

// TestInquiriesInPartsWhileSomethingIsPinned: they are archived.
func TestInquiriesInPartsWhileSomethingIsPinned(t *testing.T) {
	f := newFunction(t)
	f.Set(t, "inquiries/i1", inquiry(8*day))
	messages := map[string]map[string]any{}
	for i := range 24 {
		m := message(i)
		m["content"] = strings.Repeat("x", 100_000)
		id := fmt.Sprintf("m%02d", i)
		messages[id] = m
		f.Set(t, "inquiries/i1/messages/"+id, m)
	}
	f.Set(t, undo.PinnedIn+"/1", map[string]any{undo.TargetsField: []string{"others/x"}})
	enginetest.Want(t, "preview", report.Completed, f.Run(t, `{"dryRun":true}`).Status)
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, archivedOnce)
	f.Delete(t, undo.PinnedIn+"/1")
	wantInParts(t, f, messages)
}
