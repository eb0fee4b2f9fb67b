package manifest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/rule"
)

// defaults are the defaults of an entry that has a rule.
var defaults = map[string]any{
	"description": "A declared rule", "trigger": Schedule, "timeZone": "UTC", "timeoutSeconds": json.Number("540"),
	"memory": "512Mi", "cpu": "1", "retryCount": json.Number("3"),
}

// prepare moves what an entry without a package says in run into the entry, and fills in what it leaves out.
func prepare(entries any) {
	list, _ := entries.([]any)
	for _, one := range list {
		entry, _ := one.(map[string]any)
		if entry == nil || entry["package"] != nil {
			continue
		}
		run, _ := entry["run"].(map[string]any)
		delete(entry, "run")
		maps.Copy(entry, run)
		for key, value := range defaults {
			if _, said := entry[key]; !said {
				entry[key] = value
			}
		}
	}
}

// notDeclared returns the keys of an entry that it must not have with a rule, because they follow from the rule.
func (e Entry) notDeclared() (keys []string) {
	for key, said := range map[string]bool{
		"package": e.Package != "", "roles": e.Roles != nil, "indexes": e.Indexes != nil, "fieldOverrides": e.FieldOverrides != nil,
		"worker": e.Worker != "", "queue": e.Queue != nil,
	} {
		if said {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// marks returns a problem for each mark of warnings that another rule writes, too: nobody would know who was warned of what.
func marks(entries []Entry) (problems []error) {
	for i, e := range entries {
		if e.Rule == nil || e.Warn == nil {
			continue
		}
		for k, other := range entries {
			if i != k && other.Rule != nil && other.writes(e.Warn.Field) && rule.Same(e.At(), other.At()) {
				problems = append(problems, fmt.Errorf("%s: warn.field: %s writes %s in the same documents: give each rule a mark of its own",
					e.Name, other.Name, e.Warn.Field))
			}
		}
	}
	return problems
}

// writes reports whether the entry's rule sets a field, or marks its warnings in it.
func (e Entry) writes(field string) bool {
	_, set := e.Set[field]
	return set || e.Warn != nil && e.Warn.Field == field
}

// AutomaticIndexes returns the indexes that Firestore makes for a field by default.
func AutomaticIndexes() []OverrideIndex {
	return []OverrideIndex{
		{QueryScope: "COLLECTION", Order: "ASCENDING"}, {QueryScope: "COLLECTION", Order: "DESCENDING"},
		{QueryScope: "COLLECTION", ArrayConfig: "CONTAINS"},
	}
}

// AllIndexes returns the indexes that the entry's queries need: the composite ones, and those of single fields that Firestore
// does not make by default.
func (e Entry) AllIndexes() []Index {
	all := slices.Clone(e.Indexes)
	for _, o := range e.FieldOverrides {
		for _, i := range o.Indexes {
			if i.QueryScope == "COLLECTION_GROUP" {
				field := IndexField{FieldPath: o.FieldPath, Order: i.Order, ArrayConfig: i.ArrayConfig}
				all = append(all, Index{CollectionGroup: o.CollectionGroup, QueryScope: i.QueryScope, Fields: []IndexField{field}})
			}
		}
	}
	return all
}

// deriveRoles sets the roles that follow from the rule and, once they are known, from those that it meets.
func (e *Entry) deriveRoles() {
	r := e.Rule
	e.Roles = map[config.Backend][]string{config.Firestore: {"roles/datastore.user"}}
	if r.UsesStorage() {
		e.Roles[config.Storage] = []string{"firesweepObjectCleaner"}
	}
	switch {
	case r.DeletesAccounts(): // the role has the reader's rights, too
		e.Roles[config.Auth] = []string{"firesweepAccountDeleter"}
	case r.ReadsAccounts():
		e.Roles[config.Auth] = []string{"firesweepAccountReader"}
	}
}

// derive sets what follows from the rule: roles, the index of its query, and the exemptions from indexes for fields of the
// bundle's own records.
func (e *Entry) derive() {
	r := e.Rule
	r.Zone = e.TimeZone
	e.deriveRoles()
	for _, i := range r.Indexes() {
		if len(i.Fields) > 1 {
			e.Indexes = append(e.Indexes, i)
			continue
		}
		only := i.Fields[0] // an override replaces the automatic indexes, so it lists them
		e.FieldOverrides = append(e.FieldOverrides, FieldOverride{CollectionGroup: i.CollectionGroup, FieldPath: only.FieldPath,
			Indexes: append(AutomaticIndexes(), OverrideIndex{QueryScope: i.QueryScope, Order: only.Order,
				ArrayConfig: only.ArrayConfig})})
	}
	e.FieldOverrides = append(e.FieldOverrides,
		FieldOverride{CollectionGroup: "cleanupUndo", FieldPath: "*", Indexes: []OverrideIndex{}})
}
