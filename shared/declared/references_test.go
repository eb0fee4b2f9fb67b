package declared_test

import (
	"errors"
	"fmt"
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
