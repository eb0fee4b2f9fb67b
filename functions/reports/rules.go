package reports

import (
	"fmt"
	"slices"
	"time"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/retention"
)

// retentionMonths is how long a settled report is kept after its creation, in calendar months.
const retentionMonths = 1

// settledStatuses are the statuses of a report that an administrator has dealt with. Any other, "pending" above all, is
// never deleted.
var settledStatuses = []string{"reviewed", "dismissed"}

// cutoff returns the instant before which a settled report must have been created to be deleted.
func cutoff(now time.Time) time.Time { return retention.MonthsBefore(now, retentionMonths) }

// judge decides about one report: due for deletion or kept, and why.
func judge(report documents.Document, now time.Time) (due bool, reason string) {
	status, _ := report.Text("status")
	if !slices.Contains(settledStatuses, status) {
		return false, keptUnsettled
	}
	created, ok := report.Time("createdAt")
	if !ok {
		return false, keptUndated
	}
	if !created.Before(cutoff(now)) {
		return false, keptYoung
	}
	return true, fmt.Sprintf("%s, created %s, older than 1 month", status, created.UTC().Format(time.RFC3339))
}

// Reasons to keep a report.
const (
	keptUnsettled = "status is neither reviewed nor dismissed"
	keptUndated   = "createdAt is missing or not a timestamp"
	keptYoung     = "not older than 1 month"
)
