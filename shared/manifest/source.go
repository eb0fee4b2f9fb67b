package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

// File is a list of functions. It may have comments and trailing commas, as the files of the Firebase CLI may.
type File struct {
	Name string // as errors call it
	Text []byte
}

// source is the text of a list, in which a problem is found by its line.
type source struct {
	File
	root  hujson.Value
	plain []byte // the text as JSON, each value at the same place
}

var hujsonPlace = regexp.MustCompile(`^hujson: (line \d+, column \d+): `)

// A list has at most so many bytes, and objects and lists: a parser of deeper nested ones runs out of its stack.
const (
	maxBytes  = 1 << 20
	maxNested = 50_000
)

// parsed returns a list's text. The error says where it stops being JSON, or what of it is no text: read as U+FFFD, a value to
// keep would equal none that it means.
func parsed(f File) (source, error) {
	if len(f.Text) > maxBytes || bytes.Count(f.Text, []byte("["))+bytes.Count(f.Text, []byte("{")) > maxNested {
		return source{}, fmt.Errorf("it has more than %d bytes, or more than %d objects and lists: it is no list of rules", maxBytes,
			maxNested)
	}
	root, err := hujson.Parse(f.Text)
	if err != nil {
		return source{}, errors.New(hujsonPlace.ReplaceAllString(err.Error(), "$1: it is not JSON: "))
	}
	for v := range root.All() {
		if text, ok := v.Value.(hujson.Literal); ok && !isText(text) {
			line := 1 + bytes.Count(f.Text[:v.StartOffset], []byte("\n"))
			return source{}, fmt.Errorf("line %d: %s is no text in UTF-8: save the file as UTF-8", line, text.String())
		}
	}
	plain := root.Clone()
	plain.Standardize()
	return source{f, root, plain.Pack()}, nil
}

// isText reports whether a value is read as it is written: it is valid UTF-8, and no half of a pair stands for a character.
func isText(value hujson.Literal) bool {
	const unreadable = string(utf8.RuneError)
	raw := string(value)
	written := strings.Count(raw, unreadable) + strings.Count(strings.ToLower(raw), `\ufffd`)
	return utf8.ValidString(raw) && strings.Count(value.String(), unreadable) <= written
}

// pointers makes of a path such as rules[0].age a JSON pointer.
var pointers = strings.NewReplacer(".", "/", "[", "/", "]", "")

// line returns the line of the value at a path, or of what it lies in if there is no such value.
func (s source) line(path string) int {
	pointer := "/" + pointers.Replace(path)
	value := s.root.Find(pointer)
	for value == nil {
		pointer = pointer[:strings.LastIndex(pointer, "/")]
		value = s.root.Find(pointer)
	}
	return 1 + bytes.Count(s.Text[:value.StartOffset], []byte("\n"))
}

// problem returns an error about the value at a path.
func (s source) problem(path, text string) error {
	return fmt.Errorf("%s:%d: %s", s.Name, s.line(path), text)
}

// doubled returns a key that an object has twice, with its path; "" if there is none.
func doubled(v *hujson.Value) string {
	seen := map[string]bool{}
	switch of := v.Value.(type) {
	case *hujson.Object:
		for i, m := range of.Members {
			name := m.Name.Value.(hujson.Literal).String()
			if seen[name] {
				return name
			}
			seen[name] = true
			if inner := doubled(&of.Members[i].Value); inner != "" {
				return name + "." + inner
			}
		}
	case *hujson.Array:
		for i := range of.Elements {
			if inner := doubled(&of.Elements[i]); inner != "" {
				return inner
			}
		}
	}
	return ""
}
