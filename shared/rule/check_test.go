package rule_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/shared/manifest"
	"github.com/firesweep/firesweep/shared/rule"
)

// parse reads a rule as an entry of a list of functions, and returns the problems.
func parse(rule string) (manifest.Entry, []string) {
	inner := strings.TrimSuffix(strings.TrimPrefix(rule, "{"), "}")
	if inner != "" {
		inner = "," + inner
	}
	entries, err := manifest.ParseRules(manifest.File{Name: "rules.json",
		Text: []byte(`{"rules":[{"name":"cleanupThings","schedule":"0 4 * * *"` + inner + `}]}`)})
	if err != nil {
		return manifest.Entry{}, strings.Split(err.Error(), "\n")
	}
	return entries[0], nil
}

const good = `"collection":"drafts","age":{"field":"updatedAt","days":90}`

const guests = `"accounts":"anonymous","age":{"by":"lastActive","days":30}`

const warnsInAll = `{"collectionGroup":"drafts","age":{"field":"editedAt","days":90},"warn":{"days":1,"field":"warnedAt","create":"mail","data":{"to":"{ownerId}"}}}`

func TestWhatIsRefused(t *testing.T) {
	for rule, want := range map[string]string{ // want is a part of the only problem
		`{}`:                      "exactly one of collection, collectionGroup, objects and accounts; the Realtime Database is out of reach: it needs a function of your own",
		`{"collection":"drafts"}`: `age: it is missing: write {"field":"createdAt","days":90}, or "any"`,
		`{"collection":"drafts","age":{"days":90}}`:                                                                         "age.field: by which time? Name a field that holds it, or give by: updateTime or createTime",
		`{"collection":"drafts","age":{"field":"at"}}`:                                                                      "age: give one of hours, days and months",
		`{"collection":"drafts","age":{"field":"at","days":1,"months":1}}`:                                                  "age: give one of hours, days and months",
		`{"collection":"drafts","age":{"field":"at","days":-1}}`:                                                            "age: days is -1: write 0 or more",
		`{"collection":"drafts","age":{"field":"at","days":36501}}`:                                                         "age: it is more than 100 years",
		`{"collection":"drafts","age":{"field":"at","days":1.5}}`:                                                           "rules[0], cleanupThings: age.days: it must be a whole number",
		`{"collection":"drafts","age":{"field":"at","days":"90"}}`:                                                          "rules[0], cleanupThings: age.days: it must be a whole number, not a string",
		`{"collection":"drafts","objects":"drafts/","age":{"hours":1}}`:                                                     "exactly one of collection, collectionGroup, objects and accounts",
		`{"collection":"drafts/a","age":{"field":"at","days":1}}`:                                                           `"drafts/a" is not a collection`,
		`{` + good + `,"gone":[{"collection":"chats/{c}/users","field":"uid"}]}`:                                            `write "collectionGroup": "users"`,
		`{"collection":"/drafts","age":{"field":"at","days":1}}`:                                                            `"/drafts" is not a collection`,
		`{"collection":"cleanupRuns","age":{"field":"at","days":1}}`:                                                        "cleanupRuns belongs to Firesweep itself",
		`{"collection":"a/b/cleanupJobs","age":{"field":"at","days":1}}`:                                                    "cleanupJobs belongs to Firesweep itself",
		`{` + good + `,"colection":"x"}`:                                                                                    `rules[0], cleanupThings: there is no key "colection": is it "collection"?`,
		`{` + good + `,"Where":[]}`:                                                                                         `there is no key "Where"`,
		`{` + good + `,"where":[{"field":"a","equals":1}]}`:                                                                 `rules[0], cleanupThings: where[0]: there is no key "equals"; the keys are field, is, ==`,
		`{` + good + `,"where":[{"field":"a"}]}`:                                                                            `where[0]: say what must hold: "is", or one of == != < <= > >=`,
		`{` + good + `,"where":[{"field":"a","==":1,"is":"set"}]}`:                                                          `where[0]: say what must hold: "is", or one of`,
		`{` + good + `,"where":[{"field":"a","is":"nul"}]}`:                                                                 `"nul" is not one of: text, empty, not empty, set, not set, missing, not true`,
		`{` + good + `,"where":[{"field":"a","in":[]}]}`:                                                                    "give at least one value",
		`{` + good + `,"where":[{"field":"a","in":["x",null]}]}`:                                                            `where[0]["in"][1]: it must be a string, a number, true or false`,
		`{` + good + `,"where":[{"field":"a","in":["x","x"]}]}`:                                                             "x is listed twice",
		`{` + good + `,"where":[{"field":"a","==":[1]}]}`:                                                                   `it must be a string, a number, true or false`,
		`{` + good + `,"where":[{"field":"a-b","==":1}]}`:                                                                   `"a-b" is not a field's name`,
		`{` + good + `,"where":[{"field":"__a__","==":1}]}`:                                                                 `"__a__" is not a field's name`,
		`{` + good + `,"where":[{"field":"updatedAt","is":"not set"}]}`:                                                     "updatedAt has two conditions: the age is one",
		`{` + good + `,"where":[{"field":"a","in":[1,2,3,4,5,6]},{"field":"b","in":[1,2,3,4,5,6]}]}`:                        "36 combinations of values",
		`{` + good + `,"unless":[{"document":"users"}]}`:                                                                    `"users" is not a document's path`,
		`{` + good + `,"unless":[{"document":"{id}/x"}]}`:                                                                   "{id} stands for a collection",
		`{` + good + `,"unless":[{"document":"users/{a-b}"}]}`:                                                              "{a-b} is neither {id} nor a field",
		`{` + good + `,"unless":[{"document":"users//x/y"}]}`:                                                               `"" is not a part of a path`,
		`{"collection":7,"age":{"field":"at","days":1}}`:                                                                    "rules[0], cleanupThings: collection: it must be a string, not a number",
		`{"collection":"a","age":[]}`:                                                                                       `age: it is empty: leave it out, or write "any"`,
		`{"collection":"a","age":3}`:                                                                                        `age: it must be an object, not a number, such as {"field": "createdAt", "days": 90}`,
		`{` + good + `,"where":{"field":"a"}}`:                                                                              "rules[0], cleanupThings: where: it must be a list, not an object",
		`{` + good + `,"where":"a"}`:                                                                                        "rules[0], cleanupThings: where: it must be a list, not a string",
		`{` + good + `,"where":["a"]}`:                                                                                      "rules[0], cleanupThings: where[0]: it must be an object",
		`{` + good + `,"with":[{"account":"yes"}]}`:                                                                         `with[0].account: whose? "{id}"`,
		`{` + good + `,"with":[{"collection":"notes","field":"of","is":"stale"}]}`:                                          "with[0].is: it cannot be beside collection: leave it out",
		`{"collection":"tenants/acme/drafts","age":"any","with":[{"account":"{id}"}]}`:                                      "with[0]: ids repeat in tenants/acme/drafts",
		`{` + good + `,"with":[{"subcollection":"items","with":[{"document":"reservations/{id}"}]}]}`:                       "with[0].with[0].document: ids repeat below other documents",
		`{` + guests + `,"with":[{"document":"users/{uid}","with":[{"document":"profiles/{uid}"}]}]}`:                       "with[0].with: {uid} would be a field of that document",
		`{"collectionGroup":"comments","age":{"field":"at","days":1},"with":[{"collection":"comments","field":"replyTo"}]}`: "it is the rule's own collection",
		`{` + good + `,"with":[{}]}`:                                                                                        "with[0]: give exactly one of document,",
		`{` + good + `,"with":[{"subcollection":"a/b"}]}`:                                                                   `"a/b" is not a collection's name`,
		`{` + good + `,"with":[{"subcollection":"cleanupUndo"}]}`:                                                           "belongs to Firesweep itself",
		`{` + good + `,"with":[{"collection":"comments"}]}`:                                                                 "collection and field belong together",
		`{` + good + `,"with":[{"collection":"drafts","field":"of"}]}`:                                                      "it is the rule's own",
		`{` + good + `,"with":[{"objects":"drafts","field":"coverUrl"}]}`:                                                   `"drafts" is neither a folder of the item's id`,
		`{` + good + `,"with":[{"objects":"/**","field":"coverUrl"}]}`:                                                      "\"/**\" is not a pattern of objects' names",
		`{` + good + `,"with":[{"objects":"drafts/**"}]}`:                                                                   `"drafts/**" is neither a folder of the item's id, such as drafts/{id}/**, nor one with "field"`,
		`{` + good + `,"with":[{"objects":"drafts/x{id}/**"}]}`:                                                             `with[0].objects: "drafts/x{id}/**" is neither a folder of the item's id`,
		`{` + good + `,"with":[{"objects":"avatars/{id}.*"}]}`:                                                              `with[0].objects: "avatars/{id}.*" is neither a folder of the item's id`,
		`{` + good + `,"with":[{"subcollection":"a","with":[{"subcollection":"**"}]}]}`:                                     "with[0].with[0].subcollection: ** is only for what is below the rule's own documents",
		`{` + guests + `,"unless":[{"collection":"holds","field":"of"}]}`:                                                   `unless[0]: write a document of the account's uid, such as {"document": "users/{uid}"}, or a condition`,
		`{` + good + `,"where":[{"==":1}]}`:                                                                                 `where[0].field: it is missing: name a field`,
		`{` + good + `,"set":{}}`:                                                                                           "set: give at least one field",
		`{` + good + `,"set":{"a":true}}`:                                                                                   `every run would find the same documents again: add {"field":"a","is":"not true"} to where`,
		`{` + good + `,"set":{"a":true},"where":[{"field":"a","is":"set"}]}`:                                                `every run would find the same documents again: add {"field":"a","is":"not true"} to where`,
		`{` + good + `,"warn":{"field":"w"}}`:                                                                               "warn.days: how many days are left after the warning?",
		`{` + good + `,"warn":{"days":0,"field":"w"}}`:                                                                      "warn.days: 0 is not from 1 to 3650",
		`{` + good + `,"warn":{"days":7}}`:                                                                                  `warn.field: it is missing: name a field`,
		`{` + good + `,"warn":{"days":7,"field":"a.b"}}`:                                                                    "warn.field: the mark is a field of its own, not one of a map",
		`{` + good + `,"warn":{"days":7,"field":"updatedAt"}}`:                                                              "warn.field: the rule judges or writes updatedAt: give the mark a field of its own",
		`{` + good + `,"where":[{"field":"a.b","==":1}],"warn":{"days":7,"field":"a"}}`:                                     "warn.field: the rule judges or writes a.b",
		`{` + good + `,"where":[{"field":"a","is":"not true"}],"set":{"a":true,"w":1},"warn":{"days":7,"field":"w"}}`:       "warn.field: the rule judges or writes w",
		`{` + good + `,"with":[{"objects":"p/**","field":"w[].url"}],"warn":{"days":7,"field":"w"}}`:                        "warn.field: the rule judges or writes w[].url",
		`{"collection":"a","age":{"field":"l[].at","days":9},"remove":"l[]","warn":{"days":7,"field":"w"}}`:                 "warn: it is for documents that are deleted or changed as a whole",
		`{"collection":"a","age":"any","gone":[{"document":"b/{id}"}],"warn":{"days":7,"field":"w"}}`:                       "age: due since when?",
		`{"collection":"a","age":{"by":"updateTime","days":9},"warn":{"days":7,"field":"w"}}`:                               "age: the mark of warn renews updateTime",
		`{` + good + `,"warn":{"days":7,"field":"w","create":"mail"}}`:                                                      "warn.create: create and data belong together",
		`{` + good + `,"warn":{"days":7,"field":"w","data":{"to":"x"}}}`:                                                    "warn.create: create and data belong together",
		`{` + good + `,"warn":{"days":7,"field":"w","create":"drafts","data":{"a":"{id}"}}}`:                                "warn.create: it is the rule's own collection",
		`{` + good + `,"with":[{"document":"authDeletionRetries/{by}"}]}`:                                                   "with[0].document: authDeletionRetries belongs to Firesweep itself",
		`{` + good + `,"with":[{"document":"users/{by}/cleanupTodo/{id}"}]}`:                                                "cleanupTodo belongs to Firesweep itself",
		`{` + good + `,"unless":[{"document":"cleanupJobs/{by}"}]}`:                                                         "cleanupJobs belongs to Firesweep itself",
		`{` + good + `,"warn":{"days":7,"field":"w","create":"cleanupRuns","data":{"a":"{id}"}}}`:                           "warn.create: cleanupRuns belongs to Firesweep itself",
		`{` + good + `,"warn":{"days":7,"field":"w","create":"a/b","data":{"a":"{id}"}}}`:                                   `warn.create: "a/b" is not a collection`,
		`{` + good + `,"warn":{"days":7,"field":"w","create":"a/{parent}/b","data":{}}}`:                                    "warn.create: {parent} is no id",
		`{` + good + `,"warn":{"days":7,"field":"w","create":"mail","data":{"to":["{a b}"]}}}`:                              "warn.data: {a b} is neither {date}, {id} nor a field",
		`{` + good + `,"warn":{"days":7,"field":"w","create":"mail","data":{"__x__":"{id}"}}}`:                              `warn.data: "__x__" is not a field's name`,
		`{` + guests + `,"warn":{"days":7,"field":"w"}}`:                                                                    `warn: it is for documents, not for accounts: write a rule about documents of these accounts`,
		`{` + good + `,"limit":0}`:                                                                                          "limit: 0 is not from 1 to 1000000",
		`{` + good + `,"maxDuePercent":0}`:                                                                                  "maxDuePercent: 0 is not from 1 to 100",
		`{` + good + `,"unless":null}`:                                                                                      "rules[0], cleanupThings: unless: it is null: give a value, or leave it out",
		`{` + good + `,"unless":[null]}`:                                                                                    "rules[0], cleanupThings: unless[0]: it is null",
		`{` + good + `,"where":[{"field":"a","in":null}]}`:                                                                  `where[0]["in"]: it must be a list`,
		`{"collection":"chats/*/messages","age":{"field":"at","days":1}}`:                                                   `"chats/*/messages" is not a collection, such as drafts or chats/{chat}/users; for any id write {x}`,
		`{` + good + `,"with":["revisions"]}`:                                                                               `with[0]: it must be an object, such as {"subcollection": "revisions"}`,
		`{` + good + `,"with":{"account":"{id}"}}`:                                                                          `with: it must be a list, not an object; for example [{"subcollection": "revisions"}]`,
		`{"accounts":"anonymous"}`:                                                                                          `age: it is missing: write {"by":"lastActive","days":30}`,
		`{"accounts":"guests","age":{"by":"creationTime","days":1}}`:                                                        `accounts: "guests" is not one of: all, anonymous, disabled, unverified`,
		`{"accounts":"all","age":{"field":"createdAt","days":1}}`:                                                           "age.by: by which time? Write \"creationTime\" or \"lastActive\"",
		`{"accounts":"all","age":{"by":"lastActive"}}`:                                                                      "age: give one of hours, days and months",
		`{"objects":"a/{u}","age":{"days":1},"gone":[{"document":["b/{u}","c/{metadata.u}"]}]}`:                             "gone: of several documents, each must be named by what the pattern binds",
		`{` + good + `,"gone":[{"document":["users/{a}",5]}]}`:                                                              "gone[0].document[1]: it must be a string, not a number",
		`{` + good + `,"unless":[{"document":["users/{a}","teams"]},{"subcollection":"a"}]}`:                                "unless[0].document: \"teams\" is not a document's path",
		`{` + guests + `,"where":[{"field":"claims","==":1}]}`:                                                              `where[0]: claims holds keys: write one, as in claims.key, or "is": "empty"`,
		`{` + guests + `,"where":[{"field":"claims.*","is":"set"}]}`:                                                        `where[0].field: * in "claims.*" is not every key`,
		`{` + good + `,"where":[{"field":"a.*.b","is":"set"}]}`:                                                             `where[0].field: * in "a.*.b" is not every key: write one key`,
		`{` + good + `,"where":[{"field":"b","is":"not true"}],"set":{"b":true,"a.*":1}}`:                                   `set: * in "a.*" is not every key`,
		`{` + good + `,"unless":[{"document":"users/*"}]}`:                                                                  `unless[0].document: * in "users/*" is no id: write {id}, a field such as {userId}`,
		`{` + good + `,"unless":[{"subcollection":"*"}]}`:                                                                   `unless[0].subcollection: * in "*" is not every collection`,
		`{"collectionGroup":"*","age":{"field":"at","days":1}}`:                                                             `collectionGroup: * in "*" is not every collection`,
		`{` + good + `,"with":[{"objects":"p/**","field":"a","metadata":"*"}]}`:                                             `with[0].metadata: * in "*" is not every key`,
		`{"objects":"*.jpg","age":{"days":1},"gone":[{"collection":"c","field":"a"}]}`:                                      "objects: in the whole bucket, who knows what refers to what?",
		`{"objects":"a/**","age":{"days":1},"gone":[{"document":"users/{metadata.*}"}]}`:                                    "gone[0].document: {metadata.*} is not in the names of the objects: write {metadata.*} into objects",
		`{` + guests + `,"where":[{"field":"a","is":"not set"}]}`:                                                           `where[0].field: accounts have no "a": they have claims., email,`,
		`{` + guests + `,"with":[{"account":"{id}"}]}`:                                                                      `with[0]: which document? e.g. {"document":"users/{uid}"}`,
		`{` + guests + `,"set":{"a":1}}`:                                                                                    "set: it is for documents, not for accounts",
		`{` + guests + `,"unless":[{"document":"users/{authorId}"}]}`:                                                       `unless[0].document: "users/{authorId}": for an account, write a collection and {uid}`,
		`{` + guests + `,"unless":[{"document":"users/{uid}{x}"}]}`:                                                         `for an account, write a collection and {uid}`,
		`{` + guests + `,"unless":[{"document":"users/{uid}/a/b"}]}`:                                                        `for an account, write a collection and {uid}`,
		`{` + guests + `,"unless":[{"document":"{uid}"}]}`:                                                                  `"{uid}": for an account, write a collection and {uid}`,
		`{` + guests + `,"unless":[{"document":"a/b/{uid}"}]}`:                                                              `for an account, write a collection and {uid}`,
		`{` + guests + `,"unless":[{"document":"users//a/{uid}"}]}`:                                                         `"" is not a part of a path`,
		`{` + guests + `,"unless":[{"document":"users/all"}]}`:                                                              `for an account, write a collection and {uid}`,
		`{"collection":"a/{x}/b","age":"any","with":[{"objects":"b/{id}/**"}]}`:                                             "with[0]: ids repeat in a/{x}/b",
		`{"collection":"a/{x}/b","age":"any","with":[{"document":"profiles/{profile}"}]}`:                                   "with[0]: with deletes what a field refers to only where the rule is about a collection at the top",
		`{"collection":"a","age":"any","gone":[{"document":"comments/{parent}"}]}`:                                          "gone[0].document: {parent} is the path of the document above, so a field of this name",
		`{"collectionGroup":"b","age":"any","with":[{"account":"{id}"}]}`:                                                   "with[0]: ids repeat in b",
		`{"collectionGroup":"b","age":"any","with":[{"collection":"c","field":"of.{id}","remove":true}]}`:                   "with[0]: ids repeat in b",
		`{` + good + `,"remove":"tokens"}`:                                                                                  `remove: "tokens" is neither a list nor a map`,
		`{` + good + `,"remove":"tokens[]"}`:                                                                                `remove: which entries? e.g. "age": {"field":"tokens[].usedAt","days":90}`,
		`{` + good + `,"remove":"t[]","where":[{"field":"t[].a","is":"missing"}]}`:                                          "where[0]: nobody could tell an entry without t[].a from a misspelt field",
		`{` + good + `,"where":[{"field":"t[].a","==":1}]}`:                                                                 `where[0].field: "t[].a": nothing looks into maps in a list`,
		`{` + good + `,"where":[{"field":"a","is":"not set"}],"set":{"a":"{hash}"}}`:                                        `set: a: {hash} would be written as it is`,
		`{` + guests + `,"with":[{"document":"users/{uid}/a/b"}]}`:                                                          `with[0]: which document? e.g. {"document":"users/{uid}"}`,
		`{` + guests + `,"with":[{"document":"users/x-{uid}"}]}`:                                                            `with[0]: which document?`,
		`{` + guests + `,"with":[{"document":"users/{uid}","with":[{"account":"{id}"}]}]}`:                                  "with[0].with: the rule deletes the account already",
		`{` + guests + `,"with":[{"document":"users/{uid}"}],"unless":[{"document":"users/{uid}"}]}`:                        "with[0].document: unless keeps the account of such a document",
		`{` + guests + `,"with":[{"document":"users/{uid}","with":[{"objects":"a/**"}]}]}`:                                  "with[0].with[0].objects",
		`{"objects":"p/**","age":{"days":1},"gone":[{"collection":"c","field":"a"},{"document":"d/e"}]}`:                    "gone[1]: give one document, or a collection and field for each place",
		`{"objects":"p/**","age":{"hours":0},"gone":[{"collection":"c","field":"a"}]}`:                                      "age: an object is uploaded before a document refers to it",
		`{"objects":"p/**","age":{"days":1},"gone":[{"collection":"c","field":"a.{id}"}]}`:                                  `gone[0].field: "a.{id}" is not a field's name`,
		`{"objects":"p/**","age":{"days":1},"gone":[{"collection":"c","field":"a","where":[{"field":"live","==":true}]}]}`:  "gone[0].where: an object is in use whatever else",
		`{` + good + `,"where":[{"field":"a","in":[1,2,3]},{"field":"b","in":[1,2,3]},{"field":"c","in":[1,2]}]}`:           "where: 18 combinations of values and 108 filters and orders of all of them",
		`{"objects":"a/{x}*.png","age":{"days":1},"gone":[{"document":"users/{x}"}]}`:                                       "a hole and a *, and nobody knows where one ends",
		`{"objects":"a/{x}/{x}.*","age":{"days":1},"gone":[{"document":"users/{x}"}]}`:                                      "has the same hole twice",
		`{"objects":"avatars/**","age":{"hours":24}}`:                                                                       "gone: without it every old object would be deleted",
		`{"objects":"avatars/**","age":{"hours":24},"gone":[{"document":"users/{metadata.owner}"}],"limit":5}`:              "limit: it is for documents and accounts, not for objects: leave it out",

		`{` + good + `,"where":[{"field":"a","is":"not set"}],"set":{"a":{"at":"{now}"}}}`:                                           "set: a: {now} would be written as it is",
		`{` + good + `,"where":[{"field":"a","is":"not set"}],"set":{"a":["by {deletedBy}"]}}`:                                       "set: a: {deletedBy} would be written as it is",
		`{` + good + `,"where":[{"field":"a","<":"2026-01-31"}]}`:                                                                    `where[0]["<"]: "2026-01-31" is a time, and a condition compares no times: write "age"`,
		`{` + good + `,"gone":[{"document":"users/{id}","where":[{"field":"a","==":1}]}]}`:                                           "gone[0].where: gone asks only whether the document exists: write all of it into \"unless\"",
		`{"accounts":"all","age":{"by":"lastActive","days":1},"unless":[{"document":"users/{uid}","where":[{"field":"a","==":1}]}]}`: "unless[0].where: it cannot be beside document: leave it out",

		`{` + good + `,"unless":[{"collection":"holds","field":"draft","where":[{"field":"a","in":[1,2,3,4,5,6]},{"field":"b","in":[1,2,3,4,5,6]}]}]}`: "where of holds: 36 combinations of values",

		`{` + good + `,"gone":[{"document":"users/userId"}]}`:                                                 `gone[0].document: "users/userId" would be the same for each of the documents`,
		`{` + good + `,"unless":[{"document":"users/$userId"}]}`:                                              `unless[0].document: "users/$userId" would be the same for each`,
		`{` + good + `,"gone":[{"account":"users/{id}"}]}`:                                                    `gone[0].account: "users/{id}" is no uid: write {id}, or a field in braces`,
		`{` + good + `,"gone":[{"account":"owner"}]}`:                                                         `gone[0].account: "owner" is no uid: write {id}, or a field in braces`,
		`{` + good + `,"where":[]}`:                                                                           "where: it is empty: leave it out",
		`{` + good + `,"unless":[{"collection":"holds","field":"of","where":[]}]}`:                            "unless[0].where: it is empty: leave it out",
		`{` + good + `,"gone":[{"document":"drafts/{id}"}]}`:                                                  `gone[0].document: "drafts/{id}" is the item itself`,
		`{"collection":"a/{b}/c","age":"any","unless":[{"document":"{parent}/c/{id}"}]}`:                      `unless[0].document: "{parent}/c/{id}" is the item itself`,
		`{"objects":"faces/{uid}.*","age":{"days":1},"gone":[{"account":"{uid}"}]}`:                           `gone[0]: files know no account: write a document of its uid`,
		`{` + good + `,"with":[{"collection":"tenants/{t}/events","field":"carts[]","remove":true}]}`:         `with[0].collection: "tenants/{t}/events" is many collections, and with looks in one`,
		`{` + good + `,"where":[{"field":"{status}","==":1}]}`:                                                `where[0].field: {status} is not in the rule's path, which has id: for a field write status`,
		`{` + good + `,"warn":{"days":7,"field":"w","create":"mail","data":{"to":["email"],"day":"{date}"}}}`: "warn.data: it would be the same for each document",
		`{` + good + `,"unless":[{"account":"a/b"}]}`:                                                         `unless[0].account: "a/b" is no uid: write {id}, or a field in braces`,
		`{` + good + `,"with":[{"collection":"drafts/{id}/parts","field":"a"}]}`:                              `for what lies below the item write "subcollection": "parts"`,
		`{` + good + `,"with":[{"subcollection":"drafts/{id}/parts"}]}`:                                       `which has no slash: is it "parts"?`,
		`{` + good + `,"with":[{"collectionGroup":"parts","field":"a"}]}`:                                     "with[0]: give exactly one of document, account, subcollection, collection and objects",
		`{` + good + `,"unless":[{"subcollection":"parts","remove":true}]}`:                                   "unless[0].remove: it cannot be beside subcollection",
		`{` + good + `,"with":[{"collection":"parts","field":"a","where":[{"field":"b","==":1}]}]}`:           "with[0].where: it is for gone and unless: leave it out",
		`{` + good + `,"with":[{"objects":"p/*/**","field":"a"}]}`:                                            `"p/*/**" is neither a folder of the item's id`,
		`{"objects":"avatars/","age":{"days":1},"gone":"nobody"}`:                                             `all below it is "avatars/**"`,
		`{"collection":"drafts","age":{"field":"at","day":9}}`:                                                `age: there is no key "day": is it "days"?`,
		`{"collection":"drafts","age":{"field":"at","years":1}}`:                                              `age: there is no key "years": write "months": 12 for each`,
		`{` + good + `,"where":[{"field":"a","op":"=="}]}`:                                                    `where[0]: there is no key "op": write the operator as a key, as in "==": "done"`,
		`{` + good + `,"where":[{"field":"a","is":false}]}`:                                                   `where[0].is: it must be a string, not true or false, such as "not set"`,

		// What unless in with is for, and what is out of reach.
		`{` + good + `,"with":[{"collection":"teams","field":"members[]","remove":true,"unless":[{"document":"h/{id}"}]}]}`: "it keeps what is deleted",
		`{` + good + `,"with":[{"subcollection":"**","unless":[{"document":"h/{id}"}]}]}`:                                   "it keeps what is deleted",
		`{` + good + `,"with":[{"account":"{id}","unless":[{"document":"h/{id}"}]}]}`:                                       "it cannot be beside account",
		`{` + good + `,"with":[{"objects":"x/{id}/**","unless":[{"document":"h/{id}"}]}]}`:                                  "it cannot be beside objects",
		`{` + good + `,"with":[{"subcollection":"notes","unless":[{"document":"h"}]}]}`:                                     "with[0].unless[0].document",
		`{` + good + `,"with":[{"subcollection":"notes","unless":[{"document":"cleanupRuns/{id}"}]}]}`:                      "belongs to Firesweep itself",
		`{"collection":"users","age":"any","with":[{"document":"{trash.*}/{id}"}]}`:                                         "mark its own documents with a field for a rule about them",

		`{"collectionGroup":"b","age":"any","with":[{"document":"{parent}","with":[{"document":"p/{id}"}]}]}`:        "with[0].with[0].document: ids repeat below other documents",
		`{"collection":"a/{b}/c/{d}/e","age":"any","with":[{"document":"{parent}","with":[{"document":"p/{id}"}]}]}`: "with[0].with[0].document: ids repeat below other documents",
		`{"collectionGroup":"members","age":"any","with":[{"document":"user_chats/{id}/{parent}"}]}`:                 "with[0].document: {parent} can only stand first",
		`{"collection":"chats/{chat}/users","age":"any","unless":[{"document":"user_holds/{id}/{parent}"}]}`:         "unless[0].document: {parent} can only stand first",
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
		`{` + good + `,"where":[{"field":"a","is":"set"},{"field":"a.b","==":1}],"with":[{"objects":"p/**","field":"a.url"},{"objects":"p/**","field":"c[].url"},{"objects":"p/**","field":"c[].small"}]}`,
		`{` + good + `,"where":[{"field":"updatedAt","is":"set"}]}`,
		`{` + good + `,"where":[{"field":"a","is":"not set"}],"set":{"a":"{\"b\":1}, {}"}}`,
		`{` + good + `,"where":[{"field":"a","is":"set"}],"set":{"a":"{delete}"}}`,
		`{"collectionGroup":"users","age":"any","unless":[{"document":"users/{user}/holds/{id}"}]}`,
		`{"collection":"a/{b}/c","age":"any","with":[{"document":"u/{id}/{parent}"}],"unless":[{"document":"{parent}/holds/{id}"}]}`,
		`{"collectionGroup":"c","age":"any","with":[{"document":"{parent}","with":[{"subcollection":"p"}]}],"unless":[{"document":"{parent}/holds/{id}"}]}`,
		`{` + good + `,"with":[{"objects":"p/**","field":"cover"}],"unless":[{"collection":"links","field":"draftUrl"},{"collection":"x","field":"curl"}]}`,
		`{` + good + `,"unless":[{"collection":"holds","field":"draft","where":[{"field":"a","in":[1,2,3,4,5,6,7,8,9,10]}]}]}`,
		`{` + good + `,"where":[{"field":"kind","in":["a",1]},{"field":"cover","is":"text"}],"unless":[{"document":"kinds/{kind}"},{"document":"x/{kind}-{id}"}],"with":[{"objects":"p/**","field":"cover"}]}`,
	} {
		_, problems := parse(rule)
		check.Same(t, rule, []string(nil), problems)
	}
}

// TestOneWrongTypeHidesNoOther: of a rule with values of wrong types, all else that is wrong is said at once.
func TestOneWrongTypeHidesNoOther(t *testing.T) {
	for rule, want := range map[string][]string{
		`{"objects":"uploads/{uid}/","age":{"weeks":2},"gone":"users"}`: {`there is no key "weeks"`, "gone: it must be a list",
			`"uploads/{uid}/" is not a pattern`},
		`{` + good + `,"where":[{"field":"readAt","is":7},{"field":"a b","is":"not set"}],"unless":null,"with":[{"objects":"x"}]}`: {
			"where[0].is: it must be a string", "where[1].field", "unless: it is null", "with[0].objects"},
		`{` + good + `,"where":[{"field":"a","in":[[1],[1]]},{"field":"b","is":"nul"}]}`: {
			`where[0]["in"][0]: it must be a string, a number`, `where[0]["in"][1]: it must be`, "where[1].is"},
		`{"collection":"drafts","wher":[],"where":[{"field":"a b","==":1},{"field":"c","is":"odd"}],"with":[{"objects":"x"}],"limit":-1}`: {
			`no key "wher"`, "where[0].field", "where[1].is", "age:", "with[0].objects", "limit"},
	} {
		_, problems := parse(rule)
		check.Holds(t, strings.Join(problems, "\n"), want...)
	}
}

func TestWhatFollowsFromARule(t *testing.T) {
	for rule, want := range map[string]string{ // backends, indexes
		`{` + good + `}`: "firestore |",
		`{` + good + `,"where":[{"field":"a","is":"not set"}]}`:                                                                         "firestore |",
		`{` + good + `,"where":[{"field":"a","==":1},{"field":"b","is":"text"},{"field":"c","==":true},{"field":"d","is":"not true"}]}`: "firestore | drafts a c b updatedAt",
		`{` + good + `,"with":[{"objects":"p/**","field":"photo"},{"account":"{id}"}]}`:                                                 "auth firestore storage |",
		`{"collection":"teams/main/drafts","age":{"field":"at","hours":1},"where":[{"field":"s","in":["x"]}]}`:                          "firestore | drafts s at",
		`{` + guests + `,"unless":[{"document":"users/{uid}"}]}`:                                                                        "auth firestore |",
		warnsInAll: "firestore | drafts editedAt drafts warnedAt",
	} {
		e, problems := parse(rule)
		if problems != nil {
			t.Fatal(problems)
		}
		var backends []string
		for _, b := range e.Uses() {
			backends = append(backends, string(b))
		}
		got := strings.Join(backends, " ") + " |"
		for _, i := range e.Indexes {
			got += " " + i.CollectionGroup
			for _, f := range i.Fields {
				got += " " + f.FieldPath
			}
		}
		check.Same(t, rule, want, got)
	}
}

func TestJudged(t *testing.T) {
	for rule, want := range map[string]map[string][]string{
		`{` + good + `}`: {"drafts": {"updatedAt"}},
		`{` + good + `,"where":[{"field":"author","is":"set"},{"field":"meta.done","==":true}],"unless":[{"document":"users/{author}/holds/{id}"}],
			"with":[{"subcollection":"revisions"},{"collection":"comments","field":"draftId"},{"objects":"p/**","field":"photos[].url"},{"account":"{id}"}]}`: {
			"drafts": {"author", "meta.done", "updatedAt", "photos[].url"}, "comments": {"draftId"},
		},
		`{"collectionGroup":"activity","age":{"field":"at","months":13}}`: {"activity": {"at"}},
		warnsInAll: {"drafts": {"editedAt", "warnedAt"}},
		`{` + guests + `,"unless":[{"document":"users/{uid}"}]}`:                               {},
		`{"objects":"avatars/{uid}.*","age":{"hours":24},"gone":[{"document":"users/{uid}"}]}`: {},

		`{"collection":"users","age":"any","with":[{"subcollection":"items","with":[{"document":"reservations/{r}"},{"document":"{parent}/b/{s}"}]}]}`: {
			"users/{id}/items": {"r", "s"},
		},
		`{"collection":"teams","age":"any","gone":[{"collection":"members","field":"team","where":[{"field":"status","==":"in"}]}],
			"unless":[{"subcollection":"messages","within":{"field":"at","days":9}}]}`: {"members": {"team", "status"}, "teams/{id}/messages": {"at"}},
		`{"collectionGroup":"requests","age":"any","with":[{"document":"{parent}","with":[{"document":"b/{f}"},
			{"subcollection":"posts","with":[{"document":"c/{g}"}]}]}]}`: {"{parent}": {"f"}, "{parent}/{id}/posts": {"g"}},
		`{` + guests + `,"with":[{"document":"users/{uid}","with":[{"objects":"avatars/**","field":"photo"}]}]}`: {"users": {"photo"}},
	} {
		e, problems := parse(rule)
		if problems != nil {
			t.Fatal(problems)
		}
		check.Same(t, rule, want, e.Judged())
	}
}

func TestWords(t *testing.T) {
	for rule, want := range map[string]string{
		`{` + good + `}`: "deletes documents of drafts whose updatedAt is more than 90 days ago",
		`{"collection":"reports","where":[{"field":"status","in":["reviewed","dismissed"]}],"age":{"field":"createdAt","months":1},"limit":5}`:                                                         "deletes documents of reports whose status is reviewed or dismissed and whose createdAt is more than 1 month ago; 5 a run at most",
		`{` + good + `,"where":[{"field":"published","is":"not true"}],"with":[{"subcollection":"revisions"},{"collection":"comments","field":"draftId"},{"objects":"drafts/**","field":"coverUrl"}]}`: "deletes documents of drafts whose published is not true and whose updatedAt is more than 90 days ago; with each, also its documents in revisions, the documents of comments whose draftId refers to it and the objects drafts/** that coverUrl refers to",
		`{` + good + `,"where":[{"field":"deleted","is":"not true"}],"set":{"deleted":true,"deletedAt":"{now}"},"unless":[{"document":"holds/{id}"}]}`:                                                 "sets deleted to true and deletedAt to the time of the run in documents of drafts whose deleted is not true and whose updatedAt is more than 90 days ago, unless holds/{id} exists",
		`{` + good + `,"unless":[{"document":"holds/{id}"}],"with":[{"subcollection":"parts"}],"warn":{"days":1,"field":"w"}}`: "deletes documents of drafts whose " +
			"updatedAt is more than 90 days ago, unless holds/{id} exists, if that still holds 1 day after the rule set w; with each, also its documents in parts",
		`{` + guests + `,"unless":[{"document":"users/{uid}"},{"document":"teams/main/holds/h-{id}"}],"limit":5}`: "deletes anonymous accounts that were last active more than 30 days ago, unless users/{uid} exists, unless teams/main/holds/h-{id} exists; 5 a run at most",
		warnsInAll: "deletes documents of every collection drafts whose editedAt is more than 90 days ago, if that still holds 1 day after the rule set warnedAt and wrote a document to mail",
		`{"collection":"chats/{chat}/users","age":"any","gone":[{"document":"{parent}"}]}`:     "deletes documents of chats/{chat}/users of any age and for which no document above it exists",
		`{"accounts":"unverified","age":{"by":"creationTime","months":1}}`:                     "deletes accounts with an unverified e-mail address and only a password that were created more than 1 month ago",
		`{"objects":"avatars/{uid}.*","age":{"hours":24},"gone":[{"document":"users/{uid}"}]}`: "deletes objects avatars/{uid}.* that were uploaded more than 24 hours ago and for which no users/{uid} exists",
	} {
		e, problems := parse(rule)
		if problems != nil {
			t.Fatal(problems)
		}
		check.Same(t, rule, want, e.Words())
	}
}

// All problems of a rule are reported at once. Parsing a list of functions checks all of its rules.
func ExampleRule_Problems() {
	r := rule.Rule{Collection: "cleanupRuns", Age: rule.Ages{{Field: "updatedAt"}},
		With: []rule.Relation{{Objects: "drafts", Field: "coverUrl"}}}
	for _, problem := range r.Problems() {
		fmt.Println(problem)
	}
	// Output:
	// collection: cleanupRuns belongs to Firesweep itself
	// age: give one of hours, days and months, e.g. {"field":"createdAt","days":90}, or "any"
	// with[0].objects: "drafts" is neither a folder of the item's id, such as drafts/{id}/**, nor one with "field", such as {"objects": "drafts/**", "field": "coverUrl"}
}
