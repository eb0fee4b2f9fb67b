package orphanedmedia

import (
	"strconv"
	"strings"
	"time"

	"github.com/firesweep/firesweep/functions/posts"
	"github.com/firesweep/firesweep/shared/cascade"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/objects"
	"github.com/firesweep/firesweep/shared/orphans"
	"github.com/firesweep/firesweep/shared/retention"
)

// passes are what the job goes through. An object is deleted if its judge says so and the document that it returns as the
// owner does not exist. An object whose owner's id is invalid is kept. ORPHANS names those that a deployment wants.
var passes = []orphans.Pass{
	orphans.Objects{Folder: "posts/", Judge: judgePostMedia}.Pass("posts"),
	orphans.Objects{Folder: "circles/", Judge: judgeCircleImage}.Pass("circles"),
	orphans.Objects{Folder: "task_attachments/", Judge: judgeTaskAttachment}.Pass("tasks"),
	{Name: "postsOfCircles", Plan: planPosts},
}

// minAgeDays is the age in days of 24 h from which an object may be deleted.
const minAgeDays = 1

// pendingPost is the postId of an object whose post was never finished.
const pendingPost = "PENDING"

// judgePostMedia decides about an object under posts/ by its metadata.
func judgePostMedia(o objects.Object, now time.Time) orphans.Verdict {
	due := cleanup.Do("delete post media", "")
	id, named := o.Metadata["postId"]
	switch {
	case !named:
		return orphans.Verdict{Decision: cleanup.Keep(keptNoPost)}
	case id == pendingPost:
		due.Reason = "its post was never finished (postId PENDING)"
		return judgeUpload(due, orphans.Nobody, o, now)
	default:
		return judgeUpload(due, documents.Ref{Collection: "posts", ID: id}, o, now)
	}
}

// judgeUpload is [judgeAge] of an object under posts/. Its uploadedAt cannot be much later than both now and its creation, which
// is later than now only in a run that repeats an old schedule time.
func judgeUpload(due cleanup.Decision, owner documents.Ref, o objects.Object, now time.Time) orphans.Verdict {
	at := uploadTime(o)
	if day := minAgeDays * retention.Day; at.After(now.Add(day)) && at.After(o.Created.Add(day)) {
		return orphans.Verdict{Decision: cleanup.Invalid(keptFuture), Owners: []documents.Ref{owner}}
	}
	return judgeAge(due, owner, at, now)
}

// uploadTime returns when an object under posts/ was uploaded: its creation time or, if that is later, uploadedAt of its
// metadata, Unix milliseconds as a string. It is zero if the time is unknown: an uploadedAt that cannot be read may be later.
func uploadTime(o objects.Object) time.Time {
	text, set := o.Metadata["uploadedAt"]
	if !set || o.Created.IsZero() {
		return o.Created
	}
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}
	}
	if at := time.UnixMilli(ms); at.After(o.Created) {
		return at
	}
	return o.Created
}

// judgeCircleImage decides about an object at circles/{circleId}/….
func judgeCircleImage(o objects.Object, now time.Time) orphans.Verdict {
	parts := strings.SplitN(o.Name, "/", 3)
	if len(parts) < 3 {
		return ownerless(o)
	}
	return judgeAge(cleanup.Do("delete circle image", ""), documents.Ref{Collection: "circles", ID: parts[1]}, o.Created, now)
}

// judgeTaskAttachment decides about an object at task_attachments/{userId}/{taskId}/{file}.
func judgeTaskAttachment(o objects.Object, now time.Time) orphans.Verdict {
	parts := strings.SplitN(o.Name, "/", 4)
	if len(parts) < 4 || !documents.ValidID(parts[1]) {
		return ownerless(o)
	}
	return judgeAge(cleanup.Do("delete task attachment", ""), documents.Ref{Collection: "tasks", ID: parts[2]}, o.Created, now)
}

// ownerless decides about an object whose path names no owner. A name that ends with a slash marks a folder in the Cloud Console.
func ownerless(o objects.Object) orphans.Verdict {
	if strings.HasSuffix(o.Name, "/") {
		return orphans.Verdict{Decision: cleanup.Keep(keptMarker)}
	}
	return orphans.Verdict{Decision: cleanup.Invalid(keptUnknownPath)}
}

// judgeAge decides about an object that is due without its owner if it is old enough. uploaded is zero if it is unknown.
func judgeAge(due cleanup.Decision, owner documents.Ref, uploaded, now time.Time) orphans.Verdict {
	v := orphans.Verdict{Decision: due, Owners: []documents.Ref{owner}}
	switch {
	case uploaded.IsZero():
		v.Decision = cleanup.Invalid(keptUndated)
	case uploaded.After(retention.DaysBefore(now, minAgeDays)):
		v.Decision = cleanup.Keep(keptYoung)
	default:
		v.Reason = strings.TrimPrefix(due.Reason+", uploaded "+retention.Stamp(uploaded)+", 24 h ago or more", ", ")
	}
	return v
}

// Reasons to keep an object.
const (
	keptYoung       = "uploaded less than 24 h ago"
	keptUndated     = "its upload time is unknown"
	keptFuture      = "uploadedAt in its metadata is in the future"
	keptMarker      = "marks a folder"
	keptNoPost      = "no postId in its metadata"
	keptUnknownPath = "not at a path that names its owner"
)

// judgePost decides about a post by whether the circle that it names exists.
func judgePost(post documents.Document, circleExists bool) cleanup.Decision {
	circle, ok := posts.CircleOf(post)
	switch {
	case !ok:
		return cleanup.Invalid(keptInvalidCircle)
	case circleExists:
		return cleanup.Keep(keptOfCircle)
	case !documents.Queryable(post.ID()):
		return cleanup.Invalid(cascade.KeptLong)
	default:
		return cleanup.Do("delete orphaned circle post", circle.String()+" does not exist")
	}
}

// Reasons to keep a post.
const (
	keptOfCircle      = "a post of a circle that exists"
	keptInvalidCircle = "its circleId names no document"
	keptOddCircle     = "its circleId is not a string"
)
