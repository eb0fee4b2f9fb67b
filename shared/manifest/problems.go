package manifest

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/rule"
)

var (
	namePattern    = regexp.MustCompile(`^[a-z][A-Za-z0-9]{5,29}$`) // it is a service account's name as well, in lower case
	packagePattern = regexp.MustCompile(`^[a-z][a-z0-9]*$`)
	memoryPattern  = regexp.MustCompile(`^([1-9][0-9]{0,4})(Mi|Gi)$`)
)

// What Google's services allow.
const (
	minTimeout    = 60   // seconds: enough for the time that the engine reserves at the end
	maxJobTimeout = 1740 // seconds: Cloud Scheduler waits at most 30 minutes, and must wait longer than the timeout
	maxTimeout    = 3600 // seconds, for a function that is called over HTTP
	maxRetries    = 5    // by Cloud Scheduler
)

// together returns the problems of the entries with each other.
func together(entries []Entry) (problems []error) {
	if len(entries) == 0 {
		return []error{errors.New("no functions are listed")}
	}
	byName := map[string]Entry{}
	for _, e := range entries {
		byName[e.Name] = e
	}
	problems = append(problems, marks(entries)...)
	for i := range entries {
		e := &entries[i]
		for _, other := range entries {
			if e.Rule == nil || other.Rule == nil || len(other.Unless) == 0 || !e.Meets(*other.Rule) {
				continue
			}
			if other.OfDocuments() || other.Accounts != "" && len(other.Exceptions()) == 0 {
				e.Others = append(e.Others, rule.Other{Entry: other.Name, Rule: *other.Rule})
				continue
			}
			what := "files"
			if other.Accounts != "" {
				what = "accounts"
			}
			problems = append(problems, fmt.Errorf("%s: with: %s keeps some of these %s by a condition of unless, which nobody asks of "+
				"what is deleted together with something else: leave them out of with", e.Name, other.Name, what))
		}
		if e.Rule != nil {
			e.deriveRoles()
		}
	}
	called := map[string]bool{}
	for _, e := range entries {
		called[e.Worker] = true
		if w := byName[e.Worker]; e.Worker != "" && (w.Trigger != Tasks || w.Package != e.Package) {
			problems = append(problems, fmt.Errorf("%s: its worker %q is not listed as a worker of the same package", e.Name, e.Worker))
		}
	}
	for _, e := range entries {
		if e.Trigger == Tasks && !called[e.Name] {
			problems = append(problems, fmt.Errorf("%s: no job hands tasks to it", e.Name))
		}
	}
	return problems
}

// problems returns what is wrong with one entry. If the entry has a rule, it also sets what follows from the rule.
func (e *Entry) problems() (problems []string) {
	expect := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Sprintf(format, args...))
		}
	}
	expect(namePattern.MatchString(e.Name), "name %q: write 6 to 30 letters and digits that begin with a small letter, such as "+
		"cleanupDrafts", e.Name)
	for _, i := range e.Indexes { // what is wrong with those of a rule would follow from it
		expect(indexProblem(i) == "", "index of %q: %s", i.CollectionGroup, indexProblem(i))
	}
	for _, o := range e.FieldOverrides {
		expect(o.CollectionGroup != "" && o.FieldPath != "" && o.Indexes != nil,
			"a field override lacks collectionGroup, fieldPath or indexes")
	}
	switch {
	case e.Rule == nil && e.Package == "":
		problems = append(problems, (&rule.Rule{}).Problems()...)
	case e.Rule == nil:
		expect(packagePattern.MatchString(e.Package), "package %q is not a package name: use lower-case letters and digits", e.Package)
	default:
		expect(len(e.notDeclared()) == 0, "it has a rule, which decides these: leave out %s", strings.Join(e.notDeclared(), ", "))
		expect(e.Trigger == Schedule, "it has a rule, so its trigger is %s", Schedule)
		if wrong := e.Problems(); len(wrong) > 0 { // what follows from a wrong rule is nothing
			problems = append(problems, wrong...)
		} else {
			e.derive()
		}
	}
	expect(e.Description != "", "description is missing")
	longest := maxTimeout
	if e.Trigger == Schedule {
		longest = maxJobTimeout
	}
	expect(e.TimeoutSeconds >= minTimeout && e.TimeoutSeconds <= longest, "timeoutSeconds is %d: it must be from %d to %d",
		e.TimeoutSeconds, minTimeout, longest)
	expect(e.CPU == "" || e.CPU == "1", "cpu is %q: it must be 1 or left out", e.CPU)
	expect(e.memoryProblem() == "", "%s", e.memoryProblem())
	expect(slices.Contains(e.Uses(), config.Firestore) || e.Package == "", "roles has none on Firestore, which holds the lease")
	expect((e.Worker != "") == slices.Contains(e.Uses(), config.Tasks),
		"worker and the roles on tasks go together: worker is %q, and the roles are on %v", e.Worker, e.Uses())
	switch e.Trigger {
	case Schedule:
		expect(cronProblem(e.Schedule) == "", "%s", cronProblem(e.Schedule))
		expect(slices.Contains(timeZones(), e.TimeZone), "timeZone %q is unknown: it must be a name such as Europe/Berlin or UTC",
			e.TimeZone)
		expect(e.StopAfterSeconds >= 0 && e.StopAfterSeconds <= e.TimeoutSeconds/10*9,
			"stopAfterSeconds is %d: it must be at most nine tenths of timeoutSeconds", e.StopAfterSeconds)
		expect(e.RetryCount >= 0 && e.RetryCount <= maxRetries, "retryCount is %d: it must be from 0 to %d", e.RetryCount, maxRetries)
		expect(e.Queue == nil, "queue is for workers, whose trigger is tasks: leave it out")
	case Tasks:
		q := e.Queue
		expect(q != nil && q.MaxDispatchesPerSecond > 0 && q.MaxConcurrentDispatches >= 1 && q.MaxAttempts >= 1 &&
			q.MinBackoffSeconds >= 1 && q.MaxBackoffSeconds >= q.MinBackoffSeconds, "queue is missing or invalid")
		expect(e.Schedule == "" && e.TimeZone == "" && e.RetryCount == 0 && e.StopAfterSeconds == 0 && e.Worker == "",
			"a worker has no schedule, timeZone, retryCount, stopAfterSeconds or worker: leave them out")
	default:
		expect(false, "trigger %q is neither %s nor %s", e.Trigger, Schedule, Tasks)
	}
	return problems
}

// memoryProblem returns what is wrong with the memory, "" if nothing. The bounds are Cloud Run's.
func (e Entry) memoryProblem() string {
	m := memoryPattern.FindStringSubmatch(e.Memory)
	if m == nil {
		return fmt.Sprintf("memory is %q: it must be a number and Mi or Gi, such as 512Mi or 1Gi", e.Memory)
	}
	mebibytes, err := strconv.Atoi(m[1])
	if m[2] == "Gi" {
		mebibytes *= 1024
	}
	switch {
	case err != nil || mebibytes < 128 || mebibytes > 32<<10:
		return fmt.Sprintf("memory is %s: it must be from 128Mi to 32Gi", e.Memory)
	case e.CPU != "" && (mebibytes < 512 || mebibytes > 4<<10):
		return fmt.Sprintf(`memory is %s: with a whole CPU it must be from 512Mi to 4Gi; with "cpu": "", Google chooses the CPU`,
			e.Memory)
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

// indexProblem returns what is wrong with an index, "" if nothing.
func indexProblem(i Index) string {
	switch {
	case i.CollectionGroup == "":
		return "collectionGroup is missing"
	case i.QueryScope != "COLLECTION" && i.QueryScope != "COLLECTION_GROUP":
		return fmt.Sprintf("queryScope is %q: it must be COLLECTION or COLLECTION_GROUP", i.QueryScope)
	case len(i.Fields) < 2:
		return "it has fewer than two fields: Firestore indexes single fields by itself"
	}
	for _, f := range i.Fields {
		ordered := f.Order == "ASCENDING" || f.Order == "DESCENDING"
		if f.FieldPath == "" || ordered == (f.ArrayConfig == "CONTAINS") {
			return fmt.Sprintf("field %q is neither ordered nor an array", f.FieldPath)
		}
	}
	return ""
}
