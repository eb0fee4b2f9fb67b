package main

import (
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/firesweep/firesweep/scripts/firesweep/look"
	"github.com/firesweep/firesweep/shared/engine/jobstate"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/usage"
)

// TestJSON: what --json writes keeps its names. Add new ones here and to the pages, and remove none: programs rely on them.
func TestJSON(t *testing.T) {
	t.Parallel()
	documented := map[string]bool{}
	pages := read(t, "../../docs/command.md") + read(t, "../../docs/contributing/spec.md")
	for _, m := range regexp.MustCompile("[`\"]([A-Za-z.]+)(\\[\\])?[`\"]").FindAllStringSubmatch(pages, -1) {
		documented[m[1][strings.LastIndex(m[1], ".")+1:]] = true
	}
	all := []struct {
		of    any
		names string
	}{
		{report.Report{}, `
			actions actions.begun actions.changed actions.done actions.failed actions.planned approved
			bucket database dryRun durationMs failures failures.action failures.code failures.error
			failures.limit failures.limit.collection failures.limit.due failures.limit.field failures.limit.folder
			failures.limit.inFolder failures.limit.limit
			failures.limit.looked failures.limit.most failures.limit.others failures.limit.pass failures.limit.why failures.target force job kept notCounted now partialRuns plan
			revision runId scanned startedAt status stopped truncated undone undone.at undone.by undone.partial undone.things
			usage version warnings`},
		{report.Planned{}, "action kept more reason target version with"},
		{usage.Usage{}, `
			authCalls firestoreDeletes firestoreReads firestoreWrites storageClassA storageClassB storageDeletes tasks`},
		{jobstate.Hold{}, "at by runId why"},
		{planned{}, "doubts error held job report warnings"},
		{planFile{}, "checksum plans"},
		{report.Approval{}, "bucket database entry items job made project version"},
		{standing{}, "detail held job month month.of month.runs month.usage runs schedule state timeZone"},
		{shownRun{}, "did held"},
		{did{}, "things total"},
		{undo.Thing{}, "account action fields fields.after fields.before fields.changed fields.name reason sent target what"},
		{ran{}, "error job report"},
		{holding{}, `
			applied jobs jobs.database jobs.error jobs.job jobs.stops keep keep.database keep.path`},
		{taken{}, "applied held keep outcomes outcomes.note outcomes.step outcomes.target outcomes.why run warnings"},
		{foundThing{}, "reason run target undone undone.at undone.by undone.partial undone.things what"},
		{finding{}, "about do level text"},
		{look.Findings{}, `
			looked proposals proposals.does proposals.due proposals.looked
			proposals.name proposals.rule proposals.why reads unseen`},
		{checked{}, `
			declared does indexes indexes.collectionGroup indexes.fields indexes.fields.arrayConfig
			indexes.fields.fieldPath indexes.fields.order indexes.queryScope job judgedBy note own reads
			roles schedule timeZone when`},
	}
	alone := map[reflect.Type]bool{}
	for _, tt := range all {
		alone[reflect.TypeOf(tt.of)] = true
	}
	for _, tt := range all {
		var names []string
		others := maps.Clone(alone)
		delete(others, reflect.TypeOf(tt.of))
		namesOf(reflect.TypeOf(tt.of), "", others, &names)
		slices.Sort(names)
		names = slices.Compact(names) // a part's name may hide that of an embedded one
		want(t, reflect.TypeOf(tt.of).String(), strings.Fields(tt.names), names)
		for _, name := range names {
			if !documented[name[strings.LastIndex(name, ".")+1:]] {
				t.Errorf("%T: no page names %s", tt.of, name)
			}
		}
	}
}

// namesOf adds the names in JSON of what a type holds, those in a part of it after the part's own, but for parts of types that are
// looked at alone.
func namesOf(of reflect.Type, before string, alone map[reflect.Type]bool, to *[]string) {
	switch of.Kind() { //nolint:exhaustive // the others hold nothing
	case reflect.Pointer, reflect.Slice, reflect.Map:
		namesOf(of.Elem(), before, alone, to)
	case reflect.Struct:
		if !strings.HasPrefix(of.PkgPath(), "github.com/firesweep/") || alone[of] {
			return
		}
		for i := range of.NumField() {
			field := of.Field(i)
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			switch {
			case field.Anonymous && name == "":
				namesOf(field.Type, before, alone, to)
			case field.IsExported() && name != "-":
				*to = append(*to, before+name)
				namesOf(field.Type, before+name+".", alone, to)
			}
		}
	}
}
