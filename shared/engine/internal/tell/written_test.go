package tell

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/logging"
)

// TestWrittenLinesFitCloudLogging logs what cannot go into one line of 256 KiB.
func TestWrittenLinesFitCloudLogging(t *testing.T) {
	var out bytes.Buffer
	r := &Teller{Report: &report.Report{Job: "testJob"}, Logger: logging.New(&out)}
	var writes []documents.Write
	for i := range 1000 {
		ref := documents.Ref{Collection: "things", ID: fmt.Sprintf("%04d%s", i, strings.Repeat("\x01<", 500))}
		writes = append(writes, documents.Write{Op: documents.Delete, Ref: ref})
	}
	set := func(collection string) documents.Write {
		return documents.Write{Op: documents.Set, Ref: documents.Ref{Collection: collection, ID: "x"}}
	}
	writes = append(writes, set("cleanupJobs/testJob/cleanupTodo"), set("cleanupRuns"))
	log := func(writes []documents.Write, unsure bool) {
		told := r.Writes(t.Context())
		for _, w := range writes {
			told.Document(w, report.Planned{}, unsure)
		}
		told.Log()
	}
	log(writes, false)
	log([]documents.Write{set("cleanupJobsToo")}, true)
	log(writes[1000:1002], false) // nothing but our own records: no line
	lines, found := 0, map[string]bool{}
	for text := range strings.Lines(out.String()) {
		lines++
		if len(text) > 200<<10 {
			t.Errorf("a line of %d bytes", len(text))
		}
		var line struct {
			Message string    `json:"message"`
			Writes  []written `json:"writes"`
		}
		check.OK(t, json.Unmarshal([]byte(text), &line))
		check.Holds(t, line.Message, "testJob wrote: ")
		check.Same(t, "a message too long", false, len(line.Message) > 2*maxWrittenMessage)
		for _, w := range line.Writes {
			if found[w.Path] {
				t.Errorf("%.20q is named twice", w.Path)
			}
			found[w.Path] = true
		}
	}
	if len(found) != 1001 || !found["cleanupJobsToo/x"] || lines < 10 {
		t.Errorf("%d of 1001 writes named in %d lines", len(found), lines)
	}
}

func TestMessageOfWrites(t *testing.T) {
	two := []written{{Op: "delete", Path: "a/1"}, {Op: "set", Path: "b/2", Unsure: true}}
	check.Same(t, "two", "job wrote: delete a/1, set b/2 (answer lost, so perhaps not)", messageOf("job", two))
	var many []written
	for i := range 12 {
		many = append(many, written{Op: "delete", Path: fmt.Sprint("a/", i)})
	}
	if got := messageOf("job", many); !strings.HasSuffix(got, "delete a/9, and 2 more") {
		t.Error(got)
	}
}
