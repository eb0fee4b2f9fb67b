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
			o.inApp(t, map[string]string{"firebase.json": "{}", "firesweep.json": `{"rules": [{"name": "cleanupDrafts",
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
			for who, said := range map[string]usage.Usage{"plan": planned, "check": checked} {
				near(t, who+", reads", said.FirestoreReads, run.Usage.FirestoreReads)
				near(t, who+", writes", said.FirestoreWrites, run.Usage.FirestoreWrites)
				near(t, who+", deletes", said.FirestoreDeletes, run.Usage.FirestoreDeletes)
				near(t, who+", class A", said.StorageClassA, run.Usage.StorageClassA)
			}
			for _, l := range prices.Lists {
				near(t, "the price in a "+l.Name, plan.Price[l.Name], l.Of(run.Usage))
			}
		})
	}
}

// TestPriceOfWhatGoesWithAccounts: the documents of accounts go by commits of their own, with folders and all that is below them. plan
// and check say what these use, give or take a tenth.
func TestPriceOfWhatGoesWithAccounts(t *testing.T) {
	t.Parallel()
	const n = int64(100)
	for with, tt := range map[string]struct {
		lists int64
		costs string
	}{
		`{"objects": "avatars/{id}/**"}`: {n, "; about $1.02 (nam5, eur3), $0.51 in a cheap region for 100,000 accounts that go, and about $0.08"},
		`{"subcollection": "**"}`:        {0, "; about $0.18 (nam5, eur3), $0.09 in a cheap region for 100,000 accounts that go, and about $0.14"},
	} {
		t.Run(with, func(t *testing.T) {
			t.Parallel()
			o := newOperator(t)
			o.inApp(t, map[string]string{"firebase.json": "{}", "firesweep.json": `{"rules": [{"name": "cleanupGuests",
				"schedule": "0 4 * * *", "accounts": "all", "age": {"by": "creationTime", "days": 90}, "maxDuePercent": 100,
				"with": [{"document": "users/{uid}", "with": [` + with + `]}]}]}`})
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
			along := usage.Usage{FirestoreDeletes: n} // which check says by themselves
			for who, said := range map[string]usage.Usage{
				"plan": expected(jobs[0], plan.Report), "check": atRest.Plus(toDelete(*jobs[0].Rule, n)).Plus(along),
			} {
				near(t, who+", writes", said.FirestoreWrites, run.Usage.FirestoreWrites)
				near(t, who+", deletes", said.FirestoreDeletes, run.Usage.FirestoreDeletes)
				want(t, who+", class A", tt.lists, said.StorageClassA)
			}
			want(t, "class A", tt.lists, run.Usage.StorageClassA)
		})
	}
}

// near wants what was said to be what was used, give or take a tenth.
func near[N int64 | float64](t *testing.T, what string, said, used N) {
	t.Helper()
	if math.Abs(float64(said-used)) > float64(used)/10 {
		t.Errorf("%s: %v were said, and the run used %v", what, said, used)
	}
}

// TestInitOfAccounts: a proposed rule about accounts looks up each month only those that are old enough, not all that stay.
func TestInitOfAccounts(t *testing.T) {
	r := rule.Rule{Accounts: rule.Anonymous, Unless: []rule.Relation{{Document: "users/{uid}"}}}
	one := proposed{Due: look.Due{Items: 10, Of: 1_000_000}, Price: map[string]float64{}, Monthly: map[string]float64{}, Saves: map[string]float64{}}
	one.pay(manifest.Entry{Rule: &r, Schedule: "0 4 * * 1"}, true)
	want(t, "each month", prices.Times(atRest, 4), one.month)
}
