package functions_test

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	apiv1 "cloud.google.com/go/firestore/apiv1"
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/emulator/sampledata"
	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/documents/encode"
	"github.com/firesweep/firesweep/shared/manifest"
)

const (
	me       = sampledata.Me
	stranger = sampledata.Stranger
	nobody   = "" // not signed in
)

// attempt is one thing that somebody tries.
type attempt struct {
	what       string
	collection string // names of collections, as [whatJobsJudge] has them
	as, path   string
	before     map[string]any // nil: there is no document
	after      map[string]any // nil: deletes it
	reads      bool
	allowed    bool
}

func (a attempt) String() string {
	who := map[string]string{me: "its user", stranger: "another user", nobody: "somebody who is not signed in"}[a.as]
	return fmt.Sprintf("%s: %s by %s", a.collection, a.what, who)
}

// attempts returns all that is tried: of each collection what an ordinary app does, and what nobody may, with each field that
// jobs judge.
func attempts(judged judged) (all []attempt) {
	clients := sampledata.Clients()
	for collection, fields := range judged {
		o, open := clients[collection]
		if !open {
			all = append(all, closed(collection)...)
			continue
		}
		add := func(what, as string, before, after map[string]any, allowed bool) {
			all = append(all, attempt{
				what: what, collection: collection, as: as, path: o.Path, before: before, after: after, allowed: allowed,
			})
		}
		for _, as := range []string{me, stranger, nobody} {
			add("create", as, nil, o.Fields, o.Creates && as == me)
			add("delete", as, o.Fields, nil, o.Deletes && as == me)
			edited := with(o.Fields, map[string]any{"harmless": "x"})
			if o.Edits != nil {
				edited = with(o.Fields, o.Edits)
			}
			add("edit", as, o.Fields, edited, o.Edits != nil && as == me)
			read := attempt{what: "read", collection: collection, as: as, path: o.Path, before: o.Fields, reads: true}
			read.allowed = as == me && collection != "reports" || as == stranger && !o.Private
			all = append(all, read)
		}
		for field := range fields {
			if o.Harmless[field] != "" {
				continue
			}
			bad := bad(o, field)
			if !slices.Contains(o.Chosen, field) {
				add("create with a "+field+" of their own", me, nil, with(o.Fields, bad), false)
			}
			add("write "+field, me, o.Fields, with(o.Fields, bad), false)
			judgedNow := with(o.Fields, bad)
			without := maps.Clone(judgedNow)
			delete(without, field)
			if field != "userId" && field != "ownerId" && field != "owner_ids" { // or it would be somebody else's document
				add("remove "+field, me, judgedNow, without, false)
			}
		}
	}
	for _, collection := range []string{"cleanup", "jobs"} { // neither is Firesweep's
		all = append(all, attempt{
			what: "write", collection: "others", as: me, path: collection + "/x", after: map[string]any{"a": 1}, allowed: true,
		})
	}
	pictures := func(n int) map[string]any {
		return map[string]any{"userId": me, "mediaItems": slices.Repeat([]any{map[string]any{"url": "gs://b/posts/ken/a.png"}}, n)}
	}
	for n, allowed := range map[int]bool{20: true, 21: false} {
		all = append(all,
			attempt{what: fmt.Sprintf("post %d pictures", n), collection: "posts", as: me, path: "posts/p", after: pictures(n), allowed: allowed},
			attempt{what: fmt.Sprintf("edit a post to %d pictures", n), collection: "posts", as: me, path: "posts/p", before: pictures(1),
				after: pictures(n), allowed: allowed})
	}
	notice, message := clients["users/notifications"], clients["inquiries/messages"]
	text := map[string]any{"content": "…", "createdAt": sampledata.RequestTime{}}
	all = append(all,
		attempt{what: "come back while the account waits for its deletion", collection: "users", as: "banned", path: "users/banned",
			after: clients["users"].Fields},
		attempt{what: "edit the text of a notification", collection: "users/notifications", as: me, path: notice.Path,
			before: notice.Fields, after: with(notice.Fields, map[string]any{"title": "?"})},
		attempt{what: "ask without an image", collection: "inquiries/messages", as: me, path: message.Path, after: text, allowed: true},
		attempt{what: "ask with an image as Apple's SDK names it", collection: "inquiries/messages", as: me, path: message.Path, allowed: true,
			after: with(text, map[string]any{"imageUrl": strings.Replace(message.Fields["imageUrl"].(string), ".com/", ".com:443/", 1)})},
		attempt{what: "ask with another's image by gs://", collection: "inquiries/messages", as: me, path: message.Path,
			after: with(text, map[string]any{"imageUrl": "gs://my-app.appspot.com/inquiries/hana/screen.png"})},
		attempt{what: "ask in another's inquiry", collection: "inquiries/messages", as: stranger, path: message.Path, after: text},
		attempt{what: "post outside of circles", collection: "posts", as: me, path: "posts/p", after: map[string]any{"userId": me},
			allowed: true},
	)
	return all
}

// bad returns a value of a field that a client must not write.
func bad(o sampledata.Client, field string) map[string]any {
	value, special := o.Wrong[field]
	if is, isText := o.Fields[field].(string); !special && isText {
		value = is + "-other"
	} else if _, isList := o.Fields[field].([]any); !special && isList {
		value = []any{me, stranger}
	} else if !special {
		value = time.Now().AddDate(-1, 0, 0)
	}
	return map[string]any{field: value}
}

// closed returns what a client tries with a collection that is closed to all.
func closed(collection string) (all []attempt) {
	path := strings.ReplaceAll(collection, "/", "/x/") + "/x"
	some := map[string]any{"userId": me, "ownerId": me}
	for _, as := range []string{me, nobody} {
		for _, a := range []attempt{
			{what: "create", after: some}, {what: "update", before: some, after: with(some, map[string]any{"a": 1})},
			{what: "delete", before: some}, {what: "read", before: some, reads: true},
		} {
			a.collection, a.as, a.path = collection, as, path
			all = append(all, a)
		}
	}
	return all
}

func with(fields, more map[string]any) map[string]any {
	all := maps.Clone(fields)
	maps.Copy(all, more)
	return all
}

// trier tries attempts on a project.
type trier struct {
	*backendstest.Project
	client   *apiv1.Client
	database string
}

func newTrier(t *testing.T) trier {
	p := backendstest.Start(t)
	tr := trier{Project: p, client: p.RawFirestore(t), database: "projects/" + p.ID + "/databases/(default)"}
	for path, fields := range map[string]map[string]any{
		"inquiries/of-ken": {"userId": me}, "circles/there": {"ownerId": stranger}, "authDeletionRetries/banned": {"attempts": 1},
	} {
		p.Set(t, path, fields)
	}
	return tr
}

// write returns a write of a document as a whole, or its deletion.
func (tr trier) write(path string, fields map[string]any) (*firestorepb.Write, error) {
	name := tr.database + "/documents/" + path
	if fields == nil {
		return &firestorepb.Write{Operation: &firestorepb.Write_Delete{Delete: name}}, nil
	}
	plain, w := maps.Clone(fields), &firestorepb.Write{}
	for field, value := range fields {
		if value == (sampledata.RequestTime{}) {
			delete(plain, field)
			const now = firestorepb.DocumentTransform_FieldTransform_REQUEST_TIME
			w.UpdateTransforms = append(w.UpdateTransforms, &firestorepb.DocumentTransform_FieldTransform{
				FieldPath: field, TransformType: &firestorepb.DocumentTransform_FieldTransform_SetToServerValue{SetToServerValue: now},
			})
		}
	}
	encoded, err := encode.Fields(plain)
	w.Operation = &firestorepb.Write_Update{Update: &firestorepb.Document{Name: name, Fields: encoded}}
	return w, err
}

func (tr trier) commit(ctx context.Context, path string, fields map[string]any) error {
	w, err := tr.write(path, fields)
	if err == nil {
		_, err = tr.client.Commit(ctx, &firestorepb.CommitRequest{Database: tr.database, Writes: []*firestorepb.Write{w}})
	}
	return err
}

// try returns whether an attempt is allowed.
func (tr trier) try(ctx context.Context, a attempt) (allowed bool, err error) {
	before := maps.Clone(a.before)
	after := maps.Clone(a.after)
	for field, value := range before {
		if value == (sampledata.RequestTime{}) { // it was created some time ago, and an update leaves that as it is
			before[field] = time.Unix(1_700_000_000, 0)
			if after != nil && after[field] == value {
				after[field] = before[field]
			}
		}
	}
	if err := tr.commit(backendstest.AsOwner(ctx), a.path, before); err != nil {
		return false, err
	}
	ctx = tr.As(ctx, a.as)
	if a.reads {
		_, err = tr.client.GetDocument(ctx, &firestorepb.GetDocumentRequest{Name: tr.database + "/documents/" + a.path})
	} else {
		err = tr.commit(ctx, a.path, after)
	}
	if status.Code(err) == codes.PermissionDenied {
		return false, nil
	}
	return err == nil, err
}

const rulesFile = "../docs/firestore.rules"

// permissive is the worst rule that somebody may have beside: it grants all that it can, and leaves out what the fragment says.
const permissive = "    match /{collection}/{document=**} { allow read, write: if !hasRules(collection); }\n"

// setRules sets the rules of a text with the permissive one beside them.
func (tr trier) setRules(ctx context.Context, text string) error {
	const end = "  }\n}\n"
	before, found := strings.CutSuffix(text, end)
	if !found {
		return fmt.Errorf("docs/firestore.rules ends otherwise than with %q", end)
	}
	return tr.SetSecurityRules(ctx, before+permissive+end)
}

// TestSecurityRulesCloseWhatJobsJudge tries on Google's own emulator what docs/firestore.rules is there for: no client writes what
// a job judges by, and an ordinary app works.
func TestSecurityRulesCloseWhatJobsJudge(t *testing.T) {
	t.Parallel()
	tr := newTrier(t)
	ok(t, tr.setRules(t.Context(), read(t, rulesFile)))
	judged := whatJobsJudge(t)
	for _, a := range attempts(judged) {
		allowed, err := tr.try(t.Context(), a)
		if err != nil || allowed != a.allowed {
			t.Errorf("%s: allowed %t, want %t, %v: mend docs/firestore.rules; a field that clients may write is Harmless there (emulator/sampledata)",
				a, allowed, a.allowed, err)
		}
	}
	for collection, client := range sampledata.Clients() {
		if judged[collection] == nil {
			t.Errorf("no job has to do with %s", collection)
		}
		for field := range client.Harmless {
			if !judged[collection][field] {
				t.Errorf("no job reads %s of %s", field, collection)
			}
		}
	}
	for _, name := range collections.Names() {
		if _, used := sampledata.Clients()[name]; used {
			t.Errorf("clients may use %s", name)
		}
	}
}

// TestStorageRulesNameTheFolders has Google's compiler read docs/storage.rules, which must have rules for each folder that jobs
// delete from. Nothing tries what they allow: no emulator that is at hand can.
func TestStorageRulesNameTheFolders(t *testing.T) {
	t.Parallel()
	text := read(t, "../docs/storage.rules")
	if err := backendstest.Start(t).SetSecurityRules(t.Context(), text); err != nil {
		t.Error(err)
	}
	for _, e := range upstream(t) {
		if e.Trigger != manifest.Schedule {
			continue
		}
		for _, o := range sampledata.Job(e.Name, time.Now(), "bucket").Objects {
			folder, _, _ := strings.Cut(o.Name, "/")
			if !o.Kept && !strings.Contains(text, "match /"+folder+"/{") {
				t.Errorf("%s deletes objects of %s/, of which docs/storage.rules says nothing", e.Name, folder)
			}
		}
	}
}

// judged are the fields of the sample's documents, by collection; "inquiries/messages" is the subcollection of every inquiry. A collection
// without any is one that jobs read or write all the same.
type judged map[string]map[string]bool

func (j judged) add(path string, fields map[string]any) {
	collection := collectionOf(path)
	if j[collection] == nil {
		j[collection] = map[string]bool{}
	}
	for field := range fields {
		j[collection][field] = true
	}
}

// reads are where the code says that it reads a field: a reader's argument, a condition of a query, or a constant.
var reads = regexp.MustCompile(`(?:\.(?:Value|Text|Time|Instant|Number|Whole)\(|\bData\[|\bField: +|\w+Field += )"(\w+)`)

// whatJobsJudge returns all that the sample has, which is more than jobs judge by, and never less: each field that their code reads
// is there.
func whatJobsJudge(t *testing.T) judged {
	t.Helper()
	all := judged{}
	for _, path := range collections.Documents() {
		all.add(path, nil)
	}
	folders := []string{"notifications", "posts", "../shared/cascade", "../shared/orphans"}
	for _, e := range upstream(t) {
		if e.Package != "" {
			folders = append(folders, e.Package)
		}
		for _, d := range sampledata.Job(sampleOf(e.Name), time.Now(), "bucket").Documents {
			all.add(d.Path, d.Before)
			all.add(d.Path, d.After)
		}
	}
	for _, folder := range folders {
		names, err := filepath.Glob(filepath.Join(folder, "*.go"))
		ok(t, err)
		for _, name := range slices.DeleteFunc(names, func(name string) bool { return strings.HasSuffix(name, "_test.go") }) {
			for _, m := range reads.FindAllStringSubmatch(read(t, name), -1) {
				if !all.has(m[1]) {
					t.Errorf("%s reads the field %s, which no document of the sample has: emulator/sampledata must show where it is", name, m[1])
				}
			}
		}
	}
	for _, job := range functions.Registered() {
		for _, rule := range job.Rules {
			reach := rule.Reaches()
			for _, pattern := range slices.Concat(reach.Deletes, reach.Writes, []string{reach.Items}) {
				if collection := strings.ReplaceAll(pattern, "/*/", "/"); all[collection] == nil {
					t.Errorf("%s reads or writes %s: emulator/sampledata must have a document of it", job.Name, collection)
				}
			}
		}
	}
	return all
}

func (j judged) has(field string) bool {
	for _, fields := range j {
		if fields[field] {
			return true
		}
	}
	return false
}

// collectionOf returns the names of the collections that a path leads through.
func collectionOf(path string) string {
	var names []string
	for i, part := range strings.Split(path, "/") {
		if i%2 == 0 {
			names = append(names, part)
		}
	}
	return strings.Join(names, "/")
}
