package rule

import (
	"fmt"
	"strings"
)

// Words returns what the rule does, as a sentence without a subject and a period.
func (r Rule) Words() string {
	var s strings.Builder
	if r.Objects != "" {
		fmt.Fprintf(&s, "deletes objects below %s that were uploaded more than %s ago and whose owner in %s does not exist (%s)",
			r.Objects, r.Age.Words(), r.Owner.Collection, r.Owner.words(r.Objects))
		return s.String()
	}
	if r.Accounts != "" {
		return r.accountWords()
	}
	if r.Deletes() {
		s.WriteString("deletes documents of ")
	} else {
		fmt.Fprintf(&s, "sets %s in documents of ", list(sorted(r.Set), "and"))
	}
	if r.CollectionGroup != "" {
		s.WriteString("every collection ")
	}
	s.WriteString(r.Source() + " ")
	for _, c := range r.Where {
		s.WriteString("whose " + c.Words() + ", and ")
	}
	fmt.Fprintf(&s, "whose %s is more than %s ago", r.Age.Field, r.Age.Words())
	for _, u := range r.Unless {
		fmt.Fprintf(&s, ", unless %s exists", u.Document)
	}
	if len(r.With) > 0 {
		var along []string
		for _, a := range r.With {
			along = append(along, a.words())
		}
		s.WriteString("; each takes along " + list(along, "and"))
	}
	if r.Archive != "" {
		fmt.Fprintf(&s, "; each is copied to %s first", r.Archive)
	}
	if r.Limit > 0 {
		fmt.Fprintf(&s, "; %d a run at most", r.Limit)
	}
	return s.String()
}

// kindWords says what each kind of accounts is called.
var kindWords = map[string]string{
	Anonymous: "anonymous accounts", Disabled: "disabled accounts", All: "all accounts",
	Unverified: "accounts with an unverified e-mail address and no other way to sign in than a password",
}

func (r Rule) accountWords() string {
	var s strings.Builder
	what := "that were created"
	if r.Age.Field == LastSignIn {
		what = "whose last sign-in, last token and creation are all"
	}
	fmt.Fprintf(&s, "deletes %s %s more than %s ago", kindWords[r.Accounts], what, r.Age.Words())
	for _, u := range r.Unless {
		fmt.Fprintf(&s, ", unless %s exists", u.Document)
	}
	if r.Limit > 0 {
		fmt.Fprintf(&s, "; %d a run at most", r.Limit)
	}
	return s.String()
}

// stateWords says what each state of a field is called, and what its opposite is called.
var stateWords = map[string]struct{ met, unmet string }{
	Text: {"a non-empty string", "empty or not a string"}, Null: {"null or missing", "set"}, NotNull: {"set", "not set"},
	True: {"true", "not true"}, NotTrue: {"not true", "true"}, Missing: {"missing", "not missing"},
}

// Words returns the condition in words, e.g. "status is reviewed or dismissed".
func (c Condition) Words() string {
	if c.Is != "" {
		return c.Field + " is " + stateWords[c.Is].met
	}
	return c.Field + " is " + list(c.values(), "or")
}

// Unmet returns the opposite of the condition in words, e.g. "status is not reviewed".
func (c Condition) Unmet() string {
	values := c.values()
	switch {
	case c.Is != "":
		return c.Field + " is " + stateWords[c.Is].unmet
	case len(values) == 1:
		return c.Field + " is not " + values[0]
	case len(values) == 2:
		return fmt.Sprintf("%s is neither %s nor %s", c.Field, values[0], values[1])
	}
	return fmt.Sprintf("%s is none of %s", c.Field, list(values, "and"))
}

// Alternatives returns the values any of which meets the condition.
func (c Condition) Alternatives() []any {
	if c.Equals != nil {
		return []any{c.Equals}
	}
	return c.In
}

func (c Condition) values() (texts []string) {
	for _, v := range c.Alternatives() {
		text := fmt.Sprint(v)
		if strings.Join(strings.Fields(text), " ") != text || text == "" { // quotes show which white space it has
			text = fmt.Sprintf("%q", text)
		}
		texts = append(texts, text)
	}
	return texts
}

// Words returns the age in words, e.g. "90 days".
func (a Age) Words() string {
	n, unit := a.Hours, "hour"
	switch {
	case a.Days > 0:
		n, unit = a.Days, "day"
	case a.Months > 0:
		n, unit = a.Months, "month"
	}
	if n != 1 {
		unit += "s"
	}
	return fmt.Sprintf("%d %s", n, unit)
}

func (o Owner) words(folder string) string {
	if o.Metadata != "" {
		return "the metadata's " + o.Metadata + " is its id"
	}
	parts := strings.Split(strings.TrimSuffix(folder, "/"), "/")
	for len(parts) < o.Segment-1 {
		parts = append(parts, "…")
	}
	name := strings.Join(append(parts, "{id}"), "/")
	if o.Stem {
		return name + ".…"
	}
	return name + "/…"
}

func (a Along) words() string {
	switch {
	case a.Subcollection != "":
		return "its documents in " + a.Subcollection
	case a.Collection != "":
		return fmt.Sprintf("the documents of %s whose %s names it", a.Collection, a.Field)
	case a.Object != "":
		return fmt.Sprintf("the objects below %s that %s names", a.Under, a.Object)
	case a.Folder != "":
		return "all objects below " + a.Folder
	}
	return "its account"
}

// list joins texts, e.g. "a, b and c".
func list(texts []string, word string) string {
	if len(texts) < 2 {
		return strings.Join(texts, "")
	}
	last := len(texts) - 1
	return strings.Join(texts[:last], ", ") + " " + word + " " + texts[last]
}
