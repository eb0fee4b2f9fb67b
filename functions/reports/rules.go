package reports

import (
	"fmt"
	"slices"
	"time"

	"github.com/firesweep/firesweep/shared/retention"
	"github.com/firesweep/firesweep/shared/sweep"
)

// retentionMonths is how long a settled report is kept after its creation, in calendar months.
const retentionMonths = 1

// settledStatuses are the statuses of a report that an administrator has dealt with. Any other, "pending" above all, is
// never deleted.
var settledStatuses = []string{"reviewed", "dismissed"}

// cutoff returns the instant before which a settled report must have been created to be deleted.
func cutoff(now time.Time) time.Time { return retention.MonthsBefore(now, retentionMonths) }

// judge decides about one report.
func judge(report sweep.Subject, run sweep.Run) sweep.Decision {
	status, _ := report.Text("status")
	created, dated := report.Time("createdAt")
	switch {
	case !slices.Contains(settledStatuses, status):
		return sweep.Keep(keptUnsettled)
	case !dated:
		return sweep.Invalid(keptUndated)
	case !created.Before(cutoff(run.Now)):
		return sweep.Keep(keptYoung)
	}
	return sweep.Do("delete report", fmt.Sprintf("%s, created %s, older than 1 month", status, created.UTC().Format(time.RFC3339)))
}

// Reasons to keep a report.
const (
	keptUnsettled = "status is neither reviewed nor dismissed"
	keptUndated   = "createdAt is missing or not a timestamp"
	keptYoung     = "not older than 1 month"
)
