package rule_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/firesweep/firesweep/shared/manifest"
)

// parse reads a rule as an entry of a list of functions, and returns the problems.
func parse(rule string) (manifest.Entry, []string) {
	entries, err := manifest.Parse(manifest.File{Name: "rules.json",
		Text: []byte(`{"functions":[{"name":"cleanupThings","schedule":"0 4 * * *","rule":` + rule + `}]}`)})
	if err != nil {
		return manifest.Entry{}, strings.Split(err.Error(), "\n")
	}
	return entries[0], nil
}

const good = `"collection":"drafts","age":{"field":"updatedAt","days":90}`

const guests = `"accounts":"anonymous","age":{"field":"lastSignIn","days":30}`

func TestWhatIsRefused(t *testing.T) {
	for rule, want := range map[string]string{ // want is a part of the only problem
		`{}`:                      "exactly one of collection, collectionGroup, objects and accounts",
		`{"collection":"drafts"}`: `rule.age: say how old it must be, e.g. {"field": "createdAt", "days": 90}`,
		`{"collection":"drafts","age":{"days":90}}`:                                                               `rule.age.field: "" is not a field's name`,
		`{"collection":"drafts","age":{"field":"at"}}`:                                                            "rule.age: give one of hours, days and months",
		`{"collection":"drafts","age":{"field":"at","days":0}}`:                                                   "rule.age: give one of hours, days and months",
		`{"collection":"drafts","age":{"field":"at","days":1,"months":1}}`:                                        "rule.age: give one of hours, days and months",
		`{"collection":"drafts","age":{"field":"at","days":-1}}`:                                                  "rule.age: it cannot be negative",
		`{"collection":"drafts","age":{"field":"at","days":36501}}`:                                               "rule.age: it is more than 100 years",
		`{"collection":"drafts","age":{"field":"at","days":1.5}}`:                                                 "functions[0], cleanupThings: rule.age.days: it must be a whole number",
		`{"collection":"drafts","age":{"field":"at","days":"90"}}`:                                                "functions[0], cleanupThings: rule.age.days: it must be a whole number, not a string",
		`{"collection":"drafts","objects":"drafts/","age":{"hours":1}}`:                                           "exactly one of collection, collectionGroup, objects and accounts",
		`{"collection":"drafts/a","age":{"field":"at","days":1}}`:                                                 `"drafts/a" is not a collection`,
		`{"collection":"/drafts","age":{"field":"at","days":1}}`:                                                  `"/drafts" is not a collection`,
		`{"collection":"teams/{id}/drafts","age":{"field":"at","days":1}}`:                                        "is not a collection",
		`{"collection":"cleanupRuns","age":{"field":"at","days":1}}`:                                              "cleanupRuns belongs to Firesweep itself",
		`{"collection":"a/b/cleanupJobs","age":{"field":"at","days":1}}`:                                          "cleanupJobs belongs to Firesweep itself",
		`{` + good + `,"colection":"x"}`:                                                                          `functions[0], cleanupThings: rule: there is no key "colection"; the keys are collection,`,
		`{` + good + `,"Where":[]}`:                                                                               `there is no key "Where"`,
		`{` + good + `,"where":[{"field":"a","equals":1}]}`:                                                       `functions[0], cleanupThings: rule.where[0]: there is no key "equals"; the keys are field, ==, in, is`,
		`{` + good + `,"where":[{"field":"a"}]}`:                                                                  `rule.where[0]: give exactly one of "==", "in" and "is"`,
		`{` + good + `,"where":[{"field":"a","==":1,"is":"true"}]}`:                                               `rule.where[0]: give exactly one of`,
		`{` + good + `,"where":[{"field":"a","==":null}]}`:                                                        `rule.where[0].==: it is null: give a string, a number, true or false; for null write "is": "null"`,
		`{` + good + `,"where":[{"field":"a","is":"nul"}]}`:                                                       `"nul" is not one of: text, null, not null, true, not true, missing`,
		`{` + good + `,"where":[{"field":"a","in":[]}]}`:                                                          "give at least one value",
		`{` + good + `,"where":[{"field":"a","in":["x",null]}]}`:                                                  `rule.where[0].in[1]: it is null: give a string`,
		`{` + good + `,"where":[{"field":"a","in":["x","x"]}]}`:                                                   "x is listed twice",
		`{` + good + `,"where":[{"field":"a","==":[1]}]}`:                                                         `it must be a string, a number, true or false`,
		`{` + good + `,"where":[{"field":"a-b","==":1}]}`:                                                         `"a-b" is not a field's name`,
		`{` + good + `,"where":[{"field":"__a__","==":1}]}`:                                                       `"__a__" is not a field's name`,
		`{` + good + `,"where":[{"field":"a.b","is":"text"}]}`:                                                    "text is for top-level fields only",
		`{` + good + `,"where":[{"field":"updatedAt","is":"null"}]}`:                                              "updatedAt has two conditions: the age is one",
		`{` + good + `,"where":[{"field":"a","in":[1,2,3,4,5,6]},{"field":"b","in":[1,2,3,4,5,6]}]}`:              "36 combinations of values",
		`{` + good + `,"unless":[{"document":"users"}]}`:                                                          `"users" is not a document's path`,
		`{` + good + `,"unless":[{"document":"{id}/x"}]}`:                                                         "{id} stands for a collection",
		`{` + good + `,"unless":[{"document":"users/{a-b}"}]}`:                                                    "{a-b} is neither {id} nor a field",
		`{` + good + `,"unless":[{"document":"users//x/y"}]}`:                                                     `"" is not a part of a path`,
		`{"collection":7,"age":{"field":"at","days":1}}`:                                                          "functions[0], cleanupThings: rule.collection: it must be a string, not a number",
		`{"collection":"a","age":[]}`:                                                                             "functions[0], cleanupThings: rule.age: it must be an object",
		`{"collection":"a","age":3}`:                                                                              "functions[0], cleanupThings: rule.age: it must be an object",
		`{` + good + `,"where":{"field":"a"}}`:                                                                    "functions[0], cleanupThings: rule.where: it must be a list, not an object",
		`{` + good + `,"where":"a"}`:                                                                              "functions[0], cleanupThings: rule.where: it must be a list, not a string",
		`{` + good + `,"where":["a"]}`:                                                                            "functions[0], cleanupThings: rule.where[0]: it must be an object",
		`{` + good + `,"with":[{"account":"yes"}]}`:                                                               "functions[0], cleanupThings: rule.with[0].account: it must be true or false, not a string",
		`{` + good + `,"where":[{"field":"updatedAt.by","is":"null"}]}`:                                           "updatedAt.by lies within updatedAt, which is a timestamp, not a map",
		`{` + good + `,"where":[{"field":"a","==":1},{"field":"a.b","==":1}]}`:                                    "a.b lies within a, which is what where says, not a map",
		`{` + good + `,"with":[{"object":"updatedAt","under":"p/"}]}`:                                             "updatedAt is a timestamp, and cannot be an object's name as well",
		`{` + good + `,"where":[{"field":"a","==":"x"}],"with":[{"object":"a","under":"p/"}]}`:                    "a is what where says, and cannot be an object's name as well",
		`{` + good + `,"where":[{"field":"a","is":"true"}],"unless":[{"document":"b/{a}"}]}`:                      "a is what where says, and cannot be a document's id as well",
		`{` + good + `,"unless":[{"document":"b/{a}"}],"with":[{"object":"a[].url","under":"p/"}]}`:               "a.url lies within a, which is a document's id, not a map",
		`{` + good + `,"owner":{"collection":"users","segment":2}}`:                                               "rule.owner: only objects have an owner",
		`{` + good + `,"with":[{}]}`:                                                                              "rule.with[0]: give exactly one of subcollection,",
		`{` + good + `,"with":[{"account":false}]}`:                                                               "rule.with[0]: give exactly one of subcollection,",
		`{` + good + `,"with":[{"subcollection":"a/b"}]}`:                                                         `"a/b" is not a collection's name`,
		`{` + good + `,"with":[{"subcollection":"cleanupUndo"}]}`:                                                 "belongs to Firesweep itself",
		`{` + good + `,"with":[{"collection":"comments"}]}`:                                                       "collection and field belong together",
		`{` + good + `,"with":[{"collection":"drafts","field":"of"}]}`:                                            "it is the rule's own",
		`{` + good + `,"with":[{"object":"coverUrl"}]}`:                                                           "object and under belong together",
		`{` + good + `,"with":[{"object":"coverUrl","under":"drafts"}]}`:                                          `"drafts" is not a folder`,
		`{` + good + `,"with":[{"object":"coverUrl","under":"/"}]}`:                                               `"/" is not a folder`,
		`{` + good + `,"with":[{"folder":"drafts/"}]}`:                                                            "{id} must be a part of it",
		`{` + good + `,"with":[{"folder":"drafts/x{id}/"}]}`:                                                      "{id} must be a part of it",
		`{` + good + `,"archive":"drafts"}`:                                                                       "rule.archive: cleanupThings reads drafts, and must not find copies in drafts",
		`{` + good + `,"archive":"old","where":[{"field":"a","is":"null"}],"set":{"a":1}}`:                        "rule.archive: set keeps the document",
		`{` + good + `,"set":{}}`:                                                                                 "rule.set: give at least one field",
		`{` + good + `,"set":{"a":true}}`:                                                                         "every run would find the same documents again",
		`{` + good + `,"set":{"a":true},"where":[{"field":"a","is":"not null"}]}`:                                 "every run would find the same documents again",
		`{` + good + `,"set":{"a.b":true,"c":1},"where":[{"field":"c","is":"null"}]}`:                             `"a.b" is not a field's name`,
		`{` + good + `,"limit":0}`:                                                                                "rule.limit: 0 is not from 1 to 1000000",
		`{` + good + `,"maxDuePercent":0}`:                                                                        "rule.maxDuePercent: 0 is not from 1 to 100",
		`{` + guests + `,"limit":0}`:                                                                              "rule.limit: 0 is not from 1 to 1000000",
		`{` + good + `,"unless":null}`:                                                                            "functions[0], cleanupThings: rule.unless: it is null: give a value, or leave it out",
		`{` + good + `,"unless":[null]}`:                                                                          "functions[0], cleanupThings: rule.unless[0]: it is null",
		`{` + good + `,"where":null}`:                                                                             "functions[0], cleanupThings: rule.where: it is null",
		`{` + good + `,"where":[{"field":"a","in":null}]}`:                                                        "functions[0], cleanupThings: rule.where[0].in: it is null",
		`{` + good + `,"limit":null}`:                                                                             "functions[0], cleanupThings: rule.limit: it is null",
		`{` + good + `,"owner":null}`:                                                                             "functions[0], cleanupThings: rule.owner: it is null",
		`{"collection":"drafts","age":null}`:                                                                      "functions[0], cleanupThings: rule.age: it is null",
		`null`:                                                                                                    "functions[0], cleanupThings: rule: it is null",
		`{"collection":"chats/{id}/messages","age":{"field":"at","days":1}}`:                                      `for messages below any document use "collectionGroup": "messages"`,
		`{"collection":"chats/*/messages","age":{"field":"at","days":1}}`:                                         `for messages below any document use "collectionGroup": "messages"`,
		`{"objects":"avatars/","age":{"hours":24},"owner":"users"}`:                                               `rule.owner: it must be an object, such as {"collection": "users", "segment": 2}`,
		`{` + good + `,"with":["revisions"]}`:                                                                     `rule.with[0]: it must be an object, such as {"subcollection": "revisions"}`,
		`{` + good + `,"with":{"account":true}}`:                                                                  `rule.with: it must be a list, not an object; for example [{"subcollection": "revisions"}]`,
		`{` + good + `,"where":[{"field":"d","is":"null"}],"set":{"d":[1]}}`:                                      "rule.set.d: it must be a string, a number, true or false or null",
		`{` + good + `,"limit":-1}`:                                                                               "rule.limit: -1 is not from 1",
		`{` + good + `,"maxDuePercent":101}`:                                                                      "rule.maxDuePercent: 101",
		`{` + good + `,"action":"Delete!"}`:                                                                       "rule.action:",
		`{` + good + `,"because":"a\nb"}`:                                                                         "rule.because:",
		`{"collection":"drafts","accounts":"all","age":{"field":"created","days":1}}`:                             "exactly one of collection, collectionGroup, objects and accounts",
		`{"accounts":"anonymous"}`:                                                                                `rule.age: say how old it must be, e.g. {"field": "lastSignIn", "days": 30}`,
		`{"accounts":"guests","age":{"field":"created","days":1}}`:                                                `rule.accounts: "guests" is not one of: anonymous, unverified, disabled, all`,
		`{"accounts":"Anonymous","age":{"field":"created","days":1}}`:                                             `is not one of: anonymous`,
		`{"accounts":"all","age":{"days":1}}`:                                                                     `rule.age.field: "" is neither lastSignIn nor created`,
		`{"accounts":"all","age":{"field":"createdAt","days":1}}`:                                                 `rule.age.field: "createdAt" is neither lastSignIn nor created`,
		`{"accounts":"all","age":{"field":"lastSignIn"}}`:                                                         "rule.age: give one of hours, days and months",
		`{` + guests + `,"where":[{"field":"a","is":"null"}]}`:                                                    `rule.where: it is for documents; declare a rule about the documents that accounts belong to, such as users, with {"account": true}`,
		`{` + guests + `,"with":[{"account":true}]}`:                                                              "rule.with: it is for documents; declare a rule about the documents",
		`{` + guests + `,"archive":"old"}`:                                                                        "rule.archive: it is for documents; declare a rule about the documents",
		`{` + guests + `,"set":{"a":1}}`:                                                                          "rule.set: it is for documents; declare a rule about the documents",
		`{` + guests + `,"owner":{"collection":"users","segment":2}}`:                                             "rule.owner: only objects have an owner; to keep accounts, use unless",
		`{` + guests + `,"limit":-1}`:                                                                             "rule.limit: -1 is not from 1",
		`{` + guests + `,"maxDuePercent":101}`:                                                                    "rule.maxDuePercent: 101",
		`{` + guests + `,"action":"Delete!"}`:                                                                     "rule.action:",
		`{` + guests + `,"unless":[{"document":"users/{authorId}"}]}`:                                             `rule.unless[0].document: "users/{authorId}": for an account, write a collection and {uid}`,
		`{` + guests + `,"unless":[{"document":"users/{uid}{x}"}]}`:                                               `for an account, write a collection and {uid}`,
		`{` + guests + `,"unless":[{"document":"users/{uid}/a/b"}]}`:                                              `for an account, write a collection and {uid}`,
		`{` + guests + `,"unless":[{"document":"{uid}"}]}`:                                                        `"{uid}": for an account, write a collection and {uid}`,
		`{` + guests + `,"unless":[{"document":"a/b/{uid}"}]}`:                                                    `for an account, write a collection and {uid}`,
		`{` + guests + `,"unless":[{"document":"users//a/{uid}"}]}`:                                               `"" is not a part of a path`,
		`{` + guests + `,"unless":[{"document":"users/all"}]}`:                                                    `for an account, write a collection and {uid}`,
		`{"objects":"avatars","age":{"hours":24},"owner":{"collection":"users","segment":2}}`:                     `"avatars" is not a folder`,
		`{"objects":"avatars/","age":{"hours":24}}`:                                                               "rule.owner: say whose they are",
		`{"objects":"avatars/","age":{"field":"at","hours":24},"owner":{"collection":"users","segment":2}}`:       "rule.age.field: an object's age counts from its upload",
		`{"objects":"avatars/","age":{"hours":24},"owner":{"collection":"users","segment":1}}`:                    "rule.owner.segment: 1 lies within avatars/",
		`{"objects":"avatars/","age":{"hours":24},"owner":{"collection":"users","segment":2,"metadata":"owner"}}`: "give either segment or metadata",
		`{"objects":"avatars/","age":{"hours":24},"owner":{"collection":"users","metadata":"owner"},"limit":5}`:   "rule.limit: it is for documents",
	} {
		t.Run(rule, func(t *testing.T) {
			_, problems := parse(rule)
			if len(problems) == 0 || !strings.Contains(problems[len(problems)-1], want) && !strings.Contains(problems[0], want) ||
				len(problems) > 1 && !strings.Contains(want, "there is no") && rule != `{}` {
				t.Errorf("problems %q, want one that says %q", problems, want)
			}
		})
	}
}

// TestWhatIsTaken: a field may be used twice if both uses can be met.
func TestWhatIsTaken(t *testing.T) {
	for _, rule := range []string{
		`{` + good + `,"where":[{"field":"a","is":"not null"},{"field":"a.b","==":1}],"with":[{"object":"a.url","under":"p/"},{"object":"c[].url","under":"p/"},{"object":"c[].small","under":"p/"}]}`,
		`{` + good + `,"where":[{"field":"updatedAt","is":"not null"}]}`,
		`{` + good + `,"where":[{"field":"kind","in":["a",1]},{"field":"cover","is":"text"}],"unless":[{"document":"kinds/{kind}"},{"document":"x/{kind}-{id}"}],"with":[{"object":"cover","under":"p/"}]}`,
	} {
		if _, problems := parse(rule); problems != nil {
			t.Errorf("%s: %q", rule, problems)
		}
	}
}

// TestOneWrongTypeHidesNoOther: of a rule with values of wrong types, all else that is wrong is said at once.
func TestOneWrongTypeHidesNoOther(t *testing.T) {
	for rule, want := range map[string][]string{
		`{"objects":"uploads/{uid}/","age":{"weeks":2},"owner":"users"}`: {`there is no key "weeks"`, "rule.owner: it must be an object",
			`"uploads/{uid}/" contains {`},
		`{` + good + `,"where":[{"field":"readAt","is":7},{"field":"a b","is":"null"}],"unless":null,"with":[{"folder":"x"}]}`: {
			"rule.where[0].is: it must be a string", "where[1].field", "rule.unless: it is null", "with[0].folder"},
	} {
		_, problems := parse(rule)
		for _, part := range want {
			if !slices.ContainsFunc(problems, func(p string) bool { return strings.Contains(p, part) }) {
				t.Errorf("%s: no problem says %q: %q", rule, part, problems)
			}
		}
	}
}

// TestAllProblemsAtOnce: one attempt shows all problems of a list.
func TestAllProblemsAtOnce(t *testing.T) {
	_, problems := parse(`{"collection":"drafts","wher":[],"where":[{"field":"a b","==":1},{"field":"c","is":"odd"}],"with":[{"folder":"x"}],"limit":-1}`)
	for _, want := range []string{`no key "wher"`, "where[0].field", "where[1].is", "age:", "with[0].folder", "limit"} {
		if !slices.ContainsFunc(problems, func(p string) bool { return strings.Contains(p, want) }) {
			t.Errorf("no problem says %q: %q", want, problems)
		}
	}
}

func TestWhatFollowsFromARule(t *testing.T) {
	for rule, want := range map[string]string{ // roles, index, overrides
		`{` + good + `}`: "firestore | | cleanupUndo.*",
		`{` + good + `,"where":[{"field":"a","is":"null"}]}`:                                                                              "firestore | | cleanupUndo.*",
		`{` + good + `,"where":[{"field":"a","==":1},{"field":"b","is":"text"},{"field":"c","is":"true"},{"field":"d","is":"not true"}]}`: "firestore | drafts a c b updatedAt | cleanupUndo.*",
		`{` + good + `,"with":[{"object":"photo","under":"p/"},{"account":true}]}`:                                                        "auth firestore storage | | cleanupUndo.*",
		`{"collection":"teams/main/drafts","age":{"field":"at","hours":1},"where":[{"field":"s","in":["x"]}],"archive":"old"}`:            "firestore | drafts s at | cleanupUndo.*",
		`{` + guests + `,"unless":[{"document":"users/{uid}"}]}`:                                                                          "auth firestore | | cleanupUndo.*",
		`{"objects":"avatars/","age":{"hours":24},"owner":{"collection":"users","segment":2}}`:                                            "firestore storage | | cleanupUndo.*",
	} {
		e, problems := parse(rule)
		if problems != nil {
			t.Fatal(problems)
		}
		var backends, index, overrides []string
		for _, b := range e.Uses() {
			backends = append(backends, string(b))
		}
		for _, i := range e.Indexes {
			index = append(index, i.CollectionGroup)
			for _, f := range i.Fields {
				index = append(index, f.FieldPath)
			}
		}
		for _, o := range e.FieldOverrides {
			overrides = append(overrides, o.CollectionGroup+"."+o.FieldPath)
		}
		got := strings.Join(backends, " ") + " | " + strings.Join(append(index, "| "+strings.Join(overrides, " ")), " ")
		if got != want {
			t.Errorf("%s: %s, want %s", rule, got, want)
		}
	}
}

func TestJudged(t *testing.T) {
	for rule, want := range map[string]map[string][]string{
		`{` + good + `}`: {"drafts": {"updatedAt"}},
		`{` + good + `,"where":[{"field":"author","is":"not null"},{"field":"meta.done","is":"true"}],"unless":[{"document":"users/{author}/holds/{id}"}],
			"with":[{"subcollection":"revisions"},{"collection":"comments","field":"draftId"},{"object":"photos[].url","under":"p/"},{"account":true}]}`: {
			"drafts": {"author", "meta.done", "updatedAt", "photos[].url"}, "comments": {"draftId"},
		},
		`{"collectionGroup":"activity","age":{"field":"at","months":13}}`:                                  {"activity": {"at"}},
		`{` + guests + `,"unless":[{"document":"users/{uid}"}]}`:                                           {},
		`{"objects":"avatars/","age":{"hours":24},"owner":{"collection":"users","segment":2,"stem":true}}`: {},
	} {
		e, problems := parse(rule)
		if problems != nil {
			t.Fatal(problems)
		}
		if got := e.Rule.Judged(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", rule, got, want)
		}
	}
}

func TestWords(t *testing.T) {
	for rule, want := range map[string]string{
		`{` + good + `}`: "deletes documents of drafts whose updatedAt is more than 90 days ago",
		`{"collection":"reports","where":[{"field":"status","in":["reviewed","dismissed"]}],"age":{"field":"createdAt","months":1},"limit":5}`:                                                                            "deletes documents of reports whose status is reviewed or dismissed, and whose createdAt is more than 1 month ago; 5 a run at most",
		`{` + good + `,"where":[{"field":"published","is":"not true"}],"with":[{"subcollection":"revisions"},{"collection":"comments","field":"draftId"},{"object":"coverUrl","under":"drafts/"}],"archive":"oldDrafts"}`: "deletes documents of drafts whose published is not true, and whose updatedAt is more than 90 days ago; each takes along its documents in revisions, the documents of comments whose draftId names it and the objects below drafts/ that coverUrl names; each is copied to oldDrafts first",
		`{` + good + `,"where":[{"field":"deleted","is":"not true"}],"set":{"deleted":true,"deletedAt":"{now}"},"unless":[{"document":"holds/{id}"}]}`:                                                                    "sets deleted and deletedAt in documents of drafts whose deleted is not true, and whose updatedAt is more than 90 days ago, unless holds/{id} exists",
		`{` + guests + `,"unless":[{"document":"users/{uid}"},{"document":"teams/main/holds/h-{id}"}],"limit":5}`:                                                                                                         "deletes anonymous accounts whose last sign-in, last token and creation are all more than 30 days ago, unless users/{uid} exists, unless teams/main/holds/h-{id} exists; 5 a run at most",
		`{"accounts":"unverified","age":{"field":"created","months":1}}`:                                                                                                                                                  "deletes accounts with an unverified e-mail address and no other way to sign in than a password that were created more than 1 month ago",
		`{"objects":"avatars/","age":{"hours":24},"owner":{"collection":"users","segment":2,"stem":true}}`:                                                                                                                "deletes objects below avatars/ that were uploaded more than 24 hours ago and whose owner in users does not exist (avatars/{id}.…)",
	} {
		e, problems := parse(rule)
		if problems != nil {
			t.Fatal(problems)
		}
		if got := e.Rule.Words(); got != want {
			t.Errorf("%s:\n got %s\nwant %s", rule, got, want)
		}
	}
}
