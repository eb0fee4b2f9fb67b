package declared_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/firesweep/firesweep/shared/declared/doubts"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/rule"
	"github.com/firesweep/firesweep/shared/usage"
)

// TestDoubtsOfOthers: what a rule says nothing of is said if it is lost or left behind with what the rule deletes, and nothing is said
// once the rule says it.
func TestDoubtsOfOthers(t *testing.T) {
	t.Parallel()
	const url = "https://firebasestorage.googleapis.com/v0/b/b/o/"
	every := func(collection string, more fields) fields {
		return with(fields{"collection": collection, "age": "any", "maxDuePercent": 100}, more)
	}
	files := func(folder string, gone ...any) fields {
		return fields{"objects": folder + "**", "age": fields{"days": 7}, "gone": gone}
	}
	field := func(key, collection, field string) fields { return fields{key: collection, "field": field} }
	refer := func(collection, field string) string {
		return fmt.Sprintf(`documents of %s refer to documents of shows by %s, and would refer to nothing without them: to keep such shows, add `+
			`{"collection": %[1]q, "field": %[2]q} to "unless"; to delete the %[1]s with them, add it to "with"`, collection, field)
	}
	covers := map[string]fields{
		"shows/s1":            {"cover": "covers/a.jpg", "wide": url + "covers%2Fw.jpg?alt=media", "gallery": array{fields{"url": "/covers/g.jpg"}}},
		"shows/s2":            {"cover": "covers/b.jpg", "about": "covers"},
		"playlists/p":         {"image": "gs://b/covers/p.jpg", "other": "covers/x.jpg"},
		"logs/l":              {"text": "covers/x.jpg was uploaded"},
		"shows/s1/episodes/e": {"cover": "covers/e.jpg"},
	}
	many := map[string]fields{"shows/s1": {"cover": "covers/a.jpg"}}
	twelve(many, "playlists/p", func(i int) fields {
		return fields{"image": fmt.Sprintf("covers/%d.jpg", i), "note": "as covers/x.jpg is"}
	})
	const ownKeys = "no rule reads the values of a map with keys of its own: have a list hold them"
	halls := map[string]fields{}
	twelve(halls, "halls/h", func(i int) fields {
		file, owner := fmt.Sprintf("covers/%d.jpg", i), fmt.Sprintf("owner%02d", i)
		return fields{"hero": file, "wide": file, "slots": array{fields{"img": file, "by": owner}}, "gallery": fields{fmt.Sprintf("k%02d", i): file},
			"items": fields{fmt.Sprintf("k%02d", i): fields{"img": file, "by": owner}}, "owner": owner, "by": owner, "owners": array{owner}}
	})
	twelve(halls, "owners/owner", func(int) fields { return fields{} })
	tickets := map[string]fields{"shows/show01": {"cover": "covers/a.jpg"}, "shows/show01/parts/p": {"show": "show01"}, "tenants/t": {},
		"tenants/t/events/e": {"poster": "covers/p.jpg"}, "tenants/t/events/e/tickets/x": {"pdf": "covers/x.pdf", "show": "show01"}}
	for i := range 12 {
		tickets[fmt.Sprintf("tenants/t/events/e/tickets/x%d", i)] = fields{"pdf": fmt.Sprintf("covers/%d.pdf", i)}
	}
	people := map[string]fields{}
	for i := range 12 {
		id := fmt.Sprintf("person%02d", i)
		if people["users/"+id] = (fields{}); i%2 == 0 {
			people["members/"+id], people["profiles/"+id] = fields{}, fields{}
		}
	}
	offers := map[string]fields{"deals/d1": {"offer": "offer01", "open": true, "state": "new"}, "deals/d2": {"offer": "offer02", "open": "true"},
		"deals/d3": {"offer": "offer03", "state": "done"}, "offers/offer01": {}, "offers/offer02": {}, "offers/offer03": {}}
	open := func(where fields) fields {
		return every("offers", fields{"unless": array{fields{"collection": "deals", "field": "offer", "where": array{where}}}})
	}
	bikes := map[string]fields{}
	twelve(bikes, "bikes/b", func(i int) fields {
		return fields{"seller": fmt.Sprintf("seller%02d", i), "mail": fmt.Sprintf("s%02d@x.de", i)}
	})
	twelve(bikes, "sellers/seller", func(int) fields { return fields{} })
	twelve(bikes, "mails/s", func(int) fields { return fields{} })
	for i := range 12 {
		bikes[fmt.Sprintf("mails/s%02d@x.de", i)] = fields{}
	}
	bikes["bikes/b12"], bikes["bikes/b13"] = fields{"seller": "seller01,seller02"}, fields{"seller": "uid:seller03"}
	bikes["bikes/b14"] = fields{"seller": array{"seller04"}}
	uploads := map[string]fields{"icons/i": {"url": "shared/x.png"}}
	for i := range 3 {
		uploads[fmt.Sprintf("uploads/u%d", i)] = fields{"raw": fmt.Sprintf("raw/host%d/a.wav", i), "icon": "icons/a.png", "type": "audio/x-wav",
			"page": "https://x.de/a.png", "cover": fmt.Sprintf("shared/%d.png", i), "clip": fmt.Sprintf("clips/u%d/a.m4a", i)}
		uploads[fmt.Sprintf("uploads/u%d/parts/p", i)] = fields{"audio": fmt.Sprintf("%saudio%%2F%d", url, i)}
	}
	for name, tt := range map[string]struct {
		rule   fields
		data   map[string]fields
		due    []string
		beside fields
		want   []string
	}{
		"files to which other fields refer": {files("covers/", field("collection", "shows", "cover")), covers,
			[]string{"gs://b/covers/w.jpg", "gs://b/covers/g.jpg", "gs://b/covers/p.jpg", "gs://b/covers/e.jpg"}, nil, []string{
				`documents of playlists refer to files below covers/ by image, and that does not keep them: to keep these files, add ` +
					`{"collection": "playlists", "field": "image"} to "gone"`,
				`documents of shows refer to files below covers/ by gallery[].url and wide, and that does not keep them: to keep these files, add ` +
					`{"collection": "shows", "field": "gallery[].url"} and {"collection": "shows", "field": "wide"} to "gone"`,
				`documents of episodes refer to files below covers/ by cover, and that does not keep them: to keep these files, add ` +
					`{"collectionGroup": "episodes", "field": "cover"} to "gone"`}},
		"files by all fields": {files("covers/", field("collection", "shows", "cover"), field("collection", "shows", "wide"), field("collection", "shows", "gallery[].url"),
			field("collection", "playlists", "image"), field("collectionGroup", "episodes", "cover")), covers,
			[]string{"gs://b/covers/w.jpg", "gs://b/covers/e.jpg"}, nil, nil},
		"files of the same documents": {files("audio/", field("collectionGroup", "episodes", "images[].url")), map[string]fields{
			"shows/s/episodes/e": {"images": array{fields{"url": "audio/i.png"}}, "audio": "audio/e.mp3"}, "shows/s": {}},
			[]string{"gs://b/audio/e.mp3"}, nil, []string{`documents of episodes refer to files below audio/ by audio, and that does not keep them: ` +
				`to keep these files, add {"collectionGroup": "episodes", "field": "audio"} to "gone"`}},
		"files of more documents than are looked at": {files("covers/", field("collection", "shows", "cover")), many, nil, nil, []string{
			`documents of playlists refer to files below covers/ by image, and that does not keep them: to keep these files, add ` +
				`{"collection": "playlists", "field": "image"} to "gone"`}},
		"files whose owner is gone": {with(files("", fields{"document": "shows/{show}"}), fields{"objects": "covers/{show}.*"}), many, []string{"gs://b/covers/3.jpg"}, nil, []string{
			`documents of playlists refer to files below covers/ by image, and that does not keep them: to keep these files, write such fields into "gone" ` +
				`instead: {"collection": "playlists", "field": "image"}`}},
		"files of fields of each kind": {files("covers/", field("collection", "halls", "hero"), field("collection", "halls", "gallery.k00")), halls, []string{"gs://b/covers/3.jpg"}, nil, []string{
			`documents of halls refer to files below covers/ by slots[].img and wide, and that does not keep them: to keep these files, add ` +
				`{"collection": "halls", "field": "slots[].img"} and {"collection": "halls", "field": "wide"} to "gone"`,
			`documents of halls refer to files below covers/ by gallery.* and items.*.img, and that does not keep them: ` + ownKeys}},
		"optional fields of a map, and keys that are ids": {every("owners", nil), map[string]fields{"owners/owner01": {}, "owners/owner02": {},
			"bills/b1": {"of": fields{"seller": "owner01"}}, "bills/b2": {"of": fields{"buyer": "owner01"}}, "bills/b3": {"of": fields{"courier": "owner02"}},
			"days/d1": {"by": fields{"2026-01-01": "owner01"}}, "days/d2": {"by": fields{"2026-01-02": "owner02"}}, "days/d3": {"by": fields{"2026-01-03": "owner02"}},
		}, nil, nil, []string{
			`documents of bills refer to documents of owners by of.buyer, of.courier and of.seller, and would refer to nothing without them: to keep such ` +
				`owners, add {"collection": "bills", "field": "of.buyer"}, {"collection": "bills", "field": "of.courier"} and ` +
				`{"collection": "bills", "field": "of.seller"} to "unless"; to delete the bills with them, add it to "with"`,
			`documents of days refer to documents of owners by by.*, and would refer to nothing without them: ` + ownKeys}},
		"ids that are short or numbers": {every("shows", nil), map[string]fields{"shows/s1": {}, "shows/42": {}, "logs/l": {"about": "s1", "n": 42},
			"songs/x": {"showId": "s1"}, "clips/c": {"show": 42}, "likes/p": {"of": "shows/s1"}, "stars/r": {"of": reference("shows/s1")}}, nil, nil, []string{
			refer("clips", "show"), refer("likes", "of"), refer("songs", "showId"), refer("stars", "of")}},
		"documents of fields of each kind": {every("owners", nil), halls, nil, nil, []string{
			`documents of halls refer to documents of owners by by and owner, and would refer to nothing without them: to keep such owners, add ` +
				`{"collection": "halls", "field": "by"} and {"collection": "halls", "field": "owner"} to "unless"; to delete the halls with them, add it to "with"`,
			`documents of halls refer to documents of owners by owners[], and would refer to nothing without them: to keep such owners, add ` +
				`{"collection": "halls", "field": "owners[]"} to "unless"; to take them out of the halls, add it to "with", beside "remove": true`,
			`documents of halls refer to documents of owners by items.*.by, and would refer to nothing without them: ` + ownKeys,
			`documents of halls refer to documents of owners by slots[].by, and would refer to nothing without them: no relation finds ids in maps of a list: ` +
				`have another list hold their ids`}},
		"files to which documents far below refer": {files("covers/", field("collection", "shows", "cover")), tickets, nil, nil, []string{
			`documents of tickets refer to files below covers/ by pdf, and that does not keep them: to keep these files, add ` +
				`{"collectionGroup": "tickets", "field": "pdf"} to "gone"`}},
		"documents to which documents far below refer": {every("shows", fields{"with": array{fields{"subcollection": "**"}}}), tickets, nil, nil, []string{
			`documents of tickets refer to documents of shows by show, and would refer to nothing without them: to keep such shows, add ` +
				`{"collectionGroup": "tickets", "field": "show"} to "unless"; to delete the tickets with them, write a rule about these`}},
		"files of documents below others": {with(files("", fields{"document": "tenants/{t}/events/{e}"}), fields{"objects": "covers/{t}/{e}/**"}), tickets,
			[]string{"gs://b/covers/p.jpg", "gs://b/covers/a.jpg", "gs://b/covers/x.pdf"}, nil, []string{
				`documents of shows refer to files below covers/ by cover, and that does not keep them: to keep these files, write such fields into "gone" ` +
					`instead: {"collection": "shows", "field": "cover"}`,
				`documents of events refer to files below covers/ by poster, and that does not keep them: to keep these files, write such fields into "gone" ` +
					`instead: {"collectionGroup": "events", "field": "poster"}`,
				`documents of tickets refer to files below covers/ by pdf, and that does not keep them: to keep these files, write such fields into "gone" ` +
					`instead: {"collectionGroup": "tickets", "field": "pdf"}`}},
		"what has the ids of two": {every("shows", fields{"with": array{fields{"document": "notes/{id}"}}}), map[string]fields{"shows/show01": {}, "notes/show01": {},
			"logs/l": {"show": "show01", "noteOf": "show01"}}, nil, nil, []string{
			`documents of logs refer to documents of shows by show, and would refer to nothing without them: to keep such shows, add ` +
				`{"collection": "logs", "field": "show"} to "unless"; to delete the logs with them, add it to "with"`,
			`with[0]: documents of logs refer to documents of notes by noteOf, and would refer to nothing without them: to keep such notes, add ` +
				`{"collection": "logs", "field": "noteOf"} to its "unless"; to delete the logs with them, add it to its "with"`}},
		"URLs of files that unless asks for": {every("shows", fields{"unless": array{field("collection", "links", "fileUrl")}, "with": array{
			fields{"objects": "covers/**", "field": "cover"}}}), map[string]fields{"shows/s1": {"cover": "covers/a.jpg"},
			"links/l1": {"fileUrl": url + "covers%2Fa.jpg"}, "links/l2": {"fileUrl": "gs://b/covers/a.jpg"}, "links/l3": {"fileUrl": "gs://b/a.jpg"}}, nil, nil, []string{
			`unless[0]: none of the 3 values of links.fileUrl looked at refers to a document of shows: a URL refers to a file: to keep files, ` +
				`write a rule about them, with this field in "gone"`}},
		"one URL that unless asks for": {every("shows", fields{"unless": array{field("collection", "links", "fileUrl")}}), map[string]fields{
			"shows/s1": {}, "links/l1": {"fileUrl": "gs://b/covers/a.jpg"}}, nil, nil, []string{
			"unless[0]: fileUrl holds what is no id, such as an address or several ids, in 1 of 1, and these refer to nothing: correct the documents first"}},
		"paths in a field of URLs": {every("shows", fields{"unless": array{field("collection", "links", "showUrl")}, "with": array{
			fields{"objects": "covers/**", "field": "cover"}}}), map[string]fields{"shows/s1": {"cover": "covers/a.jpg"}, "links/l1": {"showUrl": "shows/s1"}},
			nil, nil, nil},
		"files of nobody": {fields{"objects": "covers/**", "age": fields{"days": 7}, "gone": "nobody"}, covers, []string{"gs://b/covers/p.jpg"}, nil, nil},
		"files of folders by ids": {every("shows", fields{"with": array{fields{"objects": "audio/{id}/**"}, field("collection", "songs", "show")},
			"unless": array{field("collection", "posters", "show")}}), map[string]fields{"posters/p": {"show": "s1", "file": "audio/s1/p.png"},
			"shows/s1": {}, "shows/s2": {}, "clips/c": {"source": "audio/s2/e0.mp3"}, "songs/x": {"show": "s2", "file": "audio/s2/x.mp3"},
			"albums/a": {"file": "audio/s3/x.mp3"}}, nil, nil, []string{`with[0]: documents of clips refer to files below audio/ by source, and would refer to nothing without them: ` +
			`leave this entry out, and let a rule about files delete them, with {"collection": "clips", "field": "source"} and each other field that refers to them in "gone"`}},
		"everything below": {every("shows", fields{"with": array{fields{"subcollection": "**"}}}), map[string]fields{
			"shows/s1": {}, "shows/s1/episodes/e1": {}, "clips/c": {"episode": "shows/s1/episodes/e1"}}, nil, nil, []string{
			`with[0]: documents of clips refer to documents of shows/{id}/episodes by episode, and would refer to nothing without them: to keep such episodes, write ` +
				`{"subcollection": "episodes", "unless": [{"collection": "clips", "field": "episode"}]} and what else is below in place of "**"`}},
		"files that would stay": {every("uploads", fields{"with": array{fields{"subcollection": "parts"}, fields{"objects": "clips/{id}/**"}}}), uploads, nil, nil, []string{
			`raw of documents of uploads refers to files below raw/, and these would stay: to delete them, too, add {"objects": "raw/**", "field": "raw"} to "with"`,
			`audio of documents of parts refers to files below audio/, and these would stay: to delete them, too, write a rule about files with ` +
				`{"collectionGroup": "parts", "field": "audio"} in "gone"`}},
		"files that rules delete": {every("uploads", fields{"with": array{fields{"subcollection": "**"}, fields{"objects": "clips/{id}/**"},
			fields{"objects": "raw/**", "field": "raw"}}}), uploads, nil, files("audio/", field("collectionGroup", "parts", "audio")), nil},
		"what has the id of an account": {fields{"accounts": "anonymous", "age": fields{"by": "lastActive", "days": 30}}, people, []string{"person00", "person02"}, nil, []string{
			`documents of members have the ids of 2 of 2 accounts that were looked at, and would stay: to delete them, too, add {"document": "members/{uid}"} to "with"`,
			`documents of profiles have the ids of 2 of 2 accounts that were looked at, and would stay: to delete them, too, add {"document": "profiles/{uid}"} to "with"`,
			`documents of users have the ids of 2 of 2 accounts that were looked at, and would stay: to delete them, too, add {"document": "users/{uid}"} to "with"`}},
		"what has the id of an account that is deleted with it or keeps it": {fields{"accounts": "anonymous", "age": fields{"by": "lastActive", "days": 30},
			"with": array{fields{"document": "profiles/{uid}"}, fields{"document": "members/{uid}"}}, "unless": array{fields{"document": "users/{uid}"}}},
			people, []string{"person00", "person02"}, nil, nil},
		"what belongs to documents by its id": {every("users", nil), people, nil, nil, []string{
			`documents of members have the ids of 3 of 5 documents of users that were looked at, and would stay: to delete them, too, add {"document": "members/{id}"} to "with"`,
			`documents of profiles have the ids of 3 of 5 documents of users that were looked at, and would stay: to delete them, too, add {"document": "profiles/{id}"} to "with"`}},
		"what documents belong to by their id": {every("members", fields{"with": array{fields{"document": "profiles/{id}"}}}), people, nil, nil, nil},
		"values of another type": {open(fields{"field": "open", "==": true}), offers, nil, nil, []string{
			`unless[0].where[0]: open is of another type in 1 of 3, and these keep nothing: to have them keep it, too, write "in" with a value of each type`}},
		"values that none has": {open(fields{"field": "state", "in": array{"yes", "new"}}), offers, nil, nil, []string{
			`unless[0].where[0]: no document of deals has state "yes", which the rule keeps; the documents looked at have done and new`}},
		"values that some have": {open(fields{"field": "state", "==": "new"}), offers, nil, nil, nil},
		"what is no id": {every("bikes", fields{"gone": array{fields{"document": "sellers/{seller}"}}}), bikes, nil, nil, []string{
			"gone[0]: seller holds what is no id, such as an address or several ids, in 2 of 15, and these count as gone: correct the documents first",
			"gone[0]: seller holds a list in 1 of 15, which leads to nothing: write {seller[]}"}},
		"ids that are addresses": {every("bikes", fields{"gone": array{fields{"document": "mails/{mail}"}}}), bikes, nil, nil, nil},
		"a whole collection": {with(every("members", nil), fields{"maxDuePercent": 50}), people, nil, nil, []string{
			`all 6 documents of members are due: to keep some, write "where", "gone" or "unless", or else "maxDuePercent": 100`,
			`documents of profiles have the ids of 5 of 5 documents of members that were looked at, and would stay: to delete them, too, add {"document": "profiles/{id}"} to "with"`}},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, tt.rule)
			for path, data := range tt.data {
				f.Set(t, path, stored(t, f, data).(fields))
			}
			var beside []rule.Rule
			if tt.beside != nil {
				beside = append(beside, *entry(t, tt.beside).Rule)
			}
			var meter usage.Meter
			got := doubts.Of(usage.NewContext(t.Context(), &meter), reader(t, f), nil, *entry(t, tt.rule).Rule, beside, tt.due)
			enginetest.Want(t, "doubts", tt.want, got)
			if reads := meter.Usage().FirestoreReads; reads > 300 {
				t.Errorf("%d reads", reads)
			}
		})
	}
}

// TestDoubtsOfFilesByIDs: files and folders that have the ids of what a rule deletes are said, unless a rule says anything of their
// folder, or they have the ids of something else.
func TestDoubtsOfFilesByIDs(t *testing.T) {
	t.Parallel()
	files := []string{"avatars/person00.png", "avatars/person01.png", "avatars/default.png", "uploads/person00/a/1.png", "uploads/person01/2.png",
		"logs/person001.txt", "covers/B.jpg", "covers/B_1x1.jpg", "covers/c_1x1.jpg", "pets/person00.png", "pets/person01.png", "pets/person09.png", "top.png"}
	guests := fields{"accounts": "anonymous", "age": fields{"by": "lastActive", "days": 30}}
	people := fields{"collection": "people", "age": "any", "maxDuePercent": 100}
	avatars := fields{"objects": "avatars/{uid}.*", "gone": array{fields{"document": "people/{uid}"}}, "age": fields{"days": 1}}
	const start1, start2 = "files below avatars/ have the ids of 2 of 2 ", "files below uploads/ have the ids of 2 of 2 "
	const rest = "that were looked at, and would stay: to delete them, too, "
	for name, tt := range map[string]struct {
		rule, beside fields
		want         []string
	}{
		"accounts": {guests, nil, []string{
			start1 + "accounts " + rest + `write a rule about files, {"objects": "avatars/{uid}.*", "gone": [{"document": "users/{uid}"}]}`,
			`files below pets/ have the ids of 2 of 2 accounts ` + rest + `write a rule about files, {"objects": "pets/{uid}.*", "gone": [{"document": "users/{uid}"}]}`,
			start2 + "accounts " + rest + `write a rule about files, {"objects": "uploads/{uid}/**", "gone": [{"document": "users/{uid}"}]}`}},
		"documents": {people, nil, []string{
			start1 + "documents of people " + rest + `write a rule about files, {"objects": "avatars/{id}.*", "gone": [{"document": "people/{id}"}]}`,
			start2 + "documents of people " + rest + `add {"objects": "uploads/{id}/**"} to "with"`}},
		"documents with their covers": {with(people, fields{"with": array{fields{"objects": "uploads/{id}/**"}, fields{"objects": "covers/**", "field": "cover"}}}), avatars, []string{
			`with[1]: resized copies, such as covers/B_1x1.jpg, would stay: to delete them, too, write a rule about files, {"objects": "covers/**", "gone": [{"collection": "people", "field": "cover"}]}`}},
		"documents with covers of which another rule deletes the copies": {with(people, fields{"with": array{fields{"objects": "uploads/{id}/**"}, fields{"objects": "avatars/**", "field": "face"},
			fields{"objects": "covers/**", "field": "cover"}}}), fields{"objects": "covers/**", "gone": array{fields{"collection": "people", "field": "cover"}}, "age": fields{"days": 1}}, nil},
		"a folder without files": {with(people, fields{"with": array{fields{"objects": "uploads/{id}/**"}, fields{"objects": "cover/**", "field": "cover"}}}), avatars, []string{
			"with[1]: no file is below cover/, so nothing is deleted along by it: is that its name?"}},
		"documents, and rules that say it": {with(people, fields{"with": array{fields{"objects": "uploads/{id}/**"}}}), avatars, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, tt.rule)
			due := []string{"person00", "person01"}
			for i, id := range due {
				if f.Set(t, "people/"+id, fields{"cover": id}); tt.rule["collection"] != nil {
					due[i] = "people/" + id
				}
			}
			list := func(_ context.Context, prefix string) (names []string, _ error) {
				for _, file := range files {
					folder, _, isBelow := strings.Cut(file, "/")
					switch {
					case prefix == "" && isBelow && !slices.Contains(names, folder+"/"):
						names = append(names, folder+"/")
					case prefix != "" && strings.HasPrefix(file, prefix), prefix == "" && !isBelow:
						names = append(names, file)
					}
				}
				return names, nil
			}
			var beside []rule.Rule
			if tt.beside != nil {
				beside = append(beside, *entry(t, tt.beside).Rule)
			}
			got := doubts.Of(t.Context(), reader(t, f), list, *entry(t, tt.rule).Rule, beside, due)
			got = slices.DeleteFunc(got, func(said string) bool {
				return !strings.Contains(said, "file") || strings.HasPrefix(said, "documents")
			})
			enginetest.Want(t, "doubts", tt.want, slices.Sorted(slices.Values(got)))
		})
	}
}
