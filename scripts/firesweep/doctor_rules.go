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
	"github.com/firesweep/firesweep/shared/version"
)

var closeThem = "Close them: no rule may allow them, and a rule for all documents, {document=**}, must leave them out: " +
	version.Page("docs/firestore.rules")

// examineRules lets Google test whether clients may read or write the bundle's own collections. It tests the released rules
// themselves with the method for testing rules, instead of interpreting them here.
func (d database) examineRules(ctx context.Context, service *firebaserules.Service, now time.Time) {
	release := "cloud.firestore"
	if d.id != "(default)" {
		release += "/" + d.id
	}
	var rules *firebaserules.Ruleset
	released, err := service.Projects.Releases.Get("projects/" + d.project + "/releases/" + release).Context(ctx).Do()
	var api *googleapi.Error
	if errors.As(err, &api) && api.Code == http.StatusNotFound {
		d.add(levelWarning, closeThem, "No security rules are released for it as %s: "+
			"check in the Firebase console whether clients may use it.", release)
		return
	}
	if err == nil {
		rules, err = service.Projects.Rulesets.Get(released.RulesetName).Context(ctx).Do()
	}
	var results []*firebaserules.TestResult
	if err == nil {
		results, err = d.tried(ctx, service, rules.Source, now)
	}
	if err != nil {
		d.add(levelUnknown, "It needs roles/firebaserules.viewer, and the API firebaserules.googleapis.com.",
			"Its security rules cannot be tested: %s", apiError(err))
		return
	}
	d.judge(results, rules.Source)
}

// tried returns what becomes of the attempts.
func (d database) tried(ctx context.Context, service *firebaserules.Service, source *firebaserules.Source, now time.Time) (
	[]*firebaserules.TestResult, error,
) {
	suite := &firebaserules.TestSuite{TestCases: d.attempts(now)}
	answer, err := service.Projects.Test("projects/"+d.project,
		&firebaserules.TestRulesetRequest{Source: source, TestSuite: suite}).Context(ctx).Do()
	if err != nil {
		return nil, err
	}
	if len(answer.TestResults) != len(suite.TestCases) {
		return nil, fmt.Errorf("%d of %d tests were made", len(answer.TestResults), len(suite.TestCases))
	}
	return answer.TestResults, nil
}

// Who sends requests, not signed in and signed in, and the methods of these requests.
var (
	clients = []string{"anybody", "anybody signed in"}
	methods = []string{"get", "list", "create", "update", "delete"}
)

// attempts returns what clients try: for each collection, each client and each method, in this order.
func (d database) attempts(now time.Time) (all []*firebaserules.TestCase) {
	document := map[string]any{"data": map[string]any{}}
	for _, path := range collections.Documents() {
		for signedIn := range clients {
			for _, method := range methods {
				request := map[string]any{
					"path": "/databases/" + d.id + "/documents/" + path, "method": method, "time": now.UTC().Format(time.RFC3339),
				}
				if signedIn == 1 {
					request["auth"] = map[string]any{"uid": "somebody", "token": map[string]any{"sub": "somebody"}}
				}
				if method == "create" || method == "update" {
					request["resource"] = document
				}
				test := &firebaserules.TestCase{
					Expectation: "DENY", PathEncoding: "PLAIN", ExpressionReportLevel: "VISITED", Request: request}
				if method != "create" {
					test.Resource = document
				}
				all = append(all, test)
			}
		}
	}
	return all
}

// judge adds findings for the results of the attempts.
func (s subject) judge(results []*firebaserules.TestResult, source *firebaserules.Source) {
	allowed := map[string][]string{} // collections, by what clients may do in them
	var conditional, lines []string  // collections that a condition alone closes, and where it stands
	for _, path := range collections.Documents() {
		collection := path[:strings.LastIndexByte(path, '/')]
		var may, at []string
		for _, who := range clients {
			var can []string
			for _, method := range methods {
				r := results[0]
				results = results[1:]
				switch {
				case r.State == "SUCCESS":
					at = append(at, conditions(r, source)...)
				case r.State != "FAILURE":
					s.add(levelUnknown, "", "Its security rules cannot be tested: a test ended as %q", r.State)
					return
				case len(may) == 0 || !strings.Contains(may[0], method): // or else anybody may
					can = append(can, method)
				}
			}
			if len(can) > 0 {
				may = append(may, who+" may "+strings.Join(can, ", "))
			}
		}
		switch text := strings.Join(may, "; "); {
		case text != "":
			allowed[text] = append(allowed[text], collection)
		case len(at) > 0:
			conditional, lines = append(conditional, collection), append(lines, at...)
		}
	}
	for _, text := range slices.Sorted(maps.Keys(allowed)) {
		s.add(levelProblem, closeThem, "Security rules let clients use %s: %s.", strings.Join(allowed[text], ", "), text)
	}
	slices.Sort(conditional)
	slices.Sort(lines)
	switch {
	case len(conditional) > 0:
		s.add(levelWarning, "Look at these lines: they must hold for no client. "+closeThem,
			"Security rules refuse a client without custom claims and with an empty document, but conditions decide that, of %s: line %s.",
			strings.Join(conditional, ", "), strings.Join(slices.Compact(lines), ", "))
	case len(allowed) == 0:
		s.add(levelFine, "", "Security rules refuse clients, signed in or not, the bundle's own collections")
	}
}

// conditions returns the lines in which the rules evaluated an expression other than the word false to refuse a test.
func conditions(r *firebaserules.TestResult, source *firebaserules.Source) (lines []string) {
	for _, v := range r.VisitedExpressions {
		if p := v.SourcePosition; p != nil && textAt(source, p) != "false" {
			lines = append(lines, fmt.Sprint(p.Line))
		}
	}
	if len(lines) == 0 && r.ErrorPosition != nil {
		lines = append(lines, fmt.Sprint(r.ErrorPosition.Line))
	}
	return lines
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
