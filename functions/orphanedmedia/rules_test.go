package orphanedmedia

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/cascade"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/objects"
	"github.com/firesweep/firesweep/shared/orphans"
)

var (
	now    = time.Date(2026, 1, 10, 18, 0, 0, 0, time.UTC)
	dayAgo = time.Date(2026, 1, 9, 18, 0, 0, 0, time.UTC)
)

func ms(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }

func TestJudgePostMedia(t *testing.T) {
	const kind = "delete post media"
	never := cleanup.Do(kind, "its post was never finished (postId PENDING)")
	orphan := cleanup.Do(kind, "")
	of := func(postID string) map[string]string { return map[string]string{"postId": postID} }
	at := func(postID, uploadedAt string) map[string]string {
		return map[string]string{"postId": postID, "uploadedAt": uploadedAt}
	}
	const tick = time.Microsecond
	longBefore := dayAgo.AddDate(-1, 0, 0)
	for name, tt := range map[string]struct {
		created  time.Time
		metadata map[string]string
		want     cleanup.Decision
	}{
		"exactly a day":                      {dayAgo, of("p1"), orphan},
		"a tick under a day":                 {dayAgo.Add(tick), of("p1"), cleanup.Keep(keptYoung)},
		"a tick over a day":                  {dayAgo.Add(-tick), of("p1"), orphan},
		"in another zone":                    {dayAgo.In(time.FixedZone("JST", 9*3600)), of("p1"), orphan},
		"from the future":                    {now.Add(time.Hour), of("p1"), cleanup.Keep(keptYoung)},
		"pending":                            {dayAgo, of("PENDING"), never},
		"pending and young":                  {now, of("PENDING"), cleanup.Keep(keptYoung)},
		"pending in small letters is an id":  {dayAgo, of("pending"), orphan},
		"an empty id is not PENDING":         {dayAgo, of(""), orphan},
		"no metadata":                        {dayAgo, nil, cleanup.Keep(keptNoPost)},
		"other metadata":                     {dayAgo, map[string]string{"postid": "PENDING"}, cleanup.Keep(keptNoPost)},
		"uploadedAt later":                   {longBefore, at("p1", ms(dayAgo)), orphan},
		"uploadedAt later and young":         {longBefore, at("PENDING", ms(dayAgo.Add(time.Millisecond))), cleanup.Keep(keptYoung)},
		"uploadedAt earlier than the upload": {dayAgo.Add(time.Minute), at("p1", ms(longBefore)), cleanup.Keep(keptYoung)},
		"uploadedAt as a date":               {dayAgo, at("PENDING", "2026-01-01"), cleanup.Invalid(keptUndated)},
		"uploadedAt empty":                   {dayAgo, at("PENDING", ""), cleanup.Invalid(keptUndated)},
		"uploadedAt too large":               {dayAgo, at("PENDING", strings.Repeat("9", 30)), cleanup.Invalid(keptUndated)},
		"uploadedAt a day ahead":             {dayAgo, at("p1", ms(now.AddDate(0, 0, 1))), cleanup.Keep(keptYoung)},
		"uploadedAt more than a day ahead":   {dayAgo, at("p1", ms(now.AddDate(0, 0, 1).Add(time.Millisecond))), cleanup.Invalid(keptFuture)},
		"uploadedAt in microseconds":         {dayAgo, at("PENDING", ms(dayAgo)+"000"), cleanup.Invalid(keptFuture)},
		"uploadedAt in seconds":              {dayAgo, at("p1", strconv.FormatInt(now.Unix(), 10)), orphan},
		"uploaded since an old schedule time": {now.AddDate(0, 0, 3), at("p1", ms(now.AddDate(0, 0, 3).Add(time.Second))),
			cleanup.Keep(keptYoung)},
		"no creation time":                   {time.Time{}, of("PENDING"), cleanup.Invalid(keptUndated)},
		"uploadedAt without a creation time": {time.Time{}, at("PENDING", ms(dayAgo)), cleanup.Invalid(keptUndated)},
	} {
		got := judgePostMedia(objects.Object{Name: "posts/u1/a.png", Created: tt.created, Metadata: tt.metadata}, now)
		post := documents.Ref{Collection: "posts", ID: tt.metadata["postId"]}
		if tt.want == never {
			post = orphans.Nobody
		}
		uploaded := dayAgo // of all that are due, by whichever time says so
		if name == "a tick over a day" {
			uploaded = dayAgo.Add(-tick)
		}
		want := orphans.Verdict{Decision: tt.want, Owners: []documents.Ref{post}}
		want.Reason = strings.TrimPrefix(want.Reason+", uploaded "+uploaded.Format(time.RFC3339)+", 24 h ago or more", ", ")
		if got.Kind == "" { // nothing else counts
			got, want = orphans.Verdict{Decision: got.Decision}, orphans.Verdict{Decision: tt.want}
		}
		enginetest.Want(t, name, want, got)
	}
}

func TestJudgeByPath(t *testing.T) {
	circle := func(id string) documents.Ref { return documents.Ref{Collection: "circles", ID: id} }
	task := func(id string) documents.Ref { return documents.Ref{Collection: "tasks", ID: id} }
	for name, want := range map[string]documents.Ref{ // the owner; empty if the path names none
		"circles/c1/icon/a.png":           circle("c1"),
		"circles/c1/a.png":                circle("c1"),
		"circles/c1/icon/deep/er/a.png":   circle("c1"),
		"circles/c1/":                     circle("c1"),
		"circles/丸 1/icon/a.png":          circle("丸 1"),
		"circles//a.png":                  circle(""), // kept: an empty id is invalid
		"circles/a.png":                   {},
		"circles/":                        {},
		"task_attachments/u1/t1/a.png":    task("t1"),
		"task_attachments/u1/t1/x/y.png":  task("t1"),
		"task_attachments/u1//a.png":      task(""),
		"task_attachments/u1/a.png":       {},
		"task_attachments/u1/":            {},
		"task_attachments/":               {},
		"task_attachments/u1/t1/":         task("t1"),
		"task_attachments/a.png":          {},
		"task_attachments//t1/a.png":      {},
		"task_attachments/../t1/a.png":    {},
		"task_attachments/__u__/t1/a.png": {},
	} {
		judge, kind := judgeCircleImage, "delete circle image"
		if strings.HasPrefix(name, "task_attachments/") {
			judge, kind = judgeTaskAttachment, "delete task attachment"
		}
		for created, decision := range map[time.Time]cleanup.Decision{
			dayAgo:                       cleanup.Do(kind, "uploaded 2026-01-09T18:00:00Z, 24 h ago or more"),
			dayAgo.Add(time.Microsecond): cleanup.Keep(keptYoung),
			{}:                           cleanup.Invalid(keptUndated),
		} {
			owners := []documents.Ref{want}
			if want == (documents.Ref{}) {
				owners = nil
				if decision = cleanup.Invalid(keptUnknownPath); strings.HasSuffix(name, "/") {
					decision = cleanup.Keep(keptMarker)
				}
			}
			// PENDING and uploadedAt have a meaning only under posts/.
			o := objects.Object{Name: name, Created: created, Metadata: map[string]string{"postId": "PENDING", "uploadedAt": ms(now)}}
			got := judge(o, now)
			enginetest.Want(t, name, decision, got.Decision)
			enginetest.Want(t, name+": owners", owners, got.Owners)
		}
	}
}

func TestJudgePost(t *testing.T) {
	for circle, named := range map[any]bool{"c1": true, "": false, nil: false, 1: false, true: false, "a/b": false, "..": false,
		"__c__": false, " ": false, "c1 ": false, "undefined": false, "null": false} {
		post := documents.Document{Path: "posts/p1", Data: map[string]any{"circleId": circle}}
		missing, exists := cleanup.Invalid(keptInvalidCircle), cleanup.Invalid(keptInvalidCircle)
		if named {
			missing, exists = cleanup.Do("delete orphaned circle post", "circles/c1 does not exist"), cleanup.Keep(keptOfCircle)
		}
		enginetest.Want(t, fmt.Sprint("of the missing circle ", circle), missing, judgePost(post, false))
		enginetest.Want(t, fmt.Sprint("of the circle ", circle), exists, judgePost(post, true))
	}
	for bytes, want := range map[int]cleanup.Decision{
		1499: cleanup.Do("delete orphaned circle post", "circles/c1 does not exist"), 1500: cleanup.Invalid(cascade.KeptLong),
	} {
		post := documents.Document{Path: "posts/" + strings.Repeat("x", bytes), Data: map[string]any{"circleId": "c1"}}
		enginetest.Want(t, fmt.Sprintf("a post whose id has %d bytes", bytes), want, judgePost(post, false))
	}
	enginetest.Want(t, "no post at all", "", judgePost(documents.Document{}, false).Kind)
}
