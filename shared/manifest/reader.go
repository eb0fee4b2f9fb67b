package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"

	"github.com/firesweep/firesweep/shared/rule/criteria"
)

// File is a list of functions. It may have comments and trailing commas, as the files of the Firebase CLI may.
type File struct {
	Name string // as errors call it
	Text []byte
}

// A list has at most so many bytes, and objects and lists: a parser of deeper nested ones runs out of its stack.
const (
	maxBytes  = 1 << 20
	maxNested = 10_000
)

var (
	hujsonPlace = regexp.MustCompile(`^hujson: (line \d+, column \d+): `)
	otherFormat = regexp.MustCompile(`^\s*([^\s{\["/][^\n]{0,20})`)
)

// root returns the outermost value of a list. The error says where it stops being JSON.
func (f File) root() (hujson.Value, error) {
	if len(f.Text) > maxBytes || bytes.Count(f.Text, []byte("["))+bytes.Count(f.Text, []byte("{")) > maxNested {
		return hujson.Value{}, fmt.Errorf("it has more than %d bytes, or more than %d objects and lists: it is no list of rules",
			maxBytes, maxNested)
	}
	root, err := hujson.Parse(f.Text)
	if err == nil {
		return root, nil
	}
	if len(bytes.TrimSpace(f.Text)) == 0 {
		return root, errors.New(`it is empty: write { "rules": [ … ] }, or let firesweep init make it`)
	}
	if m := otherFormat.FindSubmatch(f.Text); m != nil {
		return root, fmt.Errorf(`it is not JSON, and begins with %q: write { "rules": [ … ] }`, m[1])
	}
	says := hujsonPlace.ReplaceAllString(err.Error(), "$1: it is not JSON: ")
	switch before, _, cut := strings.Cut(says, "parsing "); {
	case cut && errors.Is(err, io.ErrUnexpectedEOF):
		says = before + "it ends too early: something that was begun is not closed, such as { or ["
	case strings.Contains(says, `'\''`) || strings.Contains(says, "invalid literal"):
		says += ": write keys and texts in double quotes"
	}
	return root, errors.New(says)
}

// reader reads the values of a list into Go values, in one pass. What does not fit is missing from them, and told.
type reader struct {
	File
	offsets map[string]int // of values and of their keys, by path, such as rules[0].age
	wrong   []misfit
}

// misfit is what is wrong with the form of a value.
type misfit struct {
	offset  int
	at      string
	says    string
	missing string // the path of what is therefore missing, if any: what else is said of that would be wrong
}

// expected is what a value must be.
type expected struct {
	around reflect.Type      // the struct that the value lies in; nil for the outermost
	tag    reflect.StructTag // of the struct's field: an example, and the range of a number
}

// refuse tells that a value does not fit.
func (r *reader) refuse(v *hujson.Value, at, format string, args ...any) {
	r.wrong = append(r.wrong, misfit{v.StartOffset, at, fmt.Sprintf(format, args...), at})
}

// words are the kinds of values in JSON's words.
var words = map[reflect.Kind]string{
	reflect.String: "a string", reflect.Bool: "true or false", reflect.Int: "a whole number", reflect.Float64: "a number",
	reflect.Slice: "a list", reflect.Map: "an object", reflect.Struct: "an object",
}

// wordOf returns the kind of a value in JSON's words.
func wordOf(v *hujson.Value) string {
	switch value := v.Value.(type) {
	case *hujson.Object:
		return words[reflect.Map]
	case *hujson.Array:
		return words[reflect.Slice]
	case hujson.Literal:
		switch value.Kind() {
		case '"':
			return words[reflect.String]
		case '0':
			return words[reflect.Float64]
		case 't', 'f':
			return words[reflect.Bool]
		}
	}
	return "null"
}

// value reads a value into a Go value.
func (r *reader) value(v *hujson.Value, at string, into reflect.Value, e expected) {
	literal, _ := v.Value.(hujson.Literal)
	example := func(form string) string {
		if text := e.tag.Get("example"); text != "" {
			return fmt.Sprintf(form, text)
		}
		return ""
	}
	switch is, kind := wordOf(v), into.Kind(); {
	case into.Type() == reflect.TypeFor[*hujson.Value]():
		into.Set(reflect.ValueOf(v))
	case kind == reflect.Interface:
		if data := r.data(v, at); data != nil {
			into.Set(reflect.ValueOf(data))
		}
	case is == "null":
		r.refuse(v, at, "it is null: give a value, or leave it out")
	case kind == reflect.Pointer:
		into.Set(reflect.New(into.Type().Elem()))
		r.value(v, at, into.Elem(), e)
	case kind == reflect.Slice:
		r.list(v, at, into, e, example)
	case kind == reflect.Struct || kind == reflect.Map:
		if is != words[kind] {
			r.refuse(v, at, "it must be an object%s", example(", such as %s"))
			return
		}
		r.object(v, at, into, e)
	case kind == reflect.Int || kind == reflect.Float64:
		r.number(v, at, into, e)
	case is != words[kind]:
		r.refuse(v, at, "it must be %s, not %s%s", words[kind], is, example(", such as %s"))
	case kind == reflect.Bool:
		into.SetBool(literal.Bool())
	default:
		into.SetString(r.text(v, at))
	}
}

// list reads a list. A field with a word may hold that word in place of an empty list, and one with one a single element.
func (r *reader) list(v *hujson.Value, at string, into reflect.Value, e expected, example func(string) string) {
	word, element := e.tag.Get("word"), into.Type().Elem()
	_, judges := fieldOf(element, "field")
	elements := []hujson.Value{*v}
	array, isList := v.Value.(*hujson.Array)
	literal, _ := v.Value.(hujson.Literal)
	switch {
	case word != "" && literal.String() == word:
		elements = nil
	case isList && judges && len(array.Elements) == 0:
		instead := ""
		if word != "" {
			instead = fmt.Sprintf(", or write %q", word)
		}
		r.refuse(v, at, "it is empty: leave it out%s", instead)
		return
	case isList:
		elements = array.Elements
	case e.tag.Get("one") != "" && words[element.Kind()] != wordOf(v):
		r.refuse(v, at, "it must be %s, not %s%s", words[element.Kind()], wordOf(v), example(", such as %s"))
		return
	case e.tag.Get("one") == "":
		r.refuse(v, at, "it must be a list, not %s%s", wordOf(v), example("; for example [%s]"))
		return
	}
	into.Set(reflect.MakeSlice(into.Type(), len(elements), len(elements)))
	for i := range elements {
		inner := at
		if isList {
			inner = fmt.Sprintf("%s[%d]", at, i)
			r.offsets[inner] = elements[i].StartOffset
		}
		r.value(&elements[i], inner, into.Index(i), e)
	}
}

// members returns the members of an object, each with its path. A key that is given twice is told.
func (r *reader) members(v *hujson.Value, at string) iter.Seq2[string, *hujson.ObjectMember] {
	return func(yield func(string, *hujson.ObjectMember) bool) {
		object, _ := v.Value.(*hujson.Object)
		for i := range object.Members {
			m := &object.Members[i]
			inner := strings.TrimPrefix(at+"."+r.text(&m.Name, at), ".")
			if first, twice := r.offsets[inner]; twice {
				r.refuse(&m.Name, inner, "it is given twice, first in line %d: leave one of them out", r.lineOf(first))
				continue
			}
			if r.offsets[inner] = m.Name.StartOffset; !yield(inner, m) {
				return
			}
		}
	}
}

// object reads an object into a struct or a map.
func (r *reader) object(v *hujson.Value, at string, into reflect.Value, e expected) {
	of := into.Type()
	if of.Kind() == reflect.Map {
		into.Set(reflect.MakeMap(of))
	}
	for inner, m := range r.members(v, at) {
		key := m.Name.Value.(hujson.Literal).String()
		switch field, known := fieldOf(of, key); {
		case of.Kind() == reflect.Map:
			one := reflect.New(of.Elem()).Elem()
			r.value(&m.Value, inner, one, expected{around: of})
			into.SetMapIndex(reflect.ValueOf(key).Convert(of.Key()), one)
		case hasOperators(of) && slices.Contains(criteria.Operators(), key):
			operators := into.FieldByName("Ops").Addr().Interface().(*criteria.Ops)
			if *operators == nil {
				*operators = criteria.Ops{}
			}
			(*operators)[key] = r.data(&m.Value, inner)
		case known:
			r.value(&m.Value, inner, into.FieldByIndex(field.Index), expected{of, field.Tag})
		default:
			says, meant := instead(key, of, e.around, at)
			missing := ""
			if e.around != nil {
				missing = inner // and with it what the object should say
			}
			if meant != "" && v.Find("/"+meant) == nil {
				missing = at + "." + meant
			}
			r.wrong = append(r.wrong, misfit{m.Name.StartOffset, at, fmt.Sprintf("there is no key %q%s", key, says), missing})
		}
	}
}

// number reads a number. The range in the field's tag is like 1-100.
func (r *reader) number(v *hujson.Value, at string, into reflect.Value, e expected) {
	literal, _ := v.Value.(hujson.Literal)
	whole, wrong := strconv.Atoi(string(literal))
	if into.Kind() == reflect.Float64 {
		n, err := strconv.ParseFloat(string(literal), 64)
		whole, wrong = 0, err
		into.SetFloat(n)
	} else {
		into.SetInt(int64(whole))
	}
	least, most, bound := strings.Cut(e.tag.Get("range"), "-")
	from, _ := strconv.Atoi(least)
	to, _ := strconv.Atoi(most)
	switch {
	case wordOf(v) != words[reflect.Float64]:
		r.refuse(v, at, "it must be %s, not %s", words[into.Kind()], wordOf(v))
	case wrong != nil && bound:
		r.refuse(v, at, "it must be a whole number from %d to %d", from, to)
	case wrong != nil:
		r.refuse(v, at, "it must be %s", words[into.Kind()])
	case bound && (whole < from || whole > to):
		r.refuse(v, at, "%d is not from %d to %d", whole, from, to)
	}
}

// data reads a value of any type, in the types that Firestore has.
func (r *reader) data(v *hujson.Value, at string) any {
	switch value := v.Value.(type) {
	case *hujson.Object:
		all := map[string]any{}
		for inner, m := range r.members(v, at) {
			all[m.Name.Value.(hujson.Literal).String()] = r.data(&m.Value, inner)
		}
		return all
	case *hujson.Array:
		all := []any{}
		for i := range value.Elements {
			all = append(all, r.data(&value.Elements[i], fmt.Sprintf("%s[%d]", at, i)))
		}
		return all
	case hujson.Literal:
		switch value.Kind() {
		case '"':
			return r.text(v, at)
		case 't', 'f':
			return value.Bool()
		case '0':
			n, err := criteria.NumberOf(json.Number(value))
			if err != nil {
				r.refuse(v, at, "%s is too large for a number", value)
			}
			return n
		}
	}
	return nil
}

// text reads a string. It tells of one that is no text: read as U+FFFD, a value to keep would equal none that it means.
func (r *reader) text(v *hujson.Value, at string) string {
	const unreadable = string(utf8.RuneError)
	literal := v.Value.(hujson.Literal)
	raw, text := string(literal), literal.String()
	written := strings.Count(raw, unreadable) + strings.Count(strings.ToLower(raw), `\ufffd`)
	if !utf8.ValidString(raw) || strings.Count(text, unreadable) > written { // or half of a pair stands for a character
		r.refuse(v, at, "%s is no text in UTF-8: save the file as UTF-8", strings.ToValidUTF8(text, unreadable))
	}
	return text
}

// lineOf returns the line of an offset.
func (r *reader) lineOf(offset int) int { return 1 + bytes.Count(r.Text[:offset], []byte("\n")) }

// offsetOf returns where the value at a path is, or else what it lies in.
func (r *reader) offsetOf(at string) int {
	for {
		offset, known := r.offsets[at]
		if known || at == "" {
			return offset
		}
		at = at[:max(strings.LastIndexAny(at, ".["), 0)]
	}
}

// hides reports whether something that is wrong with the value at a path follows from what does not fit.
func (r *reader) hides(at string) bool {
	within := func(inner, outer string) bool {
		rest, ok := strings.CutPrefix(inner, outer)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
	}
	return slices.ContainsFunc(r.wrong, func(w misfit) bool {
		return w.missing != "" && (within(w.missing, at) || within(at, w.missing))
	})
}

// keyOf returns the key of a field in JSON.
func keyOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// fieldOf returns the field of a struct that has a key in JSON.
func fieldOf(of reflect.Type, key string) (reflect.StructField, bool) {
	for _, field := range fieldsOf(of) {
		if keyOf(field) == key {
			return field, true
		}
	}
	return reflect.StructField{}, false
}

// fieldsOf returns the fields of a struct that JSON has, with those of structs that are embedded in it.
func fieldsOf(of reflect.Type) (all []reflect.StructField) {
	if of.Kind() != reflect.Struct {
		return nil
	}
	return slices.DeleteFunc(reflect.VisibleFields(of), func(f reflect.StructField) bool { return f.Anonymous || keyOf(f) == "-" })
}

// hasOperators reports whether the keys of a struct may be operators of conditions.
func hasOperators(of reflect.Type) bool {
	_, has := of.FieldByName("Ops")
	return has
}

var position = regexp.MustCompile(`\[\d+\]`)

// elsewhere says what to write in place of keys that others have for what a rule says in another way.
var elsewhere = map[string]string{
	"year": `write "months": 12 for each`, "years": `write "months": 12 for each`, "weeks": `write "days": 7 for each`,
	"op": operatorAsKey, "operator": operatorAsKey, "value": operatorAsKey, "=": `write "=="`,
	"contains": `write "array-contains" of a list, or "startsWith"`, "cron": `write "schedule"`,
	"enabled": "leave it out, because each rule of the list is enabled",
}

const operatorAsKey = `write the operator as a key, as in "==": "done"`

// instead says where a key belongs that the struct at a path does not have, or else which keys it has. meant is the key of that
// struct that it seems to stand for.
func instead(key string, of, around reflect.Type, path string) (says, meant string) {
	_, own, _ := strings.Cut(path, ".")
	if around != nil && own != "" {
		if _, beside := fieldOf(around, key); beside {
			return fmt.Sprintf(": it belongs beside %s, not into it", position.ReplaceAllString(own, "")), ""
		}
	}
	var names []string
	for _, field := range fieldsOf(of) {
		names = append(names, keyOf(field))
		inner := field.Type
		for inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice && field.Tag.Get("one") != "" {
			inner = inner.Elem()
		}
		if _, within := fieldOf(inner, key); within {
			return fmt.Sprintf(": it belongs into %s", keyOf(field)), keyOf(field)
		}
	}
	if hasOperators(of) {
		names = append(names, criteria.Operators()...)
	}
	if like := criteria.Alike(key, names); like != "" {
		return fmt.Sprintf(": is it %q?", like), like
	}
	if other := elsewhere[key]; other != "" {
		return ": " + other, ""
	}
	return "; the keys are " + strings.Join(names, ", "), ""
}
