package places_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore"

	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/functions/placeholderusers/places"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/manifest"
)

func TestParsePlaces(t *testing.T) {
	got, err := places.Parse("posts.userId, import-notes.author.id,group:notes.author_id")
	want := []places.Place{
		{Collection: "posts", Field: "userId"}, {Collection: "import-notes", Field: "author.id"}, {Collection: "notes", Group: true, Field: "author_id"},
	}
	check.OK(t, err)
	check.Same(t, "places", want, got)
	for _, wrong := range []string{"", "posts", "posts.", ".userId", "posts.userId,", "posts/p/comments.userId", "posts.user..id", "posts.user.", "posts.userId;x.y",
		"__all__.userId", "posts.__name__", "posts.a.__name__", strings.Repeat("a", 1501) + ".b", "a." + strings.Repeat("b", 1501), "a" + strings.Repeat(".bb", 501),
		strings.Repeat("a.b,", 50) + "a.b", "group:", "group:notes", "group.posts:x", "groups:notes.x", "Group:notes.x", "group: notes.x", "a.b,a.b", "group:a/b.c"} {
		_, err := places.Parse(wrong)
		check.Fails(t, err)
	}
	// All that is wrong is said at once.
	_, err = places.Parse("posts,a.b,group:x, a.b")
	const says = `"posts" is neither collection.field nor group:collection.field; "group:x" is neither collection.field nor group:collection.field; a.b is there twice`
	if err == nil || err.Error() != says {
		t.Errorf("%v, want %s", err, says)
	}
}

// FuzzParsePlaces: whatever is accepted are collections and fields that Firestore can be asked for, and comes back.
func FuzzParsePlaces(f *testing.F) {
	for _, seed := range []string{"", "posts.userId,members.user_id", " a.b , c-d.e_f", "a", "a.", ".a", "a.b,", "a.b.c", "group:a.b.c", "group:a.b,a.b", "a/b/c.d", "__all__.x", "a.__name__", "_._", "a.b\n", "a.`b`"} {
		f.Add(seed)
	}
	client := &firestore.Client{}
	// Firestore's __.*__; __name__ above all, which is the document's id and no field.
	reserved := func(name string) bool { return len(name) > 3 && name[:2] == "__" && name[len(name)-2:] == "__" }
	f.Fuzz(func(t *testing.T, text string) {
		all, err := places.Parse(text)
		if err != nil {
			return
		}
		if len(all) == 0 || len(all) > 50 {
			t.Fatalf("%q: %d places", text, len(all))
		}
		var pairs []string
		for _, p := range all {
			pairs = append(pairs, p.String())
			if client.Collection(p.Collection) == nil || strings.Contains(p.Collection, "/") || reserved(p.Collection) {
				t.Errorf("%q: no top-level collection %q", text, p.Collection)
			}
			if _, err := client.Collection("x").Where(p.Field, "==", "u").Serialize(); err != nil || reserved(p.Field) {
				t.Errorf("%q: no field %q: %v", text, p.Field, err)
			}
		}
		again, err := places.Parse(strings.Join(pairs, ","))
		check.OK(t, err)
		check.Same(t, text+", again", all, again)
	})
}

// TestReferred asks of a document, while planning and in a commit, whether another refers to it.
func TestReferred(t *testing.T) {
	type state struct {
		cleanup.Subject
		in    places.Place
		known bool
	}
	all, err := places.Parse("posts.author,lists.members,maps.author.id,group:notes.owner.id")
	check.OK(t, err)
	f := newFunction(t, worker(cleanup.Rule[state]{
		Name: "thing", Reach: cleanup.Reach{Items: "things", Deletes: []string{"things"}},
		Load: cleanup.OneByOne(func(ctx context.Context, src cleanup.Source, s cleanup.Subject) (state, error) {
			in, known, err := places.Referred(ctx, src, s.Ref(), all)
			return state{s, in, known}, err
		}),
		Judge: func(s state, _ cleanup.Run) cleanup.Decision {
			if s.in != (places.Place{}) || !s.known {
				return cleanup.Keep(fmt.Sprintf("%s, known: %v", s.in, s.known))
			}
			return cleanup.Do("delete thing", "nothing refers to it")
		},
		Change: func(s state, _ cleanup.Decision, _ cleanup.Run) cleanup.Change {
			return cleanup.Change{Writes: []documents.Write{{Op: documents.Delete, Ref: s.Ref()}}}
		},
	}))
	thing := f.Firestore(t).Doc("things/42")
	for name, tt := range map[string]struct {
		path, field string
		value       any
		in          string // "": nowhere
	}{
		"a text":               {"posts/p", "author", "42", "posts.author"},
		"a number":             {"posts/p", "author", 42, "posts.author"},
		"a real number":        {"posts/p", "author", 42.0, "posts.author"},
		"a reference":          {"posts/p", "author", thing, "posts.author"},
		"in a list":            {"lists/l", "members", []any{"7", "42"}, "lists.members"},
		"a number in a list":   {"posts/p", "author", []any{42}, "posts.author"},
		"another":              {"posts/p", "author", "421", ""},
		"another number":       {"posts/p", "author", 421, ""},
		"another field":        {"posts/p", "editor", "42", ""},
		"another collection":   {"notes/n", "author", "42", ""},
		"a map":                {"posts/p", "author", map[string]any{"id": "42"}, ""},
		"of another kind":      {"posts/p", "author", f.Firestore(t).Doc("boxes/42"), ""},
		"a subcollection's":    {"things/x/posts/p", "author", "42", ""},
		"a path":               {"posts/p", "author", "things/42", "posts.author"},
		"a path from the root": {"posts/p", "author", []any{"/things/42"}, "posts.author"},
		"a path to a folder":   {"posts/p", "author", "things/42/", "posts.author"},
		"a blank behind":       {"posts/p", "author", "42 ", "posts.author"},
		"a blank before":       {"lists/l", "members", []any{"7", " 42"}, "lists.members"},
		"a line's end":         {"maps/m", "author", map[string]any{"id": "42\n"}, "maps.author.id"},
		"a path with a blank":  {"posts/p", "author", "things/42 ", "posts.author"},
		"another with a blank": {"posts/p", "author", "421 ", ""},
		"another's path":       {"posts/p", "author", "boxes/42", ""},
		"with zeros before it": {"posts/p", "author", "0042", ""},
		"in a map":             {"maps/m", "author", map[string]any{"id": 42}, "maps.author.id"},
		"in a map's list":      {"maps/m", "author", map[string]any{"id": []any{thing}}, "maps.author.id"},
		"in a list of maps":    {"maps/m", "author", []any{map[string]any{"id": "42"}}, ""},
		"the key of a map":     {"posts/p", "author", map[string]any{"42": true}, ""},
		"a group's":            {"things/x/notes/n", "owner", map[string]any{"id": "42"}, "group:notes.owner.id"},
		"a group's, deeper":    {"a/b/c/d/notes/n", "owner", map[string]any{"id": []any{"42"}}, "group:notes.owner.id"},
		"a group's top level":  {"notes/n", "owner", map[string]any{"id": thing}, "group:notes.owner.id"},
		"another group's":      {"things/x/memos/n", "owner", map[string]any{"id": "42"}, ""},
		"nothing refers to it": {"posts/p", "author", nil, ""},
	} {
		f.Reset(t)
		f.Set(t, "things/42", map[string]any{})
		f.Set(t, tt.path, map[string]any{tt.field: tt.value})
		want, kept := enginetest.Done("delete thing", 1), map[string]int{}
		if tt.in != "" {
			want, kept = map[string]report.Counts{}, map[string]int{tt.in + ", known: true": 1}
		}
		got := f.Run(t, `{"thing":"42"}`)
		enginetest.WantReport(t, got, report.Completed, want)
		enginetest.Want(t, name, kept, got.Kept)
	}
	// Two places refer to it between planning and the commit: their answers come beside each other there.
	f.Reset(t)
	f.Set(t, "things/42", map[string]any{})
	f.Hooks.BeforeApply = func() {
		f.Set(t, "posts/p", map[string]any{"author": "42"})
		f.Set(t, "lists/l", map[string]any{"members": []any{"42"}})
	}
	got := f.Run(t, `{"thing":"42"}`)
	enginetest.WantReport(t, got, report.Completed, map[string]report.Counts{"delete thing": {Planned: 1, Changed: 1}})
	// A reference to things/… takes more than the id: of 1,476 bytes it can be asked for, of one more it cannot.
	f.Hooks.BeforeApply = nil
	for n, kept := range map[int]map[string]int{1476: {}, 1477: {"., known: false": 1}, 1500: {"., known: false": 1}} {
		got := f.RunQuery(t, "?dryRun=true", fmt.Sprintf(`{"thing":%q}`, strings.Repeat("x", n)))
		enginetest.Want(t, fmt.Sprint("an id of ", n), kept, got.Kept)
	}
}

// TestUnwritten: a place is written if any document has the field, whatever it holds, and asking costs a read a place.
func TestUnwritten(t *testing.T) {
	all, err := places.Parse("posts.author,lists.members,maps.author.id,group:notes.owner.id,nulls.x,empty.x,others.x")
	check.OK(t, err)
	var got []places.Place
	f := newFunction(t, cleanup.Job{Name: "testJob", Plan: func(ctx context.Context, p *cleanup.Planner) (err error) {
		got, err = places.Unwritten(ctx, p.Documents, all)
		for _, place := range got {
			p.Warn(ctx, place.String())
		}
		return err
	}})
	f.Indexes = []manifest.Index{{CollectionGroup: "notes", QueryScope: "COLLECTION_GROUP", Fields: []manifest.IndexField{{FieldPath: "owner.id", Order: "ASCENDING"}}}}
	report := f.Run(t, "")
	enginetest.Want(t, "in an empty database", all, got)
	enginetest.Want(t, "warnings", 7, len(report.Warnings))
	enginetest.Want(t, "reads", int64(3+len(all)), report.Usage.FirestoreReads) // the lease, and what is for all jobs
	f.Set(t, "posts/p", map[string]any{"author": map[string]any{}})
	f.Set(t, "lists/l", map[string]any{"members": []any{}})
	f.Set(t, "maps/m", map[string]any{"author": map[string]any{"id": f.Firestore(t).Doc("things/1")}})
	f.Set(t, "a/b/notes/n", map[string]any{"owner": map[string]any{"id": strings.Repeat("x", 2000)}})
	f.Set(t, "nulls/n", map[string]any{"x": nil})
	f.Set(t, "empty/e", map[string]any{"x": ""})
	f.Set(t, "others/o", map[string]any{"y": 1})
	report = f.Run(t, "")
	enginetest.Want(t, "then", []places.Place{{Collection: "others", Field: "x"}}, got)
	enginetest.Want(t, "warnings", []string{"others.x"}, report.Warnings)
	enginetest.Want(t, "reads", int64(3+len(all)), report.Usage.FirestoreReads)
}

// worker judges one thing by a rule.
func worker(rule cleanup.AnyRule) cleanup.Job {
	return cleanup.Job{
		Name: "testWorker", Task: &cleanup.Task{Fields: []string{"thing"}}, Rules: []cleanup.AnyRule{rule},
		Plan: func(ctx context.Context, p *cleanup.Planner) error {
			return p.ConsiderRefs(ctx, rule, documents.Ref{Collection: "things", ID: p.Task["thing"]})
		},
	}
}

func newFunction(t *testing.T, job cleanup.Job) *enginetest.Function {
	t.Helper()
	return enginetest.New(t, engine.NewFunction(job, 5*time.Minute, []config.Backend{config.Firestore}))
}
