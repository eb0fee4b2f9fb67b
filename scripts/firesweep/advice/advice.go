// Package advice tells people how a run ended and what to do next. The command and the emulator's page use the same words.
package advice

import (
	"regexp"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/scripts/screen"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/undo"
)

// limits say what to look at if a safety limit tripped whose text contains holds, and when to lift it.
var limits = []struct{ holds, look, when string }{
	{"empty collection:", "Look into the database that the message names. If the documents are kept elsewhere, leave the pass out " +
		"(ORPHANS).", "the collection is rightly empty"},
	{"older database:", "Was the database restored, or is it another one than the bucket's?", "the newest documents were rightly deleted"},
	{"unwritten field:", "Look how the application calls the field.", "nobody had a reason to write it"},
	{"MAX_ACTIONS:", lookAtAll, planIsRight},
	{"MAX_MISSING_PERCENT:", "Make sure that the database is the right one and was not emptied.", "so much is really gone"},
	{"MAX_PER_OWNER:", "Does the application write the id that the message names where it means none? Then leave the pass out (ORPHANS), or " +
		"have the rule keep what names it (unless).", "all of it is to go"},
	{"MAX_DUE_PERCENT:", lookAtAll, planIsRight},
	{"maxDuePercent:", lookAtAll, planIsRight},
}

const (
	lookAtAll   = "Look at the whole plan: firesweep plan --force JOB."
	planIsRight = "the plan is right"
)

// lifted finds in the text of a safety limit what lifts it.
var lifted = regexp.MustCompile(`run once with \{"(?:force":true|lift":\["(.*?)"\])\}`)

// Tripped says what to do about the safety limits that a run tripped, and the command that lifts all of them, besides what was lifted
// already: nothing is run while one is left. Both are empty if nothing tripped that can be lifted.
func Tripped(r *report.Report) (do, command string) {
	var looks, whens []string
	force, lift := r.Force, slices.Clone(r.Lift)
	for _, f := range r.Failures {
		found := lifted.FindAllStringSubmatch(f.Error, -1)
		for _, l := range limits {
			if found != nil && strings.Contains(f.Error, l.holds) && !slices.Contains(whens, l.when) {
				looks, whens = append(looks, l.look), append(whens, l.when)
			}
		}
		for _, match := range found {
			if name := match[1]; name == "" {
				force = true
			} else if !slices.Contains(lift, name) {
				lift = append(lift, name)
			}
		}
	}
	if whens == nil {
		return "", ""
	}
	if r.Force && !slices.Contains(whens, planIsRight) { // for what is lifted was not judged
		looks, whens = append(looks, lookAtAll), append(whens, planIsRight)
	}
	if command = "firesweep run JOB"; force {
		command += " --force"
	}
	for _, name := range lift {
		command += " --lift " + screen.Quoted(name)
	}
	if r.Approved != nil {
		command += " --plan FILE"
	}
	do = strings.Join(looks, " ") + " Only if " + strings.Join(whens, ", and ") + ":"
	if Forgets(r.Job) {
		return forgetting.Replace(do), forgetting.Replace(command)
	}
	return strings.ReplaceAll(do, "JOB", r.Job), strings.Replace(command, "JOB", r.Job, 1)
}

// advices say what to do about another failure whose text contains holds. docs/operations.md says more.
var advices = []struct{ holds, do string }{
	{"holds the lease until", "Run the request in the message: nothing will change by itself."},
	{"is not one that this program wrote", "Run the request in the message: nothing will change by itself."},
	{"PermissionDenied", roleMissing},
	{"requires an index", "Wait until it is built, or make it: firesweep check --indexes, or terraform apply. firesweep doctor shows " +
		"which are missing."},
	{"wrong configuration", "Fix the variables that the message names, then terraform apply."},
	{"could not find default credentials", "Log in: gcloud auth application-default login."},
	{"no such host", "Is this machine connected to the internet?"},
	{"quota project", "Say who is billed: gcloud auth application-default set-quota-project PROJECT."},
	{"out of time", "The next run continues from there."},
}

const roleMissing = "A role is missing: terraform plan shows which. Of your own credentials: see firesweep plan --help."

// On returns what to do about a failure of a job; "" if the failure's own text says it all.
func On(job, text string) string {
	for _, a := range advices {
		if strings.Contains(text, a.holds) {
			if Forgets(job) {
				return forgetting.Replace(a.do)
			}
			return a.do
		}
	}
	return ""
}

// Forgets reports whether a job is one of firesweep forget.
func Forgets(job string) bool { return forgetName.MatchString(job) }

var (
	forgetName = regexp.MustCompile(`^forget[0-9a-f]{24}$`)
	forgetting = strings.NewReplacer("firesweep plan --force JOB", "firesweep forget --force UID", "firesweep run JOB",
		"firesweep forget --apply UID", "make it: firesweep check --indexes, or terraform apply. firesweep doctor shows which are missing.",
		"make it at the address in the message.")
)

// Next says what happens after a run, and what to do.
func Next(r *report.Report) string {
	if Forgets(r.Job) && r.Status != report.Completed {
		return "Not all is done. Look at what stands in the way, and do the rest: firesweep forget --apply UID."
	}
	switch r.Status {
	case report.Completed:
		if r.Approved != nil {
			return "Of the plan, all that is still as it was approved is done. Other runs do what else is due."
		}
		return "Everything due is done: there is nothing to do."
	case report.Partial:
		if r.Stopped {
			return "It was stopped. The next run continues from there."
		}
		if r.Continued && len(r.Shards) > 0 {
			return "Its shards are under way, or will be at once. Look again: firesweep show " + r.Job + "."
		}
		if r.Continued {
			return "It ran out of time and continues at once: see firesweep runs " + r.Job + "."
		}
		return "It was out of time, or was interrupted. The next run continues from there. After three in a row, let it run more " +
			"often (Terraform: schedules) or longer (timeouts)."
	case report.Skipped:
		return "Another run was under way: see firesweep runs " + r.Job + "."
	case report.Aborted:
		done := "nothing was deleted or changed"
		if r.Done() > 0 {
			done = "nothing was done of what tripped it, and the rest was done"
		}
		return "A safety limit tripped: " + done + ". Look at the plan before you lift the limit: " +
			"firesweep plan --force " + r.Job + "."
	case report.Killed:
		return "What it did is in its undo log. The next run continues from there, or take it back: firesweep undo " + r.RunID + "."
	default:
		return "The next run tries again what failed; everything else is done. A retry is safe: firesweep run " + r.Job + "."
	}
}

// undone names the steps of an undo in words.
var undone = map[undo.Step]string{
	undo.Nothing: "is as it was", undo.Recreate: "bring back", undo.Revert: "set fields back",
	undo.Replace: "set back", undo.Remove: "remove",
	undo.Conflict: "left: changed since", undo.Lost: "cannot be brought back", undo.Stays: "stays: it was sent",
}

// Undone returns what a step of an undo does to an item, in words.
func Undone(step undo.Step) string { return undone[step] }

var (
	local   = regexp.MustCompile(`\bfiresweep (plan|run) `)
	command = regexp.MustCompile(`\bfiresweep [a-z]+ `)
	given   = regexp.MustCompile(`\bfiresweep (plan|runs?|show|stop|resume|undo|forget|find|release|check --indexes)\b|\bfirebase deploy\b`)
)

var here = strings.NewReplacer("firesweep run ", "firesweep run --here --apply ", ", then terraform apply", "", ", or terraform apply", "",
	roleMissing, "To run, you need roles/datastore.user, to plan, roles/datastore.viewer: see firesweep run --help.")

// Here returns the advice with its commands as they are typed where nothing is deployed.
func Here(text string) string { return here.Replace(text) }

// Given are the flags that every command about the same runs needs, as they were given, each with a blank before it, and what only
// those need that ask functions: Local to plan or run, Location to run.
type Given struct{ Project, Rules, Local, Location string }

func (g Given) String() string { return g.Project + g.Rules }

// In returns a text with the flags in its commands.
func (g Given) In(text string) string {
	return given.ReplaceAllStringFunc(text, func(command string) string {
		switch command {
		case "firesweep check --indexes":
			return "firesweep check" + g.Rules + " --indexes"
		case "firebase deploy":
			return command + g.Project
		case "firesweep run":
			return command + g.Local + g.Location + g.String()
		case "firesweep plan":
			return command + g.Local + g.String()
		default:
			return command + g.String()
		}
	})
}

// Local returns the advice with its commands as they are typed while the emulator serves the functions.
func Local(text string) string {
	text = local.ReplaceAllString(text, "firesweep $1 --local ")
	return command.ReplaceAllString(text, "go run ./scripts/$0")
}
