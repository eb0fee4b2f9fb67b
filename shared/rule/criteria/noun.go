package criteria

import (
	"regexp"
	"strings"
)

// Noun returns what one document of a collection is called, e.g. "draft" of drafts: "document" if nobody can tell.
func Noun(collection string) string {
	noun := singular(strings.ToLower(strings.Join(nameParts.FindAllString(collection, -1), " ")))
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
