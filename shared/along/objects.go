package along

import (
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/objects"
	"github.com/firesweep/firesweep/shared/sweep"
)

// Objects are those of the bucket that documents name in a field. What it holds is user input, and must not be able to name somebody
// else's object.
type Objects struct {
	Field    string          // with dots into maps, and [] for each of a list: photos[].url
	Under    objects.Folders // those elsewhere are kept
	Outside  string          // as the report says then
	ByName   bool            // a text that begins with such a folder is an object's name; any other is read as a URL
	OwnerKey string          // where set, a key of custom metadata: an object is kept if it holds another id than its owner's
}

// Follow adds to a change the deletion of the objects that some documents name, and why others are kept. They belong to owner: if that
// is there again by then, they stay.
func (o Objects) Follow(change *sweep.Change, c config.Config, owner documents.Ref, all ...documents.Document) {
	var names []string
	for _, d := range all {
		for _, value := range valuesAt(d.Data, strings.Split(o.Field, ".")) {
			if isEmpty := value == nil || value == ""; isEmpty && !strings.Contains(o.Field, "[]") {
				continue // each element of a list is to name something, but a field need not
			}
			name, kept := o.named(value, c)
			if kept == "" {
				names = append(names, name)
				continue
			}
			change.Kept = append(change.Kept, kept)
			change.Notices = append(change.Notices, sweep.Notice{ // a URL is what a user wrote, and in no log
				Message: d.Path + ": deleted, but not its object: " + kept, Fields: map[string]any{"document": d.Path, "reason": kept},
			})
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		object := sweep.ObjectDeletion{Name: name, OwnerKey: o.OwnerKey}
		if o.OwnerKey != "" {
			object.Owner = owner.ID
		}
		change.Then = append(change.Then, sweep.FollowUp{Object: object, Absent: owner})
	}
}

// named returns the object that a value names, or why it names none that may be deleted.
func (o Objects) named(value any, c config.Config) (name, kept string) {
	text, isText := value.(string)
	if !isText {
		return "", o.Field + " holds no string"
	}
	if o.ByName && o.Under.Hold(text) {
		text = "gs://" + c.Bucket + "/" + text
	}
	name, err := objects.ObjectName(text, c.Bucket, c.Emulators.Storage)
	switch {
	case err != nil:
		return "", o.Field + " holds " + err.Error()
	case !o.Under.Hold(name):
		return "", o.Outside
	}
	return name, ""
}

// odd stands for what lies at a path that leads through something else than maps and lists, as it says.
type odd struct{}

// valuesAt returns what lies at a path of fields, each of which may end in [] for every element of a list: null where a field is
// missing, and nothing where a list is.
func valuesAt(value any, path []string) (all []any) {
	for i, part := range path {
		fields, isMap := value.(map[string]any)
		if value != nil && !isMap {
			return []any{odd{}}
		}
		name, each := strings.CutSuffix(part, "[]")
		if value = fields[name]; !each {
			continue
		}
		list, isList := value.([]any)
		if value != nil && !isList {
			return []any{odd{}}
		}
		for _, element := range list {
			all = append(all, valuesAt(element, path[i+1:])...)
		}
		return all
	}
	return []any{value}
}
