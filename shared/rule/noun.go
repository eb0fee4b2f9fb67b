package rule

import (
	"regexp"
	"strings"
)

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
	noun := singular(strings.ToLower(strings.Join(nameParts.FindAllString(r.Name(), -1), " ")))
	if !nounPattern.MatchString(noun) {
		return "document"
	}
	return noun
}

var (
	nameParts   = regexp.MustCompile(`[A-Z]*[^A-Z_\-. ]+|[A-Z]+`) // articleComments and article_comments are two words
	nounPattern = regexp.MustCompile(`^[a-z][a-z0-9 ]{1,49}$`)
)

// plurals are the ends of English plurals and what one is called. The first that fits counts.
var plurals = [][2]string{
	{"series", "series"}, {"people", "person"}, {"children", "child"}, {"movies", "movie"}, {"cookies", "cookie"},
	{"caches", "cache"},
	{"ies", "y"}, {"sses", "ss"}, {"tuses", "tus"}, {"xes", "x"}, {"ches", "ch"}, {"shes", "sh"},
	{"ss", "ss"}, {"us", "us"}, {"is", "is"}, {"s", ""},
}

// singular returns the singular of an English noun.
func singular(noun string) string {
	for _, p := range plurals {
		if stem, ok := strings.CutSuffix(noun, p[0]); ok {
			return stem + p[1]
		}
	}
	return noun
}
