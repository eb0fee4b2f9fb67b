package decide

import (
	"fmt"
	"time"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/digest"
)

// KeptChanged is why a run that is restricted to a plan keeps something that is in the plan.
const KeptChanged = "it was changed since the plan was approved"

// Approves reports whether the approved plan names an item, and whether that is as it was then. Without such a plan, both are
// true.
func (d *Decider) Approves(i *Item) (named, same bool) {
	if d.Approved == nil {
		return true, true
	}
	version, named := d.Approved.Items[i.Action][i.Target]
	return named, version == i.Version
}

// VersionAt is the version of a document that was written then; of one that does not exist, that is the zero time.
func VersionAt(updated time.Time) string { return updated.UTC().Format(time.RFC3339Nano) }

// AccountVersion is that of an account: when it was made and used.
func AccountVersion(a accounts.Account) string {
	return digest.Of(fmt.Sprint(a.Created, a.LastLogin, a.LastRefresh, a.Disabled))
}
