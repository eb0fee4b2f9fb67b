package inactiveprojects

import (
	"time"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/retention"
)

// settings are what application_settings/current says of inactive projects. The zero value says that nothing is to be done.
type settings struct {
	warnAfter   int     // months
	deleteAfter int     // months, more than warnAfter
	minSize     float64 // MiB: only larger projects are looked at
}

var settingsRef = documents.Ref{Collection: "application_settings", ID: "current"}

// maxMonths keeps dates within what Firestore can hold.
const maxMonths = 1200

// settingsOf reads the settings. A missing document means that the feature is off, as does a missing switch.
func settingsOf(d documents.Document) (s settings, err error) {
	fields := strict{Document: d}
	if fields.Bool("delete_inactive_projects") {
		s.warnAfter = fields.Whole("inactive_projects_send_warning_email_after_months", 1, maxMonths-1)
		s.deleteAfter = fields.Whole("inactive_projects_delete_after_months", s.warnAfter+1, maxMonths)
		s.minSize = fields.Number("inactive_projects_min_size_mb", 0)
	}
	if err := fields.Err(); err != nil {
		return settings{}, err
	}
	return s, nil
}

// grace is how many months lie between a warning and the deletion.
func (s settings) grace() int { return s.deleteAfter - s.warnAfter }

// dormantBefore returns the instant before which the last activity of a dormant project was.
func (s settings) dormantBefore(now time.Time) time.Time {
	return retention.MonthsBefore(now, s.warnAfter)
}

// warnedBy returns the instant at or before which a warning must have been given for its grace to be over.
func (s settings) warnedBy(now time.Time) time.Time { return retention.MonthsBefore(now, s.grace()) }

// promise returns the date of deletion that a warning given now promises, in UTC.
func (s settings) promise(now time.Time) string {
	return retention.MonthsAfter(now, s.grace()).Format(time.DateOnly)
}
