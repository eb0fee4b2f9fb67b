package criteria

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/objects"
)

// Kinds of items.
const (
	OfDocuments = "documents"
	OfObjects   = "objects"
	OfAccounts  = "accounts"
)

// accountFields are the fields that conditions on accounts have. Those with a dot at their end lead to a key.
var accountFields = map[string]func(a accounts.Account) any{
	"email": func(a accounts.Account) any { return orNil(a.Email) },
	"providers": func(a accounts.Account) any {
		all := []any{}
		for _, p := range a.Providers {
			all = append(all, p.ID)
		}
		if a.Password {
			all = append(all, "password")
		}
		if a.PhoneNumber != "" {
			all = append(all, "phone")
		}
		return all
	},
	"lastSignInTime": func(a accounts.Account) any {
		if a.LastLogin == 0 {
			return nil
		}
		return a.LastLogin
	},
	"claims.": func(a accounts.Account) any {
		all := map[string]any{}
		for name, text := range a.Claims {
			claim := json.NewDecoder(bytes.NewReader(text))
			claim.UseNumber()
			var value any
			_ = claim.Decode(&value) // it came as JSON
			all[name] = value
		}
		return all
	},
}

// objectFields are the fields that conditions on objects have.
var objectFields = map[string]func(o objects.Object) any{
	"name": func(o objects.Object) any { return o.Name },
	"metadata.": func(o objects.Object) any {
		all := map[string]any{}
		for key, value := range o.Metadata {
			all[key] = value
		}
		return all
	},
}

func orNil(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// FieldsOfAccount returns what looks up an account's fields.
func FieldsOfAccount(a accounts.Account) Lookup { return lookup(accountFields, a) }

// FieldsOfObject returns what looks up an object's fields.
func FieldsOfObject(o objects.Object) Lookup { return lookup(objectFields, o) }

func lookup[T any](fields map[string]func(T) any, of T) Lookup {
	return func(field string) (any, bool) {
		name, key, deeper := strings.Cut(field, ".")
		if read := fields[name]; read != nil && !deeper {
			value := read(of)
			return value, value != nil
		}
		if read := fields[name+"."]; read != nil {
			all, _ := read(of).(map[string]any)
			if !deeper {
				return all, true
			}
			if value, there := all[key]; there { // a key may have dots, such as the address of a claim
				return value, there
			}
			return documents.Document{Data: all}.Lookup(key)
		}
		return nil, false
	}
}

// FieldsOf returns the names of the fields of a kind of items; nil if they may have any.
func FieldsOf(kind string) []string {
	switch kind {
	case OfAccounts:
		return slices.Sorted(maps.Keys(accountFields))
	case OfObjects:
		return slices.Sorted(maps.Keys(objectFields))
	}
	return nil
}

// knows reports whether accounts or objects have a field. isMap says that it holds keys.
func knows(kind, field string) (known, isMap bool) {
	all := FieldsOf(kind)
	name, key, deeper := strings.Cut(field, ".")
	if isMap = !deeper && slices.Contains(all, name+"."); deeper {
		return slices.Contains(all, name+".") && key != "", false
	}
	return isMap || slices.Contains(all, name), isMap
}
