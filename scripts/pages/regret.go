package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"

	"github.com/firesweep/firesweep/emulator/plot"
)

// rows are those of a table of the page: one for each kind, in their order.
var rows = regexp.MustCompile(`(?m)(^\| +\d.*\n)+`)

// regretPage makes docs/regret.md of its own text, with its plot: how often somebody comes back to what a rule has deleted, by
// the rule's age, in a year of a simulated application.
func regretPage(docs string) (map[string][]byte, error) {
	page, err := os.ReadFile(filepath.Join(docs, "regret.md"))
	if err != nil {
		return nil, err
	}
	p := plot.Plot{Title: "Deleted items that somebody came back to, by the rule's age", Step: 5,
		Tick: func(v float64) string { return fmt.Sprintf("%g %%", v) }}
	for _, age := range ages {
		p.Rows = append(p.Rows, fmt.Sprintf("%d days", age))
	}
	kind := 0
	page = rows.ReplaceAllFunc(page, func([]byte) (table []byte) {
		items := kinds[kind].live(uint64(kind))
		for row, age := range ages {
			o := judge(items, age)
			share := 100 * float64(o.regretted) / float64(o.deleted)
			p.Set(kinds[kind].name, row, share)
			table = fmt.Appendf(table, "| %d | %d | %.2f %% | %.0f |\n", age, o.deleted, share, o.waiting)
		}
		kind++
		return table
	})
	return map[string][]byte{"regret.md": page, "regret.svg": []byte(p.SVG())}, nil
}

// An item is something that somebody made in the year.
type item struct {
	longest  float64 // days until somebody came back to it
	finished bool    // its owner deleted it in the end
}

// A kind is a kind of data, and how people come back to it. The numbers are assumed: half of the gaps are shorter than the
// median, and with a sigma of 1.5 one of seven is more than four times as long.
type kind struct {
	name          string  // as the page calls it, which has the rule, and what people do
	again         float64 // how many of those who touched an item come back to it
	season        float64 // how many of these only for the next season
	median, sigma float64 // of the days until the others do
	finished      float64 // how many delete it themselves in the end
}

// ages are the ages that are compared, in days.
var ages = []int{7, 30, 60, 90, 180, 365}

// kinds are what the application keeps.
var kinds = []kind{
	{name: "drafts", again: 0.6, median: 9, sigma: 1.5, finished: 0.5},
	{name: "trash", again: 0.04, median: 2, sigma: 1.6},
	{name: "guests", again: 0.33, season: 0.2, median: 35, sigma: 1.1},
}

// lived is how many items of a kind people make in a year.
const lived = 20_000

// live makes a year's items of a kind, the same ones each time.
func (k kind) live(seed uint64) []item {
	r := rand.New(rand.NewPCG(1, seed))
	items := make([]item, lived)
	for i := range items {
		for r.Float64() < k.again {
			gap := k.median * math.Exp(k.sigma*r.NormFloat64())
			if r.Float64() < k.season {
				gap = 330 + 40*r.NormFloat64()
			}
			items[i].longest = max(items[i].longest, gap)
		}
		items[i].finished = r.Float64() < k.finished
	}
	return items
}

// outcome is what a rule of an age does with a year's items.
type outcome struct {
	deleted   int
	regretted int     // somebody came back to it
	waiting   float64 // items that nobody needs any more and that wait for their age, on an average day
}

// judge tries an age on a year's items. It deletes each after the first time that nobody came back for so long.
func judge(items []item, age int) (o outcome) {
	for _, i := range items {
		switch {
		case i.longest > float64(age):
			o.deleted++
			o.regretted++
		case !i.finished:
			o.deleted++
			o.waiting += float64(age) / 365
		}
	}
	return o
}
