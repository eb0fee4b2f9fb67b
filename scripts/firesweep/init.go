package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/firesweep/firesweep/scripts/firesweep/look"
	"github.com/firesweep/firesweep/scripts/prices"
	"github.com/firesweep/firesweep/scripts/schedule"
	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/manifest"
	"github.com/firesweep/firesweep/shared/objects"
	"github.com/firesweep/firesweep/shared/usage"
)

type initFlags struct {
	yes, write     bool
	maxReads, days int
	at             string // --now
	now            time.Time
}

const (
	defaultReads = 5000
	leastReads   = 500 // what a collection takes, and something for what it belongs to
)

func (a *app) initCommand() *cobra.Command {
	var f initFlags
	c := &cobra.Command{
		Use:   "init [RULE...]",
		Short: "Look at a project, and propose rules for what could go",
		Long: `Look at a part of each collection, at files and at accounts, and propose rules
for what is commonly cleaned up: what has expired or was marked as deleted, old
notifications, sessions and drafts, what belongs to accounts and documents that
are gone, and guests who never came back.

It says first how much it reads at most, and asks. Nothing is written to the
project: the connections refuse it. Then it asks for each proposal whether to
write it into firesweep.json. Rules that are there stay as they are.

--yes reads without asking, and only shows the proposals; --write, or their
names, write them. Your own credentials need roles/datastore.viewer,
roles/storage.objectViewer and roles/firebaseauth.viewer; what may not be read
is left out, except for documents.`,
		Example: `  firesweep init --project my-project
  firesweep init --yes                        # only shows proposals
  firesweep init --yes --write                # writes all of them
  firesweep init --yes cleanupOldSessions     # writes this one
  firesweep init --yes --json | jq '.proposals[].rule'`,
	}
	c.Flags().BoolVar(&f.yes, "yes", false, "read without asking, and ask nothing about proposals")
	c.Flags().BoolVar(&f.write, "write", false, "write all proposals into the file without asking")
	c.Flags().IntVar(&f.maxReads, "max-reads", defaultReads, "read so many documents at most (`N`)")
	c.Flags().StringVar(&f.at, "now", "", "look as of `TIME`: +8d on emulators, where all is new")
	c.Flags().IntVar(&f.days, "days", 0, "the age in `DAYS` of all that goes by age")
	c.RunE = func(c *cobra.Command, names []string) error { return a.init(c, f, names) }
	return c
}

// proposed is a proposal that has passed the checks. docs/command.md documents it as JSON.
type proposed struct {
	Name    string             `json:"name"`
	Rule    json.RawMessage    `json:"rule"` // the entry of rules
	Does    string             `json:"does"`
	Why     string             `json:"why"`
	Due     look.Due           `json:"due"`
	Price   map[string]float64 `json:"price"`   // in US dollars, of what is due now, by the class of locations
	Monthly map[string]float64 `json:"monthly"` // likewise, of its runs in a month in which nothing is due
	Saves   map[string]float64 `json:"saves"`   // likewise, a month, of what is stored
	Index   bool               `json:"index"`   // it needs an index that Firestore does not make by itself
	Written bool               `json:"written"`

	things     string
	now, month usage.Usage
}

func (a *app) init(c *cobra.Command, f initFlags, names []string) error {
	switch {
	case f.maxReads < leastReads:
		return wrongUse("--max-reads is %d: it must be %d or more", f.maxReads, leastReads)
	case f.days < 0 || f.days > 36_500:
		return wrongUse("--days is %d: it must be from 1 to 36500", f.days)
	case f.write && len(names) > 0:
		return wrongUse("--write writes all proposals: leave the names out")
	case !f.yes && (!a.screen.in || a.json):
		return wrongUse("it reads up to %d documents of the project, and asks first; "+
			"where nobody can be asked, add --yes", f.maxReads)
	}
	var err error
	if f.now, err = moment("now", f.at, a.clock()); err != nil {
		return err
	}
	file, err := a.openRules()
	if err != nil {
		return err
	}
	cfg, uses, err := a.initSettings()
	if err != nil {
		return err
	}
	p := a.aside()
	p.Say("", 0, 0, "This looks at the project %s, database %s, and writes nothing to it. It reads at most %d documents (%s)%s.",
		cfg.Project, cfg.Database, f.maxReads, prices.About(usage.Usage{FirestoreReads: int64(f.maxReads)}), a.initUses(cfg, uses))
	if !f.yes && !a.agrees("Go on?") {
		return errors.New("nothing was read: the answer was not yes")
	}
	if a.chosen != "" {
		if err := a.chooseBucket(cfg.Project); err != nil {
			fmt.Fprintf(a.errs, "firesweep: this looks for files in the bucket %s: %s\n", a.chosen, err)
		}
		cfg.Bucket = a.chosen
	}
	ctx := c.Context()
	stop := a.progress(ctx, doing("looking at "+cfg.Project))
	found, all, bound, err := a.look(ctx, f, cfg, uses, file)
	stop()
	if err != nil {
		return err
	}
	notYet := slices.Clone(all)
	all = slices.DeleteFunc(all, func(one proposed) bool { return one.Due.Items == 0 })
	notYet = slices.DeleteFunc(notYet, func(one proposed) bool { return one.Due.Items > 0 })
	for _, name := range names {
		if !slices.ContainsFunc(all, func(one proposed) bool { return one.Name == name }) {
			return fmt.Errorf("%s is not proposed, and nothing was written", name)
		}
	}
	if !a.json {
		p.seen(found, bound)
	}
	for i := range all {
		if !a.json {
			p.proposed(i+1, all[i])
		}
		ask := !f.yes && !f.write && len(names) == 0
		all[i].Written = f.write || slices.Contains(names, all[i].Name) || ask && a.agrees("Write this rule?")
	}
	if !a.json {
		p.notYet(notYet)
	}
	if err := file.write(all); err != nil {
		return err
	}
	if a.json {
		return encode(a.out, map[string]any{"reads": bound.Used(), "found": found, "proposals": all})
	}
	p.initDone(file.name, c, all)
	return nil
}

// agrees asks a question that is answered by yes or no. No answer is a no.
func (a *app) agrees(question string) bool {
	return slices.Contains([]string{"y", "yes"}, strings.ToLower(a.ask(question+" (y/N) ")))
}

// initSettings returns the settings, and what is looked at: with emulators, only those backends that are emulated.
func (a *app) initSettings() (cfg config.Config, uses []config.Backend, err error) {
	project, err := a.project()
	if err != nil {
		return cfg, nil, err
	}
	onEmulators := a.getenv("FIRESTORE_EMULATOR_HOST") != ""
	uses = []config.Backend{config.Firestore}
	if !onEmulators || a.getenv("STORAGE_EMULATOR_HOST")+a.getenv("FIREBASE_STORAGE_EMULATOR_HOST") != "" {
		uses = append(uses, config.Storage)
	}
	if !onEmulators || a.getenv("FIREBASE_AUTH_EMULATOR_HOST") != "" {
		uses = append(uses, config.Auth)
	}
	if a.getenv("STORAGE_BUCKET") == "" && slices.Contains(uses, config.Storage) {
		a.chosen = project + bucketSuffixes[0] // until somebody has agreed to a look for it
		a.setenv("STORAGE_BUCKET", a.chosen)
	}
	cfg, err = config.Load(config.Previewing(a.getenv), nil, uses...)
	if err != nil {
		return cfg, nil, usageError{err}
	}
	return cfg, uses, nil
}

// initUses says what is read besides documents.
func (a *app) initUses(cfg config.Config, uses []config.Backend) (text string) {
	if slices.Contains(uses, config.Storage) {
		bucket, requests := cfg.Bucket, look.FilePages
		if a.chosen != "" {
			bucket, requests = "the project's default bucket", requests+len(bucketSuffixes) // to find out which one that is
		}
		text += fmt.Sprintf(", lists the files of %s in at most %d requests", bucket, requests)
	}
	if slices.Contains(uses, config.Auth) {
		text += fmt.Sprintf(", and lists at most %d accounts, which is free", look.AccountPages*accounts.PageSize)
	}
	return text
}

// look looks at the project, and returns the proposals that pass the checks.
func (a *app) look(ctx context.Context, f initFlags, cfg config.Config, uses []config.Backend, file *ruleFile) (
	found *look.Findings, all []proposed, bound *look.Bound, err error,
) {
	bound = look.NewBound(f.maxReads)
	ctx = bound.Metered(ctx)
	l := look.Project{Bound: bound, Now: cmp.Or(f.now, a.clock())}
	l.Documents, err = documents.Open(ctx, databaseOf(cfg), slices.Concat(documents.ReadOnly(), bound.DialOptions())...)
	if err != nil {
		return nil, nil, nil, err
	}
	defer func() { err = errors.Join(err, l.Documents.Close()) }()
	if slices.Contains(uses, config.Storage) {
		l.Bucket, err = objects.Open(ctx, objects.Bucket{Name: cfg.Bucket, EmulatorHost: cfg.Emulators.Storage}, objects.ReadOnly)
		if err != nil {
			return nil, nil, nil, err
		}
		defer func() { err = errors.Join(err, l.Bucket.Close()) }()
	}
	if slices.Contains(uses, config.Auth) {
		client, err := accounts.Open(ctx, cfg.Project, true, accounts.ReadOnly)
		if err != nil {
			return nil, nil, nil, err
		}
		reader := client.Writer().Reader
		l.Accounts = &reader
	}
	if found, err = look.Look(ctx, l); err != nil {
		return nil, nil, nil, err
	}
	for _, p := range found.Proposals(l.Now, f.days) {
		if one := tried(ctx, l, p, file, len(all)); one != nil {
			all = append(all, *one)
		}
	}
	return found, all, bound, nil
}

// tried checks a proposal as its file would be checked, and counts what it finds. It returns nil if there is nothing to propose:
// the checks refuse it, or there is such a rule already. Of what finds nothing yet, only the name and the sentence are known.
func tried(ctx context.Context, l look.Project, p look.Proposal, file *ruleFile, nth int) *proposed {
	name := newName(p.Name, file.taken)
	when := fmt.Sprintf("%d 3 * * *", nth*7%60)
	if p.Scans {
		when = fmt.Sprintf("%d 4 * * 1", nth*7%60)
	}
	e, ok := file.with(p.Text(name, when))
	if !ok || file.covers(e) {
		return nil
	}
	due := p.Due(*e.Rule, l.Now)
	exactly := e.Finds() && !slices.Contains(e.Age[0].As, "text")
	if left := l.Bound.Left(); !due.Exact && exactly && left > 0 {
		most := left * 1000
		// If it fails, because there is no index, what the sample tells is all that is known.
		if n, err := l.Documents.Reader().CountUpTo(ctx, e.Query(l.Now), most); err == nil && n < most {
			due = due.Times(n)
		}
	}
	if due.Items == 0 {
		return &proposed{Name: name, Does: e.Words()}
	}
	if due.Of = max(due.Of, due.Items); 2*due.Items > due.Of && e.Objects == "" { // its safety limit would stop it
		p.Keys = append(p.Keys, look.Key{Name: "maxDuePercent", Value: fmt.Sprint(min(100, due.Items*10/due.Of*10+10))})
		if e, ok = file.with(p.Text(name, when)); !ok {
			return nil
		}
	}
	text := p.Text(name, when)
	one := proposed{Name: name, Rule: json.RawMessage(text), Does: e.Words(), Why: p.Why, Due: due, things: p.Things,
		Index: len(e.AllIndexes()) > 0, Price: map[string]float64{}, Monthly: map[string]float64{}, Saves: map[string]float64{}}
	one.pay(e, p.Scans)
	file.take(name)
	return &one
}

// pay works out what the rule costs and saves.
func (one *proposed) pay(e manifest.Entry, scans bool) {
	items, of := int64(one.Due.Items), int64(one.Due.Of)
	run := atRest
	if scans && e.Accounts == "" { // how many accounts are old enough and stay is not known
		run = run.Plus(toJudge(*e.Rule, of-items))
	}
	one.month, one.now = prices.Times(run, float64(schedule.Monthly(e))), run.Plus(toDelete(*e.Rule, items))
	for _, l := range prices.Lists {
		stored := l.Document
		if e.Objects != "" {
			stored = l.Object
		}
		one.Price[l.Name], one.Monthly[l.Name] = l.Of(one.now), l.Of(one.month)
		one.Saves[l.Name] = math.Round(stored*float64(one.Due.Bytes)/(1<<30)*1e9) / 1e9
	}
}
