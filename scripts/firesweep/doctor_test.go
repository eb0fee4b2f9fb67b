package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/option"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/manifest"
)

// activity is a rule by one field alone, which needs an index that Firestore does not make by itself.
const activity = `{"rules":[{"name":"cleanupActivity","schedule":"0 4 * * *","collectionGroup":"activity","age":{"field":"meta.at","days":30}}],
	"enabled":["cleanupReports","cleanupOrphanedMedia"]}`

// healthy returns what Google answers of a project in which all is as it should be.
func (g *google) healthy() {
	database := "/v1/projects/" + g.o.ID + "/databases/(default)"
	g.answers[database] = fields{"type": "FIRESTORE_NATIVE", "databaseEdition": "STANDARD",
		"pointInTimeRecoveryEnablement": "POINT_IN_TIME_RECOVERY_ENABLED"}
	for _, group := range []string{"cleanupRuns", "cleanupUndo"} {
		g.answers[database+"/collectionGroups/"+group+"/fields/expireAt"] = fields{"ttlConfig": fields{"state": "ACTIVE"}}
	}
	list, err := functions.With(manifest.File{Name: "rules.json", Text: []byte(activity)})
	ok(g.t, err)
	for at, indexes := range g.indexes(append(scheduled(), list.Own...)) {
		if strings.Contains(at, "/fields/") {
			g.answers[at] = fields{"indexConfig": fields{"indexes": indexes}}
		} else {
			g.answers[at] = fields{"indexes": indexes}
		}
	}
	g.answers["/storage/v1/b/"+g.o.Bucket] = g.bucket()
	g.rules("cloud.firestore", func(fields) fields { return fields{"state": "SUCCESS"} })
}

// bucket returns what Google tells of a bucket.
func (g *google) bucket() fields {
	return fields{"name": g.o.Bucket, "softDeletePolicy": fields{"retentionDurationSeconds": "604800"}}
}

// indexes returns the indexes that functions need, as Google tells them, by where it is asked for them.
func (g *google) indexes(entries []manifest.Entry) map[string][]any {
	at := map[string][]any{}
	for _, e := range entries {
		for _, i := range e.Indexes {
			path := "/v1/projects/" + g.o.ID + "/databases/(default)/collectionGroups/" + i.CollectionGroup + "/indexes"
			if len(i.Fields) == 1 {
				path = strings.TrimSuffix(path, "indexes") + "fields/" + i.Fields[0].FieldPath
			}
			of := []any{}
			for _, field := range i.Fields {
				of = append(of, fields{"fieldPath": field.FieldPath, "order": field.Order, "arrayConfig": field.ArrayConfig})
			}
			if i.Fields[len(i.Fields)-1].ArrayConfig == "" {
				of = append(of, fields{"fieldPath": "__name__", "order": "ASCENDING"})
			}
			at[path] = append(at[path], fields{"queryScope": i.QueryScope, "state": "READY", "fields": of})
		}
	}
	return at
}

// rules has security rules released, which judge a client's request so.
func (g *google) rules(release string, judge func(request fields) fields) {
	project := "/v1/projects/" + g.o.ID
	g.answers[project+"/releases/"+release] = fields{"rulesetName": "projects/" + g.o.ID + "/rulesets/r1"}
	source := fields{"files": []any{fields{"name": "firestore.rules", "content": "match /{document=**} { allow read: if false; }"}}}
	g.answers[project+"/rulesets/r1"] = fields{"source": source}
	g.answers[project+":test"] = func(body []byte) any {
		var posted struct {
			Source    fields
			TestSuite struct{ TestCases []fields }
		}
		if err := json.Unmarshal(body, &posted); err != nil || !cmp.Equal(posted.Source, source) {
			g.t.Errorf("other rules are tried: %v, %v", posted.Source, err)
		}
		var results []any
		for _, test := range posted.TestSuite.TestCases {
			request := test["request"].(fields)
			if test["expectation"] != "DENY" || request["auth"] == nil || (test["resource"] != nil) == (request["method"] == "create") {
				g.t.Errorf("a test is %v", test)
			}
			results = append(results, judge(request))
		}
		return fields{"testResults": results}
	}
}

// TestDoctorOfSecurityRules: what a client that has signed in is allowed is a problem.
func TestDoctorOfSecurityRules(t *testing.T) {
	t.Parallel()
	of := func(request fields, collection, method string) bool {
		return request["method"] == method && strings.HasPrefix(request["path"].(string), "/databases/(default)/documents/"+collection+"/")
	}
	judged := func(judge func(request fields) fields) func(*google) {
		return func(g *google) { g.rules("cloud.firestore", judge) }
	}
	for _, tt := range []struct {
		name   string
		change func(g *google)
		part   string // of the problem; empty: there is none
	}{
		{"closed", func(*google) {}, ""},
		{"open", judged(func(request fields) fields {
			if of(request, "cleanupRuns", "update") || of(request, "cleanupJobs", "list") {
				return fields{"state": "FAILURE"}
			}
			return fields{"state": "SUCCESS"}
		}), "Security rules: anybody who has signed in may list in cleanupJobs, list in cleanupJobs/j/cleanupTodo, " +
			"update in cleanupRuns, update in cleanupRuns/r/cleanupUndo."},
		{"none", func(g *google) { delete(g.answers, "/v1/projects/"+g.o.ID+"/releases/cloud.firestore") }, "cannot be tested: 404"},
		{"a new state", judged(func(fields) fields { return fields{"state": "PERHAPS"} }), `a test ended as "PERHAPS"`},
		{"too few tests", func(g *google) { g.answers["/v1/projects/"+g.o.ID+":test"] = fields{} }, "0 of 25 tests were made"},
		{"no right", func(g *google) { g.answers["/v1/projects/"+g.o.ID+"/releases/cloud.firestore"] = http.StatusForbidden }, "cannot be tested: 403"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o, g := onGoogle(t)
			g.healthy()
			tt.change(g)
			found := o.examined(t, "cleanupReports")
			if tt.part == "" {
				want(t, "findings", []finding{}, found)
				wantParts(t, strings.Join(g.calls, "\n"), "POST projects/"+o.ID+":test")
			} else if len(found) != 1 || found[0].Level != levelProblem || !strings.Contains(found[0].Text, tt.part) {
				t.Errorf("no problem alone that says %q in %+v", tt.part, found)
			}
		})
	}
}

// TestDoctorOfRulesOfAnotherDatabase: a database with a name has rules of its own.
func TestDoctorOfRulesOfAnotherDatabase(t *testing.T) {
	t.Parallel()
	o, g := onGoogle(t)
	o.env["FIRESTORE_DATABASE"] = "application"
	var path any
	g.rules("cloud.firestore/application", func(request fields) fields {
		path = request["path"]
		return fields{"state": "FAILURE"}
	})
	found := o.examined(t, "cleanupReports")
	if !slices.ContainsFunc(found, func(f finding) bool { return f.About == "database application" && f.Level == levelProblem }) {
		t.Errorf("%+v", found)
	}
	want(t, "path", any("/databases/application/documents/authDeletionRetries/u"), path)
}

// examined returns what the doctor finds on Google.
func (o *operator) examined(t *testing.T, jobs ...string) []finding {
	t.Helper()
	a, _ := o.loaded(t)
	p, err := a.patient(t.Context(), jobs)
	ok(t, err)
	p.examineGoogle(t.Context())
	return p.found
}

func TestDoctorFinds(t *testing.T) {
	t.Parallel()
	index := func(state, order string) string {
		return `{"indexes":[{"queryScope":"COLLECTION","state":"` + state + `","fields":[
			{"fieldPath":"status","order":"ASCENDING"},{"fieldPath":"createdAt","order":"` + order + `"}]}]}`
	}
	const runsTTL, undoTTL = "DB/collectionGroups/cleanupRuns/fields/expireAt", "DB/collectionGroups/cleanupUndo/fields/expireAt"
	const indexes, group = "DB/collectionGroups/reports/indexes", "DB/collectionGroups/activity/fields/meta.at"
	ofGroup := func(state, scope string) string {
		return `{"indexConfig":{"indexes":[{"queryScope":"` + scope + `","state":"` + state + `","fields":[
			{"fieldPath":"meta.at","order":"ASCENDING"},{"fieldPath":"__name__","order":"ASCENDING"}]}]}}`
	}
	for _, tt := range []struct {
		name, at    string // where Google answers otherwise
		answer      string // empty: it does not know it
		level, text string
	}{
		{"Datastore mode", "DB", `{"type":"DATASTORE_MODE"}`, levelProblem, "It is DATASTORE_MODE "},
		{"Enterprise", "DB", `{"type":"FIRESTORE_NATIVE","databaseEdition":"ENTERPRISE"}`, levelProblem, "It is FIRESTORE_NATIVE ENTERPRISE"},
		{"no recovery", "DB", `{"type":"FIRESTORE_NATIVE"}`, levelWarning, "Point-in-time recovery is off"},
		{"no such database", "DB", "", levelProblem, "The database cannot be read: 404: no such method"},
		{"no TTL", runsTTL, `{}`, levelWarning, "has no active TTL policy"},
		{"TTL is made", runsTTL, `{"ttlConfig":{"state":"CREATING"}}`, levelWarning, "has no active TTL policy"},
		{"no TTL of undo logs", undoTTL, `{}`, levelProblem,
			"cleanupUndo has no active TTL policy on expireAt: undo logs, which hold the documents that were deleted, are kept for ever"},
		{"TTL of undo logs needs repair", undoTTL, `{"ttlConfig":{"state":"NEEDS_REPAIR"}}`, levelProblem,
			"cleanupUndo has no active TTL policy"},
		{"no index", indexes, `{}`, levelProblem,
			"cleanupReports needs the index status ASCENDING, createdAt ASCENDING (COLLECTION) of reports, which is not there"},
		{"another index", indexes, index("READY", "DESCENDING"), levelProblem, "which is not there"},
		{"names the other way", indexes, index("READY", `ASCENDING"},{"fieldPath":"__name__","order":"DESCENDING`), levelProblem, "which is not there"},
		{"index is built", indexes, index("CREATING", "ASCENDING"), levelProblem, "which is CREATING"},
		{"index is broken", indexes, index("NEEDS_REPAIR", "ASCENDING"), levelProblem, "which is NEEDS_REPAIR"},
		{"no index of a group", group, ofGroup("READY", "COLLECTION"), levelProblem,
			"cleanupActivity needs the index meta.at ASCENDING (COLLECTION_GROUP) of activity, which is not there"},
		{"index of a group is built", group, ofGroup("CREATING", "COLLECTION_GROUP"), levelProblem, "which is CREATING"},
		{"index of a group", group, ofGroup("READY", "COLLECTION_GROUP"), "", ""},
		{"no soft delete", "BUCKET", `{"softDeletePolicy":null}`, levelWarning, "Soft delete is off: a deleted file is gone at once"},
		{"soft delete of nothing", "BUCKET", `{"softDeletePolicy":{"retentionDurationSeconds":"0"}}`, levelWarning, "is gone at once"},
		{"short soft delete", "BUCKET", `{"softDeletePolicy":{"retentionDurationSeconds":"604799"}}`, levelWarning, "for 6 days, and UNDO_DAYS is 7"},
		{"soft delete ends before UNDO_DAYS", "UNDO_DAYS", "8", levelWarning,
			"Soft delete keeps a deleted file for 7 days, and UNDO_DAYS is 8"},
		{"versions", "BUCKET", `{"softDeletePolicy":null,"versioning":{"enabled":true}}`, "", ""},
		{"no bucket", "BUCKET", "", levelProblem, "It cannot be read: 404"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o, g := onGoogle(t)
			g.healthy()
			path := strings.NewReplacer("DB", "/v1/projects/"+o.ID+"/databases/(default)", "BUCKET", "/storage/v1/b/"+o.Bucket).Replace(tt.at)
			answer := fields{}
			switch {
			case tt.at == "UNDO_DAYS":
				o.env[tt.at] = tt.answer
			case tt.answer == "":
				delete(g.answers, path)
			case tt.at == "BUCKET":
				answer = g.bucket()
			}
			if strings.HasPrefix(tt.answer, "{") {
				ok(t, json.Unmarshal([]byte(tt.answer), &answer))
				g.answers[path] = answer
			}
			o.inApp(t, map[string]string{"firesweep.json": activity})
			found := o.examined(t)
			if tt.level == "" {
				want(t, "findings", []finding{}, found)
			} else if !slices.ContainsFunc(found, func(f finding) bool { return f.Level == tt.level && strings.Contains(f.Text, tt.text) }) {
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

// TestDoctorSaysTheWorstFirst also looks at every job of a project in which nothing ever ran.
func TestDoctorSaysTheWorstFirst(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	wantParts(t, oneLine(o.well(t, "doctor")), "Nothing was found that would make a job fail, or a mistake final. On emulators, only the records")
	o.called(t, "cleanupReports", "")
	o.Set(t, "cleanupJobs/cleanExpiredComped", fields{"until": 7})
	o.Set(t, "cleanupJobs/checkGhostCircles", fields{"held": fields{"at": o.now, "by": "me", "why": "x"}})
	out, _ := o.ends(t, exitFailed, "doctor")
	if !strings.HasPrefix(out, "problem: cleanExpiredComped: ") || !strings.Contains(out, "\nwarning: checkGhostCircles: It is held ") {
		t.Error(out)
	}
}

// google stands in for the services of Google that the doctor asks.
type google struct {
	t *testing.T
	o *operator

	mu      sync.Mutex
	calls   []string       // method and path
	answers map[string]any // by path: what is answered, a status, or a function of the body
}

// onGoogle returns an operator with functions that are deployed.
func onGoogle(t *testing.T) (*operator, *google) {
	t.Helper()
	o := newOperator(t)
	g := &google{t: t, o: o, answers: map[string]any{}}
	server := httptest.NewServer(g)
	t.Cleanup(server.Close)
	o.google = func(_ context.Context, service, _ string) []option.ClientOption {
		endpoint := server.URL + "/"
		if service == "storage" {
			endpoint += "storage/v1/"
		}
		return []option.ClientOption{option.WithEndpoint(endpoint), option.WithoutAuthentication()}
	}
	o.other = o.env
	o.env = map[string]string{"GOOGLE_CLOUD_PROJECT": o.ID, "STORAGE_BUCKET": o.Bucket}
	return o, g
}

// ServeHTTP implements http.Handler.
func (g *google) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	g.calls = append(g.calls, r.Method+" "+strings.TrimPrefix(r.URL.Path, "/v1/"))
	answer, there := g.answers[r.URL.Path]
	if of, isFunction := answer.(func([]byte) any); isFunction {
		answer = of(body)
	}
	status, refused := answer.(int)
	if !there {
		status, refused, answer = http.StatusNotFound, true, "no such method"
	}
	if refused {
		answer = fields{"error": fields{"code": status, "message": fmt.Sprint(answer)}}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(max(status, http.StatusOK))
	if err := errors.Join(err, json.NewEncoder(w).Encode(answer)); err != nil {
		g.t.Error(err)
	}
}
