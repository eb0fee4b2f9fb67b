package declared

import (
	"path"
	"strings"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/objects"
	"github.com/firesweep/firesweep/shared/orphans"
	"github.com/firesweep/firesweep/shared/retention"
	"github.com/firesweep/firesweep/shared/rule"
)

// objectsOf returns the pass of a rule about objects. It deletes those that are old enough and whose owner does not exist.
func objectsOf(r rule.Rule) orphans.Objects {
	judge := func(o objects.Object, now time.Time) orphans.Verdict {
		id, named := ownerOf(o, *r.Owner)
		var d cleanup.Decision
		switch {
		case !named && r.Owner.Metadata != "":
			d = cleanup.Keep("no " + r.Owner.Metadata + " in its metadata")
		case !named:
			d = cleanup.Invalid("not at a path that names its owner")
		case o.Created.IsZero():
			d = cleanup.Invalid("its upload time is unknown")
		case !o.Created.Before(r.Age.Cutoff(now)):
			d = cleanup.Keep("not older than " + r.Age.Words())
		default:
			d = cleanup.Do(r.Kind(), "")
		}
		return orphans.Verdict{Decision: d, Owner: documents.Ref{Collection: r.Owner.Collection, ID: id}, Uploaded: o.Created}
	}
	reason := func(why string, uploaded time.Time) string {
		why += ", uploaded " + retention.Stamp(uploaded) + ", older than " + r.Age.Words()
		if r.Because != "" {
			why = r.Because + ": " + why
		}
		return why
	}
	return orphans.Objects{Folder: r.Objects, Judge: judge, Reason: reason}
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
