package undo

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/protobuf/proto"
)

// Led is what led to a record of the log.
type Led struct {
	Items []string
	Sure  bool // all of them did; or else one or some of them
}

// Leads returns what led to each record of an entry of the log: of the items right before it, those that its own deletion, a name or a
// field says. Nothing led to items and notes.
func Leads(records []Record) []Led {
	isItem, contents, texts := map[string]bool{}, map[string]Fields{}, map[string]string{}
	for _, r := range records {
		if r.Item != "" {
			isItem[r.Item] = true
		} else if r.Write != nil && isItem[r.Write.Path] {
			contents[r.Write.Path], texts[r.Write.Path] = r.Write.Before, textOf(r.Write.Before)
		}
	}
	leads := make([]Led, len(records))
	var items []string
	for i, r := range records {
		switch target := r.target(); {
		case r.Item != "" && i > 0 && records[i-1].Item != "":
			items = append(items, r.Item)
		case r.Item != "":
			items = []string{r.Item}
		case r.Stayed != "":
		case isItem[target]:
			leads[i] = Led{[]string{target}, true}
		default:
			leads[i] = r.led(items, contents, texts)
		}
	}
	return leads
}

// led returns which of some items led to a record, by what says so most surely. Ids of different kinds may be equal, so a field that
// names one item and one that names another, or an id that is another's, leave it open.
func (r Record) led(items []string, contents map[string]Fields, texts map[string]string) Led {
	target := r.target()
	those := func(led func(item string) bool) []string {
		return slices.DeleteFunc(slices.Clone(items), func(item string) bool { return !led(item) })
	}
	its := those(func(item string) bool {
		return len(items) == 1 || strings.HasPrefix(target, item+"/") || target == accountPrefix+idOf(item)
	})
	if len(its) > 0 {
		return Led{its, true}
	}
	named := those(func(item string) bool {
		return r.Write != nil && names(r.Write.Before, item) || r.Object != nil && mentions(texts[item], r.Object.Name)
	})
	alike := those(func(item string) bool { return slices.Contains(strings.Split(target, "/"), idOf(item)) })
	both := slices.DeleteFunc(slices.Clone(named), func(item string) bool { return !slices.Contains(alike, item) })
	switch {
	case len(both) > 0:
		return Led{both, len(both) == len(named)}
	case len(named)+len(alike) > 0:
		return Led{append(named, alike...), len(named) == 0 || len(alike) == 0}
	}
	if its = those(func(item string) bool { return r.Write != nil && leadsTo(contents[item], target) }); len(its) > 0 {
		return Led{its, true}
	}
	return Led{Items: items}
}

// Is reports whether a field's value is what a text says, or a list that has it: a text as it is, a number, a truth value, or a
// reference by its path or id.
func Is(v *firestorepb.Value, text string) bool {
	switch v := v.GetValueType().(type) {
	case *firestorepb.Value_StringValue:
		return v.StringValue == text
	case *firestorepb.Value_IntegerValue:
		return fmt.Sprint(v.IntegerValue) == text
	case *firestorepb.Value_DoubleValue:
		return fmt.Sprint(v.DoubleValue) == text
	case *firestorepb.Value_BooleanValue:
		return fmt.Sprint(v.BooleanValue) == text
	case *firestorepb.Value_ReferenceValue:
		_, path, _ := strings.Cut(v.ReferenceValue, "/documents/")
		return path == text || strings.HasSuffix(path, "/"+text)
	case *firestorepb.Value_ArrayValue:
		return slices.ContainsFunc(v.ArrayValue.GetValues(), func(v *firestorepb.Value) bool { return Is(v, text) })
	}
	return false
}

// textOf returns the texts in a document's contents.
func textOf(fields Fields) string {
	text, _ := proto.Marshal(&firestorepb.MapValue{Fields: fields}) // which has them as they are
	return string(text)
}

// component turns what [url.QueryEscape] returns into what JavaScript's encodeURIComponent does, with which Firebase's SDK makes URLs.
var component = strings.NewReplacer("+", "%20", "%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*")

// mentions reports whether a text holds an object's name, as it is or as URLs have it.
func mentions(text, name string) bool {
	return strings.Contains(text, name) || strings.Contains(text, url.PathEscape(name)) ||
		strings.Contains(text, (&url.URL{Path: name}).EscapedPath()) || strings.Contains(text, component.Replace(url.QueryEscape(name)))
}

// names reports whether one of a document's fields, or of the maps in it, holds an item's id or path, or refers to it.
func names(fields Fields, item string) bool {
	for _, v := range fields {
		if Is(v, item) || Is(v, idOf(item)) || names(v.GetMapValue().GetFields(), item) {
			return true
		}
	}
	return false
}

// leadsTo reports whether one of an item's fields names a document that goes with it, or one above that.
func leadsTo(fields Fields, target string) bool {
	parts := strings.Split(target, "/")
	for n := len(parts); n > 0; n -= 2 {
		if names(fields, strings.Join(parts[:n], "/")) {
			return true
		}
	}
	return false
}

// idOf returns the id of an item that is a document.
func idOf(item string) string { return item[strings.LastIndexByte(item, '/')+1:] }
