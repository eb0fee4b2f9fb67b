package orphanedmedia

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/media"
	"github.com/firesweep/firesweep/shared/posts"
	"github.com/firesweep/firesweep/shared/retention"
	"github.com/firesweep/firesweep/shared/sweep"
)

// minAgeDays is how long ago an object must have been uploaded to be deleted, in days of 24 h.
const minAgeDays = 1

// pendingPost is the postId of an object whose post was never finished.
const pendingPost = "PENDING"

// verdict is what is known of an object before any document is looked up.
type verdict struct {
	keep     string // why the object is kept; empty: see below
	doubtful bool   // it is kept because it cannot be judged
	orphan   bool   // it is orphaned whatever documents there are
	owner    string // the id of the document whose absence makes it an orphan
	uploaded time.Time
}

// Reasons to keep an object.
const (
	keptYoung        = "uploaded less than 24 h ago"
	keptUndated      = "the time of its upload is unknown"
	keptNoPost       = "no postId in its metadata"
	keptInvalidOwner = "the id in its metadata or path names no document"
	keptUnknownPath  = "not at a path that names its owner"
)

// judgePostMedia decides about an object under posts/ by its metadata.
func judgePostMedia(o media.Object, now time.Time) verdict {
	uploaded, ok := uploadTime(o)
	postID, named := o.Metadata["postId"]
	switch {
	case !named:
		return verdict{keep: keptNoPost}
	case !ok:
		return verdict{keep: keptUndated, doubtful: true}
	case uploaded.After(retention.DaysBefore(now, minAgeDays)):
		return verdict{keep: keptYoung}
	case postID == pendingPost:
		return verdict{orphan: true, uploaded: uploaded}
	case !documents.ValidID(postID):
		return verdict{keep: keptInvalidOwner, doubtful: true}
	default:
		return verdict{owner: postID, uploaded: uploaded}
	}
}

// uploadTime returns when an object under posts/ was uploaded: at its creation or, if that is later, at the metadata's
// uploadedAt, Unix milliseconds as text. An uploadedAt that cannot be read may be a later one.
func uploadTime(o media.Object) (t time.Time, ok bool) {
	text, set := o.Metadata["uploadedAt"]
	if !set {
		return o.Created, !o.Created.IsZero()
	}
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil || o.Created.IsZero() {
		return time.Time{}, false
	}
	if at := time.UnixMilli(ms); at.After(o.Created) {
		return at, true
	}
	return o.Created, true
}

// judgeCircleImage decides about an object at circles/{circleId}/….
func judgeCircleImage(o media.Object, now time.Time) verdict {
	parts := strings.SplitN(o.Name, "/", 3)
	if len(parts) < 3 {
		return verdict{keep: keptUnknownPath, doubtful: true}
	}
	return judgeByPath(o, parts[1], now)
}

// judgeTaskAttachment decides about an object at task_attachments/{userId}/{taskId}/{file}.
func judgeTaskAttachment(o media.Object, now time.Time) verdict {
	parts := strings.SplitN(o.Name, "/", 4)
	if len(parts) < 4 || !documents.ValidID(parts[1]) {
		return verdict{keep: keptUnknownPath, doubtful: true}
	}
	return judgeByPath(o, parts[2], now)
}

func judgeByPath(o media.Object, owner string, now time.Time) verdict {
	switch {
	case o.Created.IsZero():
		return verdict{keep: keptUndated, doubtful: true}
	case o.Created.After(retention.DaysBefore(now, minAgeDays)):
		return verdict{keep: keptYoung}
	case !documents.ValidID(owner):
		return verdict{keep: keptInvalidOwner, doubtful: true}
	default:
		return verdict{owner: owner, uploaded: o.Created}
	}
}

// reason says why an orphaned object is deleted. owner is the path of the document that does not exist, "" for a post
// that was never finished.
func (v verdict) reason(owner string) string {
	why := "its post was never finished (postId PENDING)"
	if owner != "" {
		why = owner + " does not exist"
	}
	return fmt.Sprintf("%s, uploaded %s, 24 h ago or more", why, v.uploaded.UTC().Format(time.RFC3339))
}

// Reasons to keep a post that lies between the circles.
const (
	keptOfCircle      = "a post of a circle that exists"
	keptInvalidCircle = "its circleId names no document"
	keptOddCircle     = "its circleId is not a text"
)

// judgePost decides about a post by whether the circle that it names exists.
func judgePost(post documents.Document, circleExists bool) sweep.Decision {
	circle, ok := posts.CircleOf(post)
	switch {
	case !ok:
		return sweep.Invalid(keptInvalidCircle)
	case circleExists:
		return sweep.Keep(keptOfCircle)
	default:
		return sweep.Do("delete orphaned circle post", circle.Path()+" does not exist")
	}
}
