package declared_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/shared/declared"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/manifest"
)

// entry returns the entry that declares a rule, in the form of rules.json, in a list with others.
func entry(t testing.TB, rule any, others ...string) manifest.Entry {
	t.Helper()
	if keys, is := rule.(fields); is && keys["where"] != nil && len(keys["where"].(array)) == 0 {
		without := maps.Clone(keys)
		delete(without, "where")
		rule = without
	}
	text, err := json.Marshal(rule)
	ok(t, err)
	own := `{"name":"cleanupThings","schedule":"0 4 * * *",` + strings.TrimPrefix(string(text), "{")
	return lists(t, strings.Join(append([]string{own}, others...), ","))[0]
}

// lists returns the entries of a list of rules.
func lists(t testing.TB, rules string) []manifest.Entry {
	t.Helper()
	entries, err := manifest.ParseRules(manifest.File{Name: "rules.json", Text: []byte(`{"rules":[` + rules + `]}`)})
	ok(t, err)
	return entries
}

// with returns a rule with more keys.
func with(rule, more fields) fields {
	rule = maps.Clone(rule)
	maps.Copy(rule, more)
	return rule
}

// newFunction returns the function of an entry.
func newFunction(t testing.TB, e manifest.Entry) *engine.Function {
	t.Helper()
	timeout, err := e.Timeout(func(string) string { return "" })
	ok(t, err)
	return engine.NewFunction(declared.Job(e.Name, *e.Rule), timeout, e.Uses())
}

var ok = check.OK

// start returns the function of a rule, on a project of its own at [now]. It makes the test parallel.
func start(t *testing.T, rule any) *enginetest.Function {
	t.Helper()
	return startEntry(t, entry(t, rule))
}

// startEntry is start of an entry.
func startEntry(t *testing.T, e manifest.Entry) *enginetest.Function {
	t.Helper()
	t.Parallel()
	f := enginetest.New(t, newFunction(t, e))
	f.Indexes, f.Now = e.Indexes, now
	return f
}
