package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firesweep/firesweep/emulator/sampledata"
	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/scripts/screen"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/manifest"
)

type checks struct{ Checks []checked }

// rulesFile writes a list of rules and returns where it is.
func rulesFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "rules.json")
	write(t, name, text)
	return name
}

// TestCheckTheRulesOfThePage: each does on its data what it says, and all can be read on any screen.
func TestCheckTheRulesOfThePage(t *testing.T) {
	t.Parallel()
	blocks, err := sampledata.ExampleTexts("../../docs/rules.md")
	ok(t, err)
	o := newOperator(t)
	o.now = time.Now().UTC().Truncate(time.Second) // the objects' age cannot be chosen
	rules := rulesFile(t, `{"rules":[`+strings.Join(blocks, ",")+`]}`)
	got := parsed[checks](t, o.well(t, "check", "--rules", rules, "--json")).Checks
	if len(got) != len(blocks) {
		t.Fatalf("%d checks of %d rules", len(got), len(blocks))
	}
	for _, c := range got {
		if c.Plan.Report == nil {
			t.Fatalf("%s: %s", c.Job, c.Plan.Error)
		}
		type told struct {
			Status                                          report.Status
			Planned, Next                                   int
			Keeps, Declared, Does, Limits, Roles, When, Dry bool
		}
		planned := 2
		if strings.Contains(c.Does, "if still so") { // two that are warned about, and one no longer
			planned = 5
		}
		want(t, c.Job, told{report.Completed, planned, runsSaid, true, true, true, true, true, true, false}, told{
			c.Plan.Report.Status, len(c.Plan.Report.Plan), len(c.Next), len(c.Plan.Report.Kept) > 0, c.Declared, c.Does != "",
			len(c.Limits) > 0, len(c.Roles) > 0, c.When != "", c.DryRun != nil,
		})
		note := map[string]string{"cleanupUnusedPictures": "one that they do not name goes",
			"cleanupOrphanedAvatars": "something else there goes"}[c.Job]
		if (c.Note != "") != (note != "") || !strings.Contains(c.Note, note) {
			t.Errorf("%s: %s", c.Job, c.Note)
		}
	}
	for _, width := range []int{screen.LeastWidth, screen.DefaultWidth, 200} {
		o.screen.width = width
		text := o.well(t, "check", "--rules", rules, "--no-plan")
		wantNarrow(t, text, width)
		for _, c := range got {
			wantParts(t, text, c.Job+"\n")
		}
	}
}

// TestNotes: what else to know of a rule, which is not wrong.
func TestNotes(t *testing.T) {
	t.Parallel()
	const group = `collectionGroup: also top-level users; only below others: "collection": "parents/{parent}/users"`
	const policy = "A TTL policy goes by age alone, too, also by times before 1971, without reads, limits, plan, pins and undo, in every " +
		"collection notes, wherever it is: gcloud firestore fields ttls update "
	for rule, note := range map[string]string{
		`"collectionGroup":"users","age":"any","gone":[{"document":"{parent}"},{"document":"teams/{list[]}/x/{id}"}]`: group,
		`"collectionGroup":"users","age":"any","unless":[{"field":"hold","==":true},{"document":"chats/{chat}"}]`: group +
			". unless[1]: {chat} is a field here: a group binds only {id} and {parent}",
		`"collection":"chats/{chat}/users","age":"any","unless":[{"document":"chats/{chat}"}]`:              "",
		`"collection":"users","age":"any","where":[{"field":"n","==":1},{"field":"email","==":null}]`:       `where[1]: == null finds no missing field; both: {"is": "not set"}`,
		`"collection":"notes","age":{"field":"at","days":90}`:                                               policy + "at --database='app' --collection-group=notes --enable-ttl --expiration-offset=90d",
		`"collection":"users/{u}/notes","age":{"field":"at","days":90}`:                                     "",
		`"collection":"notes","age":{"field":"a.b","months":3}`:                                             policy + "a.b --database='app' --collection-group=notes --enable-ttl --expiration-offset=92d",
		`"collection":"notes","age":{"field":"at","hours":36}`:                                              policy + "at --database='app' --collection-group=notes --enable-ttl --expiration-offset=36h",
		`"collection":"notes","age":{"field":"at","days":0}`:                                                policy + "at --database='app' --collection-group=notes --enable-ttl",
		`"collection":"notes","age":{"field":"at","days":90},"with":[{"subcollection":"x"}]`:                "",
		`"collection":"notes","age":{"field":"at","as":"seconds","days":90}`:                                "",
		`"collection":"notes","age":{"field":"at","days":90},"unless":[{"field":"legalHold","==":true}]`:    "",
		`"collection":"notes","age":{"field":"at","days":90,"optional":true}`:                               "",
		`"collection":"notes","age":{"by":"updateTime","days":90}`:                                          "",
		`"collection":"notes","age":{"field":"at","months":4}`:                                              policy + "at --database='app' --collection-group=notes --enable-ttl --expiration-offset=123d",
		`"collection":"notes","age":{"field":"at","months":12}`:                                             policy + "at --database='app' --collection-group=notes --enable-ttl --expiration-offset=366d",
		`"collection":"notes","age":{"field":"at","days":90},"where":[{"field":"done","==":true}]`:          "",
		`"collection":"notes","age":[{"field":"at","days":90},{"field":"seenAt","days":9,"optional":true}]`: "",
	} {
		o := newOperator(t)
		o.env["FIRESTORE_DATABASE"] = "app"
		rules := rulesFile(t, `{"rules":[{"name":"cleanupThings","schedule":"0 4 * * *",`+rule+`}]}`)
		want(t, rule, note, parsed[checks](t, o.well(t, "check", "--no-plan", "--rules", rules, "--json")).Checks[0].Note)
	}
}

func TestCheckForPeople(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.now = time.Now().UTC().Truncate(time.Second)
	rules := rulesFile(t, `{"rules":[
		{"name":"cleanupStaleDrafts","schedule":"0~59 4 * * *","timeZone":"Europe/Berlin","collection":"drafts",
			"where":[{"field":"state","==":"open"},{"field":"published","is":"not true"}],"unless":[{"document":"holds/{id}"}],
			"age":{"field":"updatedAt","days":90},"with":[{"objects":"drafts/**","field":"coverUrl"}],"action":"delete draft"},
		{"name":"cleanupPrefs","schedule":"0 4 * * *","collection":"prefs","age":{"by":"updateTime","days":400},
			"gone":[{"account":"{id}"}],"with":[{"subcollection":"**"}]},
		{"name":"cleanupExports","schedule":"0 3 1 * *","objects":"exports/{uid}/**","gone":[{"document":"users/{uid}"}],"age":{"months":2}}]}`)
	text := o.well(t, "check", "--rules", rules, "cleanupStaleDrafts")
	head, plan, _ := strings.Cut(text, "  On data made from the rule")
	want(t, "what is said", `cleanupStaleDrafts
  Deletes documents of drafts whose state is open, whose published is not true
  and whose updatedAt is more than 90 days ago, unless holds/{id} exists; with
  each go the objects drafts/** that coverUrl names.

  runs      daily, some time from 04:00 to 04:59 Europe/Berlin
  dry run   only plans until Terraform's dry_run says
            cleanupStaleDrafts = false; firesweep backtest cleanupStaleDrafts
            shows what it would have deleted too early
  limits    does nothing if more than 50 % of drafts are due (of 20 or
            more); if holds holds no document at all, yet the rule looks in it;
            if more than 100000 are due (MAX_ACTIONS)
  reads     each document that is old enough and is in the index, in
            every run: no index knows whether published is not true, or whether
            holds/{id} exists
  costs     less than a cent a month while nothing is due, besides
            $0.10 for its schedule; about $0.28 (nam5, eur3), $0.14 in a cheap
            region for 100,000 documents that go; about $3.60 (nam5, eur3),
            $1.80 in a cheap region a month for each 100,000 that are old enough
            and stay (prices of 23 November 2026)
  clients   decide what goes if your security rules let them write
            state, published, updatedAt, coverUrl of drafts
  roles     roles/datastore.user, firesweepObjectCleaner
  indexes   drafts: state ASCENDING, updatedAt ASCENDING (COLLECTION)

`, head)
	wantParts(t, plan, ", completed: a plan for ", "delete draft  drafts/drafts-due-1       2\n", "planned: 2 delete draft",
		"kept 1: holds/{id} exists", "kept 1: published is true")
	wantNarrow(t, text, screen.DefaultWidth)
	wantNone(t, text, "cleanupExports", "The other jobs")
	wantParts(t, oneLine(o.well(t, "check", "--rules", rules, "--no-plan", "cleanupPrefs")),
		"less than a cent a month while nothing is due, besides $0.10 for its schedule; about $0.32 (nam5, eur3), $0.16 in a cheap "+
			"region for 100,000 documents that go, and about $0.14 (nam5, eur3), $0.07 in a cheap region for as many that go along; "+
			"about $1.80 (nam5, eur3), $0.90 in a cheap region a month for each 100,000 documents of prefs, which every run reads (")

	o.now = o.now.Add(123456 * time.Microsecond) // finer than Authentication's times
	c := parsed[checks](t, o.well(t, "check", "--rules", rulesFile(t, `{"rules":[{"name":"cleanupGuests","schedule":"0 5 * * *",
		"accounts":"anonymous","age":{"by":"lastActive","days":30},"unless":[{"document":"users/{uid}"}]}]}`), "--json")).Checks[0]
	if len(c.Plan.Report.Plan) != 2 || c.Plan.Report.Kept["not older than 30 days"] != 1 {
		t.Errorf("%+v", c.Plan.Report)
	}
	want(t, "limits", []string{"more than 50 % of all accounts listed are due (of 20 or more)",
		"users holds no document at all, yet the rule looks in it", "more than 100000 are due (MAX_ACTIONS)"}, c.Limits)
	want(t, "judged by", map[string][]string(nil), c.Judged)
	want(t, "reads",
		"all accounts, a thousand a call, which is free; of those that are old enough, one read for 30 tells whether users/{uid} exists",
		c.Reads)

	// Objects have only just been uploaded: the plan is for when they are old enough.
	c = parsed[checks](t, o.well(t, "check", "--rules", rules, "cleanupExports", "--json")).Checks[0]
	if c.Plan.Report.Now.Before(o.now.AddDate(0, 2, 0)) || len(c.Plan.Report.Plan) != 2 {
		t.Errorf("%+v", c.Plan.Report)
	}
	want(t, "limits", []string{
		"more than 50 % of the owners looked up in users do not exist (of 20 or more), or none of them does and users is empty",
		"more than 100000 are due (MAX_ACTIONS)",
	}, c.Limits)
	if got := c.Next[0].Format(time.RFC3339); !strings.HasSuffix(got, "-01T03:00:00Z") {
		t.Errorf("next is %s", got)
	}
	want(t, "when", "day 1 of each month 03:00 UTC", c.When)
}

// TestCheckOfASmallLimit: a limit below that on one missing id is said, where a field names what must be gone.
func TestCheckOfASmallLimit(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	for rule, said := range map[string]string{
		`"gone":[{"document":"users/{by}"}],"limit":1000`:   "MAX_PER_OWNER (1000) stops no run that does at most 1000",
		`"gone":[{"document":"users/{by}"}],"limit":1001`:   "",
		`"gone":[{"document":"users/{by}"}]`:                "",
		`"gone":[{"document":"users/{id}"}],"limit":5`:      "",
		`"unless":[{"document":"users/{by}"}],"limit":1000`: "",
	} {
		c := parsed[checks](t, o.well(t, "check", "--no-plan", "--json", "--rules", rulesFile(t, `{"rules":[{"name":"cleanupMessages",
			"schedule":"0 5 * * *","collection":"messages","age":"any",`+rule+`}]}`))).Checks[0]
		if (said == "") != (c.Note == "") || !strings.Contains(c.Note, said) {
			t.Errorf("%s: %s", rule, c.Note)
		}
	}
}

// TestCheckOfTheProject: a collection of unless that is misspelt, or empty, is said before anything is deployed.
func TestCheckOfTheProject(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.Set(t, "legalHolds/h", map[string]any{"x": 1})
	o.Set(t, "users/ken/holds/h", map[string]any{"x": 1})
	rules := rulesFile(t, `{"rules":[{"name":"cleanupStaleDrafts","schedule":"0 4 * * *","collection":"drafts","age":{"field":"updatedAt","days":90},
		"unless":[{"document":"legalHolds/{id}"},{"document":"legalHold/{id}"},{"document":"users/{by}/holds/{id}"},{"document":"users/{by}/notes/{id}"}]}]}`)
	args := []string{"check", "--no-plan", "--rules", rules, "--project", o.ID}
	out, _, code := o.run(t, append(args, "--json")...)
	if empty := parsed[checks](t, out).Checks[0].Empty; code != exitFailed || !slices.Equal(empty,
		[]string{"legalHold", "users/{by}/notes"}) {
		t.Errorf("%d, %v are empty", code, empty)
	}
	out, _, _ = o.run(t, args...)
	wantParts(t, out, "legalHold, users/{by}/notes: no document in the project", "drafts holds no document: is that its name?")
	o.Set(t, "drafts/d", map[string]any{"updatedAt": now, "by": "u1"})
	o.Set(t, "legalHold/h", map[string]any{"x": 1})
	o.Set(t, "users/mia/notes/n", map[string]any{"x": 1})
	wantNone(t, o.well(t, args...), "no document in the project", "doubts")
	o.Set(t, "drafts/d/comments/c", map[string]any{"x": 1})
	o.Set(t, "drafts/d", map[string]any{"updatedAt": o.now.UnixMilli()})
	wantParts(t, o.well(t, args...), "age[0]: updatedAt is a number of milliseconds", "with: comments below drafts/d")
}

// TestCheckOfWhatIsBuiltIn: it is shown if it is asked for.
func TestCheckOfWhatIsBuiltIn(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.now = time.Now().UTC().Truncate(time.Second)
	o.env["DRY_RUN_cleanupReports"], o.env["DRY_RUN_checkGhostCircles"], o.env["DRY_RUN_cleanupOrphanedMedia"] = "true", "true", "true"
	text := o.well(t, "check", "--no-plan")
	if wantParts(t, text, "firesweep check --all"); strings.Contains(text, "cleanupReports") || strings.Contains(text,
		"removeUnacceptedMemberInvites") {
		t.Errorf("more is said than was asked:\n%s", text)
	}
	text = o.well(t, "check", "--no-plan", "--all")
	wantParts(t, text, append(jobNames(), "true, by DRY_RUN", "dry run   as Terraform's dry_run says\n")...)
	words := oneLine(text)
	wantParts(t, words, "true, by DRY_RUN; firesweep backtest cleanupReports", "true, by DRY_RUN; firesweep backtest checkGhostCircles")
	wantNone(t, words, "backtest cleanupOrphanedMedia", "backtest cleanExpiredComped")
	wantNone(t, text, "On data made from", "only plans until")
	// Settings are the defaults, and the user's own project is not touched, wherever the environment leads.
	o.env["MAX_ACTIONS"], o.env["FIRESTORE_DATABASE"] = "1", "elsewhere"
	before := o.everything(t)
	got := parsed[checks](t, o.well(t, "check", "--json", "checkGhostCircles", "cleanupReports")).Checks
	want(t, "the project", before, o.everything(t))
	if len(got) != 2 || len(got[0].Plan.Report.Plan) == 0 {
		t.Fatalf("%+v", got)
	}
	want(t, "declared", []bool{false, true}, []bool{got[0].Declared, got[1].Declared})
	want(t, "limits of one in Go", []string(nil), got[0].Limits)
	want(t, "dry run", true, *got[1].DryRun)
	o.env["DRY_RUN_cleanupReports"] = "maybe"
	o.refuses(t, exitWrongUse, "DRY_RUN", "check", "--no-plan", "cleanupReports")
}

// TestCheckOfAWrongList: all of it is said, and nothing else.
func TestCheckOfAWrongList(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	for _, tt := range []struct {
		text string
		want []string // a line each
	}{
		{`{"rules":[{"name":"cleanupThings","schedule":"0 4 * * *","timezone":"UTC","colection":"things","age":{"field":"a b","days":"9"}},{"name":"cleanupMore","schedule":"0 4 * * *","collection":"more"}]}`, []string{
			`rules[0], cleanupThings: there is no key "timezone"`, `rules[0], cleanupThings: there is no key "colection"`,
			"rules[0], cleanupThings: age.days: it must be a whole number, not a string",
			"rules[1], cleanupMore: age: how old?",
		}},
		{"{\n  \"functions\": [\n  ],,\n}", []string{"rules.json: line 3, column 5: it is not JSON: invalid character ','"}},
	} {
		rules := rulesFile(t, tt.text)
		for _, command := range []string{"check", "check --write", "indexes"} {
			errs := o.refuses(t, exitWrongUse, plural(len(tt.want), "problem")+"; see "+rulesPage,
				append(strings.Fields(command), "--rules", rules)...)
			if _, err := os.Stat(manifest.LockName(rules)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: there is a lock file of wrong rules: %v", tt.text, err)
			}
			want(t, "lines", len(tt.want)+1, strings.Count(errs, "\n"))
			for _, line := range tt.want {
				if !regexp.MustCompile(`(?m)^firesweep: .*` + regexp.QuoteMeta(line)).MatchString(errs) {
					t.Errorf("no line says %q:\n%s", line, errs)
				}
			}
		}
	}
	o.refuses(t, exitWrongUse, "declares nothing", "check", "--rules", rulesFile(t, `{"rules":[]}`))
}

// TestCheckWrite: the lock file is written beside the list, only if it changes, and without Java, which only a plan needs.
func TestCheckWrite(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.noBackends = errors.New("no Java")
	o.refuses(t, exitFailed, "no Java. Or leave the plan out: --no-plan", "check", "cleanupReports")
	o.well(t, "check", "--no-plan", "cleanupReports")
	const text = `{"rules":[{"name":"cleanupThings","schedule":"0 4 * * *","collection":"things","age":{"field":"at","days":9}}]}`
	rules := rulesFile(t, text)
	lock := strings.TrimSuffix(rules, ".json") + ".lock.json"
	written, err := functions.Lock(manifest.File{Name: "rules.json", Text: []byte(text)})
	ok(t, err)
	wantLock := func(said string) {
		t.Helper()
		wantParts(t, oneLine(o.well(t, "check", "--write", "--rules", rules)), lock+said)
		if got, err := os.ReadFile(lock); err != nil || string(got) != string(written) {
			t.Errorf("%v, the lock file is\n%s\nwant\n%s", err, got, written)
		}
	}
	wantLock(" was written. Commit it with " + rules)
	wantLock(" is up to date: nothing was written.")
	write(t, lock, "{}")
	wantLock(" was written. Commit it with " + rules)

	// Upstream's own list has no rule, and a lock file too.
	o.well(t, "check", "--write", "--rules", rulesFile(t, `{"rules":[]}`))

	for _, args := range []string{"cleanupThings", "--all", "--json", "--project demo"} {
		if _, errs, code := o.run(t, append([]string{"check", "--write", "--rules", rules},
			strings.Fields(args)...)...); code != exitWrongUse || errs == "" {
			t.Errorf("%s: %d, %s", args, code, errs)
		}
	}
	o.refuses(t, exitWrongUse, "--rules: open "+rules+"x", "check", "--write", "--rules", rules+"x")
	ok(t, errors.Join(os.Remove(lock), os.Mkdir(lock, 0o700)))
	o.refuses(t, exitFailed, lock, "check", "--write", "--rules", rules)
}

// TestCheckThatFails: a plan that cannot be made is shown, the others are too, and the exit code tells.
func TestCheckThatFails(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.now = time.Now().UTC().Truncate(time.Second)
	environment := o.Environment
	o.Environment = map[string]string{}
	for name, value := range environment {
		if o.Environment[name] = value; strings.Contains(name, "STORAGE") {
			o.Environment[name] = ""
		}
	}
	rules := rulesFile(t, `{"rules":[
		{"name":"cleanupExports","schedule":"0 3 * * *","objects":"exports/{uid}/**","gone":[{"document":"users/{uid}"}],"age":{"days":2}},
		{"name":"cleanupThings","schedule":"0 4 * * *","collection":"things","age":{"field":"at","days":9}}]}`)
	out, _ := o.ends(t, exitFailed, "check", "--rules", rules)
	wantParts(t, out, "On data made from the rule: no plan: wrong configuration:\n  STORAGE_EMULATOR_HOST is not set",
		"planned: 2 delete document")
}
