package sweep

import (
	"fmt"
	"slices"
	"strings"
)

// Limits are the safety limits. They stop a run that is more likely a mistake than a cleanup: a wrong or empty database must
// never empty a bucket. A plan that trips a limit is not applied.
type Limits struct {
	MaxActions        int  // planned actions a run may have, including those done by the runs that it continues
	Done              int  // by the runs that it continues
	MaxMissingPercent int  // of the ids looked up, per kind
	MinLookups        int  // lookups of a kind from which on MaxMissingPercent counts
	Lifted            bool // force: true
}

// Lookups says how many ids of a kind a plan asked for, and how many of them no document has.
type Lookups struct{ Asked, Missing int }

// A LimitError says which safety limits a plan tripped, with the figures and how to lift them.
type LimitError struct{ Tripped []string }

// Error names them.
func (e *LimitError) Error() string { return strings.Join(e.Tripped, "; ") }

// suspicious returns the collections that hold none of the ids looked up in them, in order. Whether such a collection holds
// any document at all must be asked, however few the ids are.
func (b Limits) suspicious(lookups map[string]Lookups) []string {
	var collections []string
	if b.Lifted {
		return nil
	}
	for _, kind := range sortedKeys(lookups) {
		collection, _, _ := strings.Cut(kind, " ")
		if l := lookups[kind]; l.Asked > 0 && l.Asked == l.Missing && !slices.Contains(collections, collection) {
			collections = append(collections, collection)
		}
	}
	return collections
}

// emptyCollection says that ids name a collection without documents.
func emptyCollection(collection, database string) string {
	return fmt.Sprintf("empty collection: %s holds no document at all, yet ids name documents in it: make sure that database %s is the right one "+
		"(FIRESTORE_DATABASE, Terraform: databases) and was not emptied, then run once with {\"force\":true}", collection, database)
}

// Check returns a [*LimitError] if a plan of so many actions, made after these lookups by kind, must not be applied.
func (b Limits) Check(actions int, lookups map[string]Lookups) error {
	if b.Lifted {
		return nil
	}
	var tripped []string
	if actions+b.Done > b.MaxActions {
		before := ""
		if b.Done > 0 {
			before = fmt.Sprintf(", counting %d that the runs it continues have done", b.Done)
		}
		tripped = append(tripped, fmt.Sprintf(
			"MAX_ACTIONS: the plan has more than %d actions%s: see all of it with {\"dryRun\":true,\"force\":true} (firesweep plan --force), "+
				"then raise MAX_ACTIONS (Terraform: safety_limits.max_actions) or run once with {\"force\":true}",
			b.MaxActions, before))
	}
	for _, kind := range sortedKeys(lookups) {
		l := lookups[kind]
		if l.Asked >= b.MinLookups && l.Missing*100 > b.MaxMissingPercent*l.Asked {
			tripped = append(tripped, fmt.Sprintf(
				"MAX_MISSING_PERCENT: %d of %d %s looked up (%.1f %%) do not exist, but at most %d %% may be missing: make sure that this is the right database (FIRESTORE_DATABASE), "+
					"then raise MAX_MISSING_PERCENT (Terraform: safety_limits.max_missing_percent) or run once with {\"force\":true}",
				l.Missing, l.Asked, kind, 100*float64(l.Missing)/float64(l.Asked), b.MaxMissingPercent))
		}
	}
	if len(tripped) > 0 {
		return &LimitError{Tripped: tripped}
	}
	return nil
}
