package manifest

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/firesweep/firesweep/shared/rule"
	"github.com/firesweep/firesweep/shared/rule/criteria"
)

var (
	namePattern   = regexp.MustCompile(`^[a-z][A-Za-z0-9]{5,29}$`) // it is a service account's name as well, in lower case
	memoryPattern = regexp.MustCompile(`^([1-9][0-9]{0,4})(Mi|Gi)$`)
)

// What Google's services allow.
const (
	minTimeout = 60   // seconds: enough for the time that the engine reserves at the end
	maxTimeout = 1740 // seconds: Cloud Scheduler waits at most 30 minutes, and must wait longer than the timeout
	maxRetries = 5    // by Cloud Scheduler
)

// together checks the entries with each other, and sets what follows from others.
func (p *parsing) together() {
	if len(p.all) == 0 {
		p.problems = append(p.problems, errors.New("no functions are listed"))
	}
	for i, e := range p.all {
		if e.Rule != nil {
			p.meets(i)
		}
	}
}

// meets checks an entry's rule with all other rules: a mark of warnings that another writes as well would not tell who was warned
// of what, and what another keeps is not deleted with something else.
func (p *parsing) meets(i int) {
	e := &p.all[i]
	for n, other := range p.all {
		if other.Rule == nil {
			continue
		}
		if e.Warn != nil && i != n && other.writes(e.Warn.Field) && e.Place().Same(other.Place()) {
			p.refuse(i, "warn.field", "%s writes %s in the same documents: give each rule a mark of its own", other.Name, e.Warn.Field)
		}
		switch {
		case len(other.Unless) == 0 || !e.Meets(*other.Rule):
		case other.OfDocuments() || other.Accounts != "" && len(other.Exceptions()) == 0:
			e.Others = append(e.Others, rule.Other{Entry: other.Name, Rule: *other.Rule})
		default:
			what := "files"
			if other.Accounts != "" {
				what = "accounts"
			}
			p.refuse(i, "with", "%s keeps some of these %s by a condition of unless, which nobody asks of what is deleted together with "+
				"something else: leave them out of with", other.Name, what)
		}
	}
	e.deriveRoles()
}

// writes reports whether the entry's rule sets a field, or marks its warnings in it.
func (e Entry) writes(field string) bool {
	_, set := e.Set[field]
	return set || e.Warn != nil && e.Warn.Field == field
}

// problems returns what is wrong with one entry. If the entry has a rule, it also sets what follows from the rule. What else
// may be wrong with an entry of functions/manifest.json that has a package, the tests of functions say.
func (e *Entry) problems() []criteria.Problem {
	var p criteria.Problems
	p.Expect(namePattern.MatchString(e.Name), "name", "%s write 6 to 30 letters and digits that begin with a small letter, such as "+
		"cleanupDrafts", cmp.Or(strings.TrimPrefix(fmt.Sprintf("%q:", e.Name), `"":`), "it is missing:"))
	run := ""
	if e.Rule != nil {
		run = "run."
		p.Expect(e.Package == "", "package", "a rule has none: leave it out, or the keys of the rule")
		if p.All = append(p.All, e.Problems()...); len(p.All) == 0 { // what follows from a wrong rule is nothing
			e.derive()
		}
	}
	p.Expect(e.Description != "", "description", "it is missing: write one line for people")
	p.Expect(e.TimeoutSeconds >= minTimeout && e.TimeoutSeconds <= maxTimeout, run+"timeoutSeconds",
		"it is %d and must be from %d to %d", e.TimeoutSeconds, minTimeout, maxTimeout)
	p.Expect(e.CPU == "" || e.CPU == "1", run+"cpu", `it is %q and must be "1" or ""`, e.CPU)
	p.Expect(e.memoryProblem() == "", run+"memory", "%s", e.memoryProblem())
	if e.Trigger != Tasks {
		p.Expect(cronProblem(e.Schedule) == "", "schedule", "%s", cronProblem(e.Schedule))
		p.Expect(slices.Contains(timeZones(), e.TimeZone), "timeZone", "%q is unknown: write a name such as Europe/Berlin or UTC",
			e.TimeZone)
		p.Expect(e.RetryCount >= 0 && e.RetryCount <= maxRetries, run+"retryCount", "it is %d and must be from 0 to %d", e.RetryCount,
			maxRetries)
	}
	return p.All
}

// memoryProblem returns what is wrong with the memory, "" if nothing. The bounds are Cloud Run's.
func (e Entry) memoryProblem() string {
	m := memoryPattern.FindStringSubmatch(e.Memory)
	if m == nil {
		return fmt.Sprintf("%q is not a number and Mi or Gi, such as 512Mi or 1Gi", e.Memory)
	}
	mebibytes, err := strconv.Atoi(m[1])
	if m[2] == "Gi" {
		mebibytes *= 1024
	}
	switch {
	case err != nil || mebibytes < 128 || mebibytes > 32<<10:
		return fmt.Sprintf("it is %s and must be from 128Mi to 32Gi", e.Memory)
	case e.CPU != "" && (mebibytes < 512 || mebibytes > 4<<10):
		return fmt.Sprintf(`it is %s: with a whole CPU it must be from 512Mi to 4Gi; with "cpu": "", Google chooses the CPU`, e.Memory)
	}
	return ""
}

//go:embed time_zones.json
var timeZonesJSON []byte

// timeZones returns the names of the IANA database, whether or not the machine has it.
var timeZones = sync.OnceValue(func() (names []string) {
	if err := json.Unmarshal(timeZonesJSON, &names); err != nil {
		panic(fmt.Sprintf("shared/manifest/time_zones.json: %v", err)) // it is part of the program, and a test reads it
	}
	return names
})
