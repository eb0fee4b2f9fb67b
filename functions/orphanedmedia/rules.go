package orphanedmedia

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/objects"
	"github.com/firesweep/firesweep/shared/posts"
	"github.com/firesweep/firesweep/shared/retention"
	"github.com/firesweep/firesweep/shared/sweep"
)

// minAgeDays is how long ago an object must have been uploaded to be deleted, in days of 24 h.
const minAgeDays = 1

// pendingPost is the postId of an object whose post was never finished.
const pendingPost = "PENDING"

// decision is what is known of an object before any document is looked up.
type decision struct {
	keep     string // why the object is kept; empty: see below
	invalid  bool   // it is kept because it cannot be judged
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
func judgePostMedia(o objects.Object, now time.Time) decision {
	uploaded, ok := uploadTime(o)
	postID, named := o.Metadata["postId"]
	switch {
	case !named:
		return decision{keep: keptNoPost}
	case !ok:
		return decision{keep: keptUndated, invalid: true}
	case uploaded.After(retention.DaysBefore(now, minAgeDays)):
		return decision{keep: keptYoung}
	case postID == pendingPost:
		return decision{orphan: true, uploaded: uploaded}
	case !documents.ValidID(postID):
		return decision{keep: keptInvalidOwner, invalid: true}
	default:
		return decision{owner: postID, uploaded: uploaded}
	}
}

// uploadTime returns when an object under posts/ was uploaded: at its creation or, if that is later, at the metadata's
// uploadedAt, Unix milliseconds as text. An uploadedAt that cannot be read may be a later one.
func uploadTime(o objects.Object) (t time.Time, ok bool) {
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
func judgeCircleImage(o objects.Object, now time.Time) decision {
	parts := strings.SplitN(o.Name, "/", 3)
	if len(parts) < 3 {
		return decision{keep: keptUnknownPath, invalid: true}
	}
	return judgeByPath(o, parts[1], now)
}

// judgeTaskAttachment decides about an object at task_attachments/{userId}/{taskId}/{file}.
func judgeTaskAttachment(o objects.Object, now time.Time) decision {
	parts := strings.SplitN(o.Name, "/", 4)
	if len(parts) < 4 || !documents.ValidID(parts[1]) {
		return decision{keep: keptUnknownPath, invalid: true}
	}
	return judgeByPath(o, parts[2], now)
}

func judgeByPath(o objects.Object, owner string, now time.Time) decision {
	switch {
	case o.Created.IsZero():
		return decision{keep: keptUndated, invalid: true}
	case o.Created.After(retention.DaysBefore(now, minAgeDays)):
		return decision{keep: keptYoung}
	case !documents.ValidID(owner):
		return decision{keep: keptInvalidOwner, invalid: true}
	default:
		return decision{owner: owner, uploaded: o.Created}
	}
}

// reason says why an orphaned object is deleted. owner is the path of the document that does not exist, "" for a post
// that was never finished.
func (v decision) reason(owner string) string {
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
