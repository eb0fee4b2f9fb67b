package main

import (
	"fmt"
	"math"
	"testing"

	"firebase.google.com/go/v4/auth"

	"github.com/firesweep/firesweep/scripts/firesweep/look"
	"github.com/firesweep/firesweep/scripts/prices"
	"github.com/firesweep/firesweep/shared/manifest"
	"github.com/firesweep/firesweep/shared/rule"
	"github.com/firesweep/firesweep/shared/usage"
)

// TestPriceOfARun: what plan and check say that a run uses, it uses, give or take a tenth, and all say the same price.
func TestPriceOfARun(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		rule  string
		n     int
		price string // of the run
	}{
		"by their own fields": {`"collection": "drafts"`, 1000, "less than a cent"},
		"with a relation and an archive": {`"collection": "drafts", "unless": [{"document": "holds/{id}"}], "archive": "oldDrafts"`,
			2000, "about $0.01 (nam5, eur3), "},
		"with folders": {`"collection": "drafts", "with": [{"objects": "drafts/{id}/**"}]`, 1000, "about $0.01 (nam5, eur3), "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOperator(t)
			o.inApp(t, map[string]string{"firebase.json": "{}", "firesweep.json": `{"functions": [{"name": "cleanupDrafts",
				"schedule": "0 4 * * *", "age": {"field": "editedAt", "days": 90}, "maxDuePercent": 100, ` + tt.rule + `}]}`})
			o.Set(t, "holds/none", map[string]any{"x": 1})
			o.SetMany(t, tt.n, func(i int) (string, map[string]any) {
				return fmt.Sprintf("drafts/d%04d", i), map[string]any{"editedAt": now.AddDate(-1, 0, 0)}
			})
			wantParts(t, oneLine(o.well(t, "plan")), "a run would bill "+tt.price)
			plan := parsed[plans](t, o.well(t, "plan", "--json")).Plans[0]
			run := parsed[ranHere](t, o.well(t, "run", "--here", "--apply", "--confirm", o.ID, "--json")).Runs[0].Report
			want(t, "done", tt.n, run.Done())
			wantParts(t, oneLine(o.well(t, "runs")), "2026-01 so far: 1 run, which used "+tt.price)

			a, _ := o.loaded(t)
			jobs, err := a.toRun(nil)
			ok(t, err)
			planned, checked := expected(jobs[0], plan.Report), atRest.Plus(toDelete(*jobs[0].Rule, int64(tt.n)))
			near := func(what string, got, used float64) {
				t.Helper()
				if math.Abs(got-used) > used/10 {
					t.Errorf("%s: %g were said, and the run used %g", what, got, used)
				}
			}
			for who, said := range map[string]usage.Usage{"plan": planned, "check": checked} {
				near(who+", reads", float64(said.FirestoreReads), float64(run.Usage.FirestoreReads))
				near(who+", writes", float64(said.FirestoreWrites), float64(run.Usage.FirestoreWrites))
				near(who+", deletes", float64(said.FirestoreDeletes), float64(run.Usage.FirestoreDeletes))
				near(who+", class A", float64(said.StorageClassA), float64(run.Usage.StorageClassA))
			}
			for _, l := range prices.Lists {
				near("the price in a "+l.Name, plan.Price[l.Name], l.Of(run.Usage))
			}
		})
	}
}

// TestPriceOfWhatGoesWithAccounts: check prices, as plan does, what goes along with the documents of accounts: folders are listed, and
// all that is below a document is read twice.
func TestPriceOfWhatGoesWithAccounts(t *testing.T) {
	t.Parallel()
	const n = int64(40)
	o := newOperator(t)
	o.inApp(t, map[string]string{"firebase.json": "{}", "firesweep.json": `{"functions": [{"name": "cleanupGuests",
		"schedule": "0 4 * * *", "accounts": "all", "age": {"by": "creationTime", "days": 90}, "maxDuePercent": 100,
		"with": [{"document": "users/{uid}", "with": [{"objects": "avatars/{id}/**"}]}]}]}`})
	var all []*auth.UserToImport
	for i := range n {
		uid := fmt.Sprintf("u%04d", i)
		all = append(all, new(auth.UserToImport).UID(uid).Metadata(&auth.UserMetadata{CreationTimestamp: now.AddDate(-1, 0, 0).UnixMilli()}))
		o.Set(t, "users/"+uid, map[string]any{"x": 1})
	}
	o.Import(t, all...)
	plan := parsed[plans](t, o.well(t, "plan", "--json")).Plans[0]
	run := parsed[ranHere](t, o.well(t, "run", "--here", "--apply", "--confirm", o.ID, "--json")).Runs[0].Report
	want(t, "done", int(n), run.Actions["delete account"].Done)
	a, _ := o.loaded(t)
	jobs, err := a.toRun(nil)
	ok(t, err)
	want(t, "lists of a run", n, run.Usage.StorageClassA)
	want(t, "lists that plan says", n, expected(jobs[0], plan.Report).StorageClassA)
	want(t, "lists that check says", n, toDelete(*jobs[0].Rule, n).StorageClassA)
	wantParts(t, costs(jobs[0]), "; about $1.00 (nam5, eur3), $0.50 in a cheap region for 100,000 accounts that go, and about $0.08")

	jobs[0].Rule.With[0].With[0] = rule.Relation{Subcollection: rule.Everything}
	wantParts(t, costs(jobs[0]), "; less than a cent for 100,000 accounts that go, and about $0.14 (nam5, eur3), $0.07 in a cheap region for as many")
}

// TestInitOfAccounts: a proposed rule about accounts looks up each month only those that are old enough, not all that stay.
func TestInitOfAccounts(t *testing.T) {
	r := rule.Rule{Accounts: rule.Anonymous, Unless: []rule.Relation{{Document: "users/{uid}"}}}
	one := proposed{Due: look.Due{Items: 10, Of: 1_000_000}, Price: map[string]float64{}, Monthly: map[string]float64{}, Saves: map[string]float64{}}
	one.pay(manifest.Entry{Rule: &r, Schedule: "0 4 * * 1"}, true)
	want(t, "each month", prices.Times(atRest, 4), one.month)
}
