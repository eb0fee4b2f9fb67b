package inactiveprojects

import (
	"errors"
	"fmt"
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

const (
	onField     = "delete_inactive_projects"
	warnField   = "inactive_projects_send_warning_email_after_months"
	deleteField = "inactive_projects_delete_after_months"
	sizeField   = "inactive_projects_min_size_mb"
)

// settingsOf reads the settings strictly, because nothing may be done by a guess: the error says everything that is wrong. A
// missing document means that the feature is off, as does a missing switch.
func settingsOf(d documents.Document) (settings, error) {
	var problems []error
	expect := func(ok bool, field, must string, args ...any) {
		if !ok {
			must = fmt.Sprintf(must, args...)
			problems = append(problems, fmt.Errorf("%s is %s: it must be %s", field, shown(d.Data[field]), must))
		}
	}
	on, isSwitch := d.Data[onField].(bool)
	expect(isSwitch || d.Data[onField] == nil, onField, "true or false")
	if !on {
		return settings{}, errors.Join(problems...)
	}
	warnAfter, ok := d.Whole(warnField)
	if ok = ok && warnAfter >= 1 && warnAfter < maxMonths; !ok {
		warnAfter = 0
	}
	expect(ok, warnField, "a whole number from 1 to %d", maxMonths-1)
	deleteAfter, ok := d.Whole(deleteField)
	expect(ok && deleteAfter > warnAfter && deleteAfter <= maxMonths, deleteField,
		"a whole number from %d to %d", warnAfter+1, maxMonths)
	size, ok := d.Number(sizeField)
	expect(ok && size >= 0 || d.Data[sizeField] == nil, sizeField, "a number, 0 or more")
	if len(problems) > 0 {
		return settings{}, errors.Join(problems...)
	}
	return settings{int(warnAfter), int(deleteAfter), size}, nil
}

// shown returns what a message says of a setting: a number, but of anything else, which may be long or confidential, its type.
func shown(value any) string {
	switch value.(type) {
	case int64, float64:
		return fmt.Sprint(value)
	case nil:
		return "missing"
	case string:
		return "a string"
	}
	return "neither a number nor a string"
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
