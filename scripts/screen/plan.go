package screen

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/engine/report"
)

// Plan prints the actions of a plan, and how many there are.
func (p *Printer) Plan(r *report.Report, writes bool) {
	if len(r.Plan) == 0 {
		p.Line("  nothing to do")
	}
	unknown := false
	rows := make([]Row, len(r.Plan))
	for i, planned := range r.Plan {
		rows[i] = Row{Cells: []string{planned.Action, planned.Target, writesOf(planned)}, Notes: []string{planned.Reason}}
		unknown = unknown || planned.Writes == nil
		if !writes {
			continue
		}
		if rows[i].Paths = planned.Writes; planned.More {
			rows[i].Paths = append(slices.Clone(planned.Writes), "and more")
		}
	}
	if len(rows) > 0 {
		p.Table([]Column{{Name: "ACTION", Most: p.Width / 3}, {Name: "TARGET", Path: true}, {Name: "WRITES", Right: true}}, rows)
	}
	var counts []string
	total := 0
	for _, kind := range slices.Sorted(maps.Keys(r.Actions)) {
		total += r.Actions[kind].Planned
		counts = append(counts, fmt.Sprintf("%d %s", r.Actions[kind].Planned, kind))
	}
	if len(counts) > 0 {
		p.Line("")
		p.Say("", 2, 2, "planned: %s", strings.Join(counts, ", "))
	}
	if total > len(r.Plan) {
		p.Say("", 2, 2, "the list above has the first %d of %d", len(r.Plan), total)
	}
	if unknown {
		p.Say(Faint, 2, 2, "writes ?: worked out for the first 100 actions only")
	}
}

// writesOf says how many writes an action makes: "3", "30+" if there are more, "?" if they were not worked out.
func writesOf(planned report.Planned) string {
	switch {
	case planned.Writes == nil && !planned.More:
		return "?"
	case planned.More:
		return fmt.Sprintf("%d+", len(planned.Writes))
	default:
		return fmt.Sprint(len(planned.Writes))
	}
}

// Kept prints how many items are kept and why, the largest number first.
func (p *Printer) Kept(r *report.Report) {
	reasons := slices.SortedFunc(maps.Keys(r.Kept), func(a, b string) int {
		if r.Kept[a] != r.Kept[b] {
			return r.Kept[b] - r.Kept[a]
		}
		return strings.Compare(a, b)
	})
	for _, reason := range reasons {
		p.Say("", 2, 2, "kept %d: %s", r.Kept[reason], reason)
	}
	for _, collection := range r.NotCounted {
		p.Say(Yellow, 2, 2, "not counted: %s; what is kept there is incomplete", collection)
	}
	for _, warning := range r.Warnings {
		p.Say(Yellow, 2, 2, "warning: %s", warning)
	}
}
