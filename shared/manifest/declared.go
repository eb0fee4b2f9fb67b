package manifest

import "github.com/firesweep/firesweep/shared/config"

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
	for _, i := range indexes(*r) {
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
