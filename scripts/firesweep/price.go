package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/firesweep/firesweep/scripts/prices"
	"github.com/firesweep/firesweep/scripts/schedule"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/manifest"
	"github.com/firesweep/firesweep/shared/rule"
	"github.com/firesweep/firesweep/shared/usage"
)

// expected is what a run would use that carries out a plan: what planning read, and for each action the documents that it
// writes and deletes, each of which its commit reads, and its share of the undo log. Where not all actions were worked out, the
// others count as those of their kind.
func expected(r *report.Report) usage.Usage {
	type sum struct{ known, writes, deletes, tasks int }
	kinds := map[string]sum{}
	for _, a := range r.Plan {
		if a.Writes == nil {
			continue
		}
		s := kinds[a.Action]
		s.known++
		for _, w := range a.Writes {
			switch verb, target, _ := strings.Cut(w, " "); {
			case verb == "nothing:", strings.HasPrefix(target, "gs://"), strings.HasPrefix(target, "account "):
			case verb == "delete":
				s.deletes++
			case verb == "hand":
				s.tasks++
			default:
				s.writes++
			}
		}
		kinds[a.Action] = s
	}
	all := r.Usage
	for kind, s := range kinds {
		each := func(n int) int64 { return int64(n) * int64(r.Actions[kind].Planned) / int64(s.known) }
		all.FirestoreReads += each(s.writes + s.deletes)
		all.FirestoreWrites += each(s.writes) + each(s.writes+s.deletes)/loggedTogether
		all.FirestoreDeletes += each(s.deletes)
		all.Tasks += each(s.tasks)
	}
	return all
}

// loggedTogether is how many changes a commit's two entries in the logs hold, as a rule.
const loggedTogether = 25

// atRest is what a run of a rule uses that finds nothing to do: the lease, what is pinned, the logs, one query, and counts.
var atRest = usage.Usage{FirestoreReads: 8, FirestoreWrites: 3}

// toDelete is what deleting so many things by a rule uses, with the logs.
func toDelete(r rule.Rule, n int64) usage.Usage {
	u, together := usage.Usage{FirestoreReads: n, FirestoreDeletes: n}, int64(loggedTogether)
	switch {
	case r.Objects != "":
		u, together = usage.Usage{FirestoreReads: n / 30}, 500 // thirty owners are looked up with one read
	case r.Accounts != "":
		u, together = usage.Usage{}, 200
	case r.Plain():
		together = 500
	case r.Set != nil:
		u = usage.Usage{FirestoreReads: n, FirestoreWrites: n}
	}
	if r.Archive != "" {
		u.FirestoreWrites += n
	}
	if w := r.Warn; w != nil { // the mark and the message, and two reads in each of the runs until it goes
		u.FirestoreReads, u.FirestoreWrites = u.FirestoreReads+(1+2*int64(w.Days))*n, u.FirestoreWrites+2*n
	}
	u.FirestoreWrites += 2 * n / together
	return u
}

// costs says what a rule costs in a month in which nothing is due, and for 100,000 things that go.
func costs(job manifest.Entry) string {
	if job.ForgetOnly() {
		return ""
	}
	monthly := schedule.Monthly(job)
	what, more := "documents", ""
	switch r := job.Rule; {
	case r.Objects != "":
		each := usage.Usage{StorageClassA: 1000 * int64(monthly)}
		what, more = "files", "; "+prices.About(each)+" a month for each million files there are"
		if r.ByReference() {
			more += ", and " + prices.About(usage.Usage{FirestoreReads: 100_000 * int64(monthly)}) + " for 100,000 documents that may name them"
		}
	case r.Accounts != "":
		what = "accounts"
	case len(r.With) > 0:
		more = ", and as much for what goes along"
	}
	return fmt.Sprintf("%s a month while nothing is due, besides %s for its schedule; %s for 100,000 %s that go%s (prices of %s)",
		prices.About(prices.Times(atRest, float64(monthly))), prices.Dollars(prices.SchedulerJob),
		prices.About(toDelete(*job.Rule, 100_000)), what, more, prices.Date)
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
		return "all accounts, a thousand a call, which is free; of those that are due, one read for 30 tells whether " +
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
