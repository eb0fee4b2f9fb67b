package inactiveprojects

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/retention"
)

// settings are what application_settings/current says of inactive projects.
type settings struct {
	enabled     bool
	deleteAfter int     // months
	warnAfter   int     // months, less than deleteAfter
	minSize     float64 // MiB: only larger projects are looked at
}

var settingsRef = documents.Ref{Collection: "application_settings", ID: "current"}

// maxMonths keeps dates within what Firestore can hold.
const maxMonths = 1200

// inWords returns a number as it is, and of everything else, which may be long or confidential, only what it is.
func inWords(value any) string {
	switch value.(type) {
	case int64, float64:
		return fmt.Sprint(value)
	case nil:
		return "missing"
	case string:
		return "a text"
	default:
		return "no number"
	}
}

// settingsOf reads the settings. A missing document means that the feature is off, as does a missing switch.
// Settings that are on and invalid are an error: nothing may be deleted by a guess.
func settingsOf(d documents.Document, found bool) (s settings, err error) {
	if !found {
		return settings{}, nil
	}
	switch on := d.Data["delete_inactive_projects"].(type) {
	case nil:
		return settings{}, nil
	case bool:
		s.enabled = on
	default:
		return settings{}, errors.New("delete_inactive_projects must be true or false")
	}
	if !s.enabled {
		return settings{}, nil
	}
	var problems []error
	number := func(field string, valid func(float64) bool, what string) float64 {
		n, ok := numberOf(d.Data[field])
		if !ok || !valid(n) {
			problems = append(problems, fmt.Errorf("%s is %s: it must be %s", field, inWords(d.Data[field]), what))
		}
		return n
	}
	months := func(n float64) bool { return n == math.Trunc(n) && n >= 1 && n <= maxMonths }
	s.warnAfter = int(number("inactive_projects_send_warning_email_after_months", months, "a whole number of months, 1 or more"))
	s.deleteAfter = int(number("inactive_projects_delete_after_months", months, "a whole number of months, 1 or more"))
	if d.Data["inactive_projects_min_size_mb"] != nil {
		s.minSize = number("inactive_projects_min_size_mb", func(n float64) bool { return n >= 0 }, "0 or more")
	}
	if len(problems) == 0 && s.warnAfter >= s.deleteAfter {
		problems = append(problems, fmt.Errorf(
			"inactive_projects_send_warning_email_after_months (%d) must be less than inactive_projects_delete_after_months (%d)", s.warnAfter, s.deleteAfter))
	}
	return s, errors.Join(problems...)
}

func numberOf(v any) (float64, bool) {
	switch n := v.(type) {
	case int64:
		return float64(n), true
	case float64:
		return n, !math.IsNaN(n) && !math.IsInf(n, 0)
	default:
		return 0, false
	}
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
