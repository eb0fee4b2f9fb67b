package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/firesweep/firesweep/shared/rule"
)

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
