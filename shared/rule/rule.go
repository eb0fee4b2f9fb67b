// Package rule holds cleanups that are declared instead of written: which documents, objects or accounts a cleanup deletes or
// changes, and what is deleted with them. It checks a rule, puts it into words, and fills its paths with what items hold;
// shared/manifest reads rules, and shared/declared makes jobs of them.
//
// rule.go is the format of a rule. shared/rule/criteria says what conditions and ages mean, shared/rule/pattern what names of
// objects do, and relations.go how something else belongs to an item, by tables. paths.go fills paths with what an item holds.
// From these, check*.go say what is wrong with a rule, places.go where it looks, query.go what it asks Firestore for, judged.go
// by which fields it decides, and words.go what it does, in a sentence, and what its items and actions are called.
package rule

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/rule/criteria"
)

// Rule is a declared cleanup. Exactly one of Collection, CollectionGroup, Objects and Accounts is set: it says what the
// cleanup goes through.
type Rule struct {
	Collection      string `json:"collection,omitempty" jsonschema:"documents of this collection, e.g. drafts or chats/{chat}/users, in which {chat} stands for any id"`
	CollectionGroup string `json:"collectionGroup,omitempty" jsonschema:"documents of all collections of this name, at the top level too"`
	Objects         string `json:"objects,omitempty" jsonschema:"objects of the bucket, e.g. avatars/{uid}.* or chats/{chat}/images/**: {x} stands for a part of the name, .* for any extension, * for any part, ** for the rest"`
	Accounts        string `json:"accounts,omitempty" jsonschema:"accounts of Firebase Authentication. anonymous: from an anonymous sign-in and nothing else. unverified: the e-mail address is not verified and a password the only way to sign in. disabled. all"`

	Where  []criteria.Condition `json:"where,omitempty" example:"{\"field\": \"published\", \"is\": \"not true\"}" jsonschema:"conditions on its fields, all of which must hold"`
	Age    Ages                 `json:"age,omitzero" one:"true" word:"any" example:"{\"field\": \"createdAt\", \"days\": 90}" jsonschema:"how old it must be; of a list, by all. any: of any age. Required"`
	Gone   Gone                 `json:"gone,omitzero" word:"nobody" example:"{\"document\": \"users/{userId}\"}" jsonschema:"what must not exist, all of it. nobody: objects are deleted by age alone"`
	Unless []Relation           `json:"unless,omitempty" example:"{\"document\": \"users/{authorId}\"}" jsonschema:"what keeps it, any of it: something that exists, or a condition on its own fields"`
	With   []Relation           `json:"with,omitempty" example:"{\"subcollection\": \"revisions\"}" jsonschema:"what is deleted with a document"`
	Set    map[string]any       `json:"set,omitempty" example:"{\"deleted\": true}" jsonschema:"fields to write instead of deleting, with dots for fields of maps. {now} stands for the time of the run, {delete} removes the field"`

	Remove string `json:"remove,omitempty" example:"\"tokens[]\"" jsonschema:"entries to remove instead of deleting the document: tokens[] of a list, tokens.* of a map; conditions and ages of fields that begin so judge each entry"`

	Warn *criteria.Warning `json:"warn,omitempty" example:"{\"days\": 7, \"field\": \"warnedAt\"}" jsonschema:"what a document that is due gets first; it is deleted so many days later, if it still is due"`

	// Others are those rules of the list, this one among them, whose unless keeps what this one would delete along.
	Others []Other `json:"-"`

	Zone string `json:"-"` // the entry's time zone, in which {date} is a day; empty: UTC

	Limit         int `json:"limit,omitempty" range:"1-1000000" jsonschema:"how many one run deletes at most; the next run continues"`
	MaxDuePercent int `json:"maxDuePercent,omitempty" range:"1-100" jsonschema:"safety limit: the percentage of all documents of the collection, objects of the folder or accounts that may be due, once there are 20; 50 unless set"`
}

// Other is a rule of a list, with its name in it.
type Other struct {
	Entry string
	Rule
}

// Ages are the ages that an item must have, all of them. None of them, but not nil, means any age.
type Ages []criteria.Age

// Key returns where a rule says one of its ages.
func (a Ages) Key(n int) string {
	if len(a) == 1 {
		return "age"
	}
	return fmt.Sprintf("age[%d]", n)
}

// Gone are relations all of which must be absent. None of them, but not nil, says that nothing is looked for.
type Gone []Relation

// Relation is how something belongs to an item. Exactly one of the keys in [Relations] says what it is. In unless, it may also
// be a condition on the item itself.
type Relation struct {
	Documents       []string `json:"document,omitempty" one:"true" example:"\"users/{id}\"" jsonschema:"a document's path: {id} is the item's id, {field} what its field holds, {parent} the path of the document that it lies below, {x} what the rule's path binds. A list is the same as an entry for each path"`
	Account         string   `json:"account,omitempty" jsonschema:"an account of Firebase Authentication by its uid, e.g. {ownerId}"`
	Subcollection   string   `json:"subcollection,omitempty" jsonschema:"documents of this collection below the item; in with, ** are all documents below it"`
	Collection      string   `json:"collection,omitempty" jsonschema:"documents of this collection whose field refers to the item"`
	CollectionGroup string   `json:"collectionGroup,omitempty" jsonschema:"documents of all collections of this name whose field refers to the item"`
	Objects         string   `json:"objects,omitempty" jsonschema:"objects of the bucket, e.g. drafts/{id}/**; with a field those that it refers to"`

	Field    string               `json:"field,omitempty" jsonschema:"the field that refers to the item, by its id, as a reference or by its path; f[]: a list contains it; f.{id}: it is the key of a map"`
	Where    []criteria.Condition `json:"where,omitempty" jsonschema:"conditions on what is related, of those that an index answers"`
	Within   *criteria.Age        `json:"within,omitempty" jsonschema:"in unless: it keeps only if it is newer than that"`
	Remove   bool                 `json:"remove,omitempty" jsonschema:"in with: the document stays and only loses the element of the list or the key of the map"`
	Metadata string               `json:"metadata,omitempty" jsonschema:"in with: a key of custom metadata; an object is kept if it holds another id"`
	With     []Relation           `json:"with,omitempty" jsonschema:"in with: what is deleted with it in turn"`
	Unless   []Relation           `json:"unless,omitempty" example:"{\"document\": \"legalHolds/{id}\"}" jsonschema:"in with: what keeps it, and with it the item to which it belongs"`

	Is           string `json:"is,omitempty" example:"\"not set\"" jsonschema:"in unless: the state of the item's field"`
	criteria.Ops `json:"ops,omitempty"`

	Key      string `json:"-"` // where the rule says it, e.g. unless[0]
	Document string `json:"-"` // the path, which is the only one of Documents once a rule is checked
}

// Condition returns the condition on the item itself that an entry of unless may be.
func (r Relation) Condition() criteria.Condition {
	return criteria.Condition{Field: r.Field, Is: r.Is, Ops: r.Ops}
}

// each returns relations of one document each, where they were written with a list of documents. at is where they are written.
func each(at string, all []Relation) (single []Relation) {
	if all != nil {
		single = []Relation{} // an empty list is not the same as none
	}
	for n, one := range all {
		one.Key = fmt.Sprintf("%s[%d]", at, n)
		one.With, one.Unless = each(one.Key+".with", one.With), each(one.Key+".unless", one.Unless)
		if len(one.Documents) == 0 {
			single = append(single, one)
		}
		for _, path := range one.Documents {
			one.Document, one.Documents = path, []string{path}
			single = append(single, one)
		}
	}
	return single
}

// Values of [Rule.Set] that stand for something else.
const (
	Now    = "{now}"    // the time of the run
	Delete = "{delete}" // no value: the field is removed
)

// Source returns what the rule goes through: a collection, a collection group or a pattern of objects.
func (r Rule) Source() string { return r.Collection + r.CollectionGroup + r.Objects }

// Name returns the name of the collection or collection group, without the path.
func (r Rule) Name() string { return r.Source()[strings.LastIndexByte(r.Source(), '/')+1:] }

// OfDocuments reports whether the rule is about documents.
func (r Rule) OfDocuments() bool { return r.Collection != "" || r.CollectionGroup != "" }

// Deletes reports whether the rule deletes documents. If not, it changes them.
func (r Rule) Deletes() bool { return len(r.Set) == 0 && r.Remove == "" }

// OfEntries reports whether a field is one of the entries that the rule removes, or the entry itself.
func (r Rule) OfEntries(field string) bool {
	return r.Remove != "" && (field == r.Remove || strings.HasPrefix(field, r.Remove+"."))
}

// Plain reports whether the rule only deletes documents, without a warning, and judges them only by their own fields.
func (r Rule) Plain() bool {
	return r.OfDocuments() && len(r.With) == 0 && len(r.Related()) == 0 && r.Deletes() && r.Warn == nil
}

// Related returns the relations that decide whether an item goes.
func (r Rule) Related() (all []Relation) {
	all = slices.Clone(r.Gone)
	for _, u := range r.Unless {
		if u.kind() != nil {
			all = append(all, u)
		}
	}
	return all
}

// Exceptions returns the conditions on the item itself any of which keeps it.
func (r Rule) Exceptions() (all []criteria.Condition) {
	for _, u := range r.Unless {
		if u.kind() == nil {
			all = append(all, u.Condition())
		}
	}
	return all
}

// ByReference reports whether the rule deletes objects that no document names.
func (r Rule) ByReference() bool { return r.Objects != "" && len(r.Gone) > 0 && r.Gone[0].Field != "" }

// UsesStorage reports whether the rule deletes objects.
func (r Rule) UsesStorage() bool {
	return r.Objects != "" || slices.ContainsFunc(r.Along(), func(w Placed) bool { return w.Objects != "" })
}

// DeletesAccounts reports whether the rule deletes accounts.
func (r Rule) DeletesAccounts() bool {
	return r.Accounts != "" || slices.ContainsFunc(r.Along(), func(w Placed) bool { return w.Account != "" })
}

// ReadsAccounts reports whether the rule looks for accounts.
func (r Rule) ReadsAccounts() bool {
	asks := r.LooksFor()
	for _, other := range r.Others {
		for _, u := range other.Unless {
			asks = append(asks, Placed{Relation: u})
		}
	}
	return r.Accounts != "" || slices.ContainsFunc(asks, func(a Placed) bool { return a.Account != "" })
}

// DuePercent returns the percentage of a collection, of a folder or of all accounts that may be due.
func (r Rule) DuePercent() int { return cmp.Or(r.MaxDuePercent, config.DefaultMaxDuePercent) }
