package ghostcircles

import (
	"testing"
	"time"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/functions/notifications"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
)

type world = enginetest.World

func newFunction(t *testing.T) *enginetest.Function {
	t.Helper()
	t.Parallel()
	f := enginetest.New(t, functions.New(Job))
	f.Now = now
	f.Set(t, "users/hana", hana)
	f.Clock = func() time.Time { return f.Now } // promises count from the wall clock
	return f
}

// told is a document of notifications.
func told(n notifications.Notification, at time.Time) world { return world{n.Ref().Path(): n.Data(at)} }

// owned returns a circle of an owner's with a name.
func owned(data map[string]any, owner any, name string) map[string]any {
	return with(with(data, "ownerId", owner), "name", name)
}

var hana = map[string]any{"displayName": "花"}

func put(t *testing.T, f *enginetest.Function, postID string, names ...string) {
	t.Helper()
	var metadata map[string]string
	if postID != "" {
		metadata = map[string]string{"postId": postID}
	}
	for _, name := range names {
		f.Put(t, name, metadata, []byte("x"))
	}
}

func gs(f *enginetest.Function, name string) string { return "gs://" + f.Bucket + "/" + name }

func post(circle any, urls ...string) map[string]any {
	items := []any{}
	for _, url := range urls {
		items = append(items, map[string]any{"type": "image", "url": url})
	}
	return map[string]any{"circleId": circle, "userId": "ken", "text": "こんにちは", "mediaItems": items}
}

func on(post string) map[string]any { return map[string]any{"postId": post, "text": "!"} }

// warnedOf and toldOf are the notifications about a circle of hana's, as they must be.
func warnedOf(id, name string, text func(string) notifications.Text, since time.Time) notifications.Notification {
	return notifications.Notification{
		UserID: "hana", Type: "circle_ghost_warning", Text: text(name),
		Fields:    map[string]any{"circleId": id, "circleName": name},
		Announces: []string{id, since.UTC().Format(time.RFC3339Nano)},
	}
}

func toldOf(id, name string, text func(string) notifications.Text, claimedAt time.Time) notifications.Notification {
	return notifications.Notification{
		UserID: "hana", Type: "circle_ghost_deleted", Text: text(name),
		Fields:    map[string]any{"circleName": name},
		Announces: []string{id, claimedAt.UTC().Format(time.RFC3339Nano)},
	}
}
