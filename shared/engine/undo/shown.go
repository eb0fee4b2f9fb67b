package undo

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"

	"github.com/firesweep/firesweep/shared/harmless"
)

// MaxShown is how many characters of a value are shown.
const MaxShown = 600

// Field is a document's field before and after a run. The value of a missing field is nil.
type Field struct {
	Name    string  `json:"name"`
	Before  *string `json:"before"`
	After   *string `json:"after"`
	Changed bool    `json:"changed,omitempty"`
}

// Compared returns a document's fields before and after a run, those that differ first.
func Compared(before, after Fields) []Field {
	names := maps.Clone(before)
	if names == nil {
		names = Fields{}
	}
	maps.Copy(names, after)
	differ, same := []Field{}, []Field(nil)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		f := Field{Name: name, Before: Shown(before[name]), After: Shown(after[name]), Changed: !equalValue(before[name], after[name])}
		if f.Changed {
			differ = append(differ, f)
		} else {
			same = append(same, f)
		}
	}
	return append(differ, same...)
}

// Shown returns a value as text for people; nil for a missing one.
func Shown(v *firestorepb.Value) *string {
	if v == nil {
		return nil
	}
	text := harmless.Cut(valueText(v), MaxShown)
	return &text
}

// Is reports whether a field's value is what a text says, or a list that has it: a text as it is, a reference by its path or
// id, and anything else as [Shown] has it.
func Is(v *firestorepb.Value, text string) bool {
	switch v := v.GetValueType().(type) {
	case nil:
		return false
	case *firestorepb.Value_StringValue:
		return v.StringValue == text
	case *firestorepb.Value_ReferenceValue:
		_, path, _ := strings.Cut(v.ReferenceValue, "/documents/")
		return path == text || strings.HasSuffix(path, "/"+text)
	case *firestorepb.Value_ArrayValue:
		return slices.ContainsFunc(v.ArrayValue.GetValues(), func(v *firestorepb.Value) bool { return Is(v, text) })
	}
	return valueText(v) == text
}

// What returns what a run did to a document: "deleted", "changed" or "created".
func (c Change) What() string {
	switch {
	case c.Found && !c.Exists:
		return "deleted"
	case !c.Found:
		return "created"
	}
	return "changed"
}

// Fields returns the document's fields before and after the run.
func (c Change) Fields() []Field {
	after := c.After
	if !c.Whole { // only the written fields are recorded
		after = maps.Clone(c.Before)
		if after == nil {
			after = Fields{}
		}
		maps.Copy(after, c.After)
		for _, name := range c.Removed {
			delete(after, name)
		}
	}
	return Compared(c.Before, after)
}

// valueText writes a value like JSON, with Firestore's own types in words.
func valueText(v *firestorepb.Value) string {
	switch v := v.GetValueType().(type) {
	case *firestorepb.Value_BooleanValue:
		return fmt.Sprint(v.BooleanValue)
	case *firestorepb.Value_IntegerValue:
		return fmt.Sprint(v.IntegerValue)
	case *firestorepb.Value_DoubleValue:
		return fmt.Sprint(v.DoubleValue)
	case *firestorepb.Value_TimestampValue:
		return v.TimestampValue.AsTime().Format(time.RFC3339Nano)
	case *firestorepb.Value_StringValue:
		return quoted(v.StringValue)
	case *firestorepb.Value_BytesValue:
		return fmt.Sprintf("%d bytes", len(v.BytesValue))
	case *firestorepb.Value_ReferenceValue:
		_, path, _ := strings.Cut(v.ReferenceValue, "/documents/")
		return "document " + path
	case *firestorepb.Value_GeoPointValue:
		return fmt.Sprintf("%v° N, %v° E", v.GeoPointValue.GetLatitude(), v.GeoPointValue.GetLongitude())
	case *firestorepb.Value_ArrayValue:
		var parts []string
		for _, one := range v.ArrayValue.GetValues() {
			parts = append(parts, valueText(one))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case *firestorepb.Value_MapValue:
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(v.MapValue.GetFields())) {
			parts = append(parts, quoted(name)+": "+valueText(v.MapValue.GetFields()[name]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return "null"
}

func quoted(text string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // it is shown as text
	_ = e.Encode(text)     // a text can always be encoded
	return strings.TrimSuffix(b.String(), "\n")
}
