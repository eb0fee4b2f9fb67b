package functions_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"reflect"
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
	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/documents/encode"
	"github.com/firesweep/firesweep/shared/manifest"
)

var full = flag.Bool("full", false, "try each part of the security rules")

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
	field      string // that it is about
}

func (a attempt) String() string {
	who := map[string]string{me: "its user", stranger: "another user", nobody: "somebody who is not signed in"}[a.as]
	return fmt.Sprintf("%s: %s by %s", a.collection, a.what, who)
}

// method says what it asks for, in the words of security rules.
func (a attempt) method() string {
	switch {
	case a.reads:
		return "read"
	case a.after == nil:
		return "delete"
	case a.before == nil:
		return "create"
	}
	return "update"
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
		add := func(what, as string, before, after map[string]any, allowed bool, field string) {
			all = append(all, attempt{
				what: what, collection: collection, as: as, path: o.Path, before: before, after: after, allowed: allowed, field: field,
			})
		}
		for _, as := range []string{me, stranger, nobody} {
			add("create", as, nil, o.Fields, o.Creates && as == me, "")
			add("delete", as, o.Fields, nil, o.Deletes && as == me, "")
			edited := with(o.Fields, map[string]any{"harmless": "x"})
			if o.Edits != nil {
				edited = with(o.Fields, o.Edits)
			}
			add("edit", as, o.Fields, edited, o.Edits != nil && as == me, "")
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
				add("create with a "+field+" of their own", me, nil, with(o.Fields, bad), false, field)
			}
			add("write "+field, me, o.Fields, with(o.Fields, bad), false, field)
			judgedNow := with(o.Fields, bad)
			without := maps.Clone(judgedNow)
			delete(without, field)
			if field != "userId" && field != "ownerId" && field != "owner_ids" { // or it would be somebody else's document
				add("remove "+field, me, judgedNow, without, false, field)
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
	slices.SortStableFunc(all, func(a, b attempt) int { return strings.Compare(a.collection+a.field, b.collection+b.field) })
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
	holds    map[string]map[string]any // what documents hold of which that is known
}

func newTrier(t *testing.T) trier {
	p := backendstest.Start(t)
	tr := trier{
		Project: p, client: p.RawFirestore(t), database: "projects/" + p.ID + "/databases/(default)",
		holds: map[string]map[string]any{},
	}
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
	if held, known := tr.holds[a.path]; !known || !reflect.DeepEqual(held, before) {
		if err := tr.commit(backendstest.AsOwner(ctx), a.path, before); err != nil {
			return false, err
		}
		tr.holds[a.path] = before
	}
	ctx = tr.As(ctx, a.as)
	if a.reads {
		_, err = tr.client.GetDocument(ctx, &firestorepb.GetDocumentRequest{Name: tr.database + "/documents/" + a.path})
	} else if err = tr.commit(ctx, a.path, after); err == nil {
		delete(tr.holds, a.path)
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
	if err := tr.setRules(t.Context(), read(t, rulesFile)); err != nil {
		t.Fatal(err)
	}
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

// TestEachPartOfTheSecurityRulesCounts leaves out each name in a list, each condition and each permission of docs/firestore.rules:
// then something is allowed or refused that should not be. Without -full it does so with every third of them.
func TestEachPartOfTheSecurityRulesCounts(t *testing.T) {
	t.Parallel()
	tr, text := newTrier(t), comment.ReplaceAllString(read(t, rulesFile), "")
	all := attempts(whatJobsJudge(t))
	mutants := mutants(text)
	if len(mutants) < 100 {
		t.Errorf("only %d parts are left out", len(mutants))
	}
	if !*full {
		some := mutants[:0]
		for i := 0; i < len(mutants); i += 3 {
			some = append(some, mutants[i])
		}
		mutants = some
	}
	for len(mutants) > 0 {
		var together, later []mutant
		taken := map[string]bool{}
		for _, m := range mutants {
			// Parts of what different collections are judged by are left out at once, which saves the emulator much reading of rules.
			if taken[m.of] || len(together) > 0 && (m.of == "" || taken[""]) {
				later = append(later, m)
				continue
			}
			taken[m.of] = true
			together = append(together, m)
		}
		mutants = later
		if err := tr.setRules(t.Context(), apply(text, together)); err != nil {
			t.Errorf("without %v: %v", together, err)
			continue
		}
		for _, m := range together {
			if !tr.notices(t, all, m) {
				t.Errorf("without %s, all is allowed and refused as with it", m)
			}
		}
	}
}

// notices reports whether an attempt ends otherwise than it should.
func (tr trier) notices(t *testing.T, all []attempt, m mutant) bool {
	concerned := slices.DeleteFunc(slices.Clone(all), func(a attempt) bool {
		collection, _, _ := strings.Cut(a.collection, "/")
		return m.of != "" && collection != m.of || m.permits != "" && !strings.Contains(m.permits, a.method())
	})
	if about := func(a attempt) bool { return a.field == m.field }; m.field != "" && slices.ContainsFunc(concerned, about) {
		concerned = slices.DeleteFunc(concerned, func(a attempt) bool { return !about(a) })
	}
	for _, a := range concerned {
		allowed, err := tr.try(t.Context(), a)
		if err != nil {
			t.Fatalf("without %s: %s: %v", m, a, err)
		}
		if allowed != a.allowed {
			return true
		}
	}
	return false
}

// mutant says what is left out of the rules.
type mutant struct {
	from, to  int
	put, text string // in its place, and what it was
	of        string // the collection whose rules it is in; "" if all
	field     string // the field that is left out of a list
	permits   string // what the statement permits that it is in, e.g. "read, delete"; "" if it is in none
}

func (m mutant) String() string { return fmt.Sprintf("%q in the rules of %q", m.text, m.of) }

// apply returns the rules without some parts, none of which lies in another.
func apply(text string, all []mutant) string {
	slices.SortFunc(all, func(a, b mutant) int { return b.from - a.from })
	for _, m := range all {
		text = text[:m.from] + m.put + text[m.to:]
	}
	return lastComma.ReplaceAllString(text, "$1")
}

var (
	block     = regexp.MustCompile(`(?m)^    match /(\w+)/`)
	list      = regexp.MustCompile(`\[\s*'\w+'[^\]]*\]`)
	names     = regexp.MustCompile(`'(\w+)',?`)
	conjunct  = regexp.MustCompile(`&&|\|\|`)
	permit    = regexp.MustCompile(`allow ([a-z, ]+): if `)
	comment   = regexp.MustCompile(`(?m)^\s*//.*$`)
	inAString = regexp.MustCompile(`'[^'\n]*'`)
	lastComma = regexp.MustCompile(`,(\s*\])`)
)

// mutants returns each part that can be left out of rules without comments.
func mutants(text string) (all []mutant) {
	of := func(at int) (collection string) {
		for _, m := range block.FindAllStringSubmatchIndex(text, -1) {
			if m[0] <= at {
				collection = text[m[2]:m[3]]
			}
		}
		return collection
	}
	cut := func(from, to int, put string) {
		m := mutant{from: from, to: to, put: put, text: strings.TrimSpace(text[from:to]), of: of(from)}
		for _, p := range permit.FindAllStringSubmatchIndex(text, -1) {
			if p[0] <= from && !strings.Contains(text[p[0]:from], ";") {
				m.permits = text[p[2]:p[3]]
			}
		}
		all = append(all, m)
	}
	for _, l := range list.FindAllStringIndex(text, -1) {
		for _, m := range names.FindAllStringSubmatchIndex(text[l[0]:l[1]], -1) {
			cut(l[0]+m[0], l[0]+m[1], "")
			last, name := &all[len(all)-1], text[l[0]+m[2]:l[0]+m[3]]
			switch last.of {
			case "":
				last.of = name // a collection of hasRules
			default:
				last.field = name
			}
		}
	}
	for _, m := range conjunct.FindAllStringIndex(masked(text), -1) {
		cut(m[0], m[0]+operand(text[m[0]:]), "")
		if text[m[0]:m[1]] == "||" {
			left := strings.LastIndex(text[:m[0]], "return ") + len("return ")
			cut(left, m[0], "false ")
		}
	}
	for _, m := range permit.FindAllStringIndex(text, -1) {
		cut(m[0], m[0]+strings.Index(text[m[0]:], ";")+1, "allow list: if false;") // a match must not be empty
		cut(m[1], m[1]+operand("  "+text[m[1]:])-2, "true ")
	}
	return all
}

// masked returns the text with nothing in its strings.
func masked(text string) string {
	return inAString.ReplaceAllStringFunc(text, func(s string) string { return strings.Repeat(" ", len(s)) })
}

// operand returns how long an operator and what stands behind it are.
func operand(text string) int {
	depth, plain := 0, masked(text)
	for i := 2; i < len(plain); i++ {
		switch c := plain[i]; {
		case c == '(' || c == '[':
			depth++
		case c == ')' || c == ']':
			if depth--; depth < 0 {
				return i
			}
		case depth == 0 && (c == ';' || strings.HasPrefix(plain[i:], "&&") || strings.HasPrefix(plain[i:], "||")):
			return i
		}
	}
	return len(text)
}
