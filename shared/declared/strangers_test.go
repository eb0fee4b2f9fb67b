package declared_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// stranger is a rule that somebody wrote who knows the page about rules, and an application that writes its data in its own way.
type stranger struct {
	with, unless, gone array // of a rule about drafts
	others             []string
	data               map[string]any // fields of documents; "due" and "young" are drafts
	files, uids        []string
	deleted            []string // besides drafts/due
	kept               bool     // so is drafts/due
	said               string   // in the report
}

const staysUsed = "another document of drafts refers to it"

var strangers = map[string]stranger{
	// References by a path as a text.
	"with, by paths": {with: array{fields{"collection": "notes", "field": "of"}},
		data:    map[string]any{"notes/1": fields{"of": "drafts/due"}, "notes/2": fields{"of": "/drafts/due"}, "notes/3": fields{"of": "other/due"}, "notes/4": fields{"of": "due"}},
		deleted: []string{"notes/1", "notes/2", "notes/4"}},
	"unless, by a path":               {unless: array{fields{"collection": "notes", "field": "of"}}, data: map[string]any{"notes/1": fields{"of": "drafts/due"}}, kept: true, said: "refers to it exists"},
	"unless, by a path with a slash":  {unless: array{fields{"collection": "notes", "field": "of"}}, data: map[string]any{"notes/1": fields{"of": "/drafts/due"}}, kept: true},
	"unless, by a whole name":         {unless: array{fields{"collection": "notes", "field": "of"}}, data: map[string]any{"notes/1": fields{"of": "WHOLE/drafts/due"}}, kept: true, said: "refers to it exists"},
	"unless, by another's whole name": {unless: array{fields{"collection": "notes", "field": "of"}}, data: map[string]any{"notes/1": fields{"of": "projects/other/databases/(default)/documents/drafts/due"}}},
	"gone, by a whole name":           {gone: array{fields{"collection": "notes", "field": "of[]"}}, data: map[string]any{"notes/1": fields{"of": array{"WHOLE/drafts/due"}}}, kept: true},
	"a file as a text, where the rule has a list": {with: array{fields{"objects": "p/**", "field": "photos[]"}}, files: []string{"p/1.png", "p/2.png"},
		data: map[string]any{"due": fields{"photos": "p/1.png"}, "young": fields{"photos": array{"p/2.png"}}}, deleted: []string{"p/1.png"}},
	"unless, by a path in a list": {unless: array{fields{"collection": "notes", "field": "of[]"}}, data: map[string]any{"notes/1": fields{"of": array{"drafts/due"}}}, kept: true},
	"unless, by a path and a condition": {unless: array{fields{"collection": "notes", "field": "of", "where": array{fields{"field": "n", "in": array{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}}}}},
		data: map[string]any{"notes/1": fields{"of": "/drafts/due", "n": int64(7)}}, kept: true},
	"gone, a hole with a path":         {gone: array{fields{"document": "users/{by}"}}, data: map[string]any{"due": fields{"by": "users/ken"}, "users/ken": fields{}}, kept: true, said: "users/{by} exists"},
	"gone, a hole with another's path": {gone: array{fields{"document": "users/{by}"}}, data: map[string]any{"due": fields{"by": "admins/ken"}, "users/hana": fields{}}, kept: true, said: "by holds no id for users/{by}"},
	"gone, a hole with nobody's path":  {gone: array{fields{"document": "users/{by}"}}, data: map[string]any{"due": fields{"by": "/users/ken"}, "users/hana": fields{}}},
	"with, a hole with a path":         {with: array{fields{"document": "users/{by}"}}, data: map[string]any{"due": fields{"by": "users/ken"}, "users/ken": fields{}}, deleted: []string{"users/ken"}},
	"with, a hole that another fills with a path": {with: array{fields{"document": "users/{by}"}},
		data: map[string]any{"due": fields{"by": "ken"}, "young": fields{"by": "/users/ken"}, "users/ken": fields{}}, said: staysUsed},

	// Lists, maps and single values where the rule has another shape.
	"unless, a list":             {unless: array{fields{"collection": "teams", "field": "of"}}, data: map[string]any{"teams/1": fields{"of": array{"due"}}}, kept: true},
	"unless, one value":          {unless: array{fields{"collection": "teams", "field": "of[]"}}, data: map[string]any{"teams/1": fields{"of": reference("drafts/due")}}, kept: true},
	"unless, a list and a value": {unless: array{fields{"collection": "teams", "field": "of"}}, data: map[string]any{"teams/1": fields{"of": "x"}, "teams/2": fields{"of": array{"x", "due"}}}, kept: true},
	"unless, keys":               {unless: array{fields{"collection": "teams", "field": "of"}}, data: map[string]any{"teams/1": fields{"of": fields{"due": true}}}, kept: true, said: "no document of teams has one value in of"},
	"unless, no keys":            {unless: array{fields{"collection": "teams", "field": "of.{id}"}}, data: map[string]any{"teams/1": fields{"of": array{"other"}}}, kept: true, said: "no document of teams has a map in of"},
	"unless, maps in a list":     {unless: array{fields{"collection": "teams", "field": "of[]"}}, data: map[string]any{"teams/1": fields{"of": array{fields{"id": "due"}}}}, kept: true, said: "has a list of values in of"},
	"unless, in a group": {unless: array{fields{"collectionGroup": "teams", "field": "of"}}, data: map[string]any{"x/1/teams/1": fields{"of": array{"due"}}},
		kept: true, said: "no document of teams has one value in of (if it holds a list, write of[])"},
	"unless, empty lists": {unless: array{fields{"collection": "teams", "field": "of[]"}}, data: map[string]any{"teams/1": fields{"of": array{}}}},
	"with, a list":        {with: array{fields{"collection": "notes", "field": "of"}}, data: map[string]any{"notes/1": fields{"of": array{"due"}}}, kept: true, said: "no document of notes has one value in of"},
	"with, lists of others": {with: array{fields{"collection": "notes", "field": "of"}},
		data: map[string]any{"notes/1": fields{"of": array{"due"}}, "notes/2": fields{"of": "due"}}, deleted: []string{"notes/2"}},
	"with, a hole that another fills with a list": {with: array{fields{"document": "users/{by}"}},
		data: map[string]any{"due": fields{"by": "ken"}, "young": fields{"by": array{"ken"}}, "users/ken": fields{}}, said: staysUsed},

	// Files that others use.
	"a file in a list of maps": {with: array{fields{"objects": "p/**", "field": "photos[].url"}}, files: []string{"p/1.png", "p/2.png"},
		data:    map[string]any{"due": fields{"photos": array{fields{"url": "p/1.png", "n": 1}, fields{"url": "p/2.png"}}}, "young": fields{"photos": array{fields{"url": "/p/1.png", "n": 2}}}},
		deleted: []string{"p/2.png"}, said: staysUsed},
	"a file in lists of lists": {with: array{fields{"objects": "p/**", "field": "sets[].all[].url"}}, files: []string{"p/1.png"},
		data: map[string]any{"due": fields{"sets": array{fields{"all": array{fields{"url": "p/1.png"}}}}}, "young": fields{"sets": array{fields{"n": 1, "all": array{fields{"url": "p/1.png"}}}}}}, said: staysUsed},
	"a file that another has in a list": {with: array{fields{"objects": "p/**", "field": "cover"}}, files: []string{"p/1.png"},
		data: map[string]any{"due": fields{"cover": "p/1.png"}, "young": fields{"cover": array{"p/1.png"}}}, said: staysUsed},
	"a file that another has in a map": {with: array{fields{"objects": "p/**", "field": "cover"}}, files: []string{"p/1.png"},
		data: map[string]any{"due": fields{"cover": "p/1.png"}, "young": fields{"cover": fields{"url": "gs://BUCKET/p/1.png"}}}, said: staysUsed},
	"a file that another has as a text": {with: array{fields{"objects": "p/**", "field": "photos[]"}}, files: []string{"p/1.png"},
		data: map[string]any{"due": fields{"photos": array{"p/1.png"}}, "young": fields{"photos": "p/1.png"}}, said: staysUsed},
	"files of a folder": {with: array{fields{"objects": "p/{id}/**"}, fields{"objects": "p/**", "field": "cover"}}, files: []string{"p/due/1.png", "p/due/2.png"},
		data: map[string]any{"due": fields{"cover": "p/due/2.png"}, "young": fields{"cover": "gs://BUCKET/p/due/1.png"}}, deleted: []string{"p/due/2.png"}, said: "drafts/due: deleted, but not the files of its folder: " + staysUsed},
	"files of a folder, in lists": {with: array{fields{"objects": "p/{id}/**"}, fields{"objects": "p/**", "field": "photos[]"}}, files: []string{"p/due/1.png"},
		data: map[string]any{"due": fields{"photos": array{}}, "young": fields{"photos": array{"p/due/1.png"}}}, said: staysUsed},
	"files of a folder that nobody uses": {with: array{fields{"objects": "p/{id}/**"}, fields{"objects": "p/**", "field": "cover"}}, files: []string{"p/due/1.png", "p/due2/1.png"},
		data: map[string]any{"due": fields{"cover": "p/due/1.png"}, "young": fields{"cover": "p/due2/1.png"}}, deleted: []string{"p/due/1.png"}},

	// References that no query finds, and shapes of the other documents.
	"a file after something in a text": {with: array{fields{"objects": "p/**", "field": "cover"}}, files: []string{"p/1.png", "p/2.png"},
		data:    map[string]any{"due": fields{"cover": "p/1.png,p/2.png"}, "young": fields{"cover": `see <img src="https://cdn.example.com/x/p/1.png?w=9">`}},
		deleted: []string{"p/2.png"}, said: staysUsed},
	"a file that another has encoded": {with: array{fields{"objects": "p/**", "field": "cover"}}, files: []string{"p/a 1.png"},
		data: map[string]any{"due": fields{"cover": "p/a 1.png"}, "young": fields{"cover": "\tp%2Fa%201.png"}}, said: staysUsed},
	"a file that another has without its extension": {with: array{fields{"objects": "p/**", "field": "cover"}}, files: []string{"p/1.png"},
		data: map[string]any{"due": fields{"cover": "p/1.png"}, "young": fields{"cover": "p/1"}}, said: staysUsed},
	"a file with a plus that another has as a form writes it": {with: array{fields{"objects": "p/**", "field": "cover"}}, files: []string{"p/a 1+2.png"},
		data: map[string]any{"due": fields{"cover": "p/a 1+2.png"}, "young": fields{"cover": "p%2Fa+1%2B2.png"}}, said: staysUsed},
	"a file among others in a text": {with: array{fields{"objects": "p/**", "field": "cover"}}, files: []string{"p/1.png"},
		data: map[string]any{"due": fields{"cover": "/p/1.png"}, "young": fields{"cover": "p/0.png|p/1.png"}}, said: staysUsed},
	"a file that another names by another of the fields": {with: array{fields{"objects": "p/**", "field": "cover"}, fields{"objects": "p/**", "field": "more[].url"}},
		files: []string{"p/1.png", "p/2.png"},
		data:  map[string]any{"due": fields{"cover": "p/1.png", "more": array{fields{"url": "p/2.png"}}}, "young": fields{"cover": "", "more": array{fields{"url": "./p/1.png"}}}}, deleted: []string{"p/2.png"}, said: staysUsed},
	"an owner that another has as a key": {with: array{fields{"document": "users/{by}"}},
		data: map[string]any{"due": fields{"by": "ken"}, "young": fields{"by": fields{"ken": true}}, "users/ken": fields{}}, said: staysUsed},
	"an owner that another has in maps of a list": {with: array{fields{"document": "users/{by}"}},
		data: map[string]any{"due": fields{"by": "ken"}, "young": fields{"by": array{fields{"of": reference("users/ken"), "role": "x"}}}, "users/ken": fields{}}, said: staysUsed},
	"an owner that another has in a URL": {with: array{fields{"document": "users/{by}"}},
		data: map[string]any{"due": fields{"by": "ken"}, "young": fields{"by": "https://example.com/users/ken?tab=1"}, "users/ken": fields{}}, said: staysUsed},
	"an owner that another has in another of the fields": {with: array{fields{"document": "users/{by}"}, fields{"document": "users/{for}"}},
		data:    map[string]any{"due": fields{"by": "ken", "for": "hana"}, "young": fields{"by": "lea", "for": "ken"}, "users/ken": fields{}, "users/hana": fields{}, "users/lea": fields{}},
		deleted: []string{"users/hana"}, said: staysUsed},
	"an owner in JSON, in quotes, encoded, and with what nobody sees": {
		with: array{fields{"document": "users/{by[]}"}},
		data: map[string]any{"due": fields{"by": array{"ken", "hana", "lea b", "tim", "joe"}}, "young": fields{"by": array{`["ken"]`, `'hana'`, "users%2Flea%20b", "tim\u200b", "user:joe"}},
			"users/ken": fields{}, "users/hana": fields{}, "users/lea b": fields{}, "users/tim": fields{}, "users/joe": fields{}}, said: staysUsed},
	"an owner with a blank elsewhere": {with: array{fields{"document": "users/{by}"}},
		data: map[string]any{"due": fields{"by": "ken"}, "young": fields{"by": "ken "}, "users/ken": fields{}}, said: staysUsed},
	"owners of a list that another has as keys": {with: array{fields{"document": "users/{by[]}"}},
		data: map[string]any{"due": fields{"by": array{"ken", "hana"}}, "young": fields{"by": fields{"ken": 1}}, "users/ken": fields{}, "users/hana": fields{}}, deleted: []string{"users/hana"}, said: staysUsed},
	"owners of a map that another has in a list": {with: array{fields{"document": "users/{by.*}"}},
		data: map[string]any{"due": fields{"by": fields{"ken": 1, "hana": 1}}, "young": fields{"by": array{"ken"}}, "users/ken": fields{}, "users/hana": fields{}}, deleted: []string{"users/hana"}, said: staysUsed},
	"an owner of another collection": {with: array{fields{"document": "users/{by}"}},
		data: map[string]any{"due": fields{"by": "ken"}, "young": fields{"by": reference("admins/ken")}, "users/ken": fields{}}, deleted: []string{"users/ken"}},

	"with, a map where the rule has a value": {with: array{fields{"document": "users/{by}"}},
		data: map[string]any{"due": fields{"by": fields{"ken": true}}, "young": fields{"by": "hana"}, "users/ken": fields{}}, said: "drafts/due: deleted, but not what it refers to by by: by holds no id for users/{by} (it is missing"},
	"with, a blank in a list of ids": {with: array{fields{"document": "users/{by[]}"}},
		data: map[string]any{"due": fields{"by": array{"ken ", "hana"}}, "users/ken": fields{}}, said: "but not what it refers to by by"},
	"with, nothing in a field": {with: array{fields{"document": "users/{by}"}}, data: map[string]any{"due": fields{"by": ""}, "young": fields{"by": "hana"}, "users/ken": fields{}}},
	"unless, keys and a list":  {unless: array{fields{"collection": "teams", "field": "of.{id}"}}, data: map[string]any{"teams/1": fields{"of": fields{"x": 1}}, "teams/2": fields{"of": array{reference("drafts/due")}}}, kept: true},
	"what a child refers to": {with: array{fields{"collection": "notes", "field": "of", "with": array{fields{"document": "cards/{card}"}}}},
		data:    map[string]any{"notes/1": fields{"of": "due", "card": "c"}, "notes/2": fields{"of": "x", "card": fields{"c": 1}}, "cards/c": fields{}},
		deleted: []string{"notes/1"}, said: "another document of notes refers to it"},
	"a link of the console": {with: array{fields{"objects": "p/**", "field": "cover"}}, files: []string{"p/a 1.png"},
		data: map[string]any{"due": fields{"cover": "https://storage.cloud.google.com/BUCKET/p/a%201.png?authuser=0"}}, deleted: []string{"p/a 1.png"}},

	"unless, a map among values":         {unless: array{fields{"collection": "teams", "field": "of"}}, data: map[string]any{"teams/1": fields{"of": "young"}, "teams/2": fields{"of": fields{"due": true}}}, kept: true, said: "what teams/2 refers to, whose of holds a map"},
	"unless, maps in a list among lists": {unless: array{fields{"collection": "teams", "field": "of[]"}}, data: map[string]any{"teams/1": fields{"of": array{"young"}}, "teams/2": fields{"of": array{fields{"id": "due"}}}}, kept: true, said: "what teams/2 refers to"},
	"gone, a map among values":           {gone: array{fields{"collection": "teams", "field": "of"}}, data: map[string]any{"teams/1": fields{"of": "x"}, "teams/2": fields{"of": array{fields{"id": "due"}}}}, kept: true, said: "what teams/2 refers to"},
	"unless, a path with a slash behind": {unless: array{fields{"collection": "notes", "field": "of"}}, data: map[string]any{"notes/1": fields{"of": "drafts/due/"}}, kept: true},
	"gone, an id with what nobody sees":  {gone: array{fields{"document": "users/{by}"}}, data: map[string]any{"due": fields{"by": "\u200bken"}, "users/ken": fields{}}, kept: true, said: "by holds no id for users/{by}"},
	"gone, a path with a slash behind":   {gone: array{fields{"document": "users/{by}"}}, data: map[string]any{"due": fields{"by": "users/ken/"}, "users/ken": fields{}}, kept: true, said: "users/{by} exists"},
	"a file of a folder that another refers to": {with: array{fields{"objects": "p/**", "field": "cover"}, fields{"objects": "drafts/{id}/**"}}, files: []string{"p/1.png", "drafts/due/1.png"},
		data: map[string]any{"due": fields{"cover": "p/1.png"}, "young": fields{"cover": "https://firebasestorage.googleapis.com/v0/b/BUCKET/o/drafts%2Fdue%2F1.png?alt=media"}}, deleted: []string{"p/1.png"}, said: "not the files of its folder"},

	// Ids with blanks, numbers and times in other forms.
	"unless, a blank behind the id":     {unless: array{fields{"collection": "notes", "field": "of"}}, data: map[string]any{"notes/1": fields{"of": "due "}}, kept: true, said: "by of, with a blank beside the id"},
	"unless, a line's end in a list":    {unless: array{fields{"collection": "notes", "field": "of[]"}}, data: map[string]any{"notes/1": fields{"of": array{"due\n"}}}, kept: true, said: "with a blank beside the id"},
	"unless, a blank before the path":   {unless: array{fields{"collectionGroup": "notes", "field": "of"}}, data: map[string]any{"notes/1": fields{"of": " drafts/due"}}, kept: true, said: "with a blank beside the id"},
	"gone, a blank behind the id":       {gone: array{fields{"collection": "notes", "field": "of"}}, data: map[string]any{"notes/1": fields{"of": "due "}}, kept: true, said: "with a blank beside the id"},
	"with, a blank behind the id":       {with: array{fields{"collection": "notes", "field": "of"}}, data: map[string]any{"notes/1": fields{"of": "due "}, "notes/2": fields{"of": "due"}}, deleted: []string{"notes/2"}},
	"gone, a number":                    {gone: array{fields{"document": "users/{by}"}}, data: map[string]any{"due": fields{"by": int64(7)}, "users/7": fields{}}, kept: true, said: "users/{by} exists"},
	"gone, a number of nobody":          {gone: array{fields{"document": "users/{by}"}}, data: map[string]any{"due": fields{"by": int64(7)}, "users/8": fields{}}},
	"unless, within, a text for a time": {unless: array{fields{"collection": "notes", "field": "of", "within": fields{"field": "at", "months": 1}}}, data: map[string]any{"notes/1": fields{"of": "due", "at": "2020-01-01"}}, kept: true, said: "refers to it exists whose at is not a timestamp"},
	"unless, within, a null": {unless: array{fields{"subcollection": "notes", "within": fields{"field": "at", "months": 1}}},
		data: map[string]any{"drafts/due/notes/1": fields{"at": nil}, "drafts/young/notes/1": fields{"at": now}}, kept: true, said: "exists whose at is null"},
	"unless, within, both": {unless: array{fields{"subcollection": "notes", "within": fields{"field": "at", "as": "seconds", "months": 1}}},
		data: map[string]any{"drafts/due/notes/1": fields{"at": now.Unix()}, "drafts/due/notes/2": fields{"at": "2020"}}, kept: true, said: "exists whose at is within 1 month"},

	// What is below a document that there is not, and what would stay below those that there are.
	"below a missing document": {with: array{fields{"document": "more/{id}", "with": array{fields{"subcollection": "parts"}}}},
		data: map[string]any{"more/other": fields{}, "more/due/parts/p": fields{}, "more/other/parts/p": fields{}}, deleted: []string{"more/due/parts/p"}},
	"below a missing child": {with: array{fields{"subcollection": "parts", "with": array{fields{"subcollection": "notes", "with": array{fields{"subcollection": "likes"}}}}}},
		data:    map[string]any{"drafts/due/parts/none/notes/none/likes/l": fields{}, "drafts/due/parts/p": fields{}, "drafts/due/parts/p/notes/n": fields{}, "drafts/young/parts/none/notes/none/likes/l": fields{}},
		deleted: []string{"drafts/due/parts/none/notes/none/likes/l", "drafts/due/parts/p", "drafts/due/parts/p/notes/n"}},
	"below missing children alone": {with: array{fields{"subcollection": "parts", "with": array{fields{"subcollection": "notes"}}}},
		data: map[string]any{"drafts/due/parts/none/notes/n": fields{}, "drafts/young/parts/none/notes/n": fields{}}, deleted: []string{"drafts/due/parts/none/notes/n"}},
	"a collection that stays below a missing child": {with: array{fields{"subcollection": "parts", "with": array{fields{"subcollection": "notes"}}}},
		data:    map[string]any{"drafts/due/parts/none/views/v": fields{}, "drafts/due/parts/none/notes/n": fields{}, "drafts/young/parts/p": fields{}},
		deleted: []string{"drafts/due/parts/none/notes/n"}, said: "with[0].with: views below 1 of 1 documents would stay"},
	"a misspelt subcollection with others below": {with: array{fields{"subcollection": "part", "with": array{fields{"subcollection": "notes"}}}},
		data: map[string]any{"drafts/due/parts/none/notes/n": fields{}}, kept: true, said: "with[0]: the collection drafts/{id}/part has no document"},
	"what refers to it below a missing child": {with: array{fields{"subcollection": "parts", "with": array{fields{"collection": "logs", "field": "part"}}}},
		data:    map[string]any{"drafts/due/parts/none/x/x": fields{}, "drafts/due/parts/p": fields{}, "logs/1": fields{"part": reference("drafts/due/parts/none")}, "logs/2": fields{"part": reference("drafts/due/parts/p")}},
		deleted: []string{"drafts/due/parts/p", "logs/1", "logs/2"}},
	"a collection that stays": {data: map[string]any{"drafts/due/views/v": fields{}},
		said: `with: views below 1 of 1 documents would stay: add {"subcollection": "views"}`},
	"a collection that stays below a subcollection": {with: array{fields{"subcollection": "parts"}}, data: map[string]any{"drafts/due/parts/p": fields{}, "drafts/due/parts/p/notes/n": fields{}},
		deleted: []string{"drafts/due/parts/p"}, said: "with[0].with: notes below 1 of 1 documents would stay"},
	"a collection that stays below what refers to it": {with: array{fields{"collection": "notes", "field": "of"}}, data: map[string]any{"notes/n": fields{"of": "due"}, "notes/n/likes/l": fields{}},
		deleted: []string{"notes/n"}, said: "with[0].with: likes below 1 of 1 documents would stay"},
	"a collection that stays below a document": {with: array{fields{"document": "users/{by}"}}, data: map[string]any{"due": fields{"by": "ken"}, "users/ken": fields{}, "users/ken/logs/l": fields{}},
		deleted: []string{"users/ken"}, said: "with[0].with: logs below 1 of 1 documents would stay"},

	// Related documents whose time is missing, null or of another type, which keep whatever there is of others.
	"within, old":                        {unless: messages("sentAt"), data: map[string]any{"drafts/due/messages/m": fields{"sentAt": old}}},
	"within, missing":                    {unless: messages("sentAt"), data: messagesOf(fields{"x": true}), kept: true, said: "exists whose sentAt is missing"},
	"within, a truth value":              {unless: messages("sentAt"), data: messagesOf(fields{"sentAt": true}), kept: true, said: "exists whose sentAt is not a timestamp"},
	"within, milliseconds":               {unless: messages("sentAt"), data: messagesOf(fields{"sentAt": now.UnixMilli()}), kept: true, said: "exists whose sentAt is not a timestamp"},
	"within, a map":                      {unless: messages("sentAt"), data: messagesOf(fields{"sentAt": fields{"_seconds": now.Unix()}}), kept: true, said: "exists whose sentAt is not a timestamp"},
	"within, by reference, old":          {unless: logs("of", nil), data: logsOf},
	"within, by reference, none":         {unless: logs("by", nil), data: logsOf, kept: true, said: "a document of logs whose by refers to it exists whose sentAt is missing"},
	"within, by reference, a condition":  {unless: logs("by", fields{"where": array{fields{"field": "open", "==": true}}}), data: logsOf},
	"within, by reference, in any place": {unless: array{fields{"collectionGroup": "logs", "field": "by", "within": fields{"field": "sentAt", "days": 30}}}, data: logsOf, kept: true, said: "a document of any collection logs whose by refers to it exists whose sentAt is missing"},

	// What a document of unless says; if nobody can tell, it keeps.
	"a tenant that keeps":               {unless: pro, data: tenants(fields{"tenant": "pro"}), kept: true, said: "tenants/{tenant} whose plan is PRO or ENTERPRISE exists"},
	"a tenant that does not":            {unless: pro, data: tenants(fields{"tenant": "free"})},
	"a tenant that says nothing":        {unless: pro, data: tenants(fields{"tenant": "new"})},
	"a tenant that is not there":        {unless: pro, data: tenants(fields{"tenant": "none"})},
	"no tenant":                         {unless: pro, data: tenants(fields{"tenant": nil}), kept: true, said: "tenant holds no id for tenants/{tenant} (it is missing"},
	"an unclear tenant":                 {unless: pro, data: tenants(fields{"tenant": "odd"}), kept: true, said: "tenants/{tenant} exists, and its plan has another type, so it is unknown whether plan is PRO or ENTERPRISE"},
	"one of several tenants":            {unless: several, data: tenants(fields{"tenants": array{"odd", "free", "pro"}}), kept: true, said: "tenants/{tenants[]} whose plan is PRO or ENTERPRISE exists"},
	"none of several tenants":           {unless: several, data: tenants(fields{"tenants": array{"free", "new"}})},
	"a tenant that meets all":           {unless: signed, data: tenants(fields{"tenant": "pro"}), kept: true, said: "tenants/{tenant} whose signedAt is set and whose plan is not FREE exists"},
	"a tenant that meets one condition": {unless: signed, data: tenants(fields{"tenant": "odd"})},

	// Fields by which unless looks and that no document there has, such as a misspelt one.
	"nobody has the time":         {unless: messages("creatdAt"), data: messagesOf(fields{"sentAt": old}), kept: true, said: "no document of drafts/{id}/messages has creatdAt"},
	"the time is null":            {unless: messages("nullAt"), data: messagesOf(fields{"nullAt": nil}), kept: true, said: "no document of drafts/{id}/messages has nullAt"},
	"nobody has the time of logs": {unless: logs("sent", nil), data: map[string]any{"logs/1": fields{"sent": "x", "at": old}}, kept: true, said: "no document of logs has sentAt"},
	"nobody has the field":        {unless: array{fields{"collection": "logs", "field": "cht"}}, data: logsOf, kept: true, said: "no document of logs has cht"},
	"the field is null":           {unless: array{fields{"collection": "logs", "field": "null"}}, data: logsOf, kept: true, said: "no document of logs has null"},
	"nobody has the list":         {unless: array{fields{"collection": "logs", "field": "o[]"}}, data: logsOf, kept: true, said: "no document of logs has o"},
	"others are in the list":      {unless: array{fields{"collection": "logs", "field": "all[]"}}, data: logsOf},
	"nobody of a group has it":    {unless: array{fields{"collectionGroup": "messages", "field": "cht"}}, data: messagesOf(fields{"of": "x"}), kept: true, said: "no document of messages has cht"},
	"others are in the group":     {unless: array{fields{"collectionGroup": "messages", "field": "of"}}, data: messagesOf(fields{"of": "other"})},

	// Documents to which others refer by the same field, with what belongs to them.
	"a team of another":     {with: team, data: ofTeam(fields{"team": "red"}, fields{"team": "red"}), said: staysUsed},
	"a team of nobody else": {with: team, data: ofTeam(fields{"team": "red"}, fields{"team": "x"}), deleted: []string{"teams/red", "teams/red/days/x"}},
	"a number of another":   {with: array{fields{"document": "teams/{team}"}}, data: map[string]any{"due": fields{"team": "7"}, "young": fields{"team": int64(7)}, "teams/7": fields{}}, said: staysUsed},
	"a list of others":      {with: array{fields{"document": "teams/{teams[]}"}}, data: with(ofTeam(fields{"teams": array{"red", "blue"}}, fields{"teams": array{"x", "red"}}), map[string]any{"teams/blue": fields{}}), deleted: []string{"teams/blue"}, said: staysUsed},
	"keys of others":        {with: array{fields{"document": "teams/{teams.*}"}}, data: ofTeam(fields{"teams": fields{"red": 1}}, fields{"teams": fields{"red": 2}}), said: staysUsed},
	"a part of an id":       {with: array{fields{"document": "teams/t-{team}"}}, data: map[string]any{"due": fields{"team": "red"}, "young": fields{"team": "red"}, "teams/t-red": fields{}}, said: staysUsed},
	"below": {with: array{fields{"subcollection": "parts", "with": team}}, data: with(ofTeam(nil, nil), map[string]any{"drafts/due/parts/p": fields{"team": "red"}, "drafts/young/parts/p": fields{"team": "red"}}),
		deleted: []string{"drafts/due/parts/p"}, said: "another document of drafts/{id}/parts refers to it"},
	"below, of nobody else": {with: array{fields{"subcollection": "parts", "with": team}}, data: with(ofTeam(nil, nil), map[string]any{"drafts/due/parts/p": fields{"team": "red"}, "drafts/young/parts/p": fields{"team": "x"}}),
		deleted: []string{"drafts/due/parts/p", "teams/red", "teams/red/days/x"}},
	"of two that are deleted": {with: array{fields{"collection": "notes", "field": "of", "with": team}},
		data: with(ofTeam(nil, nil), map[string]any{"notes/1": fields{"of": "due", "team": "red"}, "notes/2": fields{"of": "due", "team": "red"}, "notes/3": fields{"of": "x", "team": "x"}}), deleted: []string{"notes/1", "notes/2", "teams/red", "teams/red/days/x"}},

	// The reasons to delete an item name what must not exist and does not, without a text of a user.
	"because a document is missing": {gone: array{fields{"document": "users/{by}"}}, data: nobodys, said: "older than 90 days, users/ken does not exist"},
	"because several are missing":   {gone: array{fields{"document": array{"users/{by}", "admins/{by}"}}}, data: nobodys, said: "users/ken does not exist, admins/ken does not exist"},
	"because of an odd id":          {gone: array{fields{"document": "users/{odd}"}}, data: nobodys, said: "older than 90 days, users/[9 bytes, SHA-256 "},
	"because an account is missing": {gone: array{fields{"account": "{by}"}}, data: nobodys, uids: []string{"hana"}, said: "account ken does not exist"},
	"because nothing refers to it":  {gone: array{fields{"collection": "notes", "field": "of"}}, data: nobodys, said: "no document of notes whose of refers to it exists"},
	"because nothing lies below it": {gone: array{fields{"subcollection": "parts"}}, data: nobodys, said: "no document in parts below it exists"},

	// Accounts that another rule keeps.
	"an account that a rule keeps": {with: array{fields{"account": "{id}"}}, others: []string{accountsBut}, uids: []string{"due"},
		data: map[string]any{"admins/due": fields{}},
		kept: true, said: "the account that would be deleted with it stays, because admins/{uid} exists"},
	"an account that no rule keeps": {with: array{fields{"account": "{id}"}}, others: []string{accountsBut}, uids: []string{"due"},
		data: map[string]any{"admins/other": fields{}}, deleted: []string{"account due"}},
}

// messages is an exception for messages below an item, by a time.
func messages(field string) array {
	return array{fields{"subcollection": "messages", "within": fields{"field": field, "days": 30}}}
}

// messagesOf is an old message of the draft that is due, and another.
func messagesOf(data fields) map[string]any {
	return map[string]any{"drafts/due/messages/first": fields{"sentAt": old}, "drafts/due/messages/m": data}
}

// logs is an exception for what refers to an item, by a time.
func logs(field string, more fields) array {
	return array{with(fields{"collection": "logs", "field": field, "within": fields{"field": "sentAt", "days": 30}}, more)}
}

var logsOf = map[string]any{"logs/1": fields{"of": "due", "sentAt": old}, "logs/2": fields{"by": "due", "open": false, "null": nil, "all": array{"other"}},
	"logs/3": fields{"by": "other", "of": "other", "open": true, "sentAt": old}}

// Exceptions by what a document says to which a field leads.
var (
	plan    = array{fields{"field": "plan", "in": array{"PRO", "ENTERPRISE"}}}
	pro     = array{fields{"document": "tenants/{tenant}", "where": plan}}
	several = array{fields{"document": "tenants/{tenants[]}", "where": plan}}
	signed  = array{fields{"document": "tenants/{tenant}", "where": array{fields{"field": "signedAt", "is": "set"}, fields{"field": "plan", "!=": "FREE"}}}}
)

// tenants are the documents that these ask for, and the draft that is due.
func tenants(due fields) map[string]any {
	return map[string]any{"due": due, "tenants/pro": fields{"plan": "PRO", "signedAt": old}, "tenants/free": fields{"plan": "FREE", "signedAt": old},
		"tenants/new": fields{"x": true}, "tenants/odd": fields{"plan": int64(2)}}
}

// nobodys is a draft to which nothing is related, and what is related to others.
var nobodys = map[string]any{"due": fields{"by": "ken", "odd": "a\nb <i> x"}, "users/hana": fields{}, "admins/hana": fields{}, "notes/n": fields{"of": "nobody"},
	"drafts/young/parts/p": fields{}}

var team = array{fields{"document": "teams/{team}", "with": array{fields{"subcollection": "days"}}}}

// ofTeam is a team with what belongs to it, and the drafts.
func ofTeam(due, young fields) map[string]any {
	return map[string]any{"due": due, "young": young, "teams/red": fields{}, "teams/red/days/x": fields{}, "teams/other/days/x": fields{}}
}

const accountsBut = `{"name":"cleanupAccounts","schedule":"0 4 * * *","accounts":"all","age":{"by":"lastActive","days":30},"unless":[{"document":"admins/{uid}"}]}`

// TestStrangers: whatever shape data have, nothing is deleted that somebody refers to, and what stays behind is told.
func TestStrangers(t *testing.T) {
	t.Parallel()
	for name, tt := range strangers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := drafts(fields{"maxDuePercent": 100})
			for key, value := range map[string]array{"with": tt.with, "unless": tt.unless, "gone": tt.gone} {
				if value != nil {
					r[key] = value
				}
			}
			w := world{others: tt.others, documents: map[string]fields{}, objects: tt.files, accounts: tt.uids, gone: tt.deleted}
			for path, data := range tt.data {
				w.documents[path] = data.(fields)
			}
			for name, at := range map[string]any{"due": old, "young": now} {
				own, _ := tt.data[name].(fields)
				delete(w.documents, name)
				w.documents["drafts/"+name] = with(fields{"updatedAt": at}, own)
			}
			if !tt.kept {
				w.gone = append(slices.Clone(w.gone), "drafts/due")
			}
			rep, f := w.run(t, r)
			said := fmt.Sprint(rep.Kept, rep.Warnings, rep.Failures, f.LogLines(t))
			check.Holds(t, said, tt.said)
		})
	}
}

// TestWhoRefersIsReadEachRun: a file that another document referred to in the run before is deleted with the last one.
func TestWhoRefersIsReadEachRun(t *testing.T) {
	f := start(t, drafts(fields{"maxDuePercent": 100, "with": array{fields{"objects": "p/**", "field": "photos[].url"}}}))
	photo := fields{"photos": array{fields{"url": "p/1.png"}}}
	f.Put(t, "p/1.png", nil, nil)
	f.Set(t, "drafts/first", with(photo, fields{"updatedAt": old}))
	f.Set(t, "drafts/second", with(photo, fields{"updatedAt": now}))
	f.Run(t, "")
	enginetest.Want(t, "files while another refers to it", []string{"p/1.png"}, f.Objects(t))
	f.Set(t, "drafts/second", with(photo, fields{"updatedAt": old}))
	f.Set(t, "drafts/third", fields{"updatedAt": now, "photos": array{fields{"url": "/p/1.png", "n": 1}}})
	f.Now = now.Add(time.Hour)
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("delete draft", 1))
	enginetest.Want(t, "files while a new one refers to it", []string{"p/1.png"}, f.Objects(t))
	f.Set(t, "drafts/third", fields{"updatedAt": old, "photos": array{fields{"url": "/p/1.png", "n": 1}}})
	f.Now = f.Now.Add(time.Hour)
	f.Run(t, "")
	enginetest.Want(t, "files", []string{}, f.Objects(t))
}
