package declared

import (
	"path"
	"strings"
	"time"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/objects"
	"github.com/firesweep/firesweep/shared/orphans"
	"github.com/firesweep/firesweep/shared/retention"
	"github.com/firesweep/firesweep/shared/rule"
	"github.com/firesweep/firesweep/shared/sweep"
)

// objectsOf returns the pass of a rule about objects. It deletes those that are old enough and whose owner does not exist.
func objectsOf(r rule.Rule) orphans.Objects {
	return orphans.Objects{Folder: r.Objects, Judge: func(o objects.Object, now time.Time) (sweep.Decision, documents.Ref) {
		id, named := ownerOf(o, *r.Owner)
		owner := documents.Ref{Collection: r.Owner.Collection, ID: id}
		switch {
		case !named && r.Owner.Metadata != "":
			return sweep.Keep("no " + r.Owner.Metadata + " in its metadata"), orphans.Nobody
		case !named:
			return sweep.Invalid("not at a path that names its owner"), orphans.Nobody
		case o.Created.IsZero():
			return sweep.Invalid("its upload time is unknown"), orphans.Nobody
		case !o.Created.Before(r.Age.Cutoff(now)):
			return sweep.Keep("not older than " + r.Age.Words()), orphans.Nobody
		}
		reason := owner.Path() + " does not exist, uploaded " + retention.Stamp(o.Created) + ", older than " + r.Age.Words()
		if r.Because != "" {
			reason = r.Because + ": " + reason
		}
		return sweep.Do(r.Kind(), reason), owner
	}}
}

// ownerOf returns the id of the document that an object belongs to; named is false if the object names none.
func ownerOf(o objects.Object, owner rule.Owner) (id string, named bool) {
	if owner.Metadata != "" {
		id, named = o.Metadata[owner.Metadata]
		return id, named
	}
	parts := strings.Split(o.Name, "/")
	if len(parts) < owner.Segment || len(parts) == owner.Segment && !owner.Stem {
		return "", false
	}
	id = parts[owner.Segment-1]
	if owner.Stem {
		id = strings.TrimSuffix(id, path.Ext(id))
	}
	return id, id != ""
}
