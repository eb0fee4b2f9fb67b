package main

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// baseline holds what was measured before anything ran side by side, at commit 8d7683e, on the same stand-in.
//
//go:embed baseline.json
var baseline []byte

// perSecond returns how many items a run handled in a second.
func (r run) perSecond() float64 { return float64(r.Items) / r.Elapsed.Seconds() }

func (r run) who() string {
	if r.Seed {
		return "the seed's algorithm"
	}
	return r.Job
}

// line returns a run as a line for the terminal.
func (r run) line() string {
	u := r.Usage
	return fmt.Sprintf("%-12s %-20s %9s items, answers after %5s: %8s, %7s a second, %5d round trips of %6d requests, %d reads, %d writes, %d pages listed, %d MiB, CPU %s, %s",
		cmp.Or(r.Kind, r.Case), r.who(), thousands(r.Items), r.Link.Firestore, seconds(r.Elapsed), thousands(int(r.perSecond())), r.Traffic.Chain, r.Traffic.Requests,
		u.FirestoreReads, u.FirestoreWrites, u.StorageClassA, r.Memory>>20, seconds(r.CPU), r.Status)
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s" }

// lasting writes a time that may be long.
func lasting(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return seconds(d)
	case d < 2*time.Hour:
		return strconv.FormatFloat(d.Minutes(), 'f', 0, 64) + " min"
	default:
		return strconv.FormatFloat(d.Hours(), 'f', 1, 64) + " h"
	}
}

// thousands writes a number with commas.
func thousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// results are the figures of the page. They are kept in a file beside it, so that one case can be measured again and the others
// stay.
type results struct {
	Command string
	Machine string
	Shards  *sharded // nil: not measured
	Runs    []run
}

// writePage writes the page, and a plot for each case beside it, with the runs of a case that was just measured, or with its run in
// shards. The other cases stay as they were measured.
func writePage(path string, o options, args []string, name string, runs []run, inShards *sharded) error {
	folder := strings.TrimSuffix(path, filepath.Ext(path))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	file := filepath.Join(folder, "measured.json")
	var all results
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("read what was measured before: %w", err)
	}
	if all.Command == "" || o.only == "" && len(o.items) == 0 && name == shardsCase { // all cases are new, for it is the last of them
		all.Command = strings.Join(append([]string{"go run ./emulator/lab"}, args...), " ")
	}
	all.Machine = machine(time.Now())
	if inShards != nil {
		all.Shards = inShards
	}
	all.Runs = append(slices.DeleteFunc(all.Runs, func(had run) bool {
		return caseNumber(had.Case) < 0 || had.Case == name && len(o.items) == 0 || slices.ContainsFunc(runs, had.same)
	}), runs...)
	slices.SortStableFunc(all.Runs, run.compare)
	if err := all.save(file); err != nil {
		return err
	}
	var before []run
	if err := json.Unmarshal(baseline, &before); err != nil {
		return fmt.Errorf("read what was measured before: %w", err)
	}
	var sections []section
	for _, m := range cases {
		s := section{measured: m, before: of(m, before)}
		if s.runs = slices.DeleteFunc(of(m, all.Runs), run.idle); len(s.runs) == 0 {
			continue
		}
		sections = append(sections, s)
		if err := os.WriteFile(filepath.Join(folder, m.name+".svg"), []byte(m.plot(s.runs)), 0o644); err != nil {
			return err
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, pageHead, all.Command)
	inShort(&b, sections)
	nothingToDo(&b, slices.DeleteFunc(slices.Clone(all.Runs), func(r run) bool { return !r.idle() }))
	b.WriteString(howMeasured)
	for _, s := range sections {
		s.write(&b, filepath.Base(folder))
	}
	writeNames(&b, all.Runs)
	tenMillion(&b, sections)
	if all.Shards != nil {
		all.Shards.write(&b, section{measured: cases[caseNumber("missing")], runs: of(cases[caseNumber("missing")], all.Runs)})
	}
	fmt.Fprintf(&b, "\n## Where and when\n\n%s\n", all.Machine)
	return os.WriteFile(path, []byte(b.String()), 0o644)
}

func of(m measured, runs []run) []run {
	return slices.DeleteFunc(slices.Clone(runs), func(r run) bool { return r.Case != m.name })
}

// idle reports whether there were no data at all.
func (r run) idle() bool { return r.Items == 0 }

// save writes the file, one run on each line.
func (all results) save(path string) error {
	var b bytes.Buffer
	head, err := json.Marshal(struct {
		Command, Machine string
		Shards           *sharded
	}{all.Command, all.Machine, all.Shards})
	if err != nil {
		return err
	}
	b.Write(head[:len(head)-1])
	b.WriteString(`,"Runs":[`)
	for i, r := range all.Runs {
		line, err := json.Marshal(r)
		if err != nil {
			return err
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
		b.Write(line)
	}
	b.WriteString("\n]}\n")
	return os.WriteFile(path, b.Bytes(), 0o644)
}

// same reports whether two runs measured the same case, kind of names, items and link.
func (r run) same(s run) bool { return r.Case == s.Case && r.compare(s) == 0 }

// compare orders runs as the tables do.
func (r run) compare(s run) int {
	place := func(r run) []int64 {
		seed := int64(0)
		if r.Seed {
			seed = 1
		}
		return []int64{int64(caseNumber(r.Case)), int64(kindNumber(r.Kind)), seed, int64(r.Items), int64(r.Link.Firestore)}
	}
	return slices.Compare(place(r), place(s))
}

// caseNumber returns the place of a case, in cases or behind them; -1 if there is none of the name.
func caseNumber(name string) int { return slices.Index(caseNames(), name) }

// section is what the page says of one case.
type section struct {
	measured
	runs, before []run
}

// times extrapolates a run of the seed's algorithm to more items. It handles one after the other, so the time grows as they do.
func (r run) times(items int) run {
	by := float64(items) / float64(r.Items)
	u := &r.Usage
	for _, n := range []*int64{
		&u.FirestoreReads, &u.FirestoreWrites, &u.FirestoreDeletes, &u.StorageClassA, &u.StorageDeletes, &u.AuthCalls, &u.Tasks, &r.Traffic.Requests, &r.Traffic.Chain,
	} {
		*n = int64(float64(*n) * by)
	}
	r.Items, r.Elapsed, r.Memory, r.CPU = items, time.Duration(float64(r.Elapsed)*by), 0, 0
	return r
}

// largest returns the job's run with most items over a link; the zero value if there is none.
func (s section) largest(link time.Duration) (most run) {
	for _, r := range s.runs {
		if !r.Seed && r.Link.Firestore == link && r.Items > most.Items {
			most = r
		}
	}
	return most
}

// slowest returns the longest time that answers took.
func (s section) slowest() (link time.Duration) {
	for _, r := range s.runs {
		link = max(link, r.Link.Firestore)
	}
	return link
}

// ratio returns how much longer a run took than one of as many items without a link; ok is false if there is none.
func (s section) ratio(r run) (times float64, ok bool) {
	for _, without := range s.runs {
		if !without.Seed && without.Link.Firestore == 0 && without.Items == r.Items {
			return r.Elapsed.Seconds() / without.Elapsed.Seconds(), r.Link.Firestore > 0
		}
	}
	return 0, false
}
