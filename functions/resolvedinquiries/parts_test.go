package resolvedinquiries

import (
	"context"
	"fmt"
	"path"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/firesweep/firesweep/shared/sweep"
	"github.com/firesweep/firesweep/shared/sweep/sweeptest"
)

// large is a message of which two do not fit in one document.
func large(n int) map[string]any {
	m := message(n)
	m["content"] = strings.Repeat(fmt.Sprintf("%06d", n), 100_000)
	return m
}

// setLarge writes inquiry i1 with messages a, b and c, which are too large for one document, and takes two batches to copy.
func setLarge(t *testing.T, f *sweeptest.Function) map[string]map[string]any {
	t.Helper()
	f.Set(t, "inquiries/i1", inquiry(8*day))
	messages := map[string]map[string]any{"a": large(2), "b": large(1), "c": message(3)}
	for id, m := range messages {
		f.Set(t, "inquiries/i1/messages/"+id, m)
	}
	return messages
}

// afterWriting calls do when a commit of the function has written or deleted a document, every time. n counts from 1.
func afterWriting(f *sweeptest.Function, document string, do func(n int)) {
	var n atomic.Int32
	f.Hooks.Dial = append(f.Hooks.Dial, grpc.WithChainUnaryInterceptor(
		func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			err := invoke(ctx, method, req, reply, cc, opts...)
			if commit, ok := req.(*firestorepb.CommitRequest); ok && err == nil {
				for _, w := range commit.Writes {
					if strings.HasSuffix(w.GetUpdate().GetName()+w.GetDelete(), "/documents/"+document) {
						do(int(n.Add(1)))
					}
				}
			}
			return err
		}))
}

func remove(t *testing.T, f *sweeptest.Function, document string) {
	t.Helper()
	if _, err := f.Firestore(t).Doc(document).Delete(context.Background()); err != nil {
		t.Error(err)
	}
}

// wantInParts compares the archive of inquiry i1 with its messages in the subcollection, and that nothing else is left.
func wantInParts(t *testing.T, f *sweeptest.Function, messages map[string]map[string]any) {
	t.Helper()
	want := inquiry(8 * day)
	want["archivedAt"], want["messagesInSubcollection"] = now, true
	sweeptest.Want(t, "archive", want, f.Documents(t, "archivedInquiries")["i1"])
	sweeptest.Want(t, "the archive's messages", messages, f.Documents(t, "archivedInquiries/i1/messages"))
	wantIDs(t, f, "inquiries")
	wantIDs(t, f, "inquiries/i1/messages")
	wantNothingBegun(t, f)
}

// wantKept makes sure that inquiry i1 and its messages are there, and nothing of an archive.
func wantKept(t *testing.T, f *sweeptest.Function, data map[string]any, messages map[string]map[string]any) {
	t.Helper()
	sweeptest.Want(t, "inquiry", data, f.Documents(t, "inquiries")["i1"])
	sweeptest.Want(t, "messages", messages, f.Documents(t, "inquiries/i1/messages"))
	wantIDs(t, f, "archivedInquiries")
	wantIDs(t, f, "archivedInquiries/i1/messages")
	wantNothingBegun(t, f)
}

func TestArchiveBeyondOneDocument(t *testing.T) {
	f := newFunction(t)
	messages := setLarge(t, f)
	for i := range 250 {
		messages[fmt.Sprintf("m%03d", i)] = message(i)
	}
	f.SetMany(t, 250, func(i int) (string, map[string]any) { return fmt.Sprintf("inquiries/i1/messages/m%03d", i), message(i) })
	odd := everyValue(f, t)
	for id, name := range map[string]string{"b": "inquiries/b.png", "m001": "inquiries/b.png", "m240": "inquiries/z.png", "m241": "posts/p.png"} {
		f.Put(t, name, nil, nil)
		messages[id] = withImage(messages[id], "gs://"+f.Bucket+"/"+name)
		f.Set(t, "inquiries/i1/messages/"+id, messages[id])
	}
	f.Set(t, "inquiries/i1/messages/odd", odd)
	f.Set(t, "inquiries/i12", inquiry(day))
	f.Set(t, "inquiries/i12/messages/a", message(1))
	f.Set(t, "archivedInquiries/i12/messages/a", message(1))
	for i, id := range []string{"d", "e"} {
		messages[id] = large(10 + i)
		f.Set(t, "inquiries/i1/messages/"+id, messages[id])
	}
	f.Hooks.Dial = append(f.Hooks.Dial, grpc.WithChainUnaryInterceptor(
		func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			if commit, ok := req.(*firestorepb.CommitRequest); ok && proto.Size(commit) > 2<<20 {
				t.Errorf("a commit of %d bytes", proto.Size(commit))
			}
			err := invoke(ctx, method, req, reply, cc, opts...)
			if err != nil {
				t.Errorf("%s failed: what is too large should have been known: %v", path.Base(method), err)
			}
			return err
		}))

	got := f.Run(t, "")
	sweeptest.WantReport(t, got, sweep.Completed, archivedOnce)
	archive := f.Documents(t, "archivedInquiries/i1/messages")
	if diff := cmp.Diff(odd, archive["odd"], sameValues); diff != "" {
		t.Errorf("message with every value (-want +got):\n%s", diff)
	}
	remove(t, f, "archivedInquiries/i1/messages/odd")
	wantIDs(t, f, "inquiries", "i12")
	wantIDs(t, f, "inquiries/i12/messages", "a")
	wantIDs(t, f, "archivedInquiries/i12/messages", "a")
	remove(t, f, "inquiries/i12")
	wantInParts(t, f, messages)
	if objects := f.Objects(t); len(objects) != 1 || objects[0] != "posts/p.png" {
		t.Errorf("objects %v", objects)
	}
	if got.Kept[keptElsewhere] != 1 {
		t.Errorf("kept %v", got.Kept)
	}
}

// deep returns a map of so many levels of maps.
func deep(levels int) map[string]any {
	m := map[string]any{"x": int64(1)}
	for range levels {
		m = map[string]any{"m": m}
	}
	return m
}

func TestArchiveTooDeepForOneDocument(t *testing.T) {
	f := newFunction(t)
	f.Set(t, "inquiries/i1", inquiry(8*day))
	tooDeep := deep(19) // Firestore takes 20 levels, and the archive would add to them
	f.Set(t, "inquiries/i1/messages/a", tooDeep)
	f.Set(t, "inquiries/i1/messages/b", message(1))
	sweeptest.WantReport(t, f.Run(t, ""), sweep.Completed, archivedOnce)
	wantInParts(t, f, map[string]map[string]any{"a": tooDeep, "b": message(1)})
}

// TestCommitsThatFirestoreRefuses refuses commits of many writes: Firestore counts the index entries, its emulator does not.
func TestCommitsThatFirestoreRefuses(t *testing.T) {
	f := newFunction(t)
	f.Set(t, "inquiries/i1", inquiry(8*day))
	const n = 120
	messages := map[string]map[string]any{}
	for i := range n {
		messages[fmt.Sprintf("m%03d", i)] = message(i)
	}
	f.SetMany(t, n, func(i int) (string, map[string]any) { return fmt.Sprintf("inquiries/i1/messages/m%03d", i), message(i) })
	f.Hooks.Dial = append(f.Hooks.Dial, grpc.WithChainUnaryInterceptor(
		func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			if commit, ok := req.(*firestorepb.CommitRequest); ok && len(commit.Writes) > 50 {
				return status.Error(codes.InvalidArgument, "Transaction too big. Decrease transaction size.")
			}
			return invoke(ctx, method, req, reply, cc, opts...)
		}))
	sweeptest.WantReport(t, f.Run(t, ""), sweep.Completed, archivedOnce)
	wantInParts(t, f, messages)
}

// TestInquiryThatFitsIntoNoArchive has a field of the archive's name, as deep as a field can be: the archive puts it deeper.
func TestInquiryThatFitsIntoNoArchive(t *testing.T) {
	f := newFunction(t)
	data := inquiry(8 * day)
	data["messages"] = deep(19)
	f.Set(t, "inquiries/i1", data)
	f.Set(t, "inquiries/i1/messages/a", message(1))
	f.Set(t, "inquiries/i2", inquiry(8*day))
	got := f.Run(t, "")
	sweeptest.WantReport(t, got, sweep.Failed, map[string]sweep.Counts{"archive and delete inquiry": {Planned: 2, Done: 1, Failed: 1}})
	if !strings.Contains(got.Failures[0].Error, "inquiries/i1 fits into no archive") {
		t.Errorf("failures %+v", got.Failures)
	}
	remove(t, f, "archivedInquiries/i2")
	wantKept(t, f, data, map[string]map[string]any{"a": message(1)})
}

func TestMessagesChangedWhileTheyAreCopied(t *testing.T) {
	f := newFunction(t)
	messages := setLarge(t, f)
	messages["a"], messages["d"] = map[string]any{"content": "edited"}, large(4)
	delete(messages, "b")
	copied := 0
	afterWriting(f, "archivedInquiries/i1/messages/c", func(n int) {
		if copied = n; n == 1 { // it is the last
			f.Set(t, "inquiries/i1/messages/a", messages["a"])
			f.Set(t, "inquiries/i1/messages/d", messages["d"])
			remove(t, f, "inquiries/i1/messages/b")
		}
	})
	sweeptest.WantReport(t, f.Run(t, ""), sweep.Completed, archivedOnce)
	wantInParts(t, f, messages)
	if copied != 1 {
		t.Errorf("a message that did not change was copied %d times", copied)
	}
}

func TestMessagesThatNeverRest(t *testing.T) {
	f := newFunction(t)
	messages := setLarge(t, f)
	afterWriting(f, "archivedInquiries/i1/messages/c", func(n int) {
		messages["c"] = map[string]any{"n": int64(n)}
		f.Set(t, "inquiries/i1/messages/c", messages["c"])
	})
	sweeptest.WantReport(t, f.Run(t, ""), sweep.Completed, map[string]sweep.Counts{"archive and delete inquiry": {Planned: 1, Changed: 1}})
	wantKept(t, f, inquiry(8*day), messages)
	if messages["c"]["n"] != int64(2*copyRounds) {
		t.Errorf("copied, and the copy deleted, %v times", messages["c"]["n"])
	}
}

func TestMessagesThatComeAfterTheDecision(t *testing.T) {
	f := newFunction(t)
	messages := setLarge(t, f)
	messages["0"], messages["c"], messages["z"] = message(10), map[string]any{"content": "edited"}, message(11)
	afterWriting(f, "inquiries/i1", func(int) { f.Set(t, "inquiries/i1/messages/c", messages["c"]) })
	afterWriting(f, "inquiries/i1/messages/a", func(int) {
		f.Set(t, "inquiries/i1/messages/0", messages["0"]) // before what is being deleted
		f.Set(t, "inquiries/i1/messages/z", messages["z"])
	})
	sweeptest.WantReport(t, f.Run(t, ""), sweep.Completed, archivedOnce)
	wantInParts(t, f, messages)
}

func TestRestoredAfterTheDecision(t *testing.T) {
	f := newFunction(t)
	setLarge(t, f)
	afterWriting(f, "inquiries/i1", func(int) { f.Set(t, "inquiries/i1", inquiry(time.Hour)) })
	sweeptest.WantReport(t, f.Run(t, ""), sweep.Completed, map[string]sweep.Counts{"archive and delete inquiry": {Planned: 1, Changed: 1}})
	wantIDs(t, f, "inquiries", "i1")
	wantIDs(t, f, "inquiries/i1/messages", "a", "b", "c")
	wantIDs(t, f, "archivedInquiries", "i1")
	wantIDs(t, f, "archivedInquiries/i1/messages", "a", "b", "c")
	wantNothingBegun(t, f)
}

func TestMessagesWithoutTheirArchive(t *testing.T) {
	f := newFunction(t)
	messages := setLarge(t, f)
	others := map[string]map[string]any{"a": {"from": "elsewhere"}, "x": {"from": "elsewhere"}}
	for id, m := range others {
		f.Set(t, "archivedInquiries/i1/messages/"+id, m)
	}
	sweeptest.WantReport(t, f.Run(t, ""), sweep.Completed, archivedOnce)
	wantInParts(t, f, messages)
	sweeptest.Want(t, "the messages that were there", others, f.Documents(t, "archivedInquiries/i1/earlier/undated/messages"))
}

// TestBegunByAnEarlierVersion has records as versions before the journal wrote them.
func TestBegunByAnEarlierVersion(t *testing.T) {
	const record = "cleanupJobs/cleanupResolvedInquiries/archives/i1"
	setRecord := func(t *testing.T, f *sweeptest.Function, archived any) {
		t.Helper()
		f.Set(t, record, map[string]any{"archived": archived, "at": firestore.ServerTimestamp})
	}
	finished := sweeptest.Done("finish interrupted action", 1)
	t.Run("copying", func(t *testing.T) {
		f := newFunction(t)
		messages := setLarge(t, f)
		setRecord(t, f, false)
		for id, m := range map[string]map[string]any{"a": messages["a"], "b": {"content": "before it was edited"}, "deleted": message(4)} {
			f.Set(t, "archivedInquiries/i1/messages/"+id, m)
		}
		f.Set(t, "inquiries/i1/messages/b", messages["b"])
		sweeptest.WantReport(t, f.Run(t, ""), sweep.Completed, finished)
		wantInParts(t, f, messages)
	})
	t.Run("copying, and reopened", func(t *testing.T) {
		f := newFunction(t)
		messages := setLarge(t, f)
		setRecord(t, f, false)
		f.Set(t, "archivedInquiries/i1/messages/a", messages["a"])
		reopened := map[string]any{"status": "open"}
		f.Set(t, "inquiries/i1", reopened)
		sweeptest.WantReport(t, f.Run(t, ""), sweep.Completed, finished)
		wantKept(t, f, reopened, messages)
	})
	t.Run("deleting", func(t *testing.T) {
		f := newFunction(t)
		messages := setLarge(t, f)
		archive := inquiry(8 * day)
		archive["archivedAt"], archive["messagesInSubcollection"] = now, true
		f.Set(t, "archivedInquiries/i1", archive)
		for id, m := range messages {
			f.Set(t, "archivedInquiries/i1/messages/"+id, m)
		}
		remove(t, f, "inquiries/i1/messages/a")
		messages["c"], messages["d"] = map[string]any{"content": "edited"}, message(4)
		f.Set(t, "inquiries/i1/messages/c", messages["c"])
		f.Set(t, "inquiries/i1/messages/d", messages["d"])
		remove(t, f, "inquiries/i1")
		setRecord(t, f, true)
		sweeptest.WantReport(t, f.Run(t, ""), sweep.Completed, finished)
		wantInParts(t, f, messages)
	})
	t.Run("deleting, and restored", func(t *testing.T) {
		f := newFunction(t)
		setLarge(t, f)
		f.Set(t, "inquiries/i1", inquiry(time.Hour))
		setRecord(t, f, true)
		sweeptest.WantReport(t, f.Run(t, ""), sweep.Completed, finished)
		wantIDs(t, f, "inquiries/i1/messages", "a", "b", "c")
		wantNothingBegun(t, f)
	})
	t.Run("another's record", func(t *testing.T) {
		f := newFunction(t)
		f.Set(t, record, map[string]any{"archived": "yes"})
		got := f.Run(t, "")
		sweeptest.WantReport(t, got, sweep.Failed, map[string]sweep.Counts{"finish interrupted action": {Planned: 1, Failed: 1}})
		if !strings.Contains(got.Failures[0].Error, record) {
			t.Errorf("failures %+v", got.Failures)
		}
		sweeptest.Want(t, "records", 1, len(f.Documents(t, path.Dir(record))))
	})
}

// TestPreviewSaysWhatTheRunWrites has an inquiry that is archived in parts beside an archive that is there already.
func TestPreviewSaysWhatTheRunWrites(t *testing.T) {
	f := newFunction(t)
	f.Set(t, "users/u1", map[string]any{})
	f.Set(t, "inquiries/six", inquiry(6*day))
	setLarge(t, f)
	f.Put(t, "inquiries/c.png", nil, nil)
	f.Set(t, "inquiries/i1/messages/c", withImage(message(3), "gs://"+f.Bucket+"/inquiries/c.png"))
	f.Set(t, "archivedInquiries/i1", oldArchive)
	f.Set(t, "archivedInquiries/i1/messages/a", message(1))
	preview := f.Run(t, `{"dryRun":true}`)
	sweeptest.Want(t, "targets", []string{"inquiries/i1", "inquiries/six"}, []string{preview.Plan[0].Target, preview.Plan[1].Target})
	sweeptest.Want(t, "writes", []string{
		"delete archivedInquiries/i1/messages/a", "create archivedInquiries/i1/earlier/2025-06-01T00:00:00Z/messages/a",
		"set archivedInquiries/i1/messages/a", "set archivedInquiries/i1/messages/b", "set archivedInquiries/i1/messages/c",
		"set archivedInquiries/i1", "delete inquiries/i1", "create archivedInquiries/i1/earlier/2025-06-01T00:00:00Z",
		"delete inquiries/i1/messages/a", "delete inquiries/i1/messages/b", "delete inquiries/i1/messages/c", "delete gs://" + f.Bucket + "/inquiries/c.png",
	}, preview.Plan[0].Writes)
	f.Run(t, "")
	written := map[string]bool{}
	for _, line := range f.LogLines(t) {
		list, _ := line["writes"].([]any)
		for _, w := range list {
			m := w.(map[string]any)
			written[strings.Replace(fmt.Sprint(m["op"], " ", m["path"]), "delete object", "delete", 1)] = true
		}
	}
	for _, w := range append(preview.Plan[0].Writes, preview.Plan[1].Writes...) {
		if !written[w] {
			t.Errorf("the run did not %s", w)
		}
		delete(written, w)
	}
	sweeptest.Want(t, "further writes of the run", map[string]bool{}, written)
}
