package declared_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/declared"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// pictures is a rule about objects that no document names.
var pictures = fields{"objects": "p/**", "age": fields{"days": 1},
	"gone": array{fields{"collection": "products", "field": "image"}, fields{"collection": "products", "field": "more[].url"}}}

// withPictures returns the function of [pictures], with two pictures that documents name and one that none names.
func withPictures(t *testing.T, rule fields) *enginetest.Function {
	t.Helper()
	f := start(t, rule)
	f.Now = time.Now().AddDate(0, 0, 3)
	f.Clock = func() time.Time { return f.Now }
	f.Set(t, "products/a", fields{"image": "gs://" + f.Bucket + "/p/a.png", "more": array{fields{"url": "p/b.png"}},
		"media": fields{"image": "p/a.png"}, "all": fields{"more": array{fields{"of": fields{"url": "p/b.png"}}}}})
	for _, name := range []string{"p/a.png", "p/b.png", "p/unused.png"} {
		f.Put(t, name, nil, nil)
	}
	return f
}

// TestDoubtfulReferences: wherever nobody can tell what documents name, nothing goes, not with force either. One field whose name
// is the whole path, as JavaScript's set writes it, may name an object, too.
func TestDoubtfulReferences(t *testing.T) {
	t.Parallel()
	dots := fields{"gone": array{fields{"collection": "products", "field": "media.image"},
		fields{"collection": "products", "field": "all.more[].of.url"}}}
	inList := fields{"all": fields{"more": array{fields{"of.url": "p/unused.png"}}}}
	beside := fields{"media": fields{"image": "p/a.png"}, "media.image": "p/unused.png"}
	for name, tt := range map[string]struct {
		more   fields // of the rule
		path   string
		data   fields // nil: the document is deleted
		refuse string // empty: it names nothing
	}{
		"dots": {dots, "products/b", fields{"media.image": "p/unused.png"},
			"products/b: one field has the whole name media.image"},
		"dots of a list": {dots, "products/b", fields{"all.more": array{"p/unused.png"}},
			"products/b: one field has the whole name all.more"},
		"dots in a list":          {dots, "products/b", inList, "products/b: one field has the whole name of.url"},
		"dots beside":             {dots, "products/b", beside, "products/b: one field has the whole name media.image"},
		"dots of null":            {dots, "products/b", fields{"media.image": nil}, ""},
		"dots of empty":           {dots, "products/b", fields{"media.image": ""}, ""},
		"the collection is empty": {path: "products/a", refuse: "no document of products names an object below p/ in image"},
		"nobody has the field":    {path: "products/a", data: fields{"image": "p/a.png"}, refuse: "names an object below p/ in more[].url"},
		"all name other folders": {path: "products/a", data: fields{"image": downloadURL("q/a.png"), "more": array{fields{"url": "p/b.png"}}},
			refuse: "names an object below p/ in image"},
		"another bucket":                           {path: "products/b", data: fields{"image": "gs://elsewhere/p/b.png"}, refuse: "products/b: image holds a URL of another bucket"},
		"another host":                             {path: "products/b", data: fields{"image": "https://cdn.example.com/p/b.png"}, refuse: "products/b: image holds a URL that names no"},
		"a picture of somebody's provider":         {nil, "products/b", fields{"image": "https://lh3.googleusercontent.com/a/ACg8ocJ=s96-c", "more": array{fields{"url": "https://graph.facebook.com/1/picture"}}}, ""},
		"a picture of a provider that may be ours": {path: "products/b", data: fields{"image": "https://lh3.googleusercontent.com/AAbbCC=s96-c"}, refuse: "products/b: image holds a URL that names no"},
		"a bare name":                              {path: "products/b", data: fields{"image": "b.png"}, refuse: "products/b: image holds a text that is neither a URL nor a name below p/"},
		"a number":                                 {path: "products/b", data: fields{"image": int64(5)}, refuse: "products/b: image holds no string"},
		"a map":                                    {path: "products/b", data: fields{"more": fields{"url": "p/b.png"}}, refuse: "products/b: more[].url holds no string"},
		"texts":                                    {path: "products/b", data: fields{"more": array{"p/b.png"}}, refuse: "products/b: more[].url holds no string"},
	} {
		t.Run(name, func(t *testing.T) {
			f := withPictures(t, with(pictures, tt.more))
			if tt.data == nil {
				f.Delete(t, tt.path)
			} else {
				f.Set(t, tt.path, stored(t, f, tt.data).(fields))
			}
			if tt.refuse == "" {
				enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("delete object", 1))
				return
			}
			for _, request := range []string{"", `{"force":true}`} {
				enginetest.WantAborted(t, f.Run(t, request), "references: ", tt.refuse)
			}
			enginetest.Want(t, "left", 3, len(f.Objects(t)))
		})
	}
}

// TestManyDoubtfulReferences: a run names the first documents that nobody understands, and says how many others there are.
func TestManyDoubtfulReferences(t *testing.T) {
	f := withPictures(t, pictures)
	for i := range 7 {
		f.Set(t, fmt.Sprintf("products/odd%d", i), fields{"image": int64(i)})
	}
	enginetest.WantAborted(t, f.Run(t, ""), "products/odd0: image holds no string, products/odd1: ", "odd4: image holds no string and 2 others, so")
	enginetest.Want(t, "left", 3, len(f.Objects(t)))
}

// TestSpellings: an object that a document means stays, in whatever spelling people write it, and another goes.
func TestSpellings(t *testing.T) {
	t.Parallel()
	for name, image := range map[string]any{
		"a token":        "p/in use.png?alt=media&token=1f",
		"several":        "p/a.png,p/in use.png",
		"several URLs":   "p/a.png " + "gs://BUCKET/p/in%20use.png",
		"blanks":         " p/in use.png\n",
		"a slash":        "/p/in use.png",
		"encoded":        "p%2Fin%20use.png",
		"encoded twice":  "p%252Fin%2520use.png",
		"a form's blank": "p/in+use.png",
		"backslash":      `p\in use.png`,
		"capitals":       "P/In Use.PNG",
		"HTML":           `<img src="p/in use.png" alt="">`,
		"JSON":           `{"path":"p\/in use.png"}`,
		"Markdown":       "![chair](p/in%20use.png)",
		"no extension":   "p/in use",
		"two slashes":    "p//in use.png",
		"another blank":  "p/in\u00a0use.png",
		"full width":     "p/ｉｎ　ｕｓｅ.png",
		"the console":    "see BUCKET/files/~2Fp~2Fin use.png",
		"nowhere":        nil,
	} {
		t.Run(name, func(t *testing.T) {
			f := withPictures(t, pictures)
			f.Put(t, "p/in use.png", nil, nil)
			if text, is := image.(string); is {
				f.Set(t, "products/b", fields{"image": strings.ReplaceAll(text, "BUCKET", f.Bucket)})
			}
			rep := f.Run(t, "")
			left := []string{"p/a.png", "p/b.png", "p/in use.png"}
			if image == nil {
				left = left[:2]
			}
			enginetest.Want(t, "status", report.Completed, rep.Status)
			enginetest.Want(t, "left", left, f.Objects(t))
		})
	}
}

// TestNamesThatMemoryHolds: a run that has no room for what documents refer to stops, before anything is deleted.
func TestNamesThatMemoryHolds(t *testing.T) {
	f := withPictures(t, pictures)
	run := cleanup.Run{Config: config.Config{Bucket: f.Bucket}}
	for most, fits := range map[int]bool{3: false, 100: true} {
		err := declared.NamesOf(t.Context(), *entry(t, pictures).Rule, most, reader(t, f), run)
		var limit *cleanup.LimitError
		if (err == nil) != fits || !fits && (!errors.As(err, &limit) || !strings.Contains(limit.Error(), "run.memory")) {
			t.Errorf("with room for %d: %v", most, err)
		}
	}
}

// TestReferencesAreReadAgain: what a document names since the plan was made stays, and what became doubtful keeps all.
func TestReferencesAreReadAgain(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		data fields
		want map[string]report.Counts
	}{
		"named since":    {fields{"image": "p/unused.png"}, map[string]report.Counts{"delete object": {Planned: 1, Changed: 1}}},
		"doubtful since": {fields{"image": "p"}, map[string]report.Counts{"delete object": {Planned: 1, Failed: 1}}},
		"as it was":      {fields{"image": nil}, map[string]report.Counts{"delete object": {Planned: 1, Done: 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			f := withPictures(t, pictures)
			f.Hooks.BeforeApply = func() { f.Set(t, "products/late", tt.data) }
			enginetest.Want(t, "actions", tt.want, f.Run(t, "").Actions)
			enginetest.Want(t, "left", 3-tt.want["delete object"].Done, len(f.Objects(t)))
		})
	}
}

// TestOwnersThatAppearMeanwhile: an object stays whichever document its name may mean appears after the plan.
func TestOwnersThatAppearMeanwhile(t *testing.T) {
	f := start(t, fields{"objects": "avatars/{uid}.*", "age": fields{"days": 1}, "gone": array{fields{"document": "users/{uid}"}}})
	f.Set(t, "users/hana", fields{"x": true})
	for _, object := range []string{"avatars/sea_10x20.png", "avatars/sky_10x20.png", "avatars/lake.png.webp", "avatars/gone_10x20.png"} {
		f.Put(t, object, nil, nil)
	}
	f.Hooks.BeforeApply = func() {
		for _, uid := range []string{"sea_10x20", "sky", "lake"} {
			f.Set(t, "users/"+uid, fields{"x": true})
		}
	}
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, map[string]report.Counts{"delete object": {Planned: 4, Done: 1, Changed: 3}})
	enginetest.Want(t, "left", []string{"avatars/lake.png.webp", "avatars/sea_10x20.png", "avatars/sky_10x20.png"}, f.Objects(t))
}

// TestReferencesCost: each document that may name an object is read once to plan, and once more before deletions, however many
// objects there are.
func TestReferencesCost(t *testing.T) {
	f := withPictures(t, pictures)
	f.SetMany(t, 300, func(i int) (string, fields) {
		return fmt.Sprintf("products/n%03d", i), fields{"image": fmt.Sprintf("p/n%03d.png", i)}
	})
	for i := range 300 {
		f.Put(t, fmt.Sprintf("p/n%03d.png", i), nil, nil)
	}
	idle := f.Run(t, `{"dryRun":true}`)
	if reason := idle.Plan[0].Reason; !strings.HasPrefix(reason, "no document refers to it in products.image or products.more[].url, uploaded") {
		t.Errorf("it is due because %s", reason)
	}
	rep := f.Run(t, "")
	enginetest.WantReport(t, rep, report.Completed, enginetest.Done("delete object", 1))
	if plan, run := idle.Usage.FirestoreReads, rep.Usage.FirestoreReads; plan < 301 || plan > 310 || run < 602 || run > 620 {
		t.Errorf("%d reads to plan, %d with deletions", plan, run)
	}
}

// TestFilesInWhateverSpelling: a file is deleted together with the document that refers to it, however that is spelt, and stays as long as
// another document of the collection refers to it, however that is spelt. What is not there is told.
func TestFilesInWhateverSpelling(t *testing.T) {
	t.Parallel()
	const download = "https://firebasestorage.googleapis.com/v0/b/BUCKET/o/covers%2Fa%20(1).png?alt=media&token="
	spellings := []string{"covers/a (1).png", "/covers/a (1).png", "gs://BUCKET/covers/a (1).png", "https://storage.googleapis.com/BUCKET/covers/a%20(1).png",
		download + "t1", download + "revoked", strings.Replace(download, "com/", "com:443/", 1) + "t1"}
	mine := append([]string{" covers/a (1).png", "covers%2Fa%20(1).png", "covers//a (1).png", `["covers/a (1).png"]`, "covers/a (1).png?alt=media"}, spellings...)
	for _, own := range mine {
		for _, others := range []string{"", "covers/a (1).png", download + "t1", own} {
			t.Run(own+" and "+others, func(t *testing.T) { sharedFile(t, "cover", own, others, "") })
		}
	}
	for _, others := range spellings {
		t.Run("a name and "+others, func(t *testing.T) { sharedFile(t, "cover", "covers/a (1).png", others, "") })
	}
	for _, others := range append([]string{""}, slices.DeleteFunc(slices.Clone(spellings), func(s string) bool { return strings.Contains(s, "revoked") })...) {
		t.Run("in a list, and "+others, func(t *testing.T) { sharedFile(t, "photos[]", "covers/a (1).png", others, "") })
	}
	for _, others := range []string{"", "covers/a (1).png"} {
		t.Run("in maps of a list, and "+others, func(t *testing.T) { sharedFile(t, "photos[].url", "covers/a (1).png", others, "") })
		t.Run("in a map, and "+others, func(t *testing.T) { sharedFile(t, "cover.url", download+"t1", others, "") })
		t.Run("in a collection group, and "+others, func(t *testing.T) { sharedFile(t, "cover", "covers/a (1).png", others, "collectionGroup") })
		t.Run("in many collections, and "+others, func(t *testing.T) { sharedFile(t, "cover", "covers/a (1).png", others, "users/{user}/drafts") })
	}
}

// TestManyFiles: a document may refer to many files, and all of them are deleted. One text that may refer to more than anybody looks
// up is kept, and told.
func TestManyFiles(t *testing.T) {
	f := start(t, drafts(fields{"maxDuePercent": 100, "with": array{fields{"objects": "covers/**", "field": "photos[]"}}}))
	var photos array
	var list []string
	for i := range 60 {
		list = append(list, fmt.Sprintf("covers/l%02d.png", i))
		photos = append(photos, fmt.Sprintf("covers/%02d.png", i))
		f.Put(t, photos[i].(string), nil, nil)
		f.Put(t, list[i], nil, nil)
	}
	f.Set(t, "drafts/due", fields{"updatedAt": old, "photos": append(photos, strings.Join(list, ","))})
	rep := f.Run(t, "")
	enginetest.WantReport(t, rep, report.Completed, enginetest.Done("delete draft", 1))
	enginetest.Want(t, "files", list, f.Objects(t))
	enginetest.Want(t, "kept", 1, rep.Kept["photos[] may refer to more files than anybody can tell"])
}

// TestFilesBehindTheFirst200: of a document that refers to more files than a commit looks up, the others stay, like the one here that
// another document refers to.
func TestFilesBehindTheFirst200(t *testing.T) {
	f := start(t, drafts(fields{"maxDuePercent": 100, "with": array{fields{"objects": "covers/**", "field": "photos[]"}}}))
	var photos array
	for i := range 200 {
		photos = append(photos, fmt.Sprintf("covers/none%03d.png", i))
	}
	f.Put(t, "covers/shared.png", nil, nil)
	f.Set(t, "drafts/due", fields{"updatedAt": old, "photos": append(photos, "covers/shared.png")})
	f.Set(t, "drafts/young", fields{"updatedAt": now, "photos": array{"covers/shared.png"}})
	rep := f.Run(t, "")
	enginetest.WantReport(t, rep, report.Completed, enginetest.Done("delete draft", 1))
	enginetest.Want(t, "files", []string{"covers/shared.png"}, f.Objects(t))
	enginetest.Want(t, "kept", 1, rep.Kept["one document names more than 200 objects"])
}

// TestSharedAmongDue: a plan shows the file and the document that only due documents share, of each of them, and the run deletes both.
func TestSharedAmongDue(t *testing.T) {
	f := start(t, drafts(fields{"maxDuePercent": 100, "with": array{
		fields{"objects": "covers/**", "field": "cover"},
		fields{"document": "series/{series}", "with": array{fields{"subcollection": "parts"}}},
	}}))
	f.Put(t, "covers/a.png", nil, nil)
	f.Set(t, "series/s/parts/p", fields{"n": 1})
	f.Set(t, "series/s", fields{"n": 1})
	for i := range 30 { // more than a commit has
		f.Set(t, fmt.Sprintf("drafts/d%02d", i), fields{"updatedAt": old, "cover": "covers/a.png", "series": "s"})
	}
	plan := f.Run(t, `{"dryRun":true}`).Plan
	enginetest.Want(t, "planned", 30, len(plan))
	for _, planned := range plan {
		enginetest.Want(t, planned.Target, map[string]int{"delete file": 1, "delete document of series": 1, "delete document of parts": 1}, planned.With)
	}
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("delete draft", 30))
	enginetest.Want(t, "files", 0, len(f.Objects(t)))
	enginetest.Want(t, "documents", 0, len(f.Documents(t, "series"))+len(f.Documents(t, "series/s/parts")))
}

// sharedFile runs a rule about a document that refers to a file, and another that stays and refers to what others is.
func sharedFile(t *testing.T, field, own, others, in string) {
	t.Helper()
	rule := drafts(fields{"maxDuePercent": 100, "with": array{fields{"objects": "covers/**", "field": field}}})
	due, stays := "drafts/due", "drafts/young"
	switch in {
	case "":
	case "collectionGroup":
		delete(rule, "collection")
		rule[in], stays = "drafts", "users/ken/drafts/young"
	default:
		rule["collection"], due, stays = in, "users/hana/drafts/due", "users/ken/drafts/young"
	}
	f := start(t, rule)
	refers := func(text string) fields {
		var value any = strings.ReplaceAll(text, "BUCKET", f.Bucket)
		name, key, inMap := strings.Cut(field, ".")
		if inMap {
			value = fields{key: value}
		}
		name, isList := strings.CutSuffix(name, "[]")
		if isList {
			value = array{value, "x"}
		}
		return fields{name: value}
	}
	f.Put(t, "covers/a (1).png", map[string]string{"firebaseStorageDownloadTokens": "t1"}, nil)
	f.Put(t, "covers/b.png", nil, nil)
	f.Set(t, due, with(refers(own), fields{"updatedAt": old}))
	f.Set(t, stays, with(refers(others), fields{"updatedAt": now}))
	want := []string{"covers/b.png"}
	if others != "" {
		want = []string{"covers/a (1).png", "covers/b.png"}
	}
	told := f.Run(t, `{"dryRun":true}`).Plan[0].With
	rep := f.Run(t, "")
	enginetest.WantReport(t, rep, report.Completed, enginetest.Done("delete draft", 1))
	enginetest.Want(t, "files", want, f.Objects(t))
	for reason, n := range rep.Kept {
		enginetest.Want(t, "told by the plan: "+reason, reason != "not due", told["keep "+reason] == n)
	}
	enginetest.Want(t, "kept because of others", others != "", rep.Kept["another document of drafts refers to it"]+
		rep.Kept["another document of users/{user}/drafts refers to it"] > 0)
}
