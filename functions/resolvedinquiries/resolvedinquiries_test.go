package resolvedinquiries

import (
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/proto"

	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/functions/notifications"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

const (
	tick = time.Microsecond // Firestore's resolution
	day  = 24 * time.Hour
)

var now = time.Date(2026, 1, 10, 18, 0, 0, 0, time.UTC)

// newFunction returns the function on a project of its own, so that tests can be parallel.
func newFunction(t *testing.T) *enginetest.Function {
	t.Helper()
	t.Parallel()
	f := enginetest.New(t, functions.New(Job))
	f.Now = now
	f.Env["NOTIFICATION_LOCALE"] = "ja"
	f.Clock = func() time.Time { return f.Now } // promises count from the wall clock
	return f
}

func inquiry(age time.Duration) map[string]any {
	return map[string]any{
		"status": "resolved", "resolvedAt": now.Add(-age), "userId": "u1", "subject": "ログインできない", "category": "account",
	}
}

// message returns the n-th message of an inquiry.
func message(n int) map[string]any {
	return map[string]any{
		"content": fmt.Sprintf("message %d", n), "senderType": "user", "createdAt": now.AddDate(0, -1, 0).Add(time.Duration(n) * time.Minute),
	}
}

// notification returns the only notification of user u1, and its id.
func notification(t *testing.T, f *enginetest.Function) (id string, data map[string]any) {
	t.Helper()
	all := f.Documents(t, "users/u1/notifications")
	if len(all) != 1 {
		t.Fatalf("%d notifications, want 1: %v", len(all), all)
	}
	for id, data = range all {
	}
	return id, data
}

// TestUserIsToldOnceOfEachResolution: not again if the mark is lost, nor if the user read or deleted the notification. Of a user
// who has no document, the log says that nobody was told.
func TestUserIsToldOnceOfEachResolution(t *testing.T) {
	f := newFunction(t)
	f.Env["NOTIFICATION_LOCALE"] = "en"
	f.Set(t, "users/u1", map[string]any{})
	f.Set(t, "inquiries/i1", inquiry(6*day))
	f.Set(t, "inquiries/nobodys", enginetest.With(inquiry(6*day), "userId", "nobody"))
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("warn user", 2))
	check.Holds(t, fmt.Sprint(f.Warnings(t)["inquiries/nobodys"]), "inquiries/nobodys: nobody was notified")
	enginetest.Want(t, "mark", any(now), f.Documents(t, "inquiries")["nobodys"][notifiedAt])
	f.Delete(t, "inquiries/nobodys")
	id, got := notification(t, f)
	want := map[string]any{
		"type": "inquiry_deletion_warning", "title": "Inquiry will be deleted", "body": "“ログインできない” will be deleted tomorrow (status: resolved)",
		"isRead": false, "createdAt": now, "inquiryId": "i1",
	}
	enginetest.Want(t, "notification", want, got)

	want["isRead"] = true
	f.Set(t, "users/u1/notifications/"+id, want)
	f.Set(t, "inquiries/i1", inquiry(6*day)) // without the mark
	f.Now = now.Add(time.Hour)
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("warn user", 1))
	_, got = notification(t, f)
	enginetest.Want(t, "a notification that was read", want, got)
	f.Delete(t, "users/u1/notifications/"+id)
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, map[string]report.Counts{})
	enginetest.Want(t, "users/u1/notifications", 0, len(f.IDs(t, "users/u1/notifications")))

	// An application that does not know the mark resolves it again.
	f.Set(t, "users/u1/notifications/"+id, want)
	marked := f.Documents(t, "inquiries")["i1"]
	anew := now.Add(2 * time.Hour)
	marked["resolvedAt"] = anew
	f.Set(t, "inquiries/i1", marked)
	for _, step := range []struct {
		at      time.Time
		actions map[string]report.Counts
	}{
		{anew.Add(6*day - tick), map[string]report.Counts{}}, {anew.Add(6 * day), enginetest.Done("warn user", 1)},
		{anew.Add(7*day - tick), map[string]report.Counts{}}, {anew.Add(7 * day), archivedOnce},
	} {
		f.Now = step.at
		enginetest.WantReport(t, f.Run(t, ""), report.Completed, step.actions)
	}
	if all := f.Documents(t, "users/u1/notifications"); len(all) != 2 || all[id] == nil {
		t.Errorf("notifications %v, want a second one", all)
	}
	enginetest.Want(t, "the archive's mark", any(anew.Add(6*day)), f.Documents(t, "archivedInquiries")["i1"][notifiedAt])
}

func TestSubjects(t *testing.T) {
	long := strings.Repeat("長", 500) // as much as a text repeats
	for _, tt := range []struct {
		subject any
		want    string
	}{{"50 %s off", "50 %s off"}, {nil, "件名なし"}, {"", "件名なし"}, {int64(5), "件名なし"}, {long, long}, {long + "い", long + "…"}} {
		data := inquiry(6 * day)
		data["subject"] = tt.subject
		got := warning(documents.Document{Path: "inquiries/i1", Data: data}, notifications.Japanese).Text.Body
		enginetest.Want(t, fmt.Sprint(tt.subject), "「"+tt.want+"」は明日削除されます（ステータス: 解決済み）", got)
	}
}

// TestOldScheduleTimeShortensNoGrace: a run with a schedule time of a day ago tells the user by today's clock, so "tomorrow"
// is the day after today.
func TestOldScheduleTimeShortensNoGrace(t *testing.T) {
	f := newFunction(t)
	f.Set(t, "users/u1", map[string]any{})
	f.Set(t, "inquiries/i1", inquiry(6*day))
	wall := now.Add(30 * time.Hour)
	f.Clock = func() time.Time { return wall }
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("warn user", 1))
	_, got := notification(t, f)
	enginetest.Want(t, "told at", any(wall), got["createdAt"])
	f.Now, wall = wall.Add(time.Hour), wall.Add(time.Hour)
	then := f.Run(t, "")
	enginetest.Want(t, "kept and done an hour later", []int{1, 0}, []int{then.Kept[keptPromised], len(then.Actions)})
	f.Now, wall = now.Add(30*time.Hour+day), now.Add(30*time.Hour+day)
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, archivedOnce)
}

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
	check.Same(t, "archive", want, f.Documents(t, "archivedInquiries")["i1"], sameValues)
	enginetest.Want(t, "inquiries", 0, len(f.IDs(t, "inquiries")))
	enginetest.Want(t, "inquiries/i1/messages", 0, len(f.IDs(t, "inquiries/i1/messages")))
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
	enginetest.Want(t, "inquiries", []string{"i12"}, f.IDs(t, "inquiries"))
	enginetest.Want(t, "inquiries/i12/messages", []string{"m1"}, f.IDs(t, "inquiries/i12/messages"))
}

func TestArchiveOf(t *testing.T) {
	whole := map[string]any{"messages": []any{"m"}, "archivedAt": now}
	for name, tt := range map[string]struct{ data, own, want map[string]any }{
		"restored from its archive": {map[string]any{"a": 1, "messages": "old", "archivedAt": nil}, whole,
			map[string]any{"a": 1, "messages": []any{"m"}, "archivedAt": now,
				"original": map[string]any{"messages": "old", "archivedAt": nil}}},
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
	check.Holds(t, f.Post(t, "{}").Body.String(), "must be folders of the bucket")
}

// large is a message so large that two do not fit in one document.
func large(n int) map[string]any {
	m := message(n)
	m["content"] = strings.Repeat(fmt.Sprintf("%06d", n), 100_000)
	return m
}

// deep returns a map with so many levels of maps.
func deep(levels int) map[string]any {
	m := map[string]any{"x": int64(1)}
	for range levels {
		m = map[string]any{"m": m}
	}
	return m
}

// TestArchiveThatDoesNotFit has inquiries whose messages are too large for one document, one by the last of many messages, or too
// deep, which Firestore refuses. They stay as they are, every night; a smaller one does not.
func TestArchiveThatDoesNotFit(t *testing.T) {
	f := newFunction(t)
	there := enginetest.World{"inquiries/fits": inquiry(8 * day), "inquiries/fits/messages/a": large(1)}
	stays := enginetest.World{
		"inquiries/large": inquiry(8 * day), "inquiries/large/messages/a": large(1), "inquiries/large/messages/b": large(2),
		"inquiries/deep": inquiry(8 * day), "inquiries/deep/messages/a": deep(19), // Firestore allows 20 levels, and the archive adds some
		"inquiries/many": inquiry(8 * day), "inquiries/many/messages/z": large(1),
	}
	for i := range 60 {
		m := message(i)
		m["content"] = strings.Repeat("x", 8000)
		stays[fmt.Sprintf("inquiries/many/messages/m%03d", i)] = m
	}
	there.Write(t, f)
	stays.Write(t, f)
	f.Put(t, "inquiries/large.png", nil, nil)
	f.Set(t, "inquiries/large/messages/a", withImage(large(1), "gs://"+f.Bucket+"/inquiries/large.png"))
	stays["inquiries/large/messages/a"] = f.Documents(t, "inquiries/large/messages")["a"]
	kind := "archive and delete inquiry"
	foretold := map[string]string{} // why each stays; what the first messages or Firestore decide nobody knows before
	for _, p := range f.Run(t, `{"dryRun":true}`).Plan {
		foretold[p.Target] = p.Kept
	}
	enginetest.Want(t, "foretold", map[string]string{"inquiries/fits": "", "inquiries/deep": "", "inquiries/large": keptLarge, "inquiries/many": ""}, foretold)
	for n := range 2 {
		enginetest.WantKept(t, f.Run(t, ""), report.Completed, map[string]report.Counts{kind: {Planned: 4 - n, Done: 1 - n}}, map[string]int{keptLarge: 3})
	}
	for _, id := range []string{"large", "deep", "many"} {
		enginetest.Want(t, "times that the log names "+id, 2, len(f.Warnings(t)["inquiries/"+id]))
	}
	for path, data := range stays {
		collection, id := path[:strings.LastIndexByte(path, '/')], path[strings.LastIndexByte(path, '/')+1:]
		if collection != "inquiries/many/messages" {
			enginetest.Want(t, path, data, f.Documents(t, collection)[id])
		}
	}
	enginetest.Want(t, "messages of many", 61, len(f.Documents(t, "inquiries/many/messages")))
	enginetest.Want(t, "objects", []string{"inquiries/large.png"}, f.Objects(t))
	enginetest.Want(t, "archivedInquiries", []string{"fits"}, f.IDs(t, "archivedInquiries"))
	enginetest.Want(t, "todos", 0, len(f.IDs(t, "cleanupJobs/cleanupResolvedInquiries/cleanupTodo")))
}
