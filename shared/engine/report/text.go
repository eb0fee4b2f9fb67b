package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// What the targets of actions on accounts and on objects begin with; a document's target is its path.
const (
	AccountPrefix = "account "
	ObjectPrefix  = "gs://"
)

// AccountTarget is what plans, logs and lists call an account.
func AccountTarget(uid string) string { return AccountPrefix + uid }

// ObjectTarget is what plans, logs and lists call an object.
func ObjectTarget(bucket, name string) string { return ObjectPrefix + bucket + "/" + name }

// ForLog returns the report with its plan cut to what one log line can hold.
func (r *Report) ForLog() Report {
	out := *r
	size := 0
	for i, p := range r.Plan {
		if size += len(p.Target) + len(p.Action) + len(p.Reason) + len(p.Kept) + 48*(1+len(p.With)); size > maxLogPlanBytes {
			out.Plan, out.Truncated = r.Plan[:i], true
			break
		}
	}
	return out
}

// Problem says the first thing that is wrong with a failed run, or which safety limits an aborted one tripped; empty if nothing
// is.
func (r *Report) Problem() string {
	if r.Status != Failed && r.Status != Aborted || len(r.Failures) == 0 {
		return ""
	}
	if r.Status == Aborted {
		var limits []string
		for _, f := range r.Failures {
			if f.Action == CheckLimits {
				limits = append(limits, f.Error)
			}
		}
		return strings.Join(limits, "; ")
	}
	f := r.Failures[0]
	return Phrase(f.Action, f.Target) + ": " + f.Error
}

// Summary says the report in one sentence. The cause comes first, because lists of log lines show only the beginning.
func (r *Report) Summary(why string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", r.Job, r.Status)
	if r.DryRun {
		b.WriteString(" (dry run)")
	}
	if r.Status == Aborted {
		if r.Done() == 0 {
			b.WriteString(", nothing was deleted or changed")
		} else {
			b.WriteString(", only what tripped no safety limit was done")
		}
	}
	separator := ": "
	say := func(format string, args ...any) {
		b.WriteString(separator)
		fmt.Fprintf(&b, format, args...)
		separator = "; "
	}
	if problem := r.Problem(); problem != "" {
		say("%s", problem)
	}
	if r.Status == Partial {
		say("%s, %d planned actions left", why, r.Left())
	}
	for _, kind := range slices.Sorted(maps.Keys(r.Actions)) {
		c := r.Actions[kind]
		if r.DryRun || r.Status == Aborted && c.Done == 0 {
			say("%s %d planned", kind, c.Planned)
		} else {
			say("%s %d of %d", kind, c.Done, c.Planned)
		}
		if c.Changed > 0 {
			fmt.Fprintf(&b, ", %d changed", c.Changed)
		}
		if c.Failed > 0 {
			fmt.Fprintf(&b, ", %d failed", c.Failed)
		}
		if c.Begun > 0 {
			fmt.Fprintf(&b, ", %d begun", c.Begun)
		}
	}
	kept := 0
	for _, n := range r.Kept {
		kept += n
	}
	say("kept %d", kept)
	if len(r.NotCounted) > 0 {
		fmt.Fprintf(&b, ", not counted: %s", strings.Join(r.NotCounted, ", "))
	}
	for _, warning := range r.Warnings {
		say("%s", warning)
	}
	say("%d ms", r.DurationMs)
	return b.String()
}

// KindOf says what kind of thing a target is, such as "document of posts": a document by its path, an object by
// gs://bucket/name, or an "account UID".
func KindOf(target string) string {
	steps := strings.Split(target, "/")
	switch {
	case strings.HasPrefix(target, AccountPrefix):
		return "account"
	case strings.HasPrefix(target, ObjectPrefix):
		return "file"
	default:
		return "document of " + steps[max(0, len(steps)-2)]
	}
}

// Phrase says what is done to what. An action on accounts says by itself what its target is.
func Phrase(action, target string) string {
	return action + " " + strings.TrimPrefix(target, AccountPrefix)
}
