package criteria

import (
	"bytes"
	"encoding/json"
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

// fieldsOf are the fields that conditions on items of a kind have. Those with a dot at their end lead to a key.
var fieldsOf = map[string][]string{
	OfAccounts: {"claims.", "email", "lastSignInTime", "providers"},
	OfObjects:  {"metadata.", "name"},
}

// FieldsOfAccount returns what looks up an account's fields.
func FieldsOfAccount(a accounts.Account) Lookup {
	providers, claims := []any{}, map[string]any{}
	for _, p := range a.Providers {
		providers = append(providers, p.ID)
	}
	if a.Password {
		providers = append(providers, "password")
	}
	if a.PhoneNumber != "" {
		providers = append(providers, "phone")
	}
	for name, text := range a.Claims {
		claim := json.NewDecoder(bytes.NewReader(text))
		claim.UseNumber()
		var value any
		_ = claim.Decode(&value) // it came as JSON
		claims[name] = value
	}
	data := map[string]any{"providers": providers, "claims": claims}
	if a.Email != "" {
		data["email"] = a.Email
	}
	if a.LastLogin != 0 {
		data["lastSignInTime"] = a.LastLogin
	}
	return lookup(data, "claims")
}

// FieldsOfObject returns what looks up an object's fields.
func FieldsOfObject(o objects.Object) Lookup {
	metadata := map[string]any{}
	for key, value := range o.Metadata {
		metadata[key] = value
	}
	return lookup(map[string]any{"name": o.Name, "metadata": metadata}, "metadata")
}

// lookup returns what looks up fields. The keys of one of them may have dots, such as the address of a claim.
func lookup(data map[string]any, keyed string) Lookup {
	keys, _ := data[keyed].(map[string]any)
	return func(field string) (any, bool) {
		key, isKey := strings.CutPrefix(field, keyed+".")
		if value, there := keys[key]; isKey && there {
			return value, true
		}
		if field == "" { // nothing has all fields, as a document does
			return nil, false
		}
		return documents.Document{Data: data}.Lookup(field)
	}
}

// knows reports whether accounts or objects have a field. isMap says that it holds keys.
func knows(kind, field string) (known, isMap bool) {
	name, key, deeper := strings.Cut(field, ".")
	if isMap = slices.Contains(fieldsOf[kind], name+"."); deeper {
		return isMap && key != "", false
	}
	return isMap || slices.Contains(fieldsOf[kind], name), isMap
}
