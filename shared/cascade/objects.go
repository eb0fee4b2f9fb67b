package cascade

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/objects"
)

// Objects are the objects that documents name in a field. The field is user input, and must not be able to delete somebody
// else's object.
type Objects struct {
	Field    string          // with dots into maps, and [] for each of a list: photos[].url
	Under    objects.Folders // objects elsewhere are kept
	Outside  string          // the reason for that in the report
	OwnerKey string          // if set, a key of custom metadata: an object is kept if the value is not its owner's id
	// Home, if set, is the folder of the document's author, or "" if there is none: elsewhere an object without OwnerKey is kept.
	Home func(documents.Document) string

	read map[string]file // what texts refer to, where that was looked up: names of objects, too, not only URLs
}

// maxNamed is how many objects a commit follows of those that its documents name: each costs a request, and one document may name
// thousands.
const maxNamed = 200

// Follow adds to a change the deletion of the objects that some documents name, and the reasons why others are kept. The
// objects belong to owner: if that document exists again when they are deleted, they stay.
func (o Objects) Follow(change *cleanup.Change, c config.Config, owner documents.Ref, all ...documents.Document) {
	homes, more := map[string]string{}, 0 // by object
	for _, d := range all {
		home := ""
		if o.Home != nil {
			home = cmp.Or(o.Home(d), cleanup.NoHome)
		}
		for _, value := range valuesAt(d.Data, strings.Split(o.Field, ".")) {
			if isEmpty := value == nil || value == ""; isEmpty && !strings.Contains(o.Field, "[]") {
				continue // a field may name nothing, but each element of a list must name something
			}
			if text, isText := value.(string); isText && o.read != nil && objects.IsPicture(text) {
				continue
			}
			names, kept := o.named(value, c)
			if kept != "" {
				change.Notices = append(change.Notices, cleanup.Notice{ // without the URL: a user wrote it, so it must not be logged
					Message: d.Path + ": deleted, but not its object: " + kept, Fields: map[string]any{"document": d.Path, "reason": kept},
					Kept: map[string]int{kept: 1},
				})
			}
			for _, name := range names {
				if _, known := homes[name]; !known && len(homes) == maxNamed {
					more++
					continue
				}
				homes[name] = home
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(homes)) {
		object := cleanup.ObjectDeletion{Name: name, OwnerKey: o.OwnerKey, Home: homes[name]}
		change.Then = append(change.Then, cleanup.FollowUp{Object: object, Absent: owner})
	}
	if more > 0 {
		change.Notices = append(change.Notices, cleanup.Notice{
			Message: fmt.Sprintf("%s: deleted, but not %d of its objects: %s", owner.Path(), more, keptMany),
			Fields:  map[string]any{"document": owner.Path(), "reason": keptMany}, Kept: map[string]int{keptMany: more},
		})
	}
}

// keptMany is the reason to keep the objects that a document names beyond [maxNamed].
const keptMany = "one document names more than 200 objects"

// named returns the objects that a value names and that may be deleted, or the reason why it names none, or not all.
func (o Objects) named(value any, c config.Config) (names []string, kept string) {
	text, _ := value.(string)
	read, isRead := o.read[text]
	switch names, kept := o.anywhere(value, c, o.read != nil); {
	case isRead && len(read.names)+len(read.kept) > 0:
		return read.names, read.kept
	case kept != "":
		return nil, kept
	case o.read != nil && !isRead:
		return nil, keptMany
	case isRead && o.Under.Hold(names[0]):
		return nil, "files of " + o.Field + " that are not there, so the documents alone are deleted"
	case len(names) > 1:
		return nil, o.Field + " holds a gs:// location that may be percent-encoded"
	case !o.Under.Hold(names[0]):
		return nil, o.Outside
	default:
		return names, ""
	}
}

// anywhere returns the object that a value names, wherever in the bucket, or the reason why it names none. They are two if the
// value may be percent-encoded: Firebase's SDK for Android encodes gs:// locations, others do not. With byName, a text that
// begins with a folder of the objects is a name, and any other a URL.
func (o Objects) anywhere(value any, c config.Config, byName bool) (names []string, kept string) {
	if name, isDotted := value.(dotted); isDotted {
		return nil, "one field has the whole name " + string(name)
	}
	text, isText := value.(string)
	if !isText {
		return nil, o.Field + " holds no string"
	}
	location := text
	if byName && o.Under.Hold(text) {
		location = "gs://" + c.Bucket + "/" + text
	}
	if byName && !strings.Contains(location, "://") {
		return nil, o.Field + " holds a text that is neither a URL nor a name below " + o.Under[0]
	}
	name, err := objects.ObjectName(location, c.Bucket, c.Emulators.Storage)
	if err != nil {
		return nil, o.Field + " holds " + err.Error()
	}
	names = []string{name}
	if decoded, err := url.PathUnescape(name); err == nil && decoded != name && strings.HasPrefix(text, "gs://") {
		names = append(names, decoded)
	}
	return names, ""
}

// Mentioned returns the spellings of all objects that a document may mean, wherever in the bucket, or why one of its values means
// none that anybody could tell. What is null, empty or missing means nothing, nor does [objects.IsPicture]. here says whether
// one lies in the folder.
func (o Objects) Mentioned(d documents.Document, c config.Config) (spellings []string, here bool, odd string) {
	for _, value := range valuesAt(d.Data, strings.Split(o.Field, ".")) {
		text, isText := value.(string)
		if value == nil || isText && (strings.TrimSpace(text) == "" || objects.IsPicture(text)) {
			continue
		}
		names, odd := o.anywhere(value, c, true)
		if !isText {
			return nil, false, odd
		}
		some, all := objects.Mentioned(text, o.Under[0])
		switch {
		case !all:
			return nil, false, o.Field + " holds a text that may mean more than anybody can tell"
		case odd == "" && !o.Under.Hold(text): // a URL, which may have more behind it
		case odd == "" && !objects.Elsewhere(text, c.Bucket):
		case odd == o.Field+" holds "+objects.ErrURLBucket.Error():
			return nil, false, odd
		case len(some) == 0 || objects.Elsewhere(text, c.Bucket):
			return nil, false, cmp.Or(odd, o.Field+" holds "+objects.ErrURLForm.Error())
		}
		for _, name := range names {
			some = append(some, objects.Spelling(name))
		}
		for _, name := range some {
			here = here || strings.HasPrefix(name, objects.Spelling(o.Under[0]))
		}
		spellings = append(spellings, some...)
	}
	return spellings, here, ""
}

// odd stands for the value at a path that the data does not fit: it has neither a map nor a list where the path needs one.
type odd struct{}

// dotted is the name of one field that has dots, as JavaScript's set writes it: another way to say what a path leads to.
type dotted string

// valuesAt returns the values at a path of fields. A part of the path that ends in [] stands for every element of a list. A
// missing field is null. A missing list has no values, and a text in its place is its only one. What stands at the path itself
// comes after what is [dotted].
func valuesAt(value any, path []string) (all []any) {
	for i, part := range path {
		fields, isMap := value.(map[string]any)
		if value != nil && !isMap {
			return []any{odd{}}
		}
		for end := i + 2; end <= len(path); end++ {
			name := strings.TrimSuffix(strings.Join(path[i:end], "."), "[]")
			if other := fields[name]; other != nil && other != "" {
				all = append(all, dotted(name))
			}
		}
		name, each := strings.CutSuffix(part, "[]")
		if value = fields[name]; !each {
			continue
		}
		list, isList := value.([]any)
		text, isText := value.(string)
		switch {
		case isText && text == "":
		case isText && i == len(path)-1: // one value in place of a list
			return append(all, text)
		case value != nil && !isList:
			return []any{odd{}}
		}
		for _, element := range list {
			all = append(all, valuesAt(element, path[i+1:])...)
		}
		return all
	}
	return append(all, value)
}

// Changed returns the top-level field of a document that a path leads to, and the value that it has when the value at the path is
// changed, or removed if it is [documents.DeleteField]. What is no map on the way becomes one, unless nothing is to be removed.
func Changed(data map[string]any, path string, value any) (field string, whole any) {
	field, rest, deeper := strings.Cut(path, ".")
	if !deeper {
		return field, value
	}
	before, isMap := data[field].(map[string]any)
	if odd, there := data[field]; !isMap && value == documents.DeleteField {
		if there {
			return field, odd
		}
		return field, value
	}
	inner := maps.Clone(before)
	if inner == nil {
		inner = map[string]any{}
	}
	name, changed := Changed(inner, rest, value)
	if inner[name] = changed; changed == documents.DeleteField {
		delete(inner, name)
	}
	return field, inner
}
