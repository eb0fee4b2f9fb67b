package resolvedinquiries

import (
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
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// archivedOnce is the actions of a run that archived one inquiry.
var archivedOnce = enginetest.Done("archive and delete inquiry", 1)

// sameValues compares documents with values of any type.
var sameValues = cmp.Options{
	cmp.Comparer(func(a, b *firestore.DocumentRef) bool { return a.Path == b.Path }),
	cmp.Comparer(proto.Equal),
	cmpopts.EquateNaNs(),
}

// everyValue is a document with a value of every type, and with values that are easily confused.
func everyValue(f *enginetest.Function, t *testing.T) map[string]any {
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
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, archivedOnce)
	want["archivedAt"], want["messages"] = now, []any{m2, m1, map[string]any{}}
	if diff := cmp.Diff(want, f.Documents(t, "archivedInquiries")["i1"], sameValues); diff != "" {
		t.Errorf("archive (-want +got):\n%s", diff)
	}
	wantIDs(t, f, "inquiries")
	wantIDs(t, f, "inquiries/i1/messages")
}

// TestManyMessages has more messages than the first request asks for. Each costs little more than a read and a delete, and
// one write puts all into the undo log.
func TestManyMessages(t *testing.T) {
	f := newFunction(t)
	f.Set(t, "inquiries/i1", inquiry(8*day))
	f.Set(t, "inquiries/i12", inquiry(time.Hour))
	f.Set(t, "inquiries/i12/messages/m1", message(1))
	const n = 60
	var want []any
	f.SetMany(t, n, func(i int) (string, map[string]any) {
		want = append(want, message(i))
		return fmt.Sprintf("inquiries/i1/messages/m%02d", i*7%n), message(i)
	})
	golden := enginetest.NewGolden(t, "messages")
	enginetest.WantReport(t, golden.Run(t, "an inquiry of 60 messages", f, "", ""), report.Completed, archivedOnce)
	enginetest.Want(t, "messages", any(want), f.Documents(t, "archivedInquiries")["i1"]["messages"])
	wantIDs(t, f, "inquiries", "i12")
	wantIDs(t, f, "inquiries/i12/messages", "m1")
}

func TestArchiveOf(t *testing.T) {
	whole := map[string]any{"messages": []any{"m"}, "archivedAt": now}
	for name, tt := range map[string]struct{ data, own, want map[string]any }{
		"restored from its archive": {
			map[string]any{"a": 1, "messages": "old", "archivedAt": nil}, whole,
			map[string]any{"a": 1, "messages": []any{"m"}, "archivedAt": now, "original": map[string]any{"messages": "old", "archivedAt": nil}},
		},
		"restored twice": {
			map[string]any{"messages": "old", "original": map[string]any{"messages": "older"}}, whole,
			map[string]any{"messages": []any{"m"}, "archivedAt": now,
				"original": map[string]any{"messages": "old", "original": map[string]any{"messages": "older"}}},
		},
		"a field original of its own": {map[string]any{"original": 1}, whole,
			map[string]any{"original": 1, "messages": []any{"m"}, "archivedAt": now}},
	} {
		before := fmt.Sprint(tt.data)
		enginetest.Want(t, name, tt.want, archiveOf(documents.Document{Data: tt.data}, tt.own))
		enginetest.Want(t, name+", the inquiry itself", before, fmt.Sprint(tt.data))
	}
}

func withImage(m map[string]any, url any) map[string]any {
	m["imageUrl"] = url
	return m
}

// TestImages: tests of shared/objects prove which URLs name an object, and which folders hold one.
func TestImages(t *testing.T) {
	f := newFunction(t)
	gs := "gs://" + f.Bucket + "/"
	deleted := []string{"inquiries/i1/a b.png", "inquiries/twice.png", "inquiries/写真 #1.png"}
	kept := []string{"avatars/hana.png", "b.png", "inquiries", "inquiries/i1/a", "inquiries/i12/a.png", "inquiriesx/a.png", "posts/p.png"}
	for _, name := range append(deleted, kept...) {
		f.Put(t, name, nil, nil)
	}
	emulator := f.Env["FIREBASE_STORAGE_EMULATOR_HOST"]
	urls := []any{
		"https://firebasestorage.googleapis.com/v0/b/" + f.Bucket + "/o/inquiries%2Fi1%2Fa%20b.png?alt=media&token=x",
		"https://storage.googleapis.com/" + f.Bucket + "/inquiries/twice.png", gs + "inquiries/twice.png",
		"http://" + emulator + "/v0/b/" + f.Bucket + "/o/inquiries%2F%E5%86%99%E7%9C%9F%20%231.png?alt=media",
		gs + "inquiries/gone.png", "", nil,
		gs + "posts/p.png", gs + "inquiriesx/a.png", gs + "inquiries", gs + "inquiries/",
		"gs://another/b.png", "https://another.storage.googleapis.com/b.png",
		gs + "inquiries/../avatars/hana.png", "https://example.com/b.png", gs + "inquiries/" + strings.Repeat("x", 100_000),
		5, []any{gs + "b.png"}, map[string]any{"url": gs + "b.png"}, math.NaN(),
	}
	f.Set(t, "inquiries/i1", inquiry(8*day))
	for i, url := range urls {
		f.Set(t, fmt.Sprintf("inquiries/i1/messages/m%02d", i), withImage(message(i), url))
	}
	f.Set(t, "inquiries/i12", inquiry(day))
	f.Set(t, "inquiries/i12/messages/m1", withImage(message(1), gs+"inquiries/i12/a.png"))
	got := f.Run(t, "")
	enginetest.WantReport(t, got, report.Completed, archivedOnce)
	enginetest.Want(t, "kept", map[string]int{
		keptElsewhere: 4, "imageUrl holds a URL of another bucket": 2, "imageUrl holds a URL that names no object of Cloud Storage": 3,
		"imageUrl holds no string": 4, "not due": 1,
	}, got.Kept)
	enginetest.Want(t, "objects", kept, f.Objects(t))
	enginetest.Want(t, "messages in the archive", len(urls), len(f.Documents(t, "archivedInquiries")["i1"]["messages"].([]any)))
	var named []any
	for _, line := range f.Warnings(t)["inquiries/i1"] {
		named = append(named, line["document"])
	}
	if len(named) != 13 || slices.Contains(named, nil) {
		t.Errorf("messages named whose images are kept: %v", named)
	}
	wantNothingBegun(t, f)
}

// TestImagesInOtherFolders has a setting with the folders of the application.
func TestImagesInOtherFolders(t *testing.T) {
	f := newFunction(t)
	f.Env["INQUIRY_FOLDERS"] = "support/images/, サポート/"
	f.Set(t, "inquiries/i1", inquiry(8*day))
	for i, name := range []string{"support/images/a.png", "サポート/b.png", "inquiries/c.png", "support/d.png"} {
		f.Put(t, name, nil, nil)
		f.Set(t, fmt.Sprintf("inquiries/i1/messages/m%d", i), withImage(message(i), "gs://"+f.Bucket+"/"+name))
	}
	enginetest.Want(t, "kept", map[string]int{keptElsewhere: 2}, f.Run(t, "").Kept)
	enginetest.Want(t, "objects", []string{"inquiries/c.png", "support/d.png"}, f.Objects(t))
	f.Env["INQUIRY_FOLDERS"] = "support"
	if answer := f.Post(t, "{}").Body.String(); !strings.Contains(answer, "must be folders of the bucket") {
		t.Errorf("a setting that is wrong: %s", answer)
	}
}
