package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/firesweep/firesweep/shared/manifest"
)

// indexFile is a file that the Firebase CLI deploys: https://firebase.google.com/docs/reference/firestore/indexes. It has all
// keys that distinguish one index from another, including some that Firesweep does not write.
type indexFile struct {
	Indexes        []fileIndex    `json:"indexes"`
	FieldOverrides []fileOverride `json:"fieldOverrides"`
}

type fileIndex struct {
	manifest.Index             // without a scope, the CLI takes COLLECTION
	Fields         []fileField `json:"fields"`

	// For Enterprise edition. Exports of Standard edition have them, too.
	APIScope string `json:"apiScope,omitempty"`
	Density  string `json:"density,omitempty"`
}

type fileField struct {
	manifest.IndexField
	Mode   string `json:"mode,omitempty"` // the name of order and arrayConfig in earlier versions
	Vector any    `json:"vectorConfig,omitempty"`
}

type fileOverride struct {
	manifest.FieldOverride
	TTL *bool `json:"ttl,omitempty"` // nil: the CLI leaves it as it is
}

// needed returns what functions need of their database, sorted and without duplicates. The error names needs that contradict
// each other.
func needed(entries []manifest.Entry) (indexFile, error) {
	file := indexFile{Indexes: []fileIndex{}, FieldOverrides: []fileOverride{}}
	var problems []error
	add := func(o fileOverride) {
		i := slices.IndexFunc(file.FieldOverrides, o.same)
		if i < 0 {
			o.Indexes = slices.Clone(o.Indexes)
			file.FieldOverrides = append(file.FieldOverrides, o)
			return
		}
		more, err := file.FieldOverrides[i].lacks(o)
		file.FieldOverrides[i].Indexes = append(file.FieldOverrides[i].Indexes, more.Indexes...) // not nil, because JSON needs []
		problems = append(problems, err)
	}
	for _, e := range entries {
		for _, index := range e.Indexes {
			i := indexOf(index)
			if !slices.ContainsFunc(file.Indexes, i.same) {
				file.Indexes = append(file.Indexes, i)
			}
		}
		for _, o := range e.FieldOverrides {
			add(fileOverride{FieldOverride: o})
		}
	}
	for _, r := range retentions {
		yes := true
		add(fileOverride{TTL: &yes, FieldOverride: manifest.FieldOverride{
			CollectionGroup: r.group, FieldPath: "expireAt", Indexes: []manifest.OverrideIndex{}}})
	}
	slices.SortFunc(file.Indexes, func(a, b fileIndex) int { return cmp.Compare(a.words(), b.words()) })
	slices.SortFunc(file.FieldOverrides, func(a, b fileOverride) int { return cmp.Compare(a.field(), b.field()) })
	return file, errors.Join(problems...)
}

// indexOf returns an index as a file has it.
func indexOf(index manifest.Index) fileIndex {
	i := fileIndex{Index: index}
	for _, field := range index.Fields {
		i.Fields = append(i.Fields, fileField{IndexField: field})
	}
	return i
}

// words describes an index for people. Two equal indexes have the same words.
func (i fileIndex) words() string { return i.CollectionGroup + ": " + i.inGroup() }

// inGroup does so without its collection, e.g. "status ASCENDING, createdAt ASCENDING (COLLECTION)".
func (i fileIndex) inGroup() string {
	fields := i.Fields
	// Every index ends with the document's name, in the direction of the field before it, whether or not the file says so.
	if n := len(fields); n > 1 && fields[n-1].FieldPath == "__name__" && fields[n-1].kind() == fields[n-2].kind() {
		fields = fields[:n-1]
	}
	texts := make([]string, len(fields))
	for n, f := range fields {
		texts[n] = f.FieldPath + " " + f.kind()
	}
	text := fmt.Sprintf("%s (%s)", strings.Join(texts, ", "), cmp.Or(i.QueryScope, "COLLECTION"))
	if i.APIScope != "" && i.APIScope != "ANY_API" {
		text += " " + i.APIScope
	}
	if i.Density != "" && i.Density != "SPARSE_ALL" {
		text += " " + i.Density
	}
	return text
}

func (i fileIndex) same(other fileIndex) bool { return i.words() == other.words() }

func (f fileField) kind() string {
	if f.Vector != nil {
		return fmt.Sprintf("vector %v", f.Vector)
	}
	if f.Mode == "ARRAY_CONTAINS" {
		return "CONTAINS"
	}
	return cmp.Or(f.Order, f.ArrayConfig, f.Mode)
}

func (o fileOverride) field() string { return o.CollectionGroup + "." + o.FieldPath }

func (o fileOverride) same(other fileOverride) bool { return o.field() == other.field() }

// lacks returns what another override of the same field asks for and this one does not have. The error says that the two
// contradict each other. An override with a TTL policy asks for no indexes, and takes none away.
func (o fileOverride) lacks(other fileOverride) (more fileOverride, err error) {
	if !isTrue(other.TTL) && (len(o.Indexes) == 0) != (len(other.Indexes) == 0) {
		return more, fmt.Errorf("%s: one wants it not indexed at all, the other wants it indexed", o.field())
	}
	for _, index := range other.Indexes {
		if !slices.ContainsFunc(o.Indexes, func(have manifest.OverrideIndex) bool {
			have.QueryScope = cmp.Or(have.QueryScope, "COLLECTION")
			return have == index
		}) {
			more.Indexes = append(more.Indexes, index)
		}
	}
	if other.TTL != nil && (o.TTL == nil || *o.TTL != *other.TTL) {
		if o.TTL != nil {
			return more, fmt.Errorf("%s: one wants a TTL policy on it, the other wants none", o.field())
		}
		more.TTL = other.TTL
	}
	return more, nil
}

// merge adds to the text of a file what it lacks. Everything else stays as it is, including comments, so the text is the same
// if nothing is lacking. added describes each addition in a line. The error names all contradictions with the file; it is a
// usageError if the text is no such file.
func merge(name string, text []byte, ours indexFile) (merged []byte, added []string, err error) {
	theirs, root, err := parseIndexFile(text)
	if err != nil {
		return nil, nil, wrongUse("%s: %w", name, err)
	}
	var problems []error
	for _, index := range ours.Indexes {
		if slices.ContainsFunc(theirs.Indexes, index.same) {
			continue
		}
		added = append(added, "index of "+index.words())
		problems = append(problems, appendTo(root, "/indexes", index))
	}
	for _, o := range ours.FieldOverrides {
		if n := slices.IndexFunc(theirs.FieldOverrides, func(t fileOverride) bool {
			return isTrue(o.TTL) && isTrue(t.TTL) && t.CollectionGroup == o.CollectionGroup && !t.same(o)
		}); n >= 0 {
			problems = append(problems,
				fmt.Errorf("%s and %s: a collection has one TTL policy", theirs.FieldOverrides[n].field(), o.field()))
			continue
		}
		at := slices.IndexFunc(theirs.FieldOverrides, o.same)
		if at < 0 {
			added = append(added, "field "+o.words())
			problems = append(problems, appendTo(root, "/fieldOverrides", o))
			continue
		}
		more, err := theirs.FieldOverrides[at].lacks(o)
		problems = append(problems, err)
		for _, index := range more.Indexes {
			added = append(added, "field "+o.field()+": "+inWords(index))
			problems = append(problems, appendTo(root, fmt.Sprintf("/fieldOverrides/%d/indexes", at), index))
		}
		if more.TTL != nil {
			added = append(added, fmt.Sprintf("field %s: TTL", o.field()))
			addMember(root, fmt.Sprintf("/fieldOverrides/%d", at), "ttl", hujson.Bool(true))
		}
	}
	if err := errors.Join(problems...); err != nil {
		return nil, nil, err
	}
	return root.Pack(), added, nil
}

func isTrue(b *bool) bool { return b != nil && *b }

func inWords(i manifest.OverrideIndex) string {
	return i.Order + i.ArrayConfig + " (" + i.QueryScope + ")"
}

func (o fileOverride) words() string {
	var texts []string
	for _, index := range o.Indexes {
		texts = append(texts, inWords(index))
	}
	if len(texts) == 0 {
		texts = []string{"not indexed"}
	}
	if isTrue(o.TTL) {
		texts = append(texts, "TTL")
	}
	return o.field() + ": " + strings.Join(texts, ", ")
}

// parseIndexFile reads a file as the Firebase CLI does, with comments. The root it returns has both lists.
func parseIndexFile(text []byte) (file indexFile, root *hujson.Value, err error) {
	parsed, err := hujson.Parse(text)
	if err != nil {
		return file, nil, errors.New(strings.TrimPrefix(err.Error(), "hujson: "))
	}
	if parsed.Value.Kind() != '{' {
		return file, nil, errors.New("it is not a JSON object")
	}
	if err := names(&parsed); err != nil {
		return file, nil, err
	}
	plain := parsed.Clone()
	plain.Standardize()
	if err := json.Unmarshal(plain.Pack(), &file); err != nil {
		return file, nil, err
	}
	for i, index := range file.Indexes {
		if index.CollectionGroup == "" || len(index.Fields) == 0 {
			return file, nil, fmt.Errorf("indexes[%d] has no collectionGroup or no fields: "+
				"if an early version of the Firebase CLI wrote the file, write it again with firebase firestore:indexes", i)
		}
	}
	for i, o := range file.FieldOverrides {
		if o.CollectionGroup == "" || o.FieldPath == "" || o.Indexes == nil {
			return file, nil, fmt.Errorf("fieldOverrides[%d] has no collectionGroup, fieldPath or indexes", i)
		}
	}
	for _, list := range []string{"indexes", "fieldOverrides"} {
		if found := parsed.Find("/" + list); found != nil && found.Value.Kind() == '[' {
			continue
		} else if found != nil {
			return file, nil, fmt.Errorf("%s is not a list", list)
		}
		addMember(&parsed, "", list, &hujson.Array{})
	}
	return file, &parsed, nil
}

// names refuses objects with a name that is given twice, or that differs from a key only in its case.
func names(root *hujson.Value) error {
	for value := range root.All() {
		object, isObject := value.Value.(*hujson.Object)
		if !isObject {
			continue
		}
		seen := map[string]bool{}
		for _, m := range object.Members {
			name := m.Name.Value.(hujson.Literal).String()
			if seen[name] {
				return fmt.Errorf("%q is given twice", name)
			}
			seen[name] = true
			for _, key := range keys {
				if name != key && strings.EqualFold(name, key) {
					return fmt.Errorf("%q must be %q", name, key)
				}
			}
		}
	}
	return nil
}

// keys are the names that are read.
var keys = []string{
	"indexes", "fieldOverrides", "collectionGroup", "queryScope", "fields", "fieldPath", "order", "arrayConfig", "mode",
	"vectorConfig", "apiScope", "density", "ttl",
}

// appendTo appends a value to a list of a document, on lines of its own.
func appendTo(root *hujson.Value, list string, value any) error {
	text, err := json.MarshalIndent(value, "", indent)
	if err != nil {
		return err
	}
	return appendText(root, list, string(text))
}

// appendText does so with a value's text.
func appendText(root *hujson.Value, list, text string) error {
	array, isList := root.Find(list).Value.(*hujson.Array)
	if !isList {
		return fmt.Errorf("%s is not a list", list[1:])
	}
	depth := strings.Count(list, "/") + 1
	element, err := hujson.Parse([]byte(strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(indent, depth))))
	if err != nil {
		return err
	}
	element.BeforeExtra = ownLine(array.AfterExtra, depth)
	array.Elements, array.AfterExtra = append(array.Elements, element), ownLine(nil, depth-1)
	return nil
}

// addMember adds a member to an object of a document, as its last, on a line of its own.
func addMember(root *hujson.Value, object, name string, value hujson.ValueTrimmed) {
	depth := strings.Count(object, "/") + 1
	o := root.Find(object).Value.(*hujson.Object)
	member := hujson.ObjectMember{
		Name:  hujson.Value{BeforeExtra: ownLine(o.AfterExtra, depth), Value: hujson.String(name)},
		Value: hujson.Value{BeforeExtra: hujson.Extra(" "), Value: value},
	}
	o.Members, o.AfterExtra = append(o.Members, member), ownLine(nil, depth-1)
}

const indent = "  "

// ownLine returns the space before a value that begins a line of its own.
func ownLine(before hujson.Extra, depth int) hujson.Extra {
	text := strings.TrimRight(string(before), " \t")
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return hujson.Extra(text + strings.Repeat(indent, depth))
}
