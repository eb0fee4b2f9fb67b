package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/api/option"
)

const (
	location       = "asia-northeast1"
	schedulerEmail = "firesweep-scheduler@p.iam.gserviceaccount.com"
)

// google stands in for Cloud Scheduler and Cloud Logging. It refuses what they would refuse, as far as their references say,
// and calls the operator's functions.
type google struct {
	t *testing.T
	o *operator

	mu      sync.Mutex
	jobs    map[string]map[string]any // by full name
	calls   []string                  // method and path, without reads of the log
	entries []map[string]any
	behind  time.Duration                   // the operator\'s clock
	unseen  int                             // how often the log is still read in vain
	fail    func(r *http.Request) int       // a status to answer with; 0: none
	bodies  []string                        // that functions were called with
	made    []string                        // jobs that were made
	extra   map[string]func(url.Values) any // further answers, by path
	posted  map[string][]byte               // to these, the last body by path
}

// onGoogle returns an operator with functions that are deployed.
func onGoogle(t *testing.T) (*operator, *google) {
	t.Helper()
	o := newOperator(t)
	return o, o.onGoogle(t)
}

// onGoogle has the operator's functions deployed: cleanupReports and cleanExpiredComped.
func (o *operator) onGoogle(t *testing.T) *google {
	t.Helper()
	g := &google{t: t, o: o, jobs: map[string]map[string]any{}, unseen: 1, extra: map[string]func(url.Values) any{},
		posted: map[string][]byte{}}
	for _, name := range []string{"cleanupReports", "cleanExpiredComped"} {
		g.jobs[g.name(name)] = map[string]any{
			"name": g.name(name), "schedule": "0 0 * * *", "timeZone": "UTC", "state": "ENABLED", "attemptDeadline": "330s",
			"httpTarget": map[string]any{
				"uri": "https://" + strings.ToLower(name) + "-x.a.run.app", "httpMethod": "POST",
				"oidcToken": map[string]any{"serviceAccountEmail": schedulerEmail,
					"audience": "https://" + strings.ToLower(name) + "-x.a.run.app"},
			},
		}
	}
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
	o.sleep = noSleep
	return g
}

// forbid refuses requests whose path ends so.
func forbid(path string) func(*http.Request) int {
	return func(r *http.Request) int {
		if strings.HasSuffix(r.URL.Path, path) {
			return http.StatusForbidden
		}
		return 0
	}
}

// clock is Google's, which may not be the operator's.
func (g *google) clock() time.Time { return g.o.now.Add(-g.behind) }

func (g *google) name(job string) string {
	return "projects/" + g.o.ID + "/locations/" + location + "/jobs/" + job
}

// ServeHTTP implements http.Handler.
func (g *google) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var body bytes.Buffer
	if _, err := body.ReadFrom(r.Body); err != nil {
		g.t.Error(err)
	}
	if r.URL.Path != "/v2/entries:list" {
		g.calls = append(g.calls, r.Method+" "+strings.TrimPrefix(r.URL.Path, "/v1/"))
	}
	status := 0
	var answer any
	if g.fail != nil {
		status = g.fail(r)
	}
	switch {
	case status != 0:
		answer = "it was made to fail"
	case g.extra[r.URL.Path] != nil:
		g.posted[r.URL.Path] = body.Bytes()
		status, answer = http.StatusOK, g.extra[r.URL.Path](r.URL.Query())
	case r.Method == http.MethodPost && r.URL.Path == "/v2/entries:list":
		status, answer = g.list(body.Bytes())
	case strings.HasPrefix(r.URL.Path, "/v1/projects/"+g.o.ID+"/locations/"+location+"/jobs"):
		status, answer = g.schedule(r, strings.TrimPrefix(r.URL.Path, "/v1/"), body.Bytes())
	default:
		status, answer = http.StatusNotFound, "no such method: "+r.Method+" "+r.URL.Path
	}
	if status != http.StatusOK {
		answer = map[string]any{"error": map[string]any{"code": status, "message": answer}}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		g.t.Error(err)
	}
}

// schedule is Cloud Scheduler. https://docs.cloud.google.com/scheduler/docs/reference/rest/v1/projects.locations.jobs
func (g *google) schedule(r *http.Request, name string, body []byte) (int, any) {
	own, run := strings.CutSuffix(name, ":run")
	for verb, state := range map[string]string{":pause": paused, ":resume": enabled} {
		if job, is := strings.CutSuffix(name, verb); is && r.Method == http.MethodPost && g.jobs[job] != nil {
			g.jobs[job]["state"] = state
			return http.StatusOK, g.jobs[job]
		}
	}
	switch {
	case strings.HasSuffix(name, "/jobs") && r.Method == http.MethodGet:
		var jobs []any
		for _, name := range slices.Sorted(maps.Keys(g.jobs)) {
			jobs = append(jobs, g.jobs[name])
		}
		return http.StatusOK, map[string]any{"jobs": jobs}
	case strings.HasSuffix(name, "/jobs") && r.Method == http.MethodPost:
		return g.create(name, body)
	case g.jobs[own] == nil:
		return http.StatusNotFound, "Job not found."
	case run && r.Method == http.MethodPost && strings.TrimSpace(string(body)) == "{}":
		g.run(g.jobs[own])
		return http.StatusOK, g.jobs[own]
	case !run && r.Method == http.MethodGet:
		return http.StatusOK, g.jobs[own]
	case !run && r.Method == http.MethodDelete && len(body) == 0:
		delete(g.jobs, own)
		return http.StatusOK, map[string]any{}
	}
	return http.StatusBadRequest, "not understood"
}

// create makes a job. TestRunOfADeployedJob says what is sent.
func (g *google) create(parent string, body []byte) (int, any) {
	var job map[string]any
	if err := json.Unmarshal(body, &job); err != nil {
		return http.StatusBadRequest, err.Error()
	}
	name, _ := job["name"].(string)
	switch id, below := strings.CutPrefix(name, parent+"/"); {
	case !below || !regexp.MustCompile(`^[A-Za-z0-9_-]{1,500}$`).MatchString(id):
		return http.StatusBadRequest, "name " + name
	case g.jobs[name] != nil:
		return http.StatusConflict, "Job already exists."
	}
	g.made = append(g.made, strings.TrimSpace(string(body)))
	job["userUpdateTime"] = g.clock().Format(time.RFC3339Nano)
	g.jobs[name] = job
	return http.StatusOK, job
}

// run calls the function that a job is for, and logs what it logs.
func (g *google) run(job map[string]any) {
	target := job["httpTarget"].(map[string]any)
	body, _ := base64.StdEncoding.DecodeString(target["body"].(string))
	g.bodies = append(g.bodies, string(body))
	for _, e := range scheduled() {
		if !strings.HasPrefix(target["uri"].(string), "https://"+strings.ToLower(e.Name)+"-") {
			continue
		}
		r := httptest.NewRequestWithContext(g.t.Context(), http.MethodPost, "/", bytes.NewReader(body))
		g.o.function(e.Name).ServeHTTP(httptest.NewRecorder(), r)
		g.takeLog()
	}
}

// takeLog moves what functions have logged to the log, as Cloud Logging shows it.
func (g *google) takeLog() {
	for text := range strings.Lines(g.o.log.String()) {
		var line map[string]any
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			g.t.Error(err)
		}
		entry := map[string]any{
			"timestamp": g.clock().Format(time.RFC3339Nano), "severity": line["severity"], "labels": line["logging.googleapis.com/labels"],
			"resource": map[string]any{"type": "cloud_run_revision"}, "jsonPayload": line,
		}
		for _, name := range []string{"time", "severity", "logging.googleapis.com/labels"} {
			delete(line, name)
		}
		g.entries = append(g.entries, entry)
	}
	g.o.log.Reset()
}

// list is Cloud Logging. https://docs.cloud.google.com/logging/docs/reference/v2/rest/v2/entries/list
func (g *google) list(body []byte) (int, any) {
	var request struct {
		ResourceNames              []string
		Filter, OrderBy, PageToken string
		PageSize                   int
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&request); err != nil {
		return http.StatusBadRequest, err.Error()
	}
	matches, err := parseFilter(request.Filter)
	switch {
	case err != nil:
		return http.StatusBadRequest, "filter: " + err.Error() + " in " + request.Filter
	case !slices.Equal(request.ResourceNames, []string{"projects/" + g.o.ID}):
		return http.StatusBadRequest, "resourceNames"
	case request.PageSize < 0 || request.PageSize > 1000:
		return http.StatusBadRequest, "pageSize"
	case request.OrderBy != "timestamp asc" && request.OrderBy != "timestamp desc":
		return http.StatusBadRequest, "orderBy"
	}
	if g.unseen > 0 {
		g.unseen--
		return http.StatusOK, map[string]any{}
	}
	var found []map[string]any
	for _, e := range g.entries {
		if matches(e) {
			found = append(found, e)
		}
	}
	if request.OrderBy == "timestamp desc" {
		slices.Reverse(found)
	}
	// Two at most, so that whoever asks has to turn pages.
	first := 0
	if request.PageToken != "" {
		if _, err := fmt.Sscanf(request.PageToken, "from %d", &first); err != nil {
			return http.StatusBadRequest, "pageToken"
		}
	}
	last := min(len(found), first+min(2, request.PageSize))
	answer := map[string]any{"entries": found[first:last]}
	if last < len(found) {
		answer["nextPageToken"] = fmt.Sprintf("from %d", last)
	}
	return http.StatusOK, answer
}

// filter is a filter of Cloud Logging: as much of its language as the command uses, and everything else is an error. It is read as
// the Go expression of the same form. OR binds more tightly than AND there, unlike in Go, so both on one level without parentheses
// are refused too. https://docs.cloud.google.com/logging/docs/view/logging-query-language
type filter func(entry map[string]any) bool

var (
	filterTokens = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|[<>]?=|:\*?|\w+`)
	inGo         = map[string]string{"AND": "&&", "OR": "||", "NOT": "!", "=": "==", ":": "%", ":*": "% set", "type": "type_"} // a keyword of Go
)

// parseFilter parses a filter.
func parseFilter(text string) (filter, error) {
	x, err := parser.ParseExpr(filterTokens.ReplaceAllStringFunc(text, func(t string) string { return cmp.Or(inGo[t], t) }))
	if err == nil {
		_, err = holds(x, nil)
	}
	return func(e map[string]any) bool { is, err := holds(x, e); return is && err == nil }, err
}

func holds(x ast.Expr, e map[string]any) (bool, error) {
	if p, is := x.(*ast.ParenExpr); is {
		return holds(p.X, e)
	}
	if not, is := x.(*ast.UnaryExpr); is && not.Op == token.NOT {
		is, err := holds(not.X, e)
		return !is, err
	}
	b, is := x.(*ast.BinaryExpr)
	if !is {
		return false, fmt.Errorf("not understood: %T", x)
	}
	logical := []token.Token{token.LAND, token.LOR}
	if slices.Contains(logical, b.Op) {
		left, leftErr := holds(b.X, e)
		right, rightErr := holds(b.Y, e)
		for _, side := range []ast.Expr{b.X, b.Y} {
			if inner, is := side.(*ast.BinaryExpr); is && inner.Op != b.Op && slices.Contains(logical, inner.Op) {
				return false, errors.New("AND and OR need parentheses")
			}
		}
		return left && right || b.Op == token.LOR && (left || right), errors.Join(leftErr, rightErr)
	}
	value, texts := valueAt(b.X, e), literals(b.Y)
	switch {
	case len(texts) == 0, len(texts) > 1 && b.Op != token.REM:
		return false, fmt.Errorf("%s: neither texts nor true or false", b.Op)
	case b.Op == token.EQL:
		return value != nil && fmt.Sprint(value) == texts[0], nil
	case b.Op == token.REM && texts[0] == "set":
		return value != nil, nil
	case b.Op == token.REM:
		return slices.ContainsFunc(texts, func(text string) bool {
			return strings.Contains(strings.ToLower(fmt.Sprint(value)), strings.ToLower(text))
		}), nil
	case b.Op == token.GEQ, b.Op == token.LEQ:
		bound, err := time.Parse(time.RFC3339Nano, texts[0])
		at, atErr := time.Parse(time.RFC3339Nano, fmt.Sprint(value))
		return atErr == nil && (at.Equal(bound) || at.After(bound) == (b.Op == token.GEQ)), err
	}
	return false, fmt.Errorf("%s: no such comparison", b.Op)
}

func valueAt(x ast.Expr, e map[string]any) any {
	switch x := x.(type) {
	case *ast.Ident:
		return e[x.Name]
	case *ast.SelectorExpr:
		above, _ := valueAt(x.X, e).(map[string]any)
		return above[strings.TrimSuffix(x.Sel.Name, "_")]
	}
	return nil
}

// literals returns texts, or the one of true and set; none if there is something else.
func literals(x ast.Expr) []string {
	switch x := x.(type) {
	case *ast.ParenExpr:
		return literals(x.X)
	case *ast.BinaryExpr:
		if left, right := literals(x.X), literals(x.Y); x.Op == token.LOR && left != nil && right != nil {
			return append(left, right...)
		}
	case *ast.BasicLit:
		if text, err := strconv.Unquote(x.Value); err == nil {
			return []string{text}
		}
	case *ast.Ident:
		if slices.Contains([]string{"true", "false", "set"}, x.Name) {
			return []string{x.Name}
		}
	}
	return nil
}
