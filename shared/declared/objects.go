package declared

import (
	"cmp"
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/objects"
	"github.com/firesweep/firesweep/shared/orphans"
	"github.com/firesweep/firesweep/shared/rule"
	"github.com/firesweep/firesweep/shared/rule/criteria"
	"github.com/firesweep/firesweep/shared/rule/pattern"
)

// objectsOf returns the pass of a rule about objects. It deletes those that are due by themselves and whose owner does not
// exist, if they must have one.
func objectsOf(r rule.Rule) orphans.Objects {
	binds := pattern.Binds(r.Objects)
	owners := func(name string, fields criteria.Lookup) (all []documents.Ref, ok bool) {
		for _, reading := range readings(r, name) {
			bound, ok := binds(reading)
			if !ok {
				continue
			}
			for _, g := range r.Gone {
				filled, ok := rule.Item{Bound: bound, Field: fields}.Fill(g.Document)
				if !ok || len(filled) != 1 {
					return nil, false
				}
				if !slices.Contains(all, filled[0]) {
					all = append(all, filled[0])
				}
			}
		}
		return all, len(all) > 0
	}
	judge := func(o objects.Object, now time.Time) orphans.Verdict {
		v := orphans.Verdict{Owners: []documents.Ref{orphans.Nobody}}
		bound, ok := binds(o.Name)
		if !ok {
			v.Decision = cleanup.Invalid("its name is not like " + r.Objects)
			return v
		}
		i := rule.Item{ID: o.Name, Bound: bound, Field: criteria.FieldsOfObject(o),
			Times: map[string]time.Time{criteria.TimeCreated: o.Created}}
		v.Decision = judgeOwn(r, i, now)
		if v.Kind != "" && r.ByReference() {
			v.Reason = unused(r) + ", " + v.Reason
		}
		if len(r.Gone) == 0 || v.Kind == "" || r.ByReference() {
			return v
		}
		if owners, ok := owners(o.Name, i.Field); ok {
			v.Owners = owners
			return v
		}
		v.Decision = cleanup.Invalid(r.Gone[0].Nameless())
		if _, named := i.Field(metadataOf(r.Gone[0])); !named {
			v.Decision = cleanup.Keep("no owner in its metadata")
		}
		return v
	}
	pass := orphans.Objects{Folder: pattern.Folder(r.Objects), Judge: judge, Percent: r.DuePercent()}
	if r.ByReference() {
		pass.Named = references{r, mostNames()}.names
	}
	return pass
}

// planObjects returns a plan of a rule about objects that tells, too, which conditions of its unless keep nothing.
func planObjects(r rule.Rule, plan func(context.Context, *cleanup.Planner) error) func(context.Context, *cleanup.Planner) error {
	return func(ctx context.Context, p *cleanup.Planner) error {
		err := plan(ctx, p)
		late := errors.Is(err, cleanup.ErrOutOfTime)
		if len(r.Unless) == 0 || p.Planned() == 0 && len(p.LastWarnings) == 0 || err != nil && !late {
			return err
		}
		first, whole := []objects.Object{}, true
		for page, err := range p.Objects.Pages(ctx, pattern.Folder(r.Objects), objects.Names{}) {
			if err != nil {
				return err
			}
			if whole = len(first) == 0; !whole { // the first page tells
				break
			}
			first = page
		}
		var items []criteria.Lookup
		for _, o := range first {
			items = append(items, criteria.FieldsOfObject(o))
		}
		return cmp.Or(unfound(ctx, p, r, p.Planned() > 0, unheard(r, "file", items, whole)...), err)
	}
}

// unused says by which fields no document refers to an object.
func unused(r rule.Rule) string {
	var fields []string
	for _, g := range r.Gone {
		fields = append(fields, g.Place("").String()+"."+g.Field)
	}
	return "no document refers to it in " + criteria.List(fields, "or")
}

// readings returns what an object's name may be, each once and the likeliest first: the original's of a resized copy, with one
// extension or more. Any of them may name the owner, and every old object is asked for it.
func readings(r rule.Rule, name string) (all []string) {
	if metadataOf(r.Gone[0]) != byName {
		return []string{name}
	}
	whole := name
	add := func(reading string) {
		if !slices.Contains(all, reading) {
			all = append(all, reading)
		}
	}
	for range 3 { // photo.jpg.webp has two extensions
		add(objects.OriginalOf(name))
		add(name)
		name = strings.TrimSuffix(name, path.Ext(name))
	}
	if strings.HasSuffix(r.Objects, ".*") { // which would take the end of an id for an extension where there is none
		add(whole + ".")
	}
	return all
}

// byName is the field by which an object's name says whose it is.
const byName = "name"

// metadataOf returns the field of an object that a relation names its owner by: a key of its metadata, or else its name.
func metadataOf(r rule.Relation) string {
	if _, key, found := strings.Cut(r.Document, "{metadata."); found {
		key, _, _ = strings.Cut(key, "}")
		return "metadata." + key
	}
	return byName
}
