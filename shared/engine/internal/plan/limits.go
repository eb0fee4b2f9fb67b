package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/config"
)

// Limits are the safety limits. They stop what is more likely a mistake than a cleanup: a wrong or empty database must
// never empty a bucket. MAX_ACTIONS holds for the run; the others judge each [Section] of a plan by itself.
type Limits struct {
	config.Config
	Lifted bool     // force: true lifts the limits on numbers and shares
	Lift   []string // protections that are lifted by name, such as "empty:tasks"
}

// LiftAll says of a limit that a request's field force lifts it, as all that are on numbers and shares.
const LiftAll = "force"

// What a request's field lift may begin with. What it names follows a colon.
const (
	LiftEmpty     = "empty"     // a collection that holds no document
	LiftOlder     = "older"     // a collection that lacks the owners of the newest objects
	LiftUnwritten = "unwritten" // a field that no document has
)

// lifts reports whether a protection is lifted.
func (b Limits) lifts(what, name string) bool { return slices.Contains(b.Lift, what+":"+name) }

// byName says how a protection is lifted.
func byName(what, name string) string {
	return fmt.Sprintf(`run once with {"lift":["%s:%s"]}`, what, name)
}

// forced says how a limit on numbers and shares is lifted for one run.
const forced = `run once with {"force":true}`

// suspicious returns the collections that hold none of the ids looked up in them, in order. Whether such a collection holds
// any document at all must be asked, however few the ids are.
func (b Limits) suspicious(lookups map[string]cleanup.Lookups) []string {
	var collections []string
	for _, kind := range slices.Sorted(maps.Keys(lookups)) {
		collection, _, _ := strings.Cut(kind, " of ")
		if l := lookups[kind]; l.Asked > 0 && l.Asked == l.Missing && !slices.Contains(collections, collection) &&
			!b.lifts(LiftEmpty, collection) {
			collections = append(collections, collection)
		}
	}
	return collections
}

// Check returns a [*cleanup.LimitError] if a plan of so many actions, made after these lookups by kind, must not be applied.
func (b Limits) Check(actions int, lookups map[string]cleanup.Lookups) error {
	if b.Lifted {
		return nil
	}
	var e cleanup.LimitError
	if actions > b.MaxActions {
		e.Tripped = append(e.Tripped, cleanup.Tripped{Limit: "MAX_ACTIONS", Most: b.MaxActions, Lift: LiftAll, Text: fmt.Sprintf(
			"MAX_ACTIONS: the plan has more than %d actions: see all of it with {\"dryRun\":true,\"force\":true} (firesweep plan --force), "+
				"then raise MAX_ACTIONS (Terraform: safety_limits.max_actions) or %s", b.MaxActions, forced)})
	}
	for _, kind := range slices.Sorted(maps.Keys(lookups)) {
		if l := lookups[kind]; b.exceeds(l.Missing, l.Asked, b.MaxMissingPercent) {
			tripped := cleanup.Tripped{Limit: "MAX_MISSING_PERCENT", Of: kind, Due: l.Missing, All: l.Asked, Most: b.MaxMissingPercent}
			tripped.Lift, tripped.Text = LiftAll, fmt.Sprintf(
				"MAX_MISSING_PERCENT: %d of %d %s looked up (%.1f %%) do not exist, but at most %d %% may be missing: make sure that this is the right database (FIRESTORE_DATABASE), "+
					"then raise MAX_MISSING_PERCENT (Terraform: safety_limits.max_missing_percent) or %s",
				l.Missing, l.Asked, kind, 100*float64(l.Missing)/float64(l.Asked), b.MaxMissingPercent, forced)
			e.Tripped = append(e.Tripped, tripped)
		}
	}
	if len(e.Tripped) > 0 {
		return &e
	}
	return nil
}

// exceeds reports whether part is a larger share of all than so many percent, of enough to tell.
func (b Limits) exceeds(part, all, percent int) bool {
	return all >= b.MinLookups && part*100 > percent*all
}
