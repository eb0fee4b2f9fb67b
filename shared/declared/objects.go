package declared

import (
	"strings"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/objects"
	"github.com/firesweep/firesweep/shared/orphans"
	"github.com/firesweep/firesweep/shared/rule"
	"github.com/firesweep/firesweep/shared/rule/criteria"
)

// objectsOf returns the pass of a rule about objects. It deletes those that are due by themselves and whose owner does not exist, if
// they must have one.
func objectsOf(r rule.Rule) orphans.Objects {
	binds := r.Binds()
	judge := func(o objects.Object, now time.Time) orphans.Verdict {
		v := orphans.Verdict{Uploaded: o.Created, Owner: orphans.Nobody}
		bound, ok := binds(o.Name)
		if !ok {
			v.Decision = cleanup.Invalid("its name is not like " + r.Objects)
			return v
		}
		i := rule.Item{ID: o.Name, Bound: bound, Field: criteria.FieldsOfObject(o)}
		v.Decision = judgeOwn(r, own{fields: fieldsOf(i), at: map[string]time.Time{criteria.TimeCreated: o.Created}}, now)
		if v.Kind != "" {
			v.Reason = ""
		}
		if len(r.Gone) == 0 || v.Kind == "" || r.ByReference() {
			return v
		}
		owners, ok := i.Fill(r.Gone[0].Document)
		if ok && len(owners) == 1 {
			v.Owner = owners[0]
			return v
		}
		v.Decision = cleanup.Invalid(r.Gone[0].Nameless())
		if _, named := i.Field(metadataOf(r.Gone[0])); !named {
			v.Decision = cleanup.Keep("no owner in its metadata")
		}
		return v
	}
	reason := func(why string, uploaded time.Time) string {
		because := r.Age[0].Reason(uploaded)
		if why != "" {
			because = why + ", " + because
		}
		if r.Because != "" {
			because = r.Because + ": " + because
		}
		return because
	}
	pass := orphans.Objects{Folder: rule.Folder(r.Objects), Judge: judge, Reason: reason}
	if r.ByReference() {
		pass.Named = references{r}.names
	}
	return pass
}

// metadataOf returns the field of an object that a relation names its owner by: a key of its metadata, or else its name.
func metadataOf(r rule.Relation) string {
	if _, key, found := strings.Cut(r.Document, "{metadata."); found {
		key, _, _ = strings.Cut(key, "}")
		return "metadata." + key
	}
	return "name"
}
