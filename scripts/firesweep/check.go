package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/firesweep/firesweep/scripts/schedule"
	"github.com/firesweep/firesweep/scripts/screen"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/declared"
	"github.com/firesweep/firesweep/shared/declared/doubts"
	"github.com/firesweep/firesweep/shared/manifest"
	"github.com/firesweep/firesweep/shared/rule"
	"github.com/firesweep/firesweep/shared/rule/criteria"
)

type checkFlags struct {
	all, write bool
	project    string // to look in for the documents of unless; empty: none
}

// checked is what is known of a job before it is deployed. docs/command.md documents it as JSON.
type checked struct {
	Job      string                      `json:"job"`
	Declared bool                        `json:"declared"` // by a rule; else it is written in Go
	Own      bool                        `json:"own"`      // by a rule of one's own
	Does     string                      `json:"does"`     // in a sentence
	Schedule string                      `json:"schedule"`
	TimeZone string                      `json:"timeZone"`
	When     string                      `json:"when"`             // the same in words
	Next     []time.Time                 `json:"next,omitempty"`   // the next runs; left out where Terraform chooses the time
	DryRun   *bool                       `json:"dryRun,omitempty"` // nil: Terraform knows
	Limits   []string                    `json:"limits,omitempty"`
	Reads    string                      `json:"reads,omitempty"`    // what each run reads beside the items that are due
	Judged   map[string][]string         `json:"judgedBy,omitempty"` // fields by collection; of a rule
	Note     string                      `json:"note,omitempty"`
	Empty    []string                    `json:"empty,omitempty"`  // collections of unless that hold no document in --project
	Doubts   []string                    `json:"doubts,omitempty"` // what the first documents in --project tell against the rule
	Roles    map[config.Backend][]string `json:"roles"`
	Indexes  []manifest.Index            `json:"indexes"` // beside the automatic ones

}

func (a *app) checkCommand() *cobra.Command {
	var f checkFlags
	c := &cobra.Command{
		Use:   "check [JOB...]",
		Short: "Say what your rules would do",
		Long: `Check your list of rules strictly, and say of each what it would do. Nothing is
sent to Google; with --project it also reads up to 300 documents of each rule's
collection, and what keeps them, and says what they tell against the rule.

All problems of a list are reported at once, with exit code 2. --write writes
the lock file beside the list, from which Terraform deploys the rules.`,
		Example: `  firesweep check
  firesweep check cleanupStaleDrafts
  firesweep check --rules /tmp/rules.json
  firesweep check --write --rules ../my-app/rules.json
  firesweep check --project my-app
  firesweep check --json | jq '.checks[].does'`,
	}
	c.Flags().BoolVar(&f.write, "write", false, "write the lock file that Terraform reads")
	c.Flags().BoolVar(&f.all, "all", false, "show the nine jobs too")
	c.Flags().StringVar(&f.project, "project", "", "the project's `ID`: look at its documents")
	c.RunE = func(c *cobra.Command, names []string) error { return a.check(c.Context(), f, names) }
	return c
}

func (a *app) check(ctx context.Context, f checkFlags, names []string) error {
	if f.write {
		return a.writeLock(f, names)
	}
	if err := a.declares(); err != nil {
		return err
	}
	jobs := a.used()
	switch {
	case f.all:
		jobs = a.scheduled()
	case len(names) > 0:
		var err error
		if jobs, err = a.jobsNamed(names); err != nil {
			return err
		}
	case a.nine:
		jobs = a.Own
	}
	if len(jobs) == 0 && !a.json {
		a.printer().Say("", 0, 0, "There is no rule of yours in %s yet: firesweep init proposes some, and %s has twelve to start "+
			"from. The nine jobs: firesweep check --all", cmp.Or(a.rules, rulesName), rulesPage)
		return nil
	}
	checks := make([]checked, len(jobs))
	for i, job := range jobs {
		var err error
		if checks[i], err = a.checked(job, a.owns(job)); err != nil {
			return err
		}
		if f.project != "" && job.Rule != nil {
			if err := a.lookAt(ctx, job, &checks[i]); err != nil {
				return fmt.Errorf("look at the documents of %s: %w", job.Name, err)
			}
		}
	}
	failed := false
	for _, c := range checks {
		failed = failed || len(c.Empty) > 0
		if !a.json {
			a.printer().checked(c)
		}
	}
	if !a.json && len(names) == 0 && a.nine && !f.all {
		a.printer().Say(screen.Faint, 0, 0, "The nine jobs: firesweep check --all. "+
			"What a job would do to your project: firesweep plan JOB")
	}
	return a.show(map[string]any{"checks": checks}, shown, failed)
}

// lookAt adds what a project's documents say of a job's rule.
func (a *app) lookAt(ctx context.Context, job manifest.Entry, c *checked) error {
	_, db, err := a.reader(ctx, job)
	if err == nil {
		c.Empty, err = declared.EmptyKeepers(ctx, db, *job.Rule)
	}
	if err == nil {
		c.Doubts, err = doubts.Of(ctx, db, *job.Rule)
	}
	return err
}

// runsSaid is how many of the next runs are shown.
const runsSaid = 2

// checked returns what is known of a job without running it.
func (a *app) checked(e manifest.Entry, own bool) (checked, error) {
	c := checked{
		Job: e.Name, Declared: e.Rule != nil, Own: own, Does: e.Description, Schedule: e.Schedule, TimeZone: e.TimeZone, When: e.When(),
		Roles: e.Roles, Indexes: slices.Concat([]manifest.Index{}, e.AllIndexes()),
	}
	for at := range schedule.Times(e, a.clock()) {
		if len(c.Next) == runsSaid || schedule.IsChosenOnce(e) {
			break
		}
		c.Next = append(c.Next, at.UTC())
	}
	if text := config.For(e.Name, a.getenv)("DRY_RUN"); text != "" {
		dryRun, err := strconv.ParseBool(text)
		if err != nil {
			return c, wrongUse("DRY_RUN is %q: it must be true or false", text)
		}
		c.DryRun = &dryRun
	}
	if e.Rule != nil {
		c.Does, c.Limits, c.Reads, c.Judged = e.Words(), limitsOf(*e.Rule), readsOf(*e.Rule), e.Judged()
		c.Note = noteOn(*e.Rule, cmp.Or(config.For(e.Name, a.getenv)("FIRESTORE_DATABASE"), "(default)"))
	}
	return c, nil
}

// noteOn returns what else to know of a rule about a database; "" if nothing.
func noteOn(r rule.Rule, database string) string {
	var notes []string
	if r.CollectionGroup != "" {
		notes = append(notes, fmt.Sprintf(`collectionGroup: also top-level %s; only below others: "collection": "parents/{parent}/%s"`,
			r.CollectionGroup, r.CollectionGroup))
		for _, related := range r.Related() {
			for _, field := range r.Fields(related) {
				if strings.Contains(related.Document, "{"+field+"}") {
					notes = append(notes, fmt.Sprintf("%s: {%s} is a field here: a group binds only {id} and {parent}", related.Key, field))
				}
			}
		}
	}
	for i, w := range r.Where {
		if want, said := w.Ops["=="]; said && want == nil {
			notes = append(notes, fmt.Sprintf(`where[%d]: == null finds no missing field; both: {"is": "not set"}`, i))
		}
	}
	byFields := func(g rule.Relation) bool { return r.OfDocuments() && len(r.Fields(g)) > 0 }
	if r.Limit > 0 && r.Limit <= config.DefaultMaxPerOwner && slices.ContainsFunc(r.Gone, byFields) {
		notes = append(notes, fmt.Sprintf("limit: MAX_PER_OWNER (%d) stops no run that does at most %d, so what names an id that is nobody's, "+
			"such as system, goes in portions", config.DefaultMaxPerOwner, r.Limit))
	}
	if r.ByReference() {
		notes = append(notes, fmt.Sprintf("only these fields keep an object %s: one that they do not name goes, such as a thumbnail that the "+
			"application finds by its name", r.Objects))
	} else if r.Objects != "" && len(r.Gone) > 0 && !strings.Contains(r.Gone[0].Document, "{metadata.") {
		notes = append(notes, fmt.Sprintf("every object %s must have its owner's id at that place: one that has something else there goes",
			r.Objects))
	}
	if r.Plain() && len(r.Where)+len(r.Unless) == 0 && len(r.Age) == 1 && r.Age[0].Indexed() && r.Age[0].As == nil &&
		!strings.Contains(r.Collection, "/") { // a policy goes by the last name alone
		notes = append(notes, fmt.Sprintf("A TTL policy goes by age alone, too, also by times before 1971, without reads, limits, plan, pins and "+
			"undo, in every collection %s, wherever it is: gcloud firestore fields ttls update %s --database='%s' "+
			"--collection-group=%s --enable-ttl%s", r.Name(), r.Age[0].Field, database, r.Name(), offset(r.Age[0])))
	}
	return strings.Join(notes, ". ")
}

// offset returns the flag that makes a TTL policy wait for an age, as long as its months can be; "" if that is past.
func offset(a criteria.Age) string {
	var longest time.Duration
	for end := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC); end.Year() < 2004; end = end.AddDate(0, 0, 1) {
		longest = max(longest, end.Sub(a.Cutoff(end)))
	}
	hours := longest / time.Hour
	switch {
	case hours == 0:
		return ""
	case hours%24 == 0:
		return fmt.Sprintf(" --expiration-offset=%dd", hours/24)
	}
	return fmt.Sprintf(" --expiration-offset=%dh", hours)
}

// limitsOf returns the conditions under which a run of a rule does nothing. The figures are the defaults.
func limitsOf(r rule.Rule) (limits []string) {
	switch {
	case r.ByReference():
		limits = append(limits, fmt.Sprintf("more than %d %% of the objects are due (of %d or more)", config.DefaultMaxDuePercent,
			config.DefaultMinLookups), "one of these fields names no object of the folder in any document, or holds what names no object of the bucket")
	case r.Objects != "" && len(r.Gone) > 0:
		owners := r.Gone[0].Place().Collection
		limits = append(limits, fmt.Sprintf("more than %d %% of the owners looked up in %s do not exist (of %d or more), "+
			"or none of them does and %s is empty",
			config.DefaultMaxMissingPercent, owners, config.DefaultMinLookups, owners))
	case r.Objects == "" && r.DuePercent() < 100:
		of := cmp.Or(r.Source(), "all accounts listed")
		limits = append(limits, fmt.Sprintf("more than %d %% of %s are due (of %d or more)", r.DuePercent(), of,
			config.DefaultMinLookups))
	}
	for _, related := range r.Related() {
		in := related.Place().Collection
		if limit := in + " holds no document at all, yet the rule looks in it"; r.Objects == "" && in != "" && !slices.Contains(limits, limit) {
			limits = append(limits, limit)
		}
	}
	return append(limits, fmt.Sprintf("more than %d are due (MAX_ACTIONS)", config.DefaultMaxActions))
}

// checked prints what is known of a job.
func (p *printer) checked(c checked) {
	p.Say(screen.Bold, 0, 0, "%s", c.Job)
	p.Say("", 2, 0, "%s.", capital(c.Does))
	p.Line("")
	for _, fact := range c.facts() {
		if fact[1] != "" {
			p.Say("", 2, 10, "%-9s %s", fact[0], fact[1])
		}
	}
	p.Line("")
}

// facts are what is known, each with its name; empty if there is nothing to say.
func (c checked) facts() [][2]string {
	dryRun := "as Terraform's dry_run says"
	switch {
	case c.DryRun != nil:
		dryRun = fmt.Sprintf("%t, by DRY_RUN", *c.DryRun)
	case c.Own:
		dryRun = "only plans until Terraform's dry_run says " + c.Job + " = false"
	}
	var roles, indexes []string
	for _, backend := range slices.Sorted(maps.Keys(c.Roles)) {
		roles = append(roles, c.Roles[backend]...)
	}
	for _, index := range c.Indexes {
		indexes = append(indexes, indexOf(index).words())
	}
	return [][2]string{
		{"runs", c.When + prefixed(", next ", times(c))},
		{"dry run", dryRun},
		{"limits", prefixed("does nothing if ", strings.Join(c.Limits, "; if "))},
		{"empty", emptyWords(c.Empty)},
		{"doubts", strings.Join(c.Doubts, "; ")},
		{"reads", c.Reads},
		{"clients", prefixed("decide what goes if your security rules let them write ", judgedWords(c.Judged))},
		{"roles", strings.Join(roles, ", ")},
		{"indexes", cmp.Or(strings.Join(indexes, "; "), "none beyond those that Firestore makes by itself")},
		{"note", c.Note},
	}
}

// emptyWords says what to do about collections of unless that hold no document.
func emptyWords(empty []string) string {
	if len(empty) == 0 {
		return ""
	}
	return strings.Join(empty, ", ") + ": no document in the project, so a run does nothing: correct the name in the rule or, " +
		"if it is right, put any document into it"
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

// times lists the next runs of a job in its own time zone.
func times(c checked) string {
	zone, err := time.LoadLocation(c.TimeZone)
	if err != nil { // it was loaded before
		zone = time.UTC
	}
	var texts []string
	for _, at := range c.Next {
		texts = append(texts, at.In(zone).Format("Mon 2006-01-02 15:04"))
	}
	return strings.Join(texts, ", ")
}

func capital(s string) string { return strings.ToUpper(s[:min(1, len(s))]) + s[min(1, len(s)):] }
