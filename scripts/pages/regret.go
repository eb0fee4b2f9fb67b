package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/firesweep/firesweep/emulator/plot"
)

const regretHead = `# Why 90 days and not 30

An age is a guess about people: after so many days, nobody comes back. This page, written by ` + "`go run ./scripts/pages`" + `,
shows what a wrong guess costs. It lets people use a simulated application for a year, deletes each night what is older
than N days, and then looks who would have come back to it. **The people are assumed; yours are not.** For your own data
ask ` + "`firesweep backtest`" + `, which compares what a rule would have deleted a week ago with what happened since.

![regret by age](regret.svg)

*Regret* is the share of the deleted items that somebody came back to within two years. *Waiting* is how many items that
nobody ever needs again lie there on an average day: what a longer age costs.

`

// regretPage makes docs/regret.md with its plot: how often somebody comes back to what a rule has deleted, by the rule's age, in
// a year of a simulated application.
func regretPage() map[string][]byte {
	var b strings.Builder
	b.WriteString(regretHead)
	p := plot.Plot{Title: "Deleted items that somebody came back to, by the rule's age", Step: 5,
		Tick: func(v float64) string { return fmt.Sprintf("%g %%", v) }}
	for _, age := range ages {
		p.Rows = append(p.Rows, fmt.Sprintf("%d days", age))
	}
	for seed, k := range kinds {
		fmt.Fprintf(&b, "## %s\n\n%s\n\n```json\n%s\n```\n\n", strings.ToUpper(k.name[:1])+k.name[1:], k.why, k.rule)
		b.WriteString("| N | deleted in the year | regret | waiting |\n|--:|--:|--:|--:|\n")
		items := k.live(uint64(seed))
		for row, age := range ages {
			o := judge(items, age)
			share := 100 * float64(o.regretted) / float64(o.deleted)
			p.Set(k.name, row, share)
			fmt.Fprintf(&b, "| %d | %d | %.2f %% | %.0f |\n", age, o.deleted, share, o.waiting)
		}
		b.WriteString("\n")
	}
	b.WriteString(regretTail)
	return map[string][]byte{"regret.md": []byte(b.String()), "regret.svg": []byte(p.SVG())}
}

const regretTail = `## What to read from it

- The right age depends on why people come back, not on the size of the collection: trash is decided within days, guests
  come back for the next season.
- Regret falls slowly at the end. What cannot be regretted is what can be taken back: ` + "`UNDO_DAYS`" + ` covers the first weeks
  after a deletion, and a warning some days before it brings back those who still care.
- What waits costs storage only. If it is not much, choose the longer age.
`

// An item is the days since the simulation began on which somebody touched it, in order. On the last its owner deleted it,
// unless that is [never].
type item []float64

var never = math.Inf(1)

// A kind is a kind of data, and how people come back to it. The numbers are assumed: half of the gaps are shorter than the
// median, and with a sigma of 1.5 one of seven is more than four times as long.
type kind struct {
	name, rule string // as the page calls it, and the rule without its age
	why        string // what people do

	again         float64 // how many of those who touched an item come back to it
	season        float64 // how many of these only for the next season
	median, sigma float64 // of the days until the others do
	finished      float64 // how many delete it themselves in the end
}

// The first year fills the application, and the second is measured. Whoever comes back later than two years after that is not
// seen.
const (
	began = 365.
	ended = 730.
	seen  = ended + 730
)

// ages are the ages that are compared, in days.
var ages = []int{7, 30, 60, 90, 180, 365}

// kinds are what the application keeps.
var kinds = []kind{
	{
		name: "drafts", rule: `{"collection": "drafts", "age": {"field": "editedAt", "days": N}}`,
		why: "Each time that somebody leaves a draft, he opens it again in six cases of ten: half of those within nine days, some\n" +
			"after a holiday, a term or a year. In the end one half is published, and the other forgotten.",
		again: 0.6, median: 9, sigma: 1.5, finished: 0.5,
	},
	{
		name: "trash", rule: `{"collection": "notes", "age": {"field": "trashedAt", "days": N}}`,
		why:   "Notes that their owners threw away. One of twenty-five is restored, half of those within two days.",
		again: 0.04, median: 2, sigma: 1.6,
	},
	{
		name: "guests", rule: `{"accounts": "anonymous", "age": {"by": "lastActive", "days": N}}`,
		why: "Guests without an account of their own. Each time a third comes back: most of those within weeks, one of five only\n" +
			"for the next season.",
		again: 0.33, season: 0.2, median: 35, sigma: 1.1,
	},
}

// lived is how many items of a kind are simulated.
const lived = 40_000

// live makes the items of a kind, the same ones each time.
func (k kind) live(seed uint64) []item {
	r := rand.New(rand.NewPCG(1, seed))
	items := make([]item, lived)
	for i := range items {
		at := ended * r.Float64()
		items[i] = item{at}
		for r.Float64() < k.again {
			if k.season > 0 && r.Float64() < k.season {
				at += max(0.01, 330+40*r.NormFloat64())
			} else {
				at += max(0.01, k.median*math.Exp(k.sigma*r.NormFloat64()))
			}
			items[i] = append(items[i], at)
		}
		if r.Float64() >= k.finished {
			items[i] = append(items[i], never)
		}
	}
	return items
}

// outcome is what a rule of an age does in the measured year, run once a day.
type outcome struct {
	deleted   int
	regretted int     // somebody came back to it
	waiting   float64 // items that nobody needs any more and that wait for their age, on an average day
}

// judge tries an age on items.
func judge(items []item, age int) (o outcome) {
	for _, i := range items {
		for n, next := range i[1:] {
			at := i[n]
			due := math.Ceil(at + float64(age)) // the run of the night after
			if next <= due {
				continue
			}
			if next == never {
				o.waiting += max(0, min(due, ended)-max(at, began)) / (ended - began)
			}
			if due >= began && due < ended {
				o.deleted++
				if next < seen {
					o.regretted++
				}
			}
			break // what is deleted has no later life
		}
	}
	return o
}
