package backends

import (
	"errors"
	"strings"
)

// selection is a parsed fields parameter: the selected fields, each with the selection of its own fields (nil: all).
type selection map[string]selection

// parseFields parses "a,b(c,d)" up to its end or an unopened parenthesis, and returns what follows.
func parseFields(text string) (selection, string, error) {
	selected := selection{}
	for {
		end := strings.IndexAny(text, ",()")
		if end < 0 {
			end = len(text)
		}
		name := strings.TrimSpace(text[:end])
		if name == "" {
			return nil, "", errors.New("a field without a name")
		}
		text = text[end:]
		var inner selection
		if rest, ok := strings.CutPrefix(text, "("); ok {
			var err error
			if inner, rest, err = parseFields(rest); err != nil {
				return nil, "", err
			}
			if text, ok = strings.CutPrefix(rest, ")"); !ok {
				return nil, "", errors.New("a parenthesis is not closed")
			}
		}
		selected[name] = inner
		rest, more := strings.CutPrefix(text, ",")
		if !more {
			return selected, text, nil
		}
		text = rest
	}
}

// of returns the selected part of a JSON value.
func (s selection) of(value any) any {
	if s == nil {
		return value
	}
	switch value := value.(type) {
	case resource:
		part := resource{}
		for name, inner := range s {
			if field, ok := value[name]; ok {
				part[name] = inner.of(field)
			}
		}
		return part
	case []any:
		parts := make([]any, len(value))
		for i, item := range value {
			parts[i] = s.of(item)
		}
		return parts
	}
	return value
}
