package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/firestore/v1"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/scripts/screen"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/manifest"
)

// levelsOf returns the levels of findings by what they are about, in order.
func levelsOf(found []finding) map[string][]string {
	by := map[string][]string{}
	for _, f := range found {
		by[f.About] = append(by[f.About], f.Level)
	}
	for _, levels := range by {
		slices.Sort(levels)
	}
	return by
}

// healthy returns what Google answers of a project in which all is as it should be.
func (g *google) healthy() {
	database := "/v1/projects/" + g.o.ID + "/databases/(default)"
	g.answer(database, map[string]any{"type": "FIRESTORE_NATIVE", "databaseEdition": "STANDARD",
		"pointInTimeRecoveryEnablement": "POINT_IN_TIME_RECOVERY_ENABLED"})
	for _, group := range []string{"cleanupRuns", "cleanupUndo"} {
		g.answer(database+"/collectionGroups/"+group+"/fields/expireAt", map[string]any{"ttlConfig": map[string]any{"state": "ACTIVE"}})
	}
	for at, indexes := range g.indexes(scheduled()) {
		if strings.Contains(at, "/fields/") {
			g.answer(at, map[string]any{"indexConfig": map[string]any{"indexes": indexes}})
		} else {
			g.answer(at, map[string]any{"indexes": indexes})
		}
	}
	g.answer("/storage/v1/b/"+g.o.Bucket, g.bucket())
	g.rules("cloud.firestore", func(map[string]any) map[string]any { return map[string]any{"state": "SUCCESS"} })
}

// bucket returns what Google tells of a bucket.
func (g *google) bucket() map[string]any {
	return map[string]any{"name": g.o.Bucket, "softDeletePolicy": map[string]any{"retentionDurationSeconds": "604800"},
		"iamConfiguration": map[string]any{"uniformBucketLevelAccess": map[string]any{"enabled": true}}}
}

// indexes returns the indexes that functions need, as Google tells them, by where it is asked for them.
func (g *google) indexes(entries []manifest.Entry) map[string][]any {
	at := map[string][]any{}
	for _, e := range entries {
		for _, i := range e.AllIndexes() {
			path := "/v1/projects/" + g.o.ID + "/databases/(default)/collectionGroups/" + i.CollectionGroup + "/indexes"
			if len(i.Fields) == 1 {
				path = strings.TrimSuffix(path, "indexes") + "fields/" + i.Fields[0].FieldPath
			}
			fields := []any{}
			for _, field := range i.Fields {
				fields = append(fields, map[string]any{"fieldPath": field.FieldPath, "order": field.Order})
			}
			fields = append(fields, map[string]any{"fieldPath": "__name__", "order": "ASCENDING"})
			at[path] = append(at[path], map[string]any{"queryScope": i.QueryScope, "state": "READY", "fields": fields})
		}
	}
	return at
}

// theRules are released: a sentence that closes all, and a condition.
const theRules = "match /{document=**} { allow read: if false; }\nmatch /users/{id} { allow read: if isAdmin(); }"

// rules has security rules released, which judge a client's request so.
func (g *google) rules(release string, judge func(request map[string]any) map[string]any) {
	project := "/v1/projects/" + g.o.ID
	g.answer(project+"/releases/"+release, map[string]any{"rulesetName": "projects/" + g.o.ID + "/rulesets/r1"})
	source := map[string]any{"files": []any{map[string]any{"name": "firestore.rules", "content": theRules}}}
	g.answer(project+"/rulesets/r1", map[string]any{"source": source})
	g.extra[project+":test"] = func(url.Values) any {
		var posted struct {
			Source    map[string]any
			TestSuite struct{ TestCases []map[string]any }
		}
		if err := json.Unmarshal(g.posted[project+":test"], &posted); err != nil || !cmp.Equal(posted.Source, source) {
			g.t.Errorf("other rules are tried: %v, %v", posted.Source, err)
		}
		var results []any
		for _, test := range posted.TestSuite.TestCases {
			request := test["request"].(map[string]any)
			if test["expectation"] != "DENY" || (test["resource"] != nil) == (request["method"] == "create") {
				g.t.Errorf("a test is %v", test)
			}
			results = append(results, judge(request))
		}
		return map[string]any{"testResults": results}
	}
}

// TestDoctorOfSecurityRules: what a client is allowed is a problem, a condition wants to be looked at.
func TestDoctorOfSecurityRules(t *testing.T) {
	t.Parallel()
	success := map[string]any{"state": "SUCCESS"}
	visited := func(text string) map[string]any {
		at := strings.Index(theRules, text)
		return map[string]any{"state": "SUCCESS", "visitedExpressions": []any{map[string]any{"value": false,
			"sourcePosition": map[string]any{
				"line": strings.Count(theRules[:at],
					"\n") + 1, "currentOffset": at, "endOffset": at + len(text), "fileName": "firestore.rules",
			}}}}
	}
	of := func(request map[string]any, collection, method string) bool {
		return request["method"] == method && strings.HasPrefix(request["path"].(string),
			"/databases/(default)/documents/"+collection+"/")
	}
	for _, tt := range []struct {
		name   string
		change func(g *google)
		level  string
		parts  []string
	}{
		{"no rule", func(*google) {}, levelFine, []string{"refuse clients, signed in or not"}},
		{"closed", func(g *google) {
			g.rules("cloud.firestore", func(map[string]any) map[string]any { return visited("false") })
		},
			levelFine, []string{"refuse clients, signed in or not"}},
		{"open", func(g *google) {
			g.rules("cloud.firestore", func(request map[string]any) map[string]any {
				signedIn := of(request, "cleanupRuns", "update") || of(request, "cleanupJobs", "list")
				if of(request, "cleanupRuns", "get") || signedIn && request["auth"] != nil {
					return map[string]any{"state": "FAILURE"}
				}
				return success
			})
		}, levelProblem, []string{
			"let clients use cleanupRuns, cleanupRuns/r/cleanupUndo: anybody may get; anybody signed in may update.",
			"let clients use cleanupJobs, cleanupJobs/j/cleanupTodo, cleanupJobs/j/pinned: anybody signed in may list.",
		}},
		{"a condition", func(g *google) {
			g.rules("cloud.firestore", func(request map[string]any) map[string]any {
				if of(request, "authDeletionRetries", "list") {
					return visited("isAdmin()")
				}
				return visited("false")
			})
		}, levelWarning, []string{"conditions decide that, of authDeletionRetries: line 2."}},
		{"a condition that cannot be computed", func(g *google) {
			g.rules("cloud.firestore", func(map[string]any) map[string]any {
				return map[string]any{"state": "SUCCESS", "errorPosition": map[string]any{"line": 7}}
			})
		}, levelWarning,
			[]string{"of authDeletionRetries, cleanupJobs, cleanupJobs/j/cleanupTodo, cleanupJobs/j/pinned, cleanupRuns, cleanupRuns/r/cleanupUndo: line 7."}},
		{"none", func(g *google) { delete(g.extra, "/v1/projects/"+g.o.ID+"/releases/cloud.firestore") }, levelWarning,
			[]string{"No security rules are released"}},
		{"a new state", func(g *google) {
			g.rules("cloud.firestore", func(map[string]any) map[string]any { return map[string]any{"state": "PERHAPS"} })
		}, levelUnknown, []string{`a test ended as "PERHAPS"`}},
		{"too few tests", func(g *google) { g.answer("/v1/projects/"+g.o.ID+":test", map[string]any{}) }, levelUnknown,
			[]string{"0 of 60 tests were made"}},
		{"no right", func(g *google) {
			g.fail = func(r *http.Request) int {
				if strings.Contains(r.URL.Path, "/releases/") {
					return http.StatusForbidden
				}
				return 0
			}
		}, levelUnknown, []string{"cannot be tested: 403"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := newOperator(t)
			g := onGoogle(t, o)
			g.healthy()
			tt.change(g)
			var found []finding
			for _, f := range o.examined(t, "", "cleanupReports") {
				if strings.Contains(strings.ToLower(f.Text), "security rules") {
					found = append(found, f)
				}
			}
			if len(found) != len(tt.parts) {
				t.Errorf("%+v", found)
			}
			for _, part := range tt.parts {
				if !slices.ContainsFunc(found, func(f finding) bool { return f.Level == tt.level && strings.Contains(f.Text, part) }) {
					t.Errorf("no %s that says %q in %+v", tt.level, part, found)
				}
			}
		})
	}
}

// TestDoctorOfRulesOfAnotherDatabase: a database with a name has rules of its own.
func TestDoctorOfRulesOfAnotherDatabase(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	g := onGoogle(t, o)
	o.env["FIRESTORE_DATABASE"] = "application"
	var path any
	g.rules("cloud.firestore/application", func(request map[string]any) map[string]any {
		path = request["path"]
		return map[string]any{"state": "FAILURE"}
	})
	found := o.examined(t, "", "cleanupReports")
	if !slices.ContainsFunc(found, func(f finding) bool { return f.About == "database application" && f.Level == levelProblem }) {
		t.Errorf("%+v", found)
	}
	want(t, "path", any("/databases/application/documents/authDeletionRetries/u"), path)
}

func (g *google) answer(path string, answer any) {
	g.extra[path] = func(url.Values) any { return answer }
}

// examined returns what the doctor finds on Google.
func (o *operator) examined(t *testing.T, location string, jobs ...string) []finding {
	t.Helper()
	a, _ := o.loaded(t)
	p, err := a.patient(location, jobs)
	if err != nil {
		t.Fatal(err)
	}
	p.examineGoogle(t.Context())
	return p.all
}

func TestDoctorOfAHealthyProject(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	g := onGoogle(t, o)
	g.healthy()
	well := []string{levelFine, levelFine, levelFine, levelFine, levelFine} // mode, recovery, TTL of two, rules
	for _, e := range scheduled() {
		for range e.AllIndexes() {
			well = append(well, levelFine)
		}
	}
	if len(well) < 8 {
		t.Errorf("%d findings: the four indexes of manifest.json are not among them", len(well))
	}
	want(t, "findings", map[string][]string{
		"database (default)": well,
		"bucket " + o.Bucket: {levelFine}, "Cloud Scheduler": {levelUnseen},
	}, levelsOf(o.examined(t, "")))
	want(t, "findings of two jobs", map[string][]string{
		"database (default)": {levelFine, levelFine, levelFine, levelFine, levelFine,
			levelFine}, "cleanupReports": {levelFine}, "cleanExpiredComped": {levelFine},
	}, levelsOf(o.examined(t, location, "cleanupReports", "cleanExpiredComped")))
}

func TestDoctorFinds(t *testing.T) {
	t.Parallel()
	database := func(o *operator) string { return "/v1/projects/" + o.ID + "/databases/(default)" }
	indexes := func(o *operator) string { return database(o) + "/collectionGroups/reports/indexes" }
	index := func(state, order string) map[string]any {
		return map[string]any{"indexes": []any{map[string]any{"queryScope": "COLLECTION", "state": state, "fields": []any{
			map[string]any{"fieldPath": "status", "order": "ASCENDING"}, map[string]any{"fieldPath": "createdAt", "order": order},
		}}}}
	}
	bucket := func(more map[string]any) func(g *google) {
		return func(g *google) {
			all := g.bucket()
			maps.Copy(all, more)
			g.answer("/storage/v1/b/"+g.o.Bucket, all)
		}
	}
	scheduler := func(field string, value any) func(g *google) {
		return func(g *google) { g.jobs[g.name("cleanupReports")][field] = value }
	}
	for _, tt := range []struct {
		name        string
		change      func(g *google)
		level, text string
	}{
		{"Datastore mode", func(g *google) { g.answer(database(g.o), map[string]any{"type": "DATASTORE_MODE"}) }, levelProblem,
			"It is DATASTORE_MODE, STANDARD"},
		{"Enterprise", func(g *google) {
			g.answer(database(g.o), map[string]any{"type": "FIRESTORE_NATIVE", "databaseEdition": "ENTERPRISE"})
		}, levelProblem, "It is FIRESTORE_NATIVE, ENTERPRISE"},
		{"no recovery", func(g *google) { g.answer(database(g.o), map[string]any{"type": "FIRESTORE_NATIVE"}) }, levelWarning,
			"Point-in-time recovery is off"},
		{"no such database", func(g *google) { delete(g.extra, database(g.o)) }, levelUnknown,
			"The database cannot be read: 404: no such method"},
		{"no TTL", func(g *google) {
			g.answer(database(g.o)+"/collectionGroups/cleanupRuns/fields/expireAt", map[string]any{})
		}, levelWarning, "has no TTL policy"},
		{"TTL is made", func(g *google) {
			g.answer(database(g.o)+"/collectionGroups/cleanupRuns/fields/expireAt",
				map[string]any{"ttlConfig": map[string]any{"state": "CREATING"}})
		}, levelWarning, "is CREATING"},
		{"no TTL of undo logs", func(g *google) {
			g.answer(database(g.o)+"/collectionGroups/cleanupUndo/fields/expireAt", map[string]any{})
		}, levelProblem,
			"cleanupUndo has no TTL policy on expireAt: undo logs, which hold the documents that were deleted, are kept for ever"},
		{"TTL of undo logs needs repair", func(g *google) {
			g.answer(database(g.o)+"/collectionGroups/cleanupUndo/fields/expireAt",
				map[string]any{"ttlConfig": map[string]any{"state": "NEEDS_REPAIR"}})
		}, levelProblem, "The TTL policy of cleanupUndo is NEEDS_REPAIR"},
		{"no index", func(g *google) { g.answer(indexes(g.o), map[string]any{}) }, levelProblem,
			"cleanupReports needs the index status ASCENDING, createdAt ASCENDING (COLLECTION) of reports, which is not there"},
		{"another index", func(g *google) { g.answer(indexes(g.o), index("READY", "DESCENDING")) }, levelProblem, "which is not there"},
		{"index is built", func(g *google) { g.answer(indexes(g.o), index("CREATING", "ASCENDING")) }, levelProblem,
			"still being built"},
		{"index is broken", func(g *google) { g.answer(indexes(g.o), index("NEEDS_REPAIR", "ASCENDING")) }, levelProblem,
			"which is NEEDS_REPAIR"},
		{"no soft delete", bucket(map[string]any{"softDeletePolicy": nil}), levelWarning,
			"Soft delete is off: a deleted file is gone at once"},
		{"soft delete of nothing", bucket(map[string]any{"softDeletePolicy": map[string]any{"retentionDurationSeconds": "0"}}),
			levelWarning, "is gone at once"},
		{"short soft delete", bucket(map[string]any{"softDeletePolicy": map[string]any{"retentionDurationSeconds": "604799"}}),
			levelWarning, "for 6 days only"},
		{"soft delete ends before UNDO_DAYS", func(g *google) { g.o.env["UNDO_DAYS"] = "8" }, levelWarning,
			"Soft delete keeps a deleted file for 7 days, and UNDO_DAYS of cleanupOrphanedMedia is 8"},
		{"access lists", bucket(map[string]any{"iamConfiguration": nil}), levelWarning,
			"Uniform bucket-level access is off: a file comes back with its own access list only if"},
		{"versions", bucket(map[string]any{"softDeletePolicy": nil, "versioning": map[string]any{"enabled": true}}), levelFine,
			"Object versioning is on"},
		{"requester pays", bucket(map[string]any{"billing": map[string]any{"requesterPays": true}}), levelProblem,
			"Requester pays is on"},
		{"retention", bucket(map[string]any{"retentionPolicy": map[string]any{"retentionPeriod": "259200"}}), levelWarning,
			"A retention policy of 3 days is on"},
		{"no bucket", func(g *google) { delete(g.extra, "/storage/v1/b/"+g.o.Bucket) }, levelUnknown, "It cannot be read: 404"},
		{"not deployed", func(g *google) { delete(g.jobs, g.name("cleanupReports")) }, levelWarning, "it is not deployed there"},
		{"paused", scheduler("state", "PAUSED"), levelWarning, "it is PAUSED"},
		{"fails", scheduler("status", map[string]any{"code": 13}), levelProblem, "failed with code 13"},
		{"no right", func(g *google) {
			g.fail = func(r *http.Request) int {
				if strings.HasSuffix(r.URL.Path, "/jobs") {
					return http.StatusForbidden
				}
				return 0
			}
		}, levelUnknown, "It cannot be read: list the jobs of Cloud Scheduler"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := newOperator(t)
			g := onGoogle(t, o)
			g.healthy()
			tt.change(g)
			found := o.examined(t, location, "cleanupReports", "cleanupOrphanedMedia")
			if !slices.ContainsFunc(found, func(f finding) bool { return f.Level == tt.level && strings.Contains(f.Text, tt.text) }) {
				t.Errorf("no %s that says %q in %+v", tt.level, tt.text, found)
			}
			for _, call := range g.calls {
				if !strings.HasPrefix(call, "GET ") && call != "POST projects/"+g.o.ID+":test" {
					t.Errorf("the doctor wrote: %s", call)
				}
			}
		})
	}
}

// TestDoctorOfACollectionGroup: one field alone needs an index that Firestore does not make by itself.
func TestDoctorOfACollectionGroup(t *testing.T) {
	t.Parallel()
	entries, err := functions.Read(manifest.File{Name: "rules.json", Text: []byte(`{"functions":[{"name":"cleanupActivity","schedule":"0 4 * * *","collectionGroup":"activity","age":{"field":"meta.at","days":30}}]}`)})
	if err != nil {
		t.Fatal(err)
	}
	job := entries[len(entries)-1]
	for state, text := range map[string]string{
		"READY": "The index meta.at ASCENDING (COLLECTION_GROUP) of activity is there", "CREATING": "which is still being built",
		"": "which is not there",
	} {
		o := newOperator(t)
		g := onGoogle(t, o)
		for at, indexes := range g.indexes([]manifest.Entry{job}) {
			indexes[0].(map[string]any)["state"] = state
			if state == "" { // the automatic one
				indexes[0].(map[string]any)["state"], indexes[0].(map[string]any)["queryScope"] = "READY", "COLLECTION"
			}
			g.answer(at, map[string]any{"indexConfig": map[string]any{"indexes": indexes}})
		}
		service, err := firestore.NewService(t.Context(), o.google(t.Context(), "firestore", o.ID)...)
		if err != nil {
			t.Fatal(err)
		}
		var f findings
		database{subject: f.of("d"), service: service, name: "projects/" + o.ID + "/databases/(default)"}.examineIndexes(
			t.Context(), []manifest.Entry{job})
		if len(f.all) != 1 {
			t.Fatalf("%q: %+v", state, f.all)
		}
		wantParts(t, f.all[0].Text, text)
		want(t, state+" is fine", state == "READY", f.all[0].Level == levelFine)
		if state == "" && !strings.Contains(f.all[0].Do, "firesweep indexes --write") { // Terraform does not make it
			t.Errorf("what to do: %s", f.all[0].Do)
		}
	}
}

// TestDoctorOfRecords looks at the bundle's own records on the emulators, where nothing else can be seen.
func TestDoctorOfRecords(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.reports(t)
	success := o.called(t, "cleanupReports", "")
	record := o.Documents(t, "cleanupJobs")["cleanupReports"]
	late := now.Add(25*time.Hour + 300*time.Second)
	for _, tt := range []struct {
		name   string
		change map[string]any // of the job's record
		now    time.Time
		level  string
		text   string
	}{
		{"success", nil, late, levelFine, "The last success was 2026-01-10 15:00 UTC"},
		{"no run in time", nil, late.Add(time.Second), levelProblem, "It did not run in time."},
		{"killed", enginetest.Leased("cleanupReports-r", now), now, levelProblem, "Its last run was killed: Run cleanupReports-r ended without a report"},
		{"under way", enginetest.Leased("cleanupReports-r", now.Add(7*time.Minute)), now, levelFine, "The last success was"},
		{"stuck lease", enginetest.Leased("cleanupReports-r", now.AddDate(100, 0, 0)), now, levelProblem, "longer than any run may"},
		{"foreign run", map[string]any{"run": 7}, now, levelProblem, "No run can begin: the field run"},
		{"foreign ranges", map[string]any{"ranges": 7}, now, levelProblem, "No run can begin: the field ranges"},
	} {
		changed := maps.Clone(record)
		maps.Copy(changed, tt.change)
		o.Set(t, "cleanupJobs/cleanupReports", changed)
		o.now = tt.now
		out, _, code := o.run(t, "doctor", "--json", "cleanupReports")
		found := parsed[struct{ Findings []finding }](t, out).Findings
		if (code == exitFailed) != (tt.level == levelProblem) {
			t.Errorf("%s: exit code %d", tt.name, code)
		}
		if !slices.ContainsFunc(found, func(f finding) bool {
			return f.About == "cleanupReports" && f.Level == tt.level && strings.Contains(f.Text, tt.text) &&
				(f.Do != "") == (tt.level == levelProblem)
		}) {
			t.Errorf("%s: no %s that says %q in %+v", tt.name, tt.level, tt.text, found)
		}
		if i := slices.IndexFunc(found, func(f finding) bool { return f.About == "emulators" }); i < 0 ||
			found[i].Level != levelUnseen {
			t.Errorf("%s: what cannot be seen is not said: %+v", tt.name, found)
		}
	}

	// Only failures since: the last success is too long ago.
	o.Set(t, "cleanupJobs/cleanupReports", record)
	o.now = late.Add(time.Hour)
	id := "cleanupReports-" + o.now.Format("20060102T150405Z") + "-00000001"
	failed := map[string]any{"job": "cleanupReports", "runId": id, "status": "failed", "startedAt": o.now}
	o.Set(t, "cleanupRuns/"+id, failed)
	out, _ := o.ends(t, exitFailed, "doctor", "cleanupReports")
	wantNarrow(t, out, screen.DefaultWidth)
	wantParts(t, out, "problem: cleanupReports: The last success was 2026-01-10 15:00 UTC, 26h05m\n  ago; ",
		"-> Look at: firesweep show cleanupReports", "Its last run failed: See firesweep show 00000001.", "2 problem, 1 unseen")

	o.Set(t, "cleanupRuns/"+success.RunID, map[string]any{"job": "cleanupReports", "runId": success.RunID, "status": "aborted",
		"startedAt": now})
	o.Set(t, "cleanupJobs/cleanupReports", map[string]any{"lastReport": failed})
	out, _, _ = o.run(t, "doctor", "cleanupReports")
	wantParts(t, out, "None of its last 2 runs was a success")
}

// TestDoctorSaysTheWorstFirst also looks at every job of a project in which nothing ever ran.
func TestDoctorSaysTheWorstFirst(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	text := o.well(t, "doctor")
	wantParts(t, text, fmt.Sprintf("%d unseen", len(scheduled())+1))
	o.called(t, "cleanupReports", "")
	o.Set(t, "cleanupJobs/cleanExpiredComped", map[string]any{"ranges": 7})
	out, _, _ := o.run(t, "doctor")
	if !strings.HasPrefix(out, "problem: cleanExpiredComped: ") || !strings.Contains(out, "\nfine: cleanupReports: ") {
		t.Error(out)
	}
}
