package look

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/firesweep/firesweep/shared/documents"
)

// Accounts are accounts of Firebase Authentication.
type Accounts struct {
	Listed  int  `json:"listed"`
	AtLeast bool `json:"atLeast,omitempty"` // there may be more
	Guests  int  `json:"guests"`            // from an anonymous sign-in and nothing else

	lastActive map[string]time.Time // of guests, by uid
	owners     []string             // collections whose documents have the uids of accounts
	there      map[string]bool      // guests of the sample who have a document there
	looked     map[string]bool      // guests of the sample
}

// accounts lists the first accounts.
func (l *looker) accounts(ctx context.Context) error {
	if l.Accounts == nil {
		return nil
	}
	a := &Accounts{lastActive: map[string]time.Time{}}
	pages := 0
	for page, err := range l.Accounts.Pages(ctx, "") {
		if err != nil {
			return err
		}
		for _, account := range page.Accounts {
			a.Listed++
			if !account.Anonymous() {
				continue
			}
			a.Guests++
			if at, ok := account.LastActive(); ok {
				a.lastActive[account.UID] = at
			}
		}
		if pages++; pages == AccountPages {
			a.AtLeast = page.Next != ""
			break
		}
	}
	l.found.Accounts = a
	return nil
}

// guests looks for the documents of guests, some of them if they are many.
func (l *looker) guests(ctx context.Context) error {
	a := l.found.Accounts
	if a == nil || a.Guests == 0 {
		return nil
	}
	a.owners, a.looked, a.there = l.owners(), map[string]bool{}, map[string]bool{}
	some := slices.Sorted(maps.Keys(a.lastActive))
	if len(a.owners) > 0 {
		some = spread(some, mostLinked)
	}
	for _, owners := range a.owners {
		there, all, err := l.existing(ctx, owners, some)
		if err != nil {
			return err
		}
		if !all {
			return nil // nothing is known of any guest then, so nothing is proposed
		}
		maps.Copy(a.there, there)
	}
	for _, uid := range some {
		a.looked[uid] = true
	}
	return nil
}

// validOwner reports whether a part of a file's name can be an id.
func validOwner(id string) bool { return documents.ValidID(id) }
