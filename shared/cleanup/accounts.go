package cleanup

import "github.com/firesweep/firesweep/shared/accounts"

// AccountRule says which accounts of Authentication are deleted. The engine judges each account twice with the same functions:
// while planning, and right before the deletion.
type AccountRule struct {
	// Judge decides about an account by its attributes in Authentication; it is pure.
	Judge func(a accounts.Account, run Run) Decision
	// Keepers are documents. An account that is due is kept while one of them exists.
	Keepers []Keeper
	Limit   int // how many a run deletes at most; 0: any number
}

// Keeper says which document keeps an account.
type Keeper struct {
	Collection string
	ID         func(uid string) string // it must be valid for accounts that are due
	Reason     string                  // why the account is kept
}

// Considered says what happened to accounts that were considered.
type Considered struct {
	Due     int                // proposed, or left for a later run because of the rule's limit
	Left    bool               // some were left
	Lookups map[string]Lookups // of the keepers, by collection
}
