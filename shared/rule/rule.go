// Package rule holds cleanups that are declared instead of written: which documents, objects or accounts a cleanup deletes,
// and what goes along with them. This package reads a rule, checks it and puts it into words; shared/declared makes a job of
// it.
//
// rule.go is the format of a rule. check.go says what is wrong with one, index.go which index it needs, and words.go what it
// does, in a sentence.
package rule

import (
	"strings"
	"time"

	"github.com/firesweep/firesweep/shared/retention"
)

// Rule is a declared cleanup. Exactly one of Collection, CollectionGroup, Objects and Accounts is set: it says what the
// cleanup goes through.
type Rule struct {
	Collection      string `json:"collection,omitempty" jsonschema:"documents of this collection, e.g. drafts or teams/main/drafts"`
	CollectionGroup string `json:"collectionGroup,omitempty" jsonschema:"documents of all collections of this name"`
	Objects         string `json:"objects,omitempty" jsonschema:"objects of the bucket below this folder, which ends with a slash; they need an owner"`
	Accounts        string `json:"accounts,omitempty" jsonschema:"accounts of Firebase Authentication. anonymous: from an anonymous sign-in and nothing else. unverified: the e-mail address is not verified and a password the only way to sign in. disabled. all"`

	Where   []Condition    `json:"where,omitempty" example:"{\"field\": \"published\", \"is\": \"not true\"}" jsonschema:"conditions on a document's fields, all of which must hold"`
	Age     *Age           `json:"age,omitempty" example:"{\"field\": \"createdAt\", \"days\": 90}" jsonschema:"how old it must be; required"`
	Unless  []Unless       `json:"unless,omitempty" example:"{\"document\": \"users/{authorId}\"}" jsonschema:"what keeps a document or an account"`
	Owner   *Owner         `json:"owner,omitempty" example:"{\"collection\": \"users\", \"segment\": 2}" jsonschema:"the document that an object belongs to: objects whose owner does not exist are deleted"`
	With    []Along        `json:"with,omitempty" example:"{\"subcollection\": \"revisions\"}" jsonschema:"what is deleted along with a document"`
	Archive string         `json:"archive,omitempty" jsonschema:"a collection that a document is copied to before it is deleted, with the documents that go along"`
	Set     map[string]any `json:"set,omitempty" example:"{\"deleted\": true}" jsonschema:"fields to write instead of deleting; the string {now} stands for the time of the run"`

	Limit         int    `json:"limit,omitempty" range:"1-1000000" jsonschema:"how many one run deletes at most; the next run continues"`
	MaxDuePercent int    `json:"maxDuePercent,omitempty" range:"1-100" jsonschema:"safety limit: the percentage of documents or accounts that may be due, once there are 20; 50 unless set"`
	Action        string `json:"action,omitempty" jsonschema:"what the report and the log call the action, e.g. delete draft"`
	Because       string `json:"because,omitempty" jsonschema:"why, in the report and the log, e.g. not published"`
}

// Condition is a condition on one field. Exactly one of Equals, In and Is is set.
type Condition struct {
	Field  string `json:"field" jsonschema:"the field's name, with dots for fields of maps"`
	Equals any    `json:"==,omitempty" jsonschema:"a string, a number, true or false"`
	In     []any  `json:"in,omitempty" jsonschema:"any of these strings, numbers, true and false; at most 30"`
	Is     string `json:"is,omitempty" jsonschema:"text: a string that is not empty. null: null or missing. not null: anything else. missing: not even null. true. not true: false, null or missing"`
}

// The values of [Condition.Is].
const (
	Text    = "text"     // a string that is not empty
	Null    = "null"     // null or missing
	NotNull = "not null" // anything but null and missing
	True    = "true"
	NotTrue = "not true" // false, null or missing; anything else cannot be judged
	Missing = "missing"  // the document does not have the field
)

// States returns the values of [Condition.Is].
func States() []string { return []string{Text, Null, NotNull, True, NotTrue, Missing} }

// The values of [Rule.Accounts].
const (
	Anonymous  = "anonymous"
	Unverified = "unverified"
	Disabled   = "disabled"
	All        = "all"
)

// AccountKinds returns the values of [Rule.Accounts].
func AccountKinds() []string { return []string{Anonymous, Unverified, Disabled, All} }

// The values of [Age.Field] in a rule about accounts.
const (
	LastSignIn = "lastSignIn" // the latest of its last sign-in, its last token and its creation
	Created    = "created"
)

// Age is the age that something must exceed to be deleted. Exactly one of Hours, Days and Months is set.
type Age struct {
	Field  string `json:"field,omitempty" jsonschema:"of a document: the field that holds the timestamp; of an account: lastSignIn (the latest of its last sign-in, its last token and its creation) or created. An object's age counts from its upload"`
	Hours  int    `json:"hours,omitempty"`
	Days   int    `json:"days,omitempty" jsonschema:"of 24 hours"`
	Months int    `json:"months,omitempty" jsonschema:"calendar months in UTC"`
}

// Cutoff returns the time that something must be before to exceed the age.
func (a Age) Cutoff(now time.Time) time.Time {
	if a.Months > 0 {
		return retention.MonthsBefore(now, a.Months)
	}
	return now.Add(-time.Duration(a.Days)*retention.Day - time.Duration(a.Hours)*time.Hour)
}

// Unless is a document that keeps an item while it exists.
type Unless struct {
	Document string `json:"document" jsonschema:"its path: {id} stands for the id of the item, {uid} for that of an account, {field} for what a field holds, e.g. users/{authorId}"`
}

// Owner is the document that an object belongs to. Exactly one of Segment and Metadata says where its id is.
type Owner struct {
	Collection string `json:"collection" jsonschema:"where the owner is"`
	Segment    int    `json:"segment,omitempty" jsonschema:"which part of the object's name is the owner's id: 2 in avatars/{id}/photo.png"`
	Stem       bool   `json:"stem,omitempty" jsonschema:"leave out what follows the last dot, as in avatars/{id}.png"`
	Metadata   string `json:"metadata,omitempty" jsonschema:"the key of the custom metadata that holds the owner's id; objects without it are kept"`
}

// Along is something that is deleted along with a document. Exactly one of Subcollection, Collection, Object, Folder and
// Account is set.
type Along struct {
	Subcollection string `json:"subcollection,omitempty" jsonschema:"the documents of this collection below the document"`
	Collection    string `json:"collection,omitempty" jsonschema:"the documents of this collection whose field names the document, by its id or as a reference"`
	Field         string `json:"field,omitempty" jsonschema:"that field"`
	Object        string `json:"object,omitempty" jsonschema:"the objects that this field names, by a URL or by their name; [] stands for each element of a list: photos[].url"`
	Under         string `json:"under,omitempty" jsonschema:"the folder that they must lie below; {id} stands for the document's id"`
	Metadata      string `json:"metadata,omitempty" jsonschema:"a key of custom metadata: an object is kept if it holds another id than the document's"`
	Folder        string `json:"folder,omitempty" jsonschema:"all objects below this folder, in which {id} stands for the document's id"`
	Account       bool   `json:"account,omitempty" jsonschema:"the account of Firebase Authentication with the document's id"`
}

// Now is the value that stands for the time of the run in [Rule.Set].
const Now = "{now}"

// DefaultMaxDuePercent is [Rule.MaxDuePercent] if it is not set.
const DefaultMaxDuePercent = 50

// Source returns what the rule goes through: a collection, a collection group or a folder.
func (r Rule) Source() string { return r.Collection + r.CollectionGroup + r.Objects }

// Group returns the name of the collection or collection group, without the path.
func (r Rule) Group() string { return r.Source()[strings.LastIndexByte(r.Source(), '/')+1:] }

// Deletes reports whether the rule deletes documents. If not, it changes them.
func (r Rule) Deletes() bool { return len(r.Set) == 0 }

// Plain reports whether the rule only deletes documents, and judges them only by their own fields.
func (r Rule) Plain() bool {
	return r.Objects == "" && r.Accounts == "" && len(r.With) == 0 && len(r.Unless) == 0 && r.Archive == "" && r.Deletes()
}

// UsesStorage reports whether the rule deletes objects.
func (r Rule) UsesStorage() bool {
	for _, a := range r.With {
		if a.Object != "" || a.Folder != "" {
			return true
		}
	}
	return r.Objects != ""
}

// UsesAuth reports whether the rule deletes accounts.
func (r Rule) UsesAuth() bool {
	for _, a := range r.With {
		if a.Account {
			return true
		}
	}
	return r.Accounts != ""
}

// DuePercent returns the percentage of a collection, or of all accounts, that may be due.
func (r Rule) DuePercent() int {
	if r.MaxDuePercent == 0 {
		return DefaultMaxDuePercent
	}
	return r.MaxDuePercent
}

// Kind returns the name of the action in the report.
func (r Rule) Kind() string {
	switch {
	case r.Action != "":
		return r.Action
	case r.Objects != "":
		return "delete object"
	case r.Accounts != "":
		return "delete account"
	case !r.Deletes():
		return "change document"
	}
	return "delete document"
}
