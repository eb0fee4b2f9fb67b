package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"google.golang.org/api/firebaserules/v1"
	"google.golang.org/api/googleapi"

	"github.com/firesweep/firesweep/shared/collections"
)

// anybody names clients that are not signed in.
const anybody = "anybody"

// methods are those of requests that clients can send.
var methods = []string{"get", "list", "create", "update", "delete"}

const closeThem = "Close them (docs/firestore.rules): no rule may allow them, and a rule for all documents, {document=**}, " +
	"must leave them out."

// examineRules lets Google test whether clients may read or write the bundle's own collections. It tests the released rules
// themselves with the method for testing rules, instead of interpreting them here.
func (d database) examineRules(ctx context.Context, service *firebaserules.Service, now time.Time, f *findings) {
	release := "cloud.firestore"
	if d.id != "(default)" {
		release += "/" + d.id
	}
	unknown := func(err error) {
		f.add(levelUnknown, d.about(), "It needs roles/firebaserules.viewer, and the API firebaserules.googleapis.com.",
			"Its security rules cannot be tested: %s", apiError(err))
	}
	released, err := service.Projects.Releases.Get("projects/" + d.project + "/releases/" + release).Context(ctx).Do()
	var api *googleapi.Error
	switch {
	case errors.As(err, &api) && api.Code == http.StatusNotFound:
		f.add(levelWarning, d.about(), closeThem, "No security rules are released for it as %s: "+
			"check in the Firebase console whether clients may use it.", release)
		return
	case err != nil:
		unknown(err)
		return
	}
	rules, err := service.Projects.Rulesets.Get(released.RulesetName).Context(ctx).Do()
	if err != nil {
		unknown(err)
		return
	}
	tried := d.attempts(now)
	suite := &firebaserules.TestSuite{}
	for _, t := range tried {
		suite.TestCases = append(suite.TestCases, t.test)
	}
	answer, err := service.Projects.Test("projects/"+d.project,
		&firebaserules.TestRulesetRequest{Source: rules.Source, TestSuite: suite}).Context(ctx).Do()
	if err == nil && len(answer.TestResults) != len(tried) {
		err = fmt.Errorf("%d of %d tests were made", len(answer.TestResults), len(tried))
	}
	if err != nil {
		unknown(err)
		return
	}
	judgeRules(d.about(), tried, answer.TestResults, rules.Source, f)
}

// attempt is a request that a client tries.
type attempt struct {
	who, method, collection string
	test                    *firebaserules.TestCase
}

// attempts returns the requests of clients, signed in or not.
func (d database) attempts(now time.Time) (all []attempt) {
	for _, who := range []string{anybody, "anybody signed in"} {
		for _, path := range collections.Documents() {
			for _, method := range methods {
				request := map[string]any{
					"path": "/databases/" + d.id + "/documents/" + path, "method": method, "time": now.UTC().Format(time.RFC3339),
				}
				if who != anybody {
					request["auth"] = map[string]any{"uid": "somebody", "token": map[string]any{"sub": "somebody"}}
				}
				document := map[string]any{"data": map[string]any{}}
				if method == "create" || method == "update" {
					request["resource"] = document
				}
				test := &firebaserules.TestCase{
					Expectation: "DENY", PathEncoding: "PLAIN", ExpressionReportLevel: "VISITED", Request: request}
				if method != "create" {
					test.Resource = document
				}
				all = append(all, attempt{who: who, method: method, collection: path[:strings.LastIndexByte(path, '/')], test: test})
			}
		}
	}
	return all
}

// judgeRules adds findings for the results of the attempts.
func judgeRules(about string, tried []attempt, results []*firebaserules.TestResult, source *firebaserules.Source, f *findings) {
	allowed := map[string]map[string][]string{} // methods, by who and collection
	lines := map[string]bool{}
	conditional := map[string]bool{} // collections
	for i, r := range results {
		t := tried[i]
		if r.State != "SUCCESS" {
			if r.State != "FAILURE" {
				f.add(levelUnknown, about, "", "Its security rules cannot be tested: a test ended as %q", r.State)
				return
			}
			by := allowed[t.collection]
			if by == nil {
				by = map[string][]string{}
				allowed[t.collection] = by
			}
			if !slices.Contains(by[anybody], t.method) { // or else it is said already
				by[t.who] = append(by[t.who], t.method)
			}
			continue
		}
		for _, position := range conditions(r, source) {
			conditional[t.collection] = true
			lines[fmt.Sprint(position.Line)] = true
		}
	}
	alike := map[string][]string{} // collections by what is allowed
	for _, collection := range slices.Sorted(maps.Keys(allowed)) {
		delete(conditional, collection)
		var who []string
		for _, name := range slices.Sorted(maps.Keys(allowed[collection])) {
			who = append(who, name+" may "+strings.Join(allowed[collection][name], ", "))
		}
		text := strings.Join(who, "; ")
		alike[text] = append(alike[text], collection)
	}
	for _, text := range slices.Sorted(maps.Keys(alike)) {
		f.add(levelProblem, about, closeThem, "Security rules let clients use %s: %s.", strings.Join(alike[text], ", "), text)
	}
	switch {
	case len(conditional) > 0:
		f.add(levelWarning, about, "Look at these lines: they must hold for no client. "+closeThem,
			"Security rules refuse a client without custom claims and with an empty document, but conditions decide that, of %s: line %s.",
			strings.Join(slices.Sorted(maps.Keys(conditional)), ", "), strings.Join(slices.Sorted(maps.Keys(lines)), ", "))
	case len(allowed) == 0:
		f.add(levelFine, about, "", "Security rules refuse clients, signed in or not, the bundle's own collections")
	}
}

// conditions returns where the rules evaluated an expression other than the word false to refuse a test.
func conditions(r *firebaserules.TestResult, source *firebaserules.Source) (at []*firebaserules.SourcePosition) {
	for _, v := range r.VisitedExpressions {
		if p := v.SourcePosition; p != nil && textAt(source, p) != "false" {
			at = append(at, p)
		}
	}
	if len(at) == 0 && r.ErrorPosition != nil {
		at = append(at, r.ErrorPosition)
	}
	return at
}

// textAt returns the rules' text at a position; "" if there is no such position.
func textAt(source *firebaserules.Source, p *firebaserules.SourcePosition) string {
	for _, file := range source.Files {
		named := p.FileName == "" || p.FileName == file.Name
		if named && p.CurrentOffset >= 0 && p.CurrentOffset < p.EndOffset && p.EndOffset <= int64(len(file.Content)) {
			return strings.TrimSpace(file.Content[p.CurrentOffset:p.EndOffset])
		}
	}
	return ""
}
