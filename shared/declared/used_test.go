package declared_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

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
