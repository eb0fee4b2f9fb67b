package declared_test

import (
	"fmt"
	"testing"

	"github.com/firesweep/firesweep/shared/declared/doubts"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
)

// TestDoubts: what the first documents tell against a rule is said with its key, and nothing of a rule that fits them.
func TestDoubts(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		more  fields
		users int // of 30 authors, so many exist
		want  []string
	}{
		"all": {fields{"age": fields{"field": "at", "days": 30}, "unless": array{fields{"document": "users/{author}"}}}, 28, []string{
			`age[0]: at is a number of milliseconds since 1970 in 28 of 30 and a date and time of ISO 8601 in 1 of 30: ` +
				`add "as": ["timestamp", "milliseconds", "text"]`,
			"unless[0]: 28 of 30 are kept by users/{author}: meant gone?",
			`with: comments below drafts/d00 would stay; add it or "**"`,
		}},
		"none": {fields{"age": fields{"field": "at", "as": array{"milliseconds", "timestamp", "text"}, "days": 30}, "unless": array{fields{"document": "users/{author}"}},
			"with": array{fields{"subcollection": "comments"}}}, 27, nil},
		"a few of another form": {fields{"age": fields{"field": "at", "as": array{"milliseconds", "text"}, "days": 30}, "with": array{fields{"subcollection": "**"}}}, 27,
			[]string{`age[0]: at is a timestamp in 1 of 30: add "as": ["timestamp", "milliseconds", "text"]`}},
		"a form of none": {fields{"age": fields{"field": "at", "as": array{"seconds", "timestamp"}, "days": 30}, "with": array{fields{"subcollection": "**"}}}, 27,
			[]string{`age[0]: at is a number of milliseconds since 1970 in 28 of 30 and a date and time of ISO 8601 in 1 of 30: ` +
				`add "as": ["timestamp", "milliseconds", "seconds", "text"]`}},
		"one form, another": {fields{"age": fields{"field": "seen", "days": 30}, "with": array{fields{"subcollection": "**"}}}, 27,
			[]string{`age[0]: seen is a number of seconds since 1970 in 30 of 30: add "as": "seconds"`}},
		"a mark of the application's": {fields{"age": fields{"field": "seen", "as": "seconds", "days": 30}, "with": array{fields{"subcollection": "comments"}},
			"warn": fields{"days": 7, "field": "author"}}, 27, []string{"warn.field: 30 of 30 hold author already: it must be a field of its own"}},
		"fields of what goes along": {fields{"age": "any", "with": array{fields{"subcollection": "comments", "with": array{fields{"document": "users/{of}"}}}}}, 5, nil},
		"names": {fields{"age": fields{"field": "att", "days": 30}, "where": array{fields{"field": "stat", "==": "open"}}, "with": array{fields{"subcollection": "**"}}},
			30, []string{"stat is missing or null in all of 30: is that its name?", "att is missing or null in all of 30: is that its name?"}},
		"another collection": {fields{"collection": "draft", "age": "any"}, 30, []string{"draft holds no document: is that its name?"}},
		"what is related": {fields{"age": "any", "with": array{fields{"subcollection": "comments"}}, "gone": array{
			fields{"collection": "users", "field": "of", "where": array{fields{"field": "x", "==": "true"}, fields{"field": "x", "==": false}}}},
			"unless": array{fields{"subcollection": "comments", "within": fields{"field": "at", "days": 1}}, fields{"collection": "none", "field": "of"}}}, 5, []string{
			"gone[0].field: of is missing, or of another type, in all of 5: is that its name?",
			"gone[0].where[0]: x is missing, or of another type, in all of 5: is that its name?",
			"unless[0].within: at is missing, or of another type, in all of 1: is that its name?"}},
		"everything below": {fields{"age": "any", "with": array{fields{"subcollection": "**"}}}, 30, nil},
	} {
		t.Run(name, func(t *testing.T) {
			rule := with(fields{"collection": "drafts"}, tt.more)
			f := start(t, rule)
			f.SetMany(t, 30, func(i int) (string, fields) {
				at := any(old.UnixMilli())
				switch i {
				case 7:
					at = old
				case 8:
					at = "2026-01-31"
				}
				return fmt.Sprintf("drafts/d%02d", i), fields{"at": at, "seen": old.Unix(), "author": fmt.Sprintf("u%02d", i)}
			})
			f.SetMany(t, tt.users, func(i int) (string, fields) { return fmt.Sprintf("users/u%02d", i), fields{"x": true} })
			f.Set(t, "drafts/d00/comments/c", fields{"x": true})
			client, err := documents.Open(t.Context(), documents.Database{Project: f.ID, ID: "(default)",
				EmulatorHost: f.Env["FIRESTORE_EMULATOR_HOST"]})
			if err != nil {
				t.Fatal(err)
			}
			got, err := doubts.Of(t.Context(), client.Reader(), *entry(t, rule).Rule)
			if err != nil {
				t.Fatal(err)
			}
			enginetest.Want(t, "doubts", tt.want, got)
		})
	}
}
