package resolvedinquiries

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/proto"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/sweep"
	"github.com/firesweep/firesweep/shared/sweep/sweeptest"
)

// archivedOnce is what a run counts that has archived one inquiry.
var archivedOnce = sweeptest.Done("archive and delete inquiry", 1)

// sameValues compares documents, whatever is in them.
var sameValues = cmp.Options{
	cmp.Comparer(func(a, b *firestore.DocumentRef) bool { return a.Path == b.Path }),
	cmp.Comparer(proto.Equal),
	cmpopts.EquateNaNs(),
}

// everyValue is a document with a value of every type, and with those that are taken for each other.
func everyValue(f *sweeptest.Function, t *testing.T) map[string]any {
	point := allocated(firestorepb.Value_GeoPointValue{}.GeoPointValue)
	point.Latitude, point.Longitude = 35.6812, 139.7671
	elsewhere := *f.Firestore(t).Doc("users/u1")
	elsewhere.Path = "projects/another/databases/second/documents/users/u1"
	return map[string]any{
		"null": nil, "yes": true, "no": false, "int": int64(1), "most": int64(math.MaxInt64), "float": 1.0, "nan": math.NaN(),
		"inf": math.Inf(-1), "text": "日本語🙂\x00", "nothing": "", "bytes": []byte{0, 255}, "noBytes": []byte{},
		"time": time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), "micros": now.Add(tick), "point": point,
		"ref": f.Firestore(t).Doc("users/u1"), "elsewhere": &elsewhere, "vector": firestore.Vector64{1, 2.5},
		"list": []any{int64(1), 1.0, nil, map[string]any{}, []byte{1}, f.Firestore(t).Doc("a/b"), point}, "noList": []any{},
		"map": map[string]any{"a.b": map[string]any{"`/\\": []any{map[string]any{"x": nil}}}}, "noMap": map[string]any{},
		"a.b": "dotted", "日本": "named",
	}
}

func allocated[T any](*T) *T { return new(T) }

func TestEveryValueSurvives(t *testing.T) {
	f := newFunction(t)
	want := everyValue(f, t)
	maps.Copy(want, inquiry(8*day))
	m1, m2 := everyValue(f, t), everyValue(f, t)
	m1["createdAt"], m2["createdAt"] = now, now.Add(-time.Hour)
	f.Set(t, "inquiries/i1", want)
	f.Set(t, "inquiries/i1/messages/m1", m1)
	f.Set(t, "inquiries/i1/messages/m2", m2)
	f.Set(t, "inquiries/i1/messages/m3", map[string]any{})
	sweeptest.WantReport(t, f.Run(t, ""), sweep.Completed, archivedOnce)
	want["archivedAt"], want["messages"] = now, []any{m2, m1, map[string]any{}}
	if diff := cmp.Diff(want, f.Documents(t, "archivedInquiries")["i1"], sameValues); diff != "" {
		t.Errorf("archive (-want +got):\n%s", diff)
	}
	wantIDs(t, f, "inquiries")
	wantIDs(t, f, "inquiries/i1/messages")
}

func TestMessagesInOrder(t *testing.T) {
	f := newFunction(t)
	f.Set(t, "inquiries/i1", inquiry(8*day))
	f.Set(t, "inquiries/i12", inquiry(time.Hour))
	f.Set(t, "inquiries/i12/messages/m1", message(1))
	const n = 1200
	at := func(i int) int { return i * 7919 % n } // in an order of its own
	f.SetMany(t, n, func(i int) (string, map[string]any) {
		return fmt.Sprintf("inquiries/i1/messages/m%04d", i), message(at(i))
	})
	for id, created := range map[string]any{"a-none": "-", "b-null": nil, "c-text": "2020", "z-number": 1} {
		m := map[string]any{"content": id, "createdAt": created}
		if created == "-" {
			delete(m, "createdAt")
		}
		f.Set(t, "inquiries/i1/messages/"+id, m)
	}
	f.Set(t, "inquiries/i1/messages/y-same", map[string]any{"content": "same", "createdAt": message(0)["createdAt"]})

	got := f.Run(t, "")
	sweeptest.WantReport(t, got, sweep.Completed, archivedOnce)
	var contents []string
	for _, m := range f.Documents(t, "archivedInquiries")["i1"]["messages"].([]any) {
		contents = append(contents, m.(map[string]any)["content"].(string))
	}
	want := []string{"message 0", "same"}
	for i := 1; i < n; i++ {
		want = append(want, fmt.Sprintf("message %d", i))
	}
	want = append(want, "a-none", "b-null", "c-text", "z-number")
	sweeptest.Want(t, "messages", want, contents)
	wantIDs(t, f, "inquiries", "i12")
	wantIDs(t, f, "inquiries/i1/messages")
	wantIDs(t, f, "inquiries/i12/messages", "m1")
	wantIDs(t, f, "archivedInquiries/i1/messages")
	if got.Usage.FirestoreReads > n+30 || got.Usage.FirestoreDeletes != n+7 || got.Usage.FirestoreWrites != 5 {
		t.Errorf("usage %+v, want little more than a read and a delete for each message", got.Usage)
	}
}

func TestArchiveOf(t *testing.T) {
	whole := map[string]any{"messages": []any{"m"}, "archivedAt": now}
	parts := map[string]any{"messagesInSubcollection": true, "archivedAt": now}
	for name, tt := range map[string]struct{ data, own, want map[string]any }{
		"plain": {map[string]any{"a": 1}, whole, map[string]any{"a": 1, "messages": []any{"m"}, "archivedAt": now}},
		"empty": {map[string]any{}, parts, parts},
		"restored from its archive": {
			map[string]any{"a": 1, "messages": "old", "archivedAt": nil}, whole,
			map[string]any{"a": 1, "messages": []any{"m"}, "archivedAt": now, "original": map[string]any{"messages": "old", "archivedAt": nil}},
		},
		"restored from an archive in parts": {
			map[string]any{"messagesInSubcollection": true}, whole,
			map[string]any{"messages": []any{"m"}, "archivedAt": now, "original": map[string]any{"messagesInSubcollection": true}},
		},
		"restored twice": {
			map[string]any{"messages": "old", "original": map[string]any{"messages": "older"}}, parts,
			map[string]any{"messagesInSubcollection": true, "archivedAt": now,
				"original": map[string]any{"messages": "old", "original": map[string]any{"messages": "older"}}},
		},
		"a field original of its own": {map[string]any{"original": 1}, parts,
			map[string]any{"original": 1, "messagesInSubcollection": true, "archivedAt": now}},
	} {
		t.Run(name, func(t *testing.T) {
			before := fmt.Sprint(tt.data)
			sweeptest.Want(t, "archiveOf", tt.want, archiveOf(documents.Document{Data: tt.data}, tt.own))
			if fmt.Sprint(tt.data) != before {
				t.Error("the inquiry was changed")
			}
		})
	}
}

func TestChangedBetweenPlanAndArchive(t *testing.T) {
	f := newFunction(t)
	for _, id := range []string{"reopened", "resolved-anew", "deleted", "backdated", "replied", "answered"} {
		f.Set(t, "inquiries/"+id, inquiry(8*day))
		f.Set(t, "inquiries/"+id+"/messages/m1", message(1))
	}
	f.Put(t, "inquiries/inquiry.png", nil, nil)
	f.Set(t, "inquiries/reopened/messages/m1", withImage(message(1), "gs://"+f.Bucket+"/inquiries/inquiry.png"))
	reopened := map[string]any{"status": "open", "userId": "u1"}
	edited := map[string]any{"content": "edited", "createdAt": now}
	f.Hooks.BeforeApply = func() {
		f.Set(t, "inquiries/reopened", reopened)
		f.Set(t, "inquiries/resolved-anew", inquiry(time.Minute))
		f.Set(t, "inquiries/backdated", inquiry(9*day))
		f.Set(t, "inquiries/replied/messages/m2", message(2))
		f.Set(t, "inquiries/answered/messages/m1", edited)
		if _, err := f.Firestore(t).Doc("inquiries/deleted").Delete(context.Background()); err != nil {
			t.Error(err)
		}
	}
	got := f.Run(t, "")
	sweeptest.WantReport(t, got, sweep.Completed, map[string]sweep.Counts{"archive and delete inquiry": {Planned: 6, Done: 3, Changed: 3}})
	wantIDs(t, f, "inquiries", "reopened", "resolved-anew")
	for _, id := range []string{"reopened", "resolved-anew", "deleted"} {
		wantIDs(t, f, "inquiries/"+id+"/messages", "m1")
	}
	sweeptest.Want(t, "reopened", reopened, f.Documents(t, "inquiries")["reopened"])
	if objects := f.Objects(t); len(objects) != 1 {
		t.Errorf("objects %v", objects)
	}
	archived := f.Documents(t, "archivedInquiries")
	for id, messages := range map[string][]any{"replied": {message(1), message(2)}, "answered": {edited}} {
		sweeptest.Want(t, fmt.Sprintf("archive of %s", id), messages, archived[id]["messages"])
		wantIDs(t, f, "inquiries/"+id+"/messages")
	}
	wantIDs(t, f, "archivedInquiries", "replied", "answered", "backdated")
}

func withImage(m map[string]any, url any) map[string]any {
	m["imageUrl"] = url
	return m
}

func TestImages(t *testing.T) {
	f := newFunction(t)
	gs := "gs://" + f.Bucket + "/"
	deleted := []string{"inquiries/i1/a b.png", "inquiries/twice.png", "inquiries/写真 #1.png"}
	kept := []string{"posts/p.png", "circles/c1/icon.png", "task_attachments/u/t/f.pdf", "inquiries/i1/a", "inquiries/i12/a.png", "b.png",
		"avatars/hana.png", "写真.png", "inquiriesx/a.png", "Inquiries/a.png", "inquiries"}
	for _, name := range append(deleted, kept...) {
		f.Put(t, name, nil, nil)
	}
	emulator := f.Env["FIREBASE_STORAGE_EMULATOR_HOST"]
	urls := []any{
		"https://firebasestorage.googleapis.com/v0/b/" + f.Bucket + "/o/inquiries%2Fi1%2Fa%20b.png?alt=media&token=x",
		"https://storage.googleapis.com/" + f.Bucket + "/inquiries/twice.png", gs + "inquiries/twice.png",
		"http://" + emulator + "/v0/b/" + f.Bucket + "/o/inquiries%2F%E5%86%99%E7%9C%9F%20%231.png?alt=media",
		gs + "inquiries/gone.png",

		gs + "inquiries/../avatars/hana.png",
		gs + "posts/p.png", "https://storage.googleapis.com/" + f.Bucket + "/posts%2Fp.png", gs + "circles/c1/icon.png",
		gs + "task_attachments/u/t/f.pdf", gs + "avatars/hana.png", gs + "写真.png", gs + "inquiriesx/a.png", gs + "Inquiries/a.png", gs + "inquiries", gs + "inquiries/",
		"gs://another/b.png", "https://another.storage.googleapis.com/b.png",
		"https://example.com/b.png", "b.png", "/etc/passwd", "https://firebasestorage.googleapis.com.evil.example/v0/b/" + f.Bucket + "/o/b.png",
		gs + "inquiries/" + strings.Repeat("x", 100_000),
		5, []any{gs + "b.png"}, map[string]any{"url": gs + "b.png"}, true, math.NaN(),
		"", nil,
	}
	f.Set(t, "inquiries/i1", inquiry(8*day))
	for i, url := range urls {
		f.Set(t, fmt.Sprintf("inquiries/i1/messages/m%02d", i), withImage(message(i), url))
	}
	f.Set(t, "inquiries/i12", inquiry(day))
	f.Set(t, "inquiries/i12/messages/m1", withImage(message(1), gs+"inquiries/i12/a.png"))
	got := f.Run(t, "")
	sweeptest.WantReport(t, got, sweep.Completed, archivedOnce)
	want := map[string]int{
		keptElsewhere:                           10,
		"an image with a URL of another bucket": 2,
		"an image with a URL that names no object of Cloud Storage": 6,
		"an image whose imageUrl is not a text":                     5,
		keptYoung:                                                   1,
	}
	sweeptest.Want(t, "kept", want, got.Kept)
	objects := f.Objects(t)
	for _, name := range deleted {
		if slices.Contains(objects, name) {
			t.Errorf("%s is still there", name)
		}
	}
	for _, name := range kept {
		if !slices.Contains(objects, name) {
			t.Errorf("%s is gone", name)
		}
	}
	if n := len(f.Documents(t, "archivedInquiries")["i1"]["messages"].([]any)); n != len(urls) {
		t.Errorf("%d messages in the archive, want %d", n, len(urls))
	}
	named := map[any]bool{}
	for _, line := range f.LogLines(t) {
		if line["severity"] == "WARNING" && line["document"] != nil {
			named[line["document"]] = true
		}
	}
	if len(named) != maxNamed { // of 22
		t.Errorf("%d messages named whose images are kept, want %d", len(named), maxNamed)
	}
	wantNothingBegun(t, f)
}

// TestImagesInOtherFolders is told where the application keeps them.
func TestImagesInOtherFolders(t *testing.T) {
	f := newFunction(t)
	f.Env["INQUIRY_FOLDERS"] = "support/images/, サポート/"
	f.Set(t, "inquiries/i1", inquiry(8*day))
	for i, name := range []string{"support/images/a.png", "サポート/b.png", "inquiries/c.png", "support/d.png"} {
		f.Put(t, name, nil, nil)
		f.Set(t, fmt.Sprintf("inquiries/i1/messages/m%d", i), withImage(message(i), "gs://"+f.Bucket+"/"+name))
	}
	got := f.Run(t, "")
	sweeptest.WantReport(t, got, sweep.Completed, archivedOnce)
	if diff := cmp.Diff([]string{"inquiries/c.png", "support/d.png"}, f.Objects(t)); diff != "" || got.Kept[keptElsewhere] != 2 {
		t.Errorf("kept %v, objects (-want +got):\n%s", got.Kept, diff)
	}
}
