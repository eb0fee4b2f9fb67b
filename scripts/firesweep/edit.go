package main

import (
	"fmt"
	"strings"

	"github.com/tailscale/hujson"
)

// appendText appends a value, given as its text, to a list of a document, on lines of its own.
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
