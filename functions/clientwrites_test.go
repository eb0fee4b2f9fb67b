package functions_test

import (
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
