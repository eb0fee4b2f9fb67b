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
func (d database) examineRules(ctx context.Context, service *firebaserules.Service) {
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
	var tested *firebaserules.TestRulesetResponse
	attempts := attempts()
	if err == nil {
		suite := &firebaserules.TestSuite{}
		for _, one := range attempts {
			suite.TestCases = append(suite.TestCases, d.test(one))
		}
		tested, err = service.Projects.Test("projects/"+d.project,
			&firebaserules.TestRulesetRequest{Source: rules.Source, TestSuite: suite}).Context(ctx).Do()
	}
	if err == nil && len(tested.TestResults) != len(attempts) {
		err = fmt.Errorf("%d of %d tests were made", len(tested.TestResults), len(attempts))
	}
	if err != nil {
		d.add(levelUnknown, "It needs roles/firebaserules.viewer, and the API firebaserules.googleapis.com.",
			"Its security rules cannot be tested: %s", apiError(err))
		return
	}
	d.judge(attempts, tested.TestResults, rules.Source)
}

// attempt is what a client tries.
type attempt struct {
	document string
	who      string // anybody, or anybody signed in
	method   string
}

const signedIn = "anybody signed in"

func attempts() (all []attempt) {
	for _, document := range collections.Documents() {
		for _, who := range []string{"anybody", signedIn} {
			for _, method := range []string{"get", "list", "create", "update", "delete"} {
				all = append(all, attempt{document, who, method})
			}
		}
	}
	return all
}

// test returns an attempt as the service takes it.
func (d database) test(a attempt) *firebaserules.TestCase {
	document := map[string]any{"data": map[string]any{}}
	request := map[string]any{"path": "/databases/" + d.id + "/documents/" + a.document, "method": a.method,
		"time": d.clock().UTC().Format(time.RFC3339)}
	test := &firebaserules.TestCase{Expectation: "DENY", PathEncoding: "PLAIN", ExpressionReportLevel: "VISITED", Request: request}
	if a.who == signedIn {
		request["auth"] = map[string]any{"uid": "somebody", "token": map[string]any{"sub": "somebody"}}
	}
	if a.method == "create" || a.method == "update" {
		request["resource"] = document
	}
	if a.method != "create" {
		test.Resource = document
	}
	return test
}

// judge adds findings for the results of the attempts: what clients may do, and which collections a condition alone closes.
func (d database) judge(attempts []attempt, results []*firebaserules.TestResult, source *firebaserules.Source) {
	may := map[string][]string{} // collections, by what anybody may do there
	var conditional, lines []string
	for i, a := range attempts {
		collection := a.document[:strings.LastIndexByte(a.document, '/')]
		switch r := results[i]; r.State {
		case "FAILURE":
			what := a.who + " may " + a.method
			if byAnybody := "anybody may " + a.method; !slices.Contains(may[byAnybody], collection) {
				may[what] = append(may[what], collection)
			}
		case "SUCCESS":
			if at := conditions(r, source); len(at) > 0 {
				conditional, lines = append(conditional, collection), append(lines, at...)
			}
		default:
			d.add(levelUnknown, "", "Its security rules cannot be tested: a test ended as %q", r.State)
			return
		}
	}
	for _, what := range slices.Sorted(maps.Keys(may)) {
		d.add(levelProblem, closeThem, "Security rules: %s in %s.", what, strings.Join(may[what], ", "))
	}
	slices.Sort(conditional)
	slices.Sort(lines)
	switch {
	case len(conditional) > 0:
		d.add(levelWarning, "Look at these lines: they must hold for no client. "+closeThem,
			"Security rules refuse a client without custom claims and with an empty document, but conditions decide that, of %s: line %s.",
			strings.Join(slices.Compact(conditional), ", "), strings.Join(slices.Compact(lines), ", "))
	case len(may) == 0:
		d.add(levelFine, "", "Security rules refuse clients, signed in or not, the bundle's own collections")
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
