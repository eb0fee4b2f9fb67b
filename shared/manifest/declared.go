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

// derive sets what follows from the rule: roles, and the indexes of its queries.
func (e *Entry) derive() {
	e.Zone = e.TimeZone
	e.deriveRoles()
	e.Indexes = indexes(*e.Rule)
}
