package declared_test

import (
	"fmt"
	"testing"

	"github.com/firesweep/firesweep/shared/declared/doubts"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/usage"
)

// twelve returns twelve documents of a collection, whose ids begin with the text before the number.
func twelve(all map[string]fields, before string, of func(i int) fields) {
	for i := range 12 {
		all[fmt.Sprintf("%s%02d", before, i)] = of(i)
	}
}

// TestDoubtsOfRelations: a relation that finds nothing, and a field elsewhere that refers to what is deleted, are said with what to
// write instead; nothing is said of those that are right.
func TestDoubtsOfRelations(t *testing.T) {
	t.Parallel()
	users := fields{"collection": "users", "age": "any", "maxDuePercent": 100}
	unless := func(relation fields) fields { return with(users, fields{"unless": array{relation}}) }
	owner := fields{"collection": "projects", "field": "owner"}
	keep := func(collection, field string) string {
		return fmt.Sprintf("documents of %s refer to documents of users by %s, and would refer to nothing without them: to keep such users, add "+
			`{"collection": %[1]q, "field": %[2]q} to "unless"; to delete the %[1]s with them, add it to "with"`, collection, field)
	}
	text := func(format string) func(i int) fields {
		return func(i int) fields { return fields{"owner": fmt.Sprintf(format, i), "author": fmt.Sprintf(format, i)} }
	}
	const keys = "is seats.* the right field? It stands for the keys of a map, and not for its values"
	seats := func(all map[string]fields) {
		twelve(all, "tours/t", func(i int) fields {
			return fields{"seats": fields{"A1": fmt.Sprintf("u%02d", i)}, "rows": array{"row"}}
		})
	}
	plans := func(all map[string]fields) {
		twelve(all, "users/u", func(i int) fields { return fields{"plan": []string{"pro", "free"}[i%2]} })
		for i := range 12 {
			tour := fmt.Sprintf("tours/t%02d", i)
			all[tour], all[tour+"/log/l"] = fields{"user": fmt.Sprintf("u%02d", i)}, fields{"kind": "bought"}
		}
	}
	for name, tt := range map[string]struct {
		rule fields
		data func(all map[string]fields)
		due  []string
		want []string
	}{
		"addresses where ids should be": {unless(owner), func(all map[string]fields) { twelve(all, "projects/p", text("u%02d@x.de")) }, nil, []string{
			"unless[0]: none of the 12 values of projects.owner looked at refers to a document of users: is it the right field?"}},
		"maps among ids": {unless(owner), func(all map[string]fields) {
			twelve(all, "projects/p", func(i int) fields {
				if i%2 == 0 {
					return fields{"owner": fields{"id": fmt.Sprintf("u%02d", i), "name": "x"}}
				}
				return fields{"owner": fmt.Sprintf("u%02d", i)}
			})
		}, nil, []string{"unless[0]: owner holds a map in 6 of 12, which refers to nothing: write owner.id"}},
		"maps with ids as keys": {unless(owner), func(all map[string]fields) {
			twelve(all, "projects/p", func(i int) fields { return fields{"owner": fields{fmt.Sprintf("u%02d", i): true}} })
		}, nil, []string{"unless[0]: no document of projects has one value in owner (if it holds a list, write owner[]), so a run does nothing: is that its name?",
			"unless[0]: owner holds a map in 12 of 12, which refers to nothing: write owner.{id}"}},
		"ids, addresses and paths of another form": {unless(owner), func(all map[string]fields) {
			twelve(all, "projects/p", func(i int) fields {
				return fields{"owner": fmt.Sprintf([]string{"u%02d", "users/u%02d", "u%02d@x.de", "projects/p/databases/(default)/documents/users/u%02d"}[i%4], i)}
			})
		}, nil, []string{"unless[0]: owner holds what is no id, such as an address or several ids, in 6 of 12, and these refer to nothing: correct the documents first"}},
		"keys in place of values": {fields{"collection": "tours", "age": "any", "gone": array{fields{"document": "users/{seats.*}"}}}, seats, nil,
			[]string{"gone[0]: none of the 12 documents users/{seats.*} looked at exists, so nearly all of these are due: " + keys}},
		"keys in place of values that keep": {fields{"collection": "tours", "age": "any", "unless": array{fields{"document": "users/{seats.*}"}}}, seats, nil,
			[]string{"unless[0]: none of the 12 documents users/{seats.*} looked at exists, and no item leads to one that does, so this keeps nothing: " + keys}},
		"keys that few have": {fields{"collection": "tours", "age": "any", "unless": array{fields{"document": "users/{seats.*}"}}}, func(all map[string]fields) {
			for i := range 3 {
				twelve(all, fmt.Sprintf("tours/t%d", i), func(int) fields { return fields{"seats": fields{"A1": "x"}} })
			}
			all["tours/z"] = fields{"seats": fields{"u01": "x"}}
		}, nil, nil},
		"one list for all": {fields{"collection": "tours", "age": "any", "gone": array{fields{"document": "users/{rows[]}"}}}, seats, nil,
			[]string{"gone[0]: none of the 12 documents users/{rows[]} looked at exists, so nearly all of these are due: is rows[] the right field?"}},
		"ids that repeat": {fields{"collection": "tenants/{t}/events", "age": "any", "maxDuePercent": 100, "with": array{fields{"collection": "carts", "field": "event"}}}, func(all map[string]fields) {
			twelve(all, "tenants/t/events/e", func(int) fields { return fields{} })
			twelve(all, "carts/c", func(i int) fields { return fields{"event": fmt.Sprintf("e%02d", i)} })
		}, nil, []string{"with[0]: none of the 12 values of carts.event looked at refers to a document of tenants/{t}/events: ids repeat there, so have this " +
			"field hold references or paths"}},
		"a value that nobody has, of a document that keeps": {fields{"collection": "tours", "age": "any", "unless": array{fields{"document": "users/{user}",
			"where": array{fields{"field": "plan", "==": "Pro"}}}}}, plans, nil, []string{
			`unless[0].where[0]: no document of users has plan "Pro", which the rule keeps; the documents looked at have free and pro`}},
		"a value that nobody has, below": {fields{"collection": "tours", "age": "any", "gone": array{fields{"subcollection": "log",
			"where": array{fields{"field": "kind", "==": "buy"}}}}}, plans, nil, []string{
			`gone[0].where[0]: no document of tours/{id}/log has kind "buy", which the rule keeps; the documents looked at have bought`}},
		"ids": {unless(owner), func(all map[string]fields) { twelve(all, "projects/p", text("u%02d")) }, nil, nil},
		"one of many": {unless(owner), func(all map[string]fields) {
			twelve(all, "projects/p", text("x%02d"))
			all["projects/p00"] = fields{"owner": "u00"}
		}, nil, []string{"unless[0]: only 1 of the 12 values of projects.owner looked at refers to a document of users: is it the right field?"}},
		"too few to tell": {unless(owner), func(all map[string]fields) {
			all["projects/p1"], all["projects/p2"] = fields{"owner": "x1"}, fields{"owner": "x2"}
		}, nil, nil},
		"the inverse of a path": {unless(fields{"collection": "tenants", "field": "id"}), func(all map[string]fields) {
			for _, id := range []string{"free", "pro", "ent"} {
				all["tenants/"+id] = fields{"id": id}
			}
		}, nil, []string{`unless[0]: none of the 3 values of tenants.id looked at refers to a document of users: to look up what a field of ` +
			`the item refers to, write "document"`}},
		"in with": {with(users, fields{"with": array{owner}}), func(all map[string]fields) { twelve(all, "projects/p", text("x%02d")) }, nil, []string{
			"with[0]: none of the 12 values of projects.owner looked at refers to a document of users: is it the right field?"}},
		"a path of gone": {fields{"collection": "profiles", "age": "any", "gone": array{fields{"document": "users/{author}"}}},
			func(all map[string]fields) { twelve(all, "profiles/p", text("user%d")) }, nil, []string{
				"gone[0]: none of the 12 documents users/{author} looked at exists, so nearly all of these are due: is author the right field?"}},
		"a path of maps": {fields{"collection": "profiles", "age": "any", "unless": array{fields{"document": "users/{author}"}}},
			func(all map[string]fields) {
				twelve(all, "profiles/p", func(i int) fields { return fields{"author": fields{"uid": fmt.Sprintf("u%02d", i), "age": 1}} })
			}, nil, []string{"unless[0]: author holds a map in 12 of 12, which refers to nothing: write author.uid"}},
		"a path of with": {fields{"collection": "profiles", "age": "any", "maxDuePercent": 100, "with": array{fields{"document": "users/{author}"}}},
			func(all map[string]fields) { twelve(all, "profiles/p", text("user%d")) }, nil, []string{
				"with[0]: none of the 12 documents users/{author} looked at exists, so nothing is deleted along: is author the right field?"}},
		"a path of unless": {fields{"collection": "profiles", "age": "any", "unless": array{fields{"document": "users/{author}"}}},
			func(all map[string]fields) { twelve(all, "profiles/p", text("user%d")) }, nil, []string{
				"unless[0]: none of the 12 documents users/{author} looked at exists, and no item leads to one that does, so this keeps " +
					"nothing: is author the right field?"}},
		"a path of unless that few have": {fields{"collection": "profiles", "age": "any", "unless": array{fields{"document": "users/{author}"}}},
			func(all map[string]fields) {
				for i := range 3 {
					twelve(all, fmt.Sprintf("profiles/p%d", i), text("other%d"))
				}
				all["profiles/q"] = fields{"author": "u01"}
			}, nil, nil},
		"addresses among uids": {fields{"collection": "profiles", "age": "any", "gone": array{fields{"account": "{author}"}}},
			func(all map[string]fields) {
				twelve(all, "profiles/p", text("user%d@x.de"))
				twelve(all, "profiles/q", text("user%d"))
			}, nil, []string{"gone[0]: author holds what is no id, such as an address or several ids, in 12 of 24, and these find no account: name the field that holds its uid"}},
		"not, where most have no such field": {fields{"collection": "users", "age": "any", "where": array{fields{"field": "role", "!=": "admin"},
			fields{"field": "kind", "not-in": array{"a", "b"}}, fields{"field": "many", "!=": "x"}, fields{"field": "some", "!=": nil}}},
			func(all map[string]fields) {
				twelve(all, "users/u", func(int) fields { return fields{"many": "y"} })
				all["users/u00"] = fields{"role": "admin", "kind": "a", "many": "x", "some": 1}
				all["users/u01"] = fields{"role": 1, "kind": "b", "many": 1, "some": 1}
			}, nil, []string{
				`where[0]: role is missing, or of another type, in 11 of 12, which the rule keeps: to delete these, too, write ` +
					`{"field": "role", "==": "admin"} into "unless" instead`,
				`where[1]: kind is missing, or of another type, in 10 of 12, which the rule keeps: to delete these, too, write ` +
					`{"field": "kind", "in": ["a","b"]} into "unless" instead`}},
		"another field of a collection that the rule names": {with(users, fields{"with": array{fields{"collection": "groups", "field": "memberIds[]", "remove": true}}}),
			func(all map[string]fields) {
				all["users/kJ3hd8aXq1"], all["users/pQ9sLm2Zt7"] = fields{}, fields{}
				all["groups/g1"] = fields{"memberIds": array{"kJ3hd8aXq1", "pQ9sLm2Zt7"}, "createdBy": "kJ3hd8aXq1"}
			}, nil, []string{keep("groups", "createdBy")}},
		"what the rule deletes along, and what keeps": {with(users, fields{"with": array{fields{"collection": "posts", "field": "author"},
			fields{"document": "carts/{cart}"}, fields{"subcollection": "notes", "with": array{fields{"document": "marks/{mark}"}}}},
			"unless": array{fields{"collection": "orders", "field": "buyer"}}}),
			func(all map[string]fields) {
				for i := range 6 {
					id := fmt.Sprintf("person%02d", i)
					all["users/"+id] = fields{"cart": "cart-of-" + id}
					all["users/"+id+"/notes/n"] = fields{"mark": "mark-of-" + id}
					all["marks/mark-of-"+id] = fields{"user": id}
					all["posts/post00"+id] = fields{"author": id, "authorPath": "users/" + id}
					all["carts/cart-of-"+id] = fields{"user": id}
					all["orders/order00"+id] = fields{"buyer": id, "by": fields{"id": id}}
				}
				all["orders/order-of-two"] = fields{"buyer": "person00", "seller": "person01"}
			}, nil, []string{keep("orders", "seller")}},
		"many collections, and documents that were not looked at": {users, func(all map[string]fields) {
			for i := range 130 {
				all[fmt.Sprintf("users/person%03d", i)] = fields{}
			}
			for i := range 70 {
				all[fmt.Sprintf("other%02d/x", i)] = fields{"user": "none", "name": "a name"}
			}
			for _, name := range []string{"other02", "other31", "other58"} {
				all[name+"/a"] = fields{"a": "person128", "b": "status", "userId": "p", "c": "person1xx"}
				all[name+"/z"] = fields{"a": "person001"}
			}
		}, nil, []string{keep("other02", "a"), keep("other31", "a"), keep("other58", "a"), "nobody looked whether documents of these " +
			"collections refer to what is deleted: other00, other04, other08, other13, other17 and 11 others"}},
		"short ids in a field of the name": {users, func(all map[string]fields) {
			all["tasks/t"] = fields{"userId": "u01", "state": "u01"}
		}, nil, []string{keep("tasks", "userId")}},
		"documents that are deleted along": {fields{"collection": "orders", "age": "any", "maxDuePercent": 100, "with": array{fields{"document": "addresses/{addressId}"},
			fields{"collection": "notes", "field": "order"}, fields{"subcollection": "lines"}}}, func(all map[string]fields) {
			for i := range 4 {
				order := fmt.Sprintf("order%04d", i)
				all["orders/"+order] = fields{"addressId": fmt.Sprintf("addr%06d", i)}
				all[fmt.Sprintf("addresses/addr%06d", i)] = fields{"s": 1, "next": "addr000001"}
				all[fmt.Sprintf("notes/note%04d", i)] = fields{"order": order, "address": "addr000001"}
				all["orders/"+order+"/lines/line01"] = fields{}
			}
			all["customers/c"] = fields{"defaultAddress": "addr000001", "pinned": array{"note0001"}, "line": "/orders/order0001/lines/line01", "word": "line01"}
		}, nil, []string{
			`with[0]: documents of customers refer to documents of addresses by defaultAddress, and would refer to nothing without them: to keep such addresses, ` +
				`add {"collection": "customers", "field": "defaultAddress"} to its "unless"; to delete the customers with them, add it to its "with"`,
			`with[1]: documents of customers refer to documents of notes by pinned[], and would refer to nothing without them: to keep such notes, ` +
				`add {"collection": "customers", "field": "pinned[]"} to its "unless"; to take them out of the customers, add it to its "with", beside "remove": true`,
			`with[2]: documents of customers refer to documents of orders/{id}/lines by line, and would refer to nothing without them: to keep such lines, ` +
				`add {"collection": "customers", "field": "line"} to its "unless"; to delete the customers with them, add it to its "with"`}},
		"files that are deleted along": {fields{"collection": "posts", "age": "any", "maxDuePercent": 100, "with": array{fields{"objects": "pics/**", "field": "pic"},
			fields{"objects": "faces/**", "field": "faces[].url"}}}, func(all map[string]fields) {
			const url = "https://firebasestorage.googleapis.com/v0/b/b/o/"
			all["posts/post000001"] = fields{"pic": url + "pics%2Fa.jpg?alt=media&token=1", "faces": array{fields{"url": "faces/f.png"}}}
			all["posts/post000002"] = fields{"pic": "gs://b/pics/b.jpg", "faces": array{fields{"url": "faces/g.png"}}}
			all["albums/a"] = fields{"cover": "pics/a.jpg", "other": "pics/c.jpg", "faces": array{"faces/f.png"}}
			for i := range 12 {
				all[fmt.Sprintf("shops/s%02d", i)] = fields{"pic": fmt.Sprintf("gs://b/pics/%d.jpg", i)}
			}
			all["shops/z"] = fields{"pic": "gs://b/pics/b.jpg"}
		}, nil, []string{
			`with[0]: documents of albums refer to files below pics/ by cover, and would refer to nothing without them: leave this entry out, ` +
				`and let a rule about files delete them, with {"collection": "albums", "field": "cover"} and {"collection": "posts", "field": "pic"} in "gone"`,
			`with[0]: documents of shops refer to files below pics/ by pic, and would refer to nothing without them: leave this entry out, ` +
				`and let a rule about files delete them, with {"collection": "shops", "field": "pic"} and {"collection": "posts", "field": "pic"} in "gone"`,
			`with[1]: documents of albums refer to files below faces/ by faces[], and would refer to nothing without them: leave this entry out, ` +
				`and let a rule about files delete them, with {"collection": "albums", "field": "faces[]"} and {"collection": "posts", "field": "faces[].url"} in "gone"`}},
		"accounts": {fields{"accounts": "anonymous", "age": fields{"by": "lastActive", "days": 30}, "with": array{fields{"document": "users/{uid}"}}},
			func(all map[string]fields) {
				all["users/kJ3hd8aXq1"] = fields{"uid": "kJ3hd8aXq1"}
				all["games/g1"], all["games/g2"] = fields{"owner": "kJ3hd8aXq1"}, fields{"player": "zzzzzzzzzz"}
				all["likes/l"] = fields{"by": "zzzzzzzzzz"}
			}, []string{"kJ3hd8aXq1"}, []string{`documents of games refer to accounts that are due by owner, and would refer to nothing without them: ` +
				`to delete these, too, write a rule about games with {"account": "{owner}"} in "gone"`}},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, tt.rule)
			all := map[string]fields{}
			tt.data(all)
			if len(all) > 0 && all["users/person000"] == nil && all["users/kJ3hd8aXq1"] == nil {
				twelve(all, "users/u", func(i int) fields {
					if has := all[fmt.Sprintf("users/u%02d", i)]; has != nil {
						return has
					}
					return fields{}
				})
			}
			for path, data := range all {
				f.Set(t, path, data)
			}
			var meter usage.Meter
			got := doubts.Of(usage.NewContext(t.Context(), &meter), reader(t, f), nil, *entry(t, tt.rule).Rule, nil, append([]string{"something"}, tt.due...))
			enginetest.Want(t, "doubts", tt.want, got)
			if reads := meter.Usage().FirestoreReads; reads > 300 {
				t.Errorf("%d reads", reads)
			}
		})
	}
}
