package main

import (
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/manifest"
)

// upstream returns the functions of manifest.json alone.
func upstream(t testing.TB) []manifest.Entry { return withRules(t, `{}`) }

// withRules returns the functions with a list of one's own.
func withRules(t testing.TB, rules string) []manifest.Entry {
	t.Helper()
	list, err := functions.With(manifest.File{Name: "rules.json", Text: []byte(rules)})
	ok(t, err)
	return list.All
}

// TestIndexesOfThisRepository: firestore.indexes.json is what the command writes, with one's own rules or without.
func TestIndexesOfThisRepository(t *testing.T) {
	t.Parallel()
	text := read(t, "../../firestore.indexes.json")
	o := newOperator(t)
	all := o.well(t, "indexes")
	if text == all {
		return
	}
	ours, err := needed(upstream(t))
	ok(t, err)
	a, out, _ := o.app()
	ok(t, encode(a.out, ours))
	want(t, "firestore.indexes.json; write it: go run ./scripts/firesweep indexes > firestore.indexes.json", out.String(),
		text)
}

// reportsNeed is what cleanupReports needs, as it is said.
var reportsNeed = []string{
	"index of reports: status ASCENDING, createdAt ASCENDING (COLLECTION)",
	"field cleanupRuns.expireAt: not indexed, TTL",
	"field cleanupUndo.*: not indexed",
	"field cleanupUndo.expireAt: not indexed, TTL",
}

const activityRule = `{"rules":[{"name":"cleanupActivity","schedule":"0 4 * * *","collectionGroup":"activity","age":{"field":"at","days":30}}]}`

// needs returns what one job needs.
func needs(t testing.TB, rules, job string) indexFile {
	t.Helper()
	jobs := withRules(t, rules)
	i := slices.IndexFunc(jobs, func(e manifest.Entry) bool { return e.Name == job })
	ours, err := needed(jobs[i : i+1])
	ok(t, err)
	return ours
}

// TestMergeAddsWhatIsLacking: of what is there nothing is changed, not even a comment.
func TestMergeAddsWhatIsLacking(t *testing.T) {
	t.Parallel()
	const index = `{"collectionGroup":"reports","queryScope":"COLLECTION","fields":[{"fieldPath":"status","order":"ASCENDING"},{"fieldPath":"createdAt","order":"ASCENDING"}]}`
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"nothing", `{}`, reportsNeed},
		{"empty", noIndexes, reportsNeed},
		{"as firebase init makes it",
			"{\n  // Example:\n  //\n  // \"indexes\": [],\n  \"indexes\": [],\n  \"fieldOverrides\": [] // none\n}", reportsNeed},
		{"no overrides", `{"indexes":[]}`, reportsNeed},
		{"another index",
			"{\n\t\"indexes\": [\n\t\t{ \"collectionGroup\": \"a\", \"queryScope\": \"COLLECTION\", \"fields\": [ {\"fieldPath\":\"b\",\"order\":\"ASCENDING\"}] } /* ours */\n\t]\n}\n", reportsNeed},
		{"the index", `{"indexes":[` + index + `]}`, reportsNeed[1:]},
		{"the index as it is exported",
			`{"indexes":[{"collectionGroup":"reports","queryScope":"COLLECTION","density":"SPARSE_ALL","apiScope":"ANY_API","fields":[{"fieldPath":"status","order":"ASCENDING"},{"fieldPath":"createdAt","order":"ASCENDING"},{"fieldPath":"__name__","order":"ASCENDING"}]}]}`, reportsNeed[1:]},
		{"the index by mode",
			`{"indexes":[{"collectionGroup":"reports","fields":[{"fieldPath":"status","mode":"ASCENDING"},{"fieldPath":"createdAt","mode":"ASCENDING"}]}]}`, reportsNeed[1:]},
		{"the index of a group", `{"indexes":[` + strings.Replace(index, "COLLECTION", "COLLECTION_GROUP", 1) + `]}`, reportsNeed},
		{"the index the other way", `{"indexes":[` + strings.Replace(index, "ASCENDING", "DESCENDING", 1) + `]}`, reportsNeed},
		{"the index with the name the other way", `{"indexes":[` + strings.Replace(index, `}]}`,
			`},{"fieldPath":"__name__","order":"DESCENDING"}]}`, 1) + `]}`, reportsNeed},
		{"the index of another edition", `{"indexes":[` + strings.Replace(index, `"queryScope"`, `"density":"DENSE","queryScope"`,
			1) + `]}`, reportsNeed},
		{"a vector",
			`{"indexes":[{"collectionGroup":"reports","queryScope":"COLLECTION","fields":[{"fieldPath":"status","order":"ASCENDING"},{"fieldPath":"createdAt","vectorConfig":{"dimension":3,"flat":{}}}]}]}`, reportsNeed},
		{"a TTL policy with indexes",
			`{"fieldOverrides":[{"collectionGroup":"cleanupRuns","fieldPath":"expireAt","ttl":true,"indexes":[{"order":"ASCENDING"}]}]}`,
			[]string{reportsNeed[0], reportsNeed[2], reportsNeed[3]}},
		{"a field without the TTL policy",
			`{"fieldOverrides":[{"collectionGroup":"cleanupRuns","fieldPath":"expireAt","indexes":[]}]}`, []string{reportsNeed[0],
				"field cleanupRuns.expireAt: TTL", reportsNeed[2], reportsNeed[3]}},
	} {
		merged, added, err := mergedWell(t, tt.text, needs(t, `{}`, "cleanupReports"))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		want(t, tt.name, tt.want, added)
		for _, comment := range regexp.MustCompile(`//.*|/\*.*\*/`).FindAllString(tt.text, -1) {
			wantParts(t, merged, comment)
		}
	}
}

// mergedWell adds to a file what it lacks. Either it is refused and nothing is said but why, or it has all that is needed afterwards,
// and what it had.
func mergedWell(t *testing.T, text string, ours indexFile) (merged string, added []string, err error) {
	t.Helper()
	theirs, _, wrong := parseIndexFile([]byte(text))
	packed, added, err := merge("f", []byte(text), ours)
	if err != nil {
		if packed != nil || added != nil {
			t.Errorf("refused with %v, and yet %q", err, packed)
		}
		return "", nil, err
	}
	if merged = string(packed); wrong != nil || len(added) == 0 && merged != text {
		t.Errorf("%v, nothing was added to %q, and it is %q", wrong, text, merged)
	}
	file, _, err := parseIndexFile(packed)
	if err != nil {
		t.Fatalf("%v in %q", err, merged)
	}
	want(t, "their indexes", slices.Concat(theirs.Indexes), slices.Concat(file.Indexes[:len(theirs.Indexes)]))
	for i, o := range theirs.FieldOverrides {
		if got := file.FieldOverrides[i]; !got.same(o) || len(got.Indexes) < len(o.Indexes) {
			t.Errorf("%s is %s", o.words(), got.words())
		}
	}
	again, lacks, err := merge("f", packed, ours)
	want(t, "lacking again", []string(nil), lacks)
	want(t, "merged again", merged, string(again))
	return merged, added, err
}

func TestMergeCombinesOverrides(t *testing.T) {
	t.Parallel()
	merged, added, err := merge("f", []byte(`{
  "indexes": [],
  "fieldOverrides": [
    {
      "collectionGroup": "activity",
      "fieldPath": "at",
      "ttl": false,
      "indexes": [
        { "queryScope": "COLLECTION_GROUP", "order": "DESCENDING" }, // the feed
        { "order": "ASCENDING" }
      ]
    }
  ]
}
`), needs(t, activityRule, "cleanupActivity"))
	ok(t, err)
	want(t, "added", []string{
		"field activity.at: DESCENDING (COLLECTION)", "field activity.at: CONTAINS (COLLECTION)",
		"field activity.at: ASCENDING (COLLECTION_GROUP)",
	}, added[:3])
	before, _, _ := strings.Cut(string(merged), `"cleanupRuns",`)
	want(t, "merged", `{
  "indexes": [],
  "fieldOverrides": [
    {
      "collectionGroup": "activity",
      "fieldPath": "at",
      "ttl": false,
      "indexes": [
        { "queryScope": "COLLECTION_GROUP", "order": "DESCENDING" }, // the feed
        { "order": "ASCENDING" },
        {
          "queryScope": "COLLECTION",
          "order": "DESCENDING"
        },
        {
          "queryScope": "COLLECTION",
          "arrayConfig": "CONTAINS"
        },
        {
          "queryScope": "COLLECTION_GROUP",
          "order": "ASCENDING"
        }
      ]
    },
    {
      "collectionGroup": "cleanupRuns",
`, before+`"cleanupRuns",
`)
}

func TestMergeRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text  string
		usage bool
		want  []string
	}{
		{`{"fieldOverrides":[{"collectionGroup":"activity","fieldPath":"at","indexes":[]}]}`, false,
			[]string{"activity.at: one wants it not indexed at all, the other wants it indexed"}},
		{`{"fieldOverrides":[{"collectionGroup":"cleanupUndo","fieldPath":"*","indexes":[{"order":"ASCENDING"}]}]}`, false,
			[]string{"cleanupUndo.*: one wants it not indexed"}},
		{`{"fieldOverrides":[{"collectionGroup":"cleanupRuns","fieldPath":"expireAt","ttl":false,"indexes":[]},{"collectionGroup":"cleanupUndo","fieldPath":"at","ttl":true,"indexes":[]}]}`, false,
			[]string{"cleanupRuns.expireAt: one wants a TTL policy on it, the other wants none",
				"cleanupUndo.at and cleanupUndo.expireAt: a collection has one TTL policy"}},
		{``, true, []string{"f: "}}, {`[]`, true, []string{"it is not a JSON object"}}, {`{"indexes":{}}`, true,
			[]string{"f: "}}, {`{"indexes":null}`, true, []string{"indexes is not a list"}},
		{`{"indexes":[{"collectionGroup":"a","fields":[{"fieldPath":"b"}]}],"indexes":[]}`, true, []string{`"indexes" is given twice`}},
		{`{"Indexes":[]}`, true, []string{`"Indexes" must be "indexes"`}},
		{`{"indexes":[{"collectionId":"a","fields":[]}]}`, true, []string{"firebase firestore:indexes"}},
		{`{"indexes":[],"fieldOverrides":[{"collectionGroup":"a","fieldPath":"b"}]}`, true, []string{"fieldOverrides[0] has no"}},
	} {
		_, added, err := mergedWell(t, tt.text, needs(t, activityRule, "cleanupActivity"))
		if err == nil {
			t.Errorf("%s: %q was added", tt.text, added)
			continue
		}
		var usage usageError
		if errors.As(err, &usage) != tt.usage {
			t.Errorf("%s: %v", tt.text, err)
		}
		wantParts(t, err.Error(), tt.want...)
	}
}

// TestNeededContradictions: rules of one's own may want what a job cannot have.
func TestNeededContradictions(t *testing.T) {
	t.Parallel()
	entries := withRules(t,
		`{"rules":[{"name":"cleanupArchive","schedule":"0 4 * * *","collectionGroup":"archivedInquiries","age":{"field":"messages","days":1}}]}`)
	if _, err := needed(entries); err == nil || !strings.Contains(err.Error(),
		"archivedInquiries.messages: one wants it not indexed at all") {
		t.Errorf("%v", err)
	}
}

func TestIndexesCommand(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.screen.width = 200 // the folder's name is long
	folder := t.TempDir()
	rules, file := filepath.Join(folder, "rules.json"), filepath.Join(folder, "firestore.indexes.json")
	text := strings.Replace(activityRule, "{", `{"enabled":["cleanupBannedUsers"],`, 1)
	write(t, rules, text)
	// A job comes with its worker, of which cleanupPlaceholderUsers has one.
	got := parsed[indexFile](t, o.well(t, "indexes", "--rules", rules, "cleanupActivity", "cleanupPlaceholderUsers"))
	if len(got.Indexes) != 0 || len(got.FieldOverrides) != 4 {
		t.Errorf("%+v", got)
	}
	o.refuses(t, exitWrongUse, "no such file", "indexes", "--check", file)
	wantParts(t, o.well(t, "indexes", "--write", file, "cleanupReports"), "added: "+reportsNeed[0],
		"firebase deploy --only firestore:indexes")
	wantParts(t, o.well(t, "indexes", "--write", file, "cleanupReports"), "nothing was written")
	wantParts(t, o.well(t, "indexes", "--check", file, "cleanupReports"), "has all that is needed")
	written := read(t, file)
	want(t, "the new file", o.well(t, "indexes", "cleanupReports"), written)

	out, _ := o.ends(t, exitFailed, "indexes", "--check", file, "--rules", rules)
	wantParts(t, out, "lacks: index of users:", "lacks: field activity.at:", "firesweep indexes --rules "+rules+" --write "+file)
	const closed = `{"fieldOverrides":[{"collectionGroup":"activity","fieldPath":"at","indexes":[]}]}`
	write(t, file, closed)
	wantParts(t, o.refuses(t, exitFailed, "activity.at", "indexes", "--write", file, "--rules", rules), "nothing was written")
	want(t, "the file after a contradiction", closed, read(t, file))
	for args, part := range map[string]string{
		"--write a --check b": "contradict each other", "cleanupReport": "no job is called",
		"deletePlaceholderUser": "no job is called", "--rules " + folder + "/none": "no such file",
	} {
		o.refuses(t, exitWrongUse, part, append([]string{"indexes"}, strings.Fields(args)...)...)
	}
}

// TestIndexesOfPlacesThatReferToUsers: where they are is a setting.
func TestIndexesOfPlacesThatReferToUsers(t *testing.T) {
	t.Parallel()
	o := newOperator(t, "PLACEHOLDER_REFERENCES=posts.userId,group:notes.author.id")
	file := filepath.Join(t.TempDir(), "indexes.json")
	out := oneLine(o.well(t, "indexes", "--write", file, "cleanupPlaceholderUsers"))
	wantParts(t, out, "field notes.author.id: ASCENDING (COLLECTION), DESCENDING (COLLECTION), CONTAINS (COLLECTION), "+
		"ASCENDING (COLLECTION_GROUP), CONTAINS (COLLECTION_GROUP)")
	wantNone(t, out, "posts")
	o.well(t, "indexes", "--check", file, "cleanupPlaceholderUsers")
	o.env["PLACEHOLDER_REFERENCES"] = "group:notes"
	o.refuses(t, exitWrongUse, "PLACEHOLDER_REFERENCES: ", "indexes")
}

func FuzzMerge(f *testing.F) {
	ours := needs(f, activityRule, "cleanupActivity")
	for _, seed := range []string{``, `{}`, noIndexes, "{\"indexes\":[],}", "{//\n\"fieldOverrides\":[/**/]}",
		`{"indexes":[{"collectionGroup":"a","fields":[{"fieldPath":"b"}]}],"x":1}`,
		`{"fieldOverrides":[{"collectionGroup":"activity","fieldPath":"at","indexes":[{"order":"ASCENDING"}]}]}`,
		`{"indexes":[],"indexes":[]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) { _, _, _ = mergedWell(t, string(text), ours) })
}
