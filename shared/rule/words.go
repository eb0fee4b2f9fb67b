package rule

import (
	"fmt"
	"strings"

	"github.com/firesweep/firesweep/shared/rule/criteria"
)

// Words returns what the rule does, as a sentence without a subject and a period.
func (r Rule) Words() string {
	var s strings.Builder
	s.WriteString(r.verb())
	var whose []string
	for _, c := range r.Where {
		whose = append(whose, "whose "+c.Words())
	}
	for _, a := range r.Age {
		whose = append(whose, a.Sentence())
	}
	if len(r.Age) == 0 {
		whose = append(whose, "of any age")
	}
	for _, g := range r.Gone {
		no := "for which no " + g.Noun() + " exists"
		if r.ByReference() {
			no = "that no document of " + strings.Replace(g.Place("").words(), "every", "any", 1) + " refers to in " + g.Field
		}
		whose = append(whose, no)
	}
	if r.Objects != "" && len(r.Gone) == 0 {
		whose = append(whose, "whoever they belong to")
	}
	s.WriteString(" " + criteria.List(whose, "and"))
	for _, u := range r.Unless {
		s.WriteString(", unless " + u.Exists())
	}
	if r.Warn != nil {
		s.WriteString(", " + r.Warn.Words())
	}
	if len(r.With) > 0 {
		s.WriteString("; with each, also " + goesAlong(r.With))
	}
	for _, other := range r.Others {
		s.WriteString("; what " + other.Entry + " keeps stays, and what it belongs to")
	}
	if r.Limit > 0 {
		fmt.Fprintf(&s, "; %d a run at most", r.Limit)
	}
	return s.String()
}

// verb returns what the rule does to which items.
func (r Rule) verb() string {
	switch {
	case r.Objects != "":
		return "deletes objects " + r.Objects
	case r.Accounts != "":
		return "deletes " + accountKinds[r.Accounts]
	case r.Remove != "":
		return "removes entries of " + r.Remove + " from documents of " + r.Place().words()
	case !r.Deletes():
		var sets []string
		for _, field := range sorted(r.Set) {
			value := r.Set[field]
			text, isText := value.(string)
			switch {
			case value == Now:
				sets = append(sets, field+" to the time of the run")
			case value == Delete:
				sets = append(sets, field+" to nothing")
			case isText:
				sets = append(sets, fmt.Sprintf("%s to %q", field, text))
			default:
				sets = append(sets, field+" to "+criteria.Shown(value)[0])
			}
		}
		return "sets " + criteria.List(sets, "and") + " in documents of " + r.Place().words()
	}
	return "deletes documents of " + r.Place().words()
}

// Kind returns the name of the action in the report, e.g. "delete draft".
func (r Rule) Kind() string {
	if r.Deletes() {
		return "delete " + r.Noun()
	}
	return "change " + r.Noun()
}

// Noun returns what the report calls one of the rule's items: by the name of its collection, e.g. "draft" of drafts.
func (r Rule) Noun() string {
	switch {
	case r.Objects != "":
		return "object"
	case r.Accounts != "":
		return "account"
	}
	return criteria.Noun(r.Name())
}

// Noun returns what is related, e.g. "account {id}".
func (r Relation) Noun() string {
	noun := r.say(r.kind().noun)
	if r.Document == "{"+parentHole+"}" {
		noun = "document above it"
	}
	for n, c := range r.Where {
		if n > 0 || r.Document == "" {
			noun += " and"
		}
		noun += " whose " + c.Words()
	}
	return noun
}

// Exists returns what keeps an item that has such a relation, e.g. "users/{authorId} exists".
func (r Relation) Exists() string {
	switch {
	case r.kind() == nil:
		return "its " + r.Condition().Words()
	case r.Within != nil:
		return fmt.Sprintf("a %s exists whose %s is within %s", r.Noun(), r.Within.Field, r.Within.Words())
	case r.Document != "" || r.Account != "":
		return r.Noun() + " exists"
	}
	return "a " + r.Noun() + " exists"
}

// The values of [Rule.Accounts].
const (
	Anonymous  = "anonymous"
	Unverified = "unverified"
	Disabled   = "disabled"
	All        = "all"
)

// accountKinds says what accounts are called, by the values of [Rule.Accounts].
var accountKinds = map[string]string{
	Anonymous: "anonymous accounts", Disabled: "disabled accounts", All: "all accounts",
	Unverified: "accounts with an unverified e-mail address and only a password",
}

// AccountKinds returns the values of [Rule.Accounts].
func AccountKinds() []string { return sorted(accountKinds) }

// goesAlong returns what is deleted with it, each with what is deleted with it.
func goesAlong(with []Relation) string {
	var all []string
	for _, w := range with {
		text := w.goes()
		for _, u := range w.Unless {
			text += ", unless " + u.Exists()
		}
		if len(w.With) > 0 {
			text += " (with each, also " + goesAlong(w.With) + ")"
		}
		all = append(all, text)
	}
	return criteria.List(all, "and")
}
