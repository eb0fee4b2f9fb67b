package decide

import (
	"context"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/cleanup"
)

// Accounts decides about accounts by their attributes and, if they are due, by the documents that may keep them.
func (d *Decider) Accounts(ctx context.Context, rule *cleanup.AccountRule, found []accounts.Account) ([]cleanup.Decision, map[string]cleanup.Lookups, error) {
	decisions, lookups := make([]cleanup.Decision, len(found)), map[string]cleanup.Lookups{}
	for i, a := range found {
		decisions[i] = rule.Judge(a, d.Run)
	}
	for _, k := range rule.Keepers {
		byID := map[string]int{} // of accounts that are due
		var ids []string
		for i, a := range found {
			if decisions[i].Kind != "" {
				id := k.ID(a.UID)
				byID[id], ids = i, append(ids, id)
			}
		}
		missing, err := d.Documents.Missing(ctx, k.Collection, ids)
		if err != nil {
			return nil, nil, err
		}
		for _, id := range missing {
			delete(byID, id)
		}
		for _, i := range byID {
			decisions[i] = cleanup.Keep(k.Reason)
		}
		l := lookups[k.Collection]
		lookups[k.Collection] = cleanup.Lookups{Asked: l.Asked + len(ids), Missing: l.Missing + len(missing)}
	}
	return decisions, lookups, nil
}
