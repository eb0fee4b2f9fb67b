package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/manifest"
	"github.com/firesweep/firesweep/shared/rule"
	"github.com/firesweep/firesweep/shared/version"
)

type checkFlags struct{ write, indexes bool }

// indexesPage says how an index of a single field in a collection group is made.
var indexesPage = version.Page("docs/operations.md#an-index-exists-already")

// checked is what is known of a job before it is deployed. docs/command.md documents it as JSON.
type checked struct {
	Job      string                      `json:"job"`
	Declared bool                        `json:"declared"` // by a rule; else it is written in Go
	Own      bool                        `json:"own"`      // by a rule of one's own
	Does     string                      `json:"does"`     // in a sentence
	Schedule string                      `json:"schedule"`
	TimeZone string                      `json:"timeZone"`
	Reads    string                      `json:"reads,omitempty"`    // what each run reads beside the items that are due
	Judged   map[string][]string         `json:"judgedBy,omitempty"` // fields by collection; of a rule
	Note     string                      `json:"note,omitempty"`
	Roles    map[config.Backend][]string `json:"roles"`
	Indexes  []manifest.Index            `json:"indexes"` // beside the automatic ones
}

func (a *app) checkCommand() *cobra.Command {
	var f checkFlags
	c := &cobra.Command{
		Use:   "check [JOB...]",
		Short: "Check your rules, and say what they do and need",
		Long: `Say of each rule what it does, when it runs, what it reads and needs, and name
all problems of the file at once; no project is asked.`,
		Example: `  firesweep check
  firesweep check --write                 # the lock file for Terraform
  firesweep check --indexes               # to add to firestore.indexes.json`,
	}
	c.Flags().BoolVar(&f.write, "write", false, "write the lock file that Terraform reads, and nothing else")
	c.Flags().BoolVar(&f.indexes, "indexes", false, "write what to add to firestore.indexes.json, and nothing else")
	c.RunE = func(_ *cobra.Command, names []string) error { return a.check(f, names) }
	return c
}

func (a *app) check(f checkFlags, names []string) error {
	switch {
	case f.write && (f.indexes || len(names) > 0 || a.json):
		return wrongUse("--write writes the lock file of all rules and nothing else: leave out the jobs, --indexes and --json")
	case f.write:
		return a.writeLock()
	}
	jobs, err := a.jobsNamed(names)
	if err != nil {
		return err
	}
	if f.indexes {
		file, err := a.indexesOf(jobs)
		if err != nil {
			return err
		}
		return encode(a.out, file)
	}
	if a.nine && len(names) == 0 {
		jobs = a.Own
	}
	checks := make([]checked, len(jobs))
	for i, job := range jobs {
		checks[i] = a.checked(job)
	}
	if err := a.show(map[string]any{"checks": checks}, func(p *printer) { a.printChecks(p, checks) }, false); err != nil {
		return err
	}
	return a.checkLock()
}

// writeLock writes the lock file beside a list of rules.
func (a *app) writeLock() error {
	name, lock, old, err := a.locks()
	if err != nil {
		return err
	}
	p := a.printer()
	switch {
	case name == "":
		return wrongUse("there is no %s here or above: name your list with --rules", rulesName)
	case bytes.Equal(old, lock):
		p.Say("", 0, 2, "%s is up to date: nothing was written.", name)
		return nil
	}
	err = os.WriteFile(a.within(name), lock, 0o644) //nolint:gosec // like the list beside it, it is for all who read the repository
	if err != nil {
		return err
	}
	p.Say("", 0, 2, "%s was written. Commit it with %s; Terraform deploys what it says.", name, a.rules)
	return nil
}

// locks returns the name of the lock file of the rules, what it should be, and what it is; nil if there is none. Without a list
// of rules the name is empty.
func (a *app) locks() (name string, lock, old []byte, err error) {
	if a.rules == "" {
		return "", nil, nil, nil
	}
	name = manifest.LockName(a.rules)
	if lock, err = functions.Lock(manifest.File{Name: a.rules, Text: a.text}); err != nil {
		return "", nil, nil, a.wrongList(err)
	}
	if old, err = os.ReadFile(a.within(name)); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return name, lock, old, err
}

// checkLock refuses a lock file that is there and is not what check --write would write, but for CRLF, with which Git on Windows
// may check it out.
func (a *app) checkLock() error {
	name, lock, old, err := a.locks()
	if err != nil || old == nil || bytes.Equal(bytes.ReplaceAll(old, []byte("\r\n"), []byte("\n")), lock) {
		return err
	}
	why := "the rules were changed since"
	if !bytes.Contains(old, []byte(version.Lock)) {
		why = "it is not of this version of Firesweep, " + version.Lock
	}
	return wrongUse("%s does not fit %s: %s: write it anew with %s", name, a.rules, why, a.cmd("check", "--write"))
}

// checked returns what is known of a job without running it.
func (a *app) checked(e manifest.Entry) checked {
	c := checked{
		Job: e.Name, Declared: e.Rule != nil, Own: e.Own, Does: e.Description, Schedule: e.Schedule, TimeZone: e.TimeZone,
		Roles: e.Roles, Indexes: slices.Concat([]manifest.Index{}, e.Indexes),
	}
	if e.Rule != nil {
		c.Does, c.Reads, c.Judged, c.Note = e.Words(), readsOf(*e.Rule), e.Judged(), noteOn(*e.Rule)
	}
	if at, skipped := skipped(e, a.clock()); skipped {
		c.Note = strings.TrimPrefix(c.Note+fmt.Sprintf(". %s has no %s on %s, so nothing runs that night: choose another time, or UTC",
			e.TimeZone, at.Format("15:04"), at.Format(time.DateOnly)), ". ")
	}
	return c
}

// noteOn returns what else to know of a rule; "" if nothing.
func noteOn(r rule.Rule) string {
	var notes []string
	if r.CollectionGroup != "" {
		notes = append(notes, fmt.Sprintf("collectionGroup: this also finds the top-level %s; for those below others only, write "+
			`"collection": "parents/{parent}/%s"`, r.CollectionGroup, r.CollectionGroup))
	}
	for i, w := range r.Where {
		if want, said := w.Ops["=="]; said && want == nil {
			notes = append(notes, fmt.Sprintf(`where[%d]: == null does not find a missing field: for both, write {"is": "not set"}`, i))
		}
	}
	if r.ByReference() {
		notes = append(notes, fmt.Sprintf("only these fields keep an object %s: any other is deleted, such as a thumbnail that your "+
			"application finds by its name", r.Objects))
	} else if r.Objects != "" && len(r.Gone) > 0 && !strings.Contains(r.Gone[0].Document, "{metadata.") {
		notes = append(notes, fmt.Sprintf("every object %s must have its owner's id at that place: one that has something else there "+
			"is deleted", r.Objects))
	}
	return strings.Join(notes, ". ")
}

// printChecks prints what is known of jobs, and how their indexes are made.
func (a *app) printChecks(p *printer, checks []checked) {
	if len(checks) == 0 {
		p.Say("", 0, 0, "There is no rule of yours in %s yet: firesweep init proposes some, and %s has others to start from.",
			cmp.Or(a.rules, rulesName), version.Page("docs/examples"))
	}
	needs := false
	for _, c := range checks {
		needs = needs || len(c.Indexes) > 0
		p.Say(bold, 0, 0, "%s", c.Job)
		p.Say("", 2, 0, "%s.", capital(c.Does))
		p.Line("")
		for _, fact := range c.facts() {
			if fact[1] != "" {
				p.Say("", 2, 10, "%-9s %s", fact[0], fact[1])
			}
		}
		p.Line("")
	}
	if !needs {
		return
	}
	p.Say("", 0, 0, "The indexes, to add to the Firebase CLI's firestore.indexes.json:")
	p.Type("check", "--indexes")
	p.Command("firebase deploy --only firestore:indexes")
}

// facts are what is known, each with its name; empty if there is nothing to say.
func (c checked) facts() [][2]string {
	var roles, indexes []string
	for _, backend := range slices.Sorted(maps.Keys(c.Roles)) {
		roles = append(roles, c.Roles[backend]...)
	}
	for _, index := range c.Indexes {
		text := indexWords(index)
		if len(index.Fields) == 1 { // there Terraform would overwrite what the application set
			text += ", which Terraform does not make: " + indexesPage
		}
		indexes = append(indexes, text)
	}
	return [][2]string{
		{"runs", c.Schedule + " " + c.TimeZone},
		{"reads", c.Reads},
		{"clients", prefixed("can make this rule delete, if your security rules let them write ", judgedWords(c.Judged))},
		{"roles", strings.Join(roles, ", ")},
		{"indexes", cmp.Or(strings.Join(indexes, "; "), "none beyond those that Firestore makes by itself")},
		{"note", c.Note},
	}
}

// prefixed returns a text with what is to stand before it; "" if there is none.
func prefixed(before, text string) string {
	if text == "" {
		return ""
	}
	return before + text
}

// judgedWords lists fields by collection.
func judgedWords(judged map[string][]string) string {
	var texts []string
	for _, collection := range slices.Sorted(maps.Keys(judged)) {
		texts = append(texts, strings.Join(judged[collection], ", ")+" of "+collection)
	}
	return strings.Join(texts, "; ")
}

func capital(s string) string { return strings.ToUpper(s[:min(1, len(s))]) + s[min(1, len(s)):] }

// readsOf says which items that are not due each run of a rule reads; "" if none.
func readsOf(r rule.Rule) string {
	const noIndex = ", in every run: no index knows which of them are due"
	reads := ""
	switch related := len(r.Related()) > 0; {
	case r.Accounts != "":
		reads = "all accounts, a thousand a call, which is free"
		if related {
			reads += "; and a document for 30 of those that are old enough"
		}
	case r.ByReference():
		var all []string
		for _, g := range r.Gone {
			if of := "every document of " + g.Place("").String(); !slices.Contains(all, of) {
				all = append(all, of)
			}
		}
		reads = strings.Join(all, " and ") + ", in every run, and once more before objects are deleted"
	case r.Objects != "":
	case r.Scans():
		reads = "every document of " + r.Source()
		if len(r.Asked().Filters) > 0 {
			reads += " that meets the conditions which an index answers"
		}
		reads += noIndex
	case related || len(r.Asked().Judged)+len(r.Exceptions()) > 0:
		reads = "each document that is old enough" + noIndex
	}
	for _, in := range r.ReadWhole() {
		reads = strings.TrimPrefix(reads+"; every document of "+in.String()+", once in a run that deletes: another may refer "+
			"to the same", "; ")
	}
	if r.Warn != nil {
		reads = strings.TrimPrefix(reads+"; each document that was warned about, twice, until it is deleted or in use again", "; ")
	}
	return reads
}
