package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/firesweep/firesweep/emulator/plot"
	"github.com/firesweep/firesweep/shared/usage"
)

// results are all figures.
type results struct {
	Machine string
	Runs    []run
}

// write writes the page, its plots, and what the page of prices needs.
func (all results) write(docs string) error {
	var b strings.Builder
	b.WriteString(pageHead)
	all.writeJobs(&b)
	all.writeLarge(&b)
	all.writeShards(&b)
	all.writeNames(&b)
	fmt.Fprintf(&b, "\n%s\n", all.Machine)
	files := map[string]string{
		"performance.md": b.String(), "performance/usage.json": all.usage(), "performance/jobs.svg": all.jobsPlot().SVG(),
		"performance/live.svg": all.livePlot().SVG(), "performance/names.svg": all.namesPlot().SVG(),
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(docs, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// usage returns what runs over the long link used, a line for each, in JSON: no kinds of names.
func (all results) usage() string {
	var lines []string
	for _, r := range all.Runs {
		if r.Kind != "" || r.Answer != longLink {
			continue
		}
		line, err := json.Marshal(struct {
			Case, Job   string
			Items, Done int
			Usage       usage.Usage
		}{r.Case, r.Job, r.Items, r.Done, r.Usage})
		if err != nil {
			panic(err) // numbers and texts
		}
		lines = append(lines, string(zeros.ReplaceAll(line, nil)))
	}
	return "[\n" + strings.Join(lines, ",\n") + "\n]\n"
}

// runsOf returns the runs of a case in the order in which they were measured; kind names one of the kinds of names, empty: all.
func (all results) runsOf(name, kind string) []run {
	return slices.DeleteFunc(slices.Clone(all.Runs), func(r run) bool { return r.Case != name || kind != "" && r.Kind != kind })
}

// find returns a run; ok is false if there is none.
func (all results) find(of run) (r run, ok bool) {
	i := slices.IndexFunc(all.Runs, of.same)
	if i < 0 {
		return run{}, false
	}
	return all.Runs[i], true
}

// same reports whether two runs measured the same.
func (r run) same(s run) bool {
	return r.Case == s.Case && r.Kind == s.Kind && r.Items == s.Items && r.Answer == s.Answer
}

// ratio returns how much longer a run over a link took than one of as many items without; ok is false if there is none.
func (all results) ratio(r run) (times float64, ok bool) {
	without := r
	without.Answer = 0
	without, ok = all.find(without)
	return r.Elapsed.Seconds() / without.Elapsed.Seconds(), ok && r.Answer > 0
}

func (all results) writeJobs(b *strings.Builder) {
	for _, m := range cases {
		r, ok := all.find(run{Case: m.name, Items: m.usual, Answer: longLink})
		if !ok {
			continue
		}
		without, times, least := "", "", ""
		if by, ok := all.ratio(r); ok {
			without, times = lasting(time.Duration(float64(r.Elapsed)/by)), fmt.Sprintf("%.2f", by)
		}
		if m.least != nil {
			least = lasting(m.least(r.Items))
		}
		fmt.Fprintf(b, "| `%s` | %s | %s %s | %s | %s | %s | %s | %s | %s | %s | %d MiB |\n", m.job, m.name,
			thousands(r.Items), m.items, without, lasting(r.Elapsed), times, least,
			thousands(int(r.Traffic.Chain)), thousands(int(r.Traffic.Requests)), thousands(int(r.Usage.FirestoreReads)), r.Memory>>20)
	}
	for _, r := range all.runsOf("busy", "") {
		if r.Answer == longLink {
			fmt.Fprintf(b, busyText, seconds(r.Traffic.Turn), seconds(atOnce))
		}
	}
}

func (all results) writeLarge(b *strings.Builder) {
	fmt.Fprintf(b, largeHead, shards, thousands(usualInShards))
	for _, m := range cases {
		for _, r := range all.runsOf(m.name, "") {
			if m.most == 0 || r.Items < caseOf("live").usual {
				continue
			}
			times := ""
			if by, ok := all.ratio(r); ok {
				times = fmt.Sprintf("%.2f", by)
			}
			r.writeLarge(b, m.name, times)
		}
	}
}

func (r run) writeLarge(b *strings.Builder, name, times string) {
	fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %d MiB | %s |\n", name, thousands(r.Items), r.Answer,
		lasting(r.Elapsed), times, rate(r.perSecond()), thousands(int(r.Traffic.Requests)),
		thousands(int(r.Usage.FirestoreReads)), thousands(int(r.Usage.StorageClassA)), r.Memory>>20, seconds(r.CPU))
}

// timesPlot is a plot of seconds.
func timesPlot(title string) plot.Plot {
	return plot.Plot{Title: title, Tick: func(v float64) string {
		if v < 0.1 {
			return fmt.Sprintf("%g s", v)
		}
		return lasting(time.Duration(v * float64(time.Second)))
	}}
}

// jobsPlot shows the time of each case.
func (all results) jobsPlot() plot.Plot {
	p := timesPlot("The cases with their usual items")
	for _, m := range cases {
		p.Rows = append(p.Rows, m.name)
		all.add(&p, m, m.usual)
	}
	return p
}

// livePlot shows the time of the case live by the number of objects.
func (all results) livePlot() plot.Plot {
	m := caseOf("live")
	p := timesPlot("Live objects: time by their number")
	for _, n := range append(append([]int{m.usual}, m.more...), m.most) {
		p.Rows = append(p.Rows, thousands(n))
		all.add(&p, m, n)
	}
	return p
}

// add adds to a plot's last row the times of a case.
func (all results) add(p *plot.Plot, m measured, items int) {
	row := len(p.Rows) - 1
	for _, answer := range []time.Duration{0, longLink} {
		if r, ok := all.find(run{Case: m.name, Items: items, Answer: answer}); ok {
			p.Set("answers after "+answer.String(), row, r.Elapsed.Seconds())
		}
	}
}
