package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/firesweep/firesweep/scripts/prices"
	"github.com/firesweep/firesweep/scripts/schedule"
	"github.com/firesweep/firesweep/shared/cascade"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/manifest"
	"github.com/firesweep/firesweep/shared/rule"
	"github.com/firesweep/firesweep/shared/usage"
)

// expected is what a run would use that carries out a job's plan: what planning read, what a run writes anyway, and what it does.
// Where not all actions were worked out, the others count as those of their kind.
func expected(job manifest.Entry, r *report.Report) usage.Usage {
	type sum struct {
		foreseen int64
		usage.Usage
	}
	kinds := map[string]sum{}
	for _, a := range r.Plan {
		if a.Writes == nil {
			continue
		}
		s := kinds[a.Action]
		s.foreseen++
		for _, w := range a.Writes {
			switch verb, target, _ := strings.Cut(w, " "); {
			case verb == "nothing:", strings.HasPrefix(target, "account "):
			case strings.HasPrefix(target, "objects under "): // which are listed
				s.StorageClassA++
			case strings.HasPrefix(target, "gs://"):
				s.StorageDeletes++
			case verb == "delete":
				s.FirestoreDeletes++
			case verb == "hand":
				s.Tasks++
			default:
				s.FirestoreWrites++
			}
		}
		kinds[a.Action] = s
	}
	var of rule.Rule // none of a job in Go
	if job.Rule != nil {
		of = *job.Rule
	}
	all := r.Usage.Plus(usage.Usage{FirestoreWrites: atRest.FirestoreWrites})
	if of.ByReference() {
		all.FirestoreReads += r.Usage.FirestoreReads // once more before the first goes
	}
	for kind, s := range kinds {
		n := int64(r.Actions[kind].Planned)
		all = all.Plus(applied(of, n, s.foreseen, prices.Times(s.Usage, float64(n)/float64(s.foreseen))))
	}
	return all
}

// atRest is what a run of a rule uses that finds nothing to do: the lease, what is pinned, the logs, one query, and counts.
var atRest = usage.Usage{FirestoreReads: 8, FirestoreWrites: 3}

// applied is what applying so many actions uses that write and delete that: with the log for undoing them, and what is read once
// more. A preview has read what belongs to those that it has foreseen.
func applied(r rule.Rule, n, foreseen int64, u usage.Usage) usage.Usage {
	together := int64(25) // share a commit, as a rule, and what it leaves in the log
	if slices.ContainsFunc(r.With, cascade.Deep) {
		together = 1
	}
	switch {
	case r.Accounts != "":
		together = 100
		u.FirestoreReads += n * looks(r) / 30
		for _, w := range r.With { // whose documents go once the accounts are gone, by commits of their own
			u = u.Plus(applied(rule.Rule{With: w.With}, n, n, usage.Usage{}))
		}
	case u.StorageDeletes > 0 && u.FirestoreWrites+u.FirestoreDeletes == 0: // files, of thirty owners at once
		together = 30
		u.FirestoreReads += n / 30
	case r.Plain(): // each is read once more as it goes, many in a commit while they are small
		together = 60
		u.FirestoreReads += n
	default:
		u.FirestoreReads += (u.FirestoreWrites + u.FirestoreDeletes + n*looks(r)) * max(0, n-foreseen) / max(1, n)
	}
	commits := (n + together - 1) / together
	u.FirestoreWrites += 1 + commits // the actions are reserved before
	if r.Accounts != "" && len(r.With) > 0 || slices.ContainsFunc(r.With, follows) {
		u.FirestoreWrites, u.FirestoreDeletes = u.FirestoreWrites+commits, u.FirestoreDeletes+commits // of the todos
	}
	return u
}

// follows reports whether what goes along is deleted after the commit.
func follows(w rule.Relation) bool { return w.Objects != "" || w.Account != "" }

// looks is how many reads tell whether one thing is kept by what is related to it.
func looks(r rule.Rule) (n int64) {
	for _, related := range r.Related() {
		if related.Account == "" {
			n += int64(max(1, related.Newest))
		}
	}
	return n
}

// toJudge is what a run of a rule uses for so many things that it finds, of accounts those that are old enough: all, if they stay.
func toJudge(r rule.Rule, n int64) (u usage.Usage) {
	switch {
	case r.ByReference():
	case r.Objects != "", r.Accounts != "":
		u.FirestoreReads = n * looks(r) / 30
	default:
		u.FirestoreReads = n * (1 + looks(r))
	}
	if r.Objects != "" {
		u.StorageClassA = (n + 999) / 1000
	}
	return u
}

// toDelete is what deleting so many things by a rule uses, or changing them, from the plan on.
func toDelete(r rule.Rule, n int64) usage.Usage {
	var u usage.Usage
	switch {
	case r.Objects != "":
		u.StorageDeletes = n
	case r.Accounts != "":
	case r.Deletes():
		u.FirestoreDeletes = n
	default:
		u.FirestoreWrites = n
	}
	if r.Archive != "" {
		u.FirestoreWrites += n
	}
	for _, w := range rule.Flat(r.With) {
		if w.Objects != "" && w.Field == "" { // a folder, which is listed
			u.StorageClassA += n
		}
	}
	u = toJudge(r, n).Plus(applied(r, n, 0, u))
	if w := r.Warn; w != nil { // the mark and the message, and two reads in each of the runs until it goes
		u.FirestoreReads, u.FirestoreWrites = u.FirestoreReads+(1+2*int64(w.Days))*n, u.FirestoreWrites+2*n
	}
	return u
}

// costs says what a rule costs in a month in which nothing is due, and for 100,000 things that go.
func costs(job manifest.Entry) string {
	if job.ForgetOnly() {
		return ""
	}
	const many = 100_000
	r := *job.Rule
	monthly := func(u usage.Usage) string { return prices.About(prices.Times(u, float64(schedule.Monthly(job)))) }
	goes, what, more := toDelete(r, many), "documents", ""
	r.Warn = nil
	if slices.ContainsFunc(r.With, func(w rule.Relation) bool { return !follows(w) }) {
		along := usage.Usage{FirestoreReads: many, FirestoreDeletes: many}
		if slices.ContainsFunc(rule.Flat(r.With), func(w rule.Relation) bool { return w.Subcollection == rule.Everything }) {
			along.FirestoreReads *= 2
		}
		if r.Archive != "" {
			along.FirestoreWrites = many
		}
		more = ", and " + prices.About(along) + " for as many that go along"
	}
	switch {
	case r.Objects != "":
		what, more = "files", "; "+monthly(toJudge(r, 1_000_000))+" a month for each million files there are"
		if r.ByReference() {
			more += ", and " + monthly(usage.Usage{FirestoreReads: many}) + " for 100,000 documents that may name them"
		}
	case r.Accounts != "":
		what = "accounts"
	case r.Scans():
		more += "; " + monthly(toJudge(r, many)) + " a month for each 100,000 documents of " + r.Source() + ", which every run reads"
	case readsOf(r) != "":
		more += "; " + monthly(toJudge(r, many)) + " a month for each 100,000 that are old enough and stay"
	}
	return fmt.Sprintf("%s a month while nothing is due, besides %s for its schedule; %s for 100,000 %s that go%s (prices of %s)",
		monthly(atRest), prices.Dollars(prices.SchedulerJob), prices.About(goes), what, more, prices.Date)
}

// readsOf says which items that are not due each run of a rule reads; "" if none.
func readsOf(r rule.Rule) string {
	if r.Warn != nil {
		warned := "each document that was warned about, twice, until it goes or is in use again"
		r.Warn = nil
		return strings.TrimPrefix(readsOf(r)+"; "+warned, "; ")
	}
	var judged []string
	for _, c := range r.Asked().Judged {
		judged = append(judged, c.Words())
	}
	for _, c := range r.Exceptions() {
		judged = append(judged, c.Words())
	}
	for _, related := range r.Related() {
		judged = append(judged, related.Exists())
	}
	switch {
	case r.Accounts != "" && len(r.Related()) > 0:
		return "all accounts, a thousand a call, which is free; of those that are old enough, one read for 30 tells whether " +
			strings.Join(judged, ", or whether ")
	case r.Accounts != "":
		return "all accounts, a thousand a call, which is free"
	case r.ByReference():
		var all []string
		for _, g := range r.Gone {
			if of := "every document of " + g.Place().Collection; !slices.Contains(all, of) {
				all = append(all, of)
			}
		}
		return fmt.Sprintf("%s, in every run, and once more before objects are deleted; %d at most (maxReads)", strings.Join(all, " and "),
			r.Judges())
	case r.Objects != "":
		return ""
	case r.Scans():
		which := "every document of " + r.Source()
		if len(r.Asked().Filters)+len(r.Asked().Any) > 0 {
			which += " that meets the conditions which an index answers"
		}
		return fmt.Sprintf("%s, in every run, whatever its age: no index knows it; %d a run at most (maxReads)", which, r.Judges()) +
			prefixed("; and whether ", strings.Join(judged, ", or whether "))
	case len(judged) == 0:
		return ""
	}
	which := "each document that is old enough"
	if len(r.Query(time.Time{}).OrderBy)+len(r.Asked().Filters) > 1 {
		which += " and is in the index"
	}
	return which + ", in every run: no index knows whether " + strings.Join(judged, ", or whether ")
}
