package orphanedmedia

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/objects"
	"github.com/firesweep/firesweep/shared/sweep"
)

var (
	now    = time.Date(2026, 1, 10, 18, 0, 0, 0, time.UTC)
	dayAgo = time.Date(2026, 1, 9, 18, 0, 0, 0, time.UTC)
)

func ms(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }

func TestJudgePostMedia(t *testing.T) {
	owned := func(owner string, uploaded time.Time) decision { return decision{owner: owner, uploaded: uploaded} }
	young := decision{keep: keptYoung}
	invalid := func(reason string) decision { return decision{keep: reason, invalid: true} }
	tests := []struct {
		name     string
		created  time.Time
		metadata map[string]string
		want     decision
	}{
		{"exactly a day", dayAgo, map[string]string{"postId": "p1"}, owned("p1", dayAgo)},
		{"a tick under a day", dayAgo.Add(time.Microsecond), map[string]string{"postId": "p1"}, young},
		{"a tick over a day", dayAgo.Add(-time.Microsecond), map[string]string{"postId": "p1"}, owned("p1", dayAgo.Add(-time.Microsecond))},
		{"from the future", now.Add(time.Hour), map[string]string{"postId": "p1"}, young},
		{"pending", dayAgo, map[string]string{"postId": "PENDING"}, decision{orphan: true, uploaded: dayAgo}},
		{"pending and young", now, map[string]string{"postId": "PENDING"}, young},
		{"pending in small letters is an id", dayAgo, map[string]string{"postId": "pending"}, owned("pending", dayAgo)},
		{"no metadata", dayAgo, nil, decision{keep: keptNoPost}},
		{"other metadata", dayAgo, map[string]string{"postid": "PENDING"}, decision{keep: keptNoPost}},
		{"uploadedAt later", dayAgo.AddDate(0, 0, -5), map[string]string{"postId": "p1", "uploadedAt": ms(dayAgo)}, owned("p1", dayAgo)},
		{"uploadedAt later and young", dayAgo.AddDate(0, 0, -5), map[string]string{"postId": "PENDING", "uploadedAt": ms(dayAgo.Add(time.Millisecond))}, young},
		{"uploadedAt earlier counts for nothing", dayAgo.Add(time.Minute), map[string]string{"postId": "p1", "uploadedAt": ms(dayAgo.AddDate(-1, 0, 0))}, young},
		{"uploadedAt as a date", dayAgo, map[string]string{"postId": "PENDING", "uploadedAt": "2026-01-01"}, invalid(keptUndated)},
		{"uploadedAt empty", dayAgo, map[string]string{"postId": "PENDING", "uploadedAt": ""}, invalid(keptUndated)},
		{"uploadedAt too large", dayAgo, map[string]string{"postId": "PENDING", "uploadedAt": strings.Repeat("9", 30)}, invalid(keptUndated)},
		{"no creation time", time.Time{}, map[string]string{"postId": "PENDING"}, invalid(keptUndated)},
		{"empty id", dayAgo, map[string]string{"postId": ""}, invalid(keptInvalidOwner)},
		{"id with a slash", dayAgo, map[string]string{"postId": "a/b"}, invalid(keptInvalidOwner)},
		{"dots", dayAgo, map[string]string{"postId": ".."}, invalid(keptInvalidOwner)},
		{"reserved id", dayAgo, map[string]string{"postId": "__x__"}, invalid(keptInvalidOwner)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := judgePostMedia(objects.Object{Name: "posts/u1/a.png", Created: tt.created, Metadata: tt.metadata}, now)
			got.uploaded, tt.want.uploaded = got.uploaded.UTC(), tt.want.uploaded.UTC()
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(decision{})); diff != "" {
				t.Errorf("decision (-want +got):\n%s", diff)
			}
		})
	}
}

func TestJudgeByPath(t *testing.T) {
	tests := []struct {
		object, owner, keep string
	}{
		{"circles/c1/icon/a.png", "c1", ""},
		{"circles/c1/a.png", "c1", ""},
		{"circles/c1/icon/deep/er/a.png", "c1", ""},
		{"circles/c1/", "c1", ""},
		{"circles/丸 1/icon/a.png", "丸 1", ""},
		{"circles/a.png", "", keptUnknownPath},
		{"circles/", "", keptUnknownPath},
		{"circles//a.png", "", keptInvalidOwner},
		{"circles/../a.png", "", keptInvalidOwner},
		{"circles/__c__/a.png", "", keptInvalidOwner},
		{"task_attachments/u1/t1/a.png", "t1", ""},
		{"task_attachments/u1/t1/sub/a.png", "t1", ""},
		{"task_attachments/u1/a.png", "", keptUnknownPath},
		{"task_attachments/a.png", "", keptUnknownPath},
		{"task_attachments/u1//a.png", "", keptInvalidOwner},
		{"task_attachments//t1/a.png", "", keptUnknownPath},
	}
	for _, tt := range tests {
		t.Run(tt.object, func(t *testing.T) {
			judge := judgeCircleImage
			if strings.HasPrefix(tt.object, "task_attachments/") {
				judge = judgeTaskAttachment
			}
			// PENDING means nothing outside posts/, nor does uploadedAt.
			o := objects.Object{Name: tt.object, Created: dayAgo, Metadata: map[string]string{"postId": "PENDING", "uploadedAt": ms(now)}}
			got := judge(o, now)
			if got.owner != tt.owner || got.keep != tt.keep || got.orphan || got.invalid != (tt.keep != "") {
				t.Errorf("decision %+v, want owner %q, keep %q", got, tt.owner, tt.keep)
			}
			o.Created = dayAgo.Add(time.Microsecond)
			if got := judge(o, now); got.owner != "" || got.keep == "" {
				t.Errorf("under a day old: decision %+v, want kept", got)
			}
			o.Created = time.Time{}
			if got := judge(o, now); got.owner != "" || !got.invalid {
				t.Errorf("of unknown age: decision %+v, want kept", got)
			}
		})
	}
}

func TestJudgePost(t *testing.T) {
	for circle, named := range map[any]bool{"c1": true, "": false, nil: false, 1: false, true: false, "a/b": false, "..": false, "__c__": false} {
		post := documents.Document{Path: "posts/p1", Data: map[string]any{"circleId": circle}}
		missing, exists := sweep.Invalid(keptInvalidCircle), sweep.Invalid(keptInvalidCircle)
		if named {
			missing, exists = sweep.Do("delete orphaned circle post", "circles/c1 does not exist"), sweep.Keep(keptOfCircle)
		}
		if got := judgePost(post, false); got != missing {
			t.Errorf("a post of the missing circle %v: %+v, want %+v", circle, got, missing)
		}
		if got := judgePost(post, true); got != exists {
			t.Errorf("a post of the circle %v: %+v, want %+v", circle, got, exists)
		}
	}
	if got := judgePost(documents.Document{}, false); got.Kind != "" {
		t.Errorf("no post at all: %+v", got)
	}
}
