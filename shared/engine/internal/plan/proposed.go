package plan

import "github.com/firesweep/firesweep/shared/documents"

// maxProposed is how many items a run remembers to have proposed.
const maxProposed = 100_000

// proposed remembers items of rules, a bounded number of them. One that is forgotten and proposed again is looked at again: no
// harm is done.
type proposed map[proposedItem]bool

type proposedItem struct {
	rule string
	ref  documents.Ref
}

// add reports whether an item is not among those remembered, and remembers it.
func (p *proposed) add(rule string, ref documents.Ref) (isNew bool) {
	item := proposedItem{rule, ref}
	if (*p)[item] {
		return false
	}
	if *p == nil || len(*p) >= maxProposed {
		*p = proposed{}
	}
	(*p)[item] = true
	return true
}
