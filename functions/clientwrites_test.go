package functions_test

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firesweep/firesweep/emulator/sampledata"
	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/collections"
)

// judged are the fields that jobs read, by collection; "inquiries/messages" is the subcollection of every inquiry. A collection
// without any is one that they read or write all the same.
type judged map[string]map[string]bool

func (j judged) add(collection string, fields ...string) {
	if j[collection] == nil {
		j[collection] = map[string]bool{}
	}
	for _, f := range fields {
		first, _, _ := strings.Cut(f, ".")
		j[collection][strings.TrimSuffix(first, "[]")] = true
	}
}

// whatJobsJudge derives from the code of the jobs and from the declared rules of manifest.json which fields they read, and from
// the sample in which collections these are: a field that the code may read is taken to be read in each collection of the job's
// sample that has it, which is more than there is, and never less.
func whatJobsJudge(t *testing.T) judged {
	t.Helper()
	all := judged{}
	for _, path := range collections.Documents() {
		all.add(collectionOf(path))
	}
	certain := map[string]bool{}
	shared := []string{"notifications", "posts", "../shared/cascade", "../shared/orphans"}
	for _, e := range upstream(t) {
		may := map[string]bool{}
		if e.Package != "" {
			var does map[string]bool
			may, does = scan(t, all, append(shared, e.Package)...)
			maps.Copy(certain, does)
		}
		if e.Rule != nil {
			for collection, fields := range e.Judged() {
				all.add(collection, fields...)
			}
		}
		for _, d := range sampledata.Job(sampleOf(e.Name), time.Now(), "bucket").Documents {
			collection := collectionOf(d.Path)
			all.add(collection)
			for _, values := range []map[string]any{d.Before, d.After} {
				for field := range values {
					if may[field] {
						all.add(collection, field)
					}
				}
			}
		}
	}
	for field := range certain {
		if !all.has(field) {
			t.Errorf("a job reads the field %s, which no document of the sample has: emulator/sampledata must show where it is", field)
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

var (
	// texts are what the code of a job has between quotes: each may be the name of a field, but for the keys of what is written.
	texts = regexp.MustCompile(`"(\w+)(?:\[\][\w.]*)?"[^:]`)
	// reads are where the code says that one is: a reader's argument, a condition of a query, or a constant.
	reads = regexp.MustCompile(`(?:\.(?:Value|Text|Time|Instant|Number|Whole)\(|\bData\[|\bField: +|\w+Field += )"(\w+)`)
	// places are lists of collection.field, as PLACEHOLDER_REFERENCES has them.
	places = regexp.MustCompile(`"(\w+\.\w+(?:,\w+\.\w+)+)`)
)

// scan returns what the code of a package may read of documents, and which of that it reads for certain.
func scan(t *testing.T, all judged, folders ...string) (may, does map[string]bool) {
	t.Helper()
	may, does = map[string]bool{}, map[string]bool{}
	for _, folder := range folders {
		names, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %v", folder, err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			code := read(t, name)
			for _, m := range texts.FindAllStringSubmatch(code, -1) {
				may[m[1]] = true
			}
			for _, m := range reads.FindAllStringSubmatch(code, -1) {
				does[m[1]] = true
			}
			for _, m := range places.FindAllStringSubmatch(code, -1) {
				for place := range strings.SplitSeq(m[1], ",") {
					collection, field, _ := strings.Cut(place, ".")
					all.add(collection, field)
				}
			}
		}
	}
	return may, does
}
