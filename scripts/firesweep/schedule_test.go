package main

import (
	"strings"
	"testing"
	"time"

	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/shared/manifest"
)

// newYear is a moment from which runs are counted: the year after it has the days of 23 and of 25 hours.
var newYear = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// TestSkipped: one night a year has no 02:30.
func TestSkipped(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"30 2 * * * Europe/Berlin": "2026-03-29 02:30", "0 2 * * 0 Europe/Berlin": "2026-03-29 02:00", "59 2 * * * America/New_York": "2026-03-08 02:59",
		"0 3 * * * Europe/Berlin": "", "59 1 * * * Europe/Berlin": "", "30 2 * * 1-6 Europe/Berlin": "", "30 2 * * * Asia/Tokyo": "",
		"*/10 * * * * Europe/Berlin": "", "30 */2 * * * Europe/Berlin": "",
	} {
		at, skipped := skipped(scheduledAt(text), newYear)
		if got := at.Format("2006-01-02 15:04"); skipped != (want != "") || skipped && got != want {
			t.Errorf("%s: %s, %t, want %q", text, got, skipped, want)
		}
	}
}

func TestLongest(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"*/10 * * * * UTC": 10 * time.Minute, "0 3 * * * Asia/Tokyo": 24 * time.Hour, "0~59 0~5 * * * UTC": 24 * time.Hour,
		"0 3 * * * Europe/Berlin": 25 * time.Hour, "30 2 * * 1-5 UTC": 72 * time.Hour, "0 3 1 * * UTC": 31 * 24 * time.Hour,
		"0 3 * * 0 UTC": 168 * time.Hour, "0 3 * * 4-6/2 UTC": 120 * time.Hour, "0 3 * * 5~6 UTC": 168 * time.Hour,
	} {
		check.Same(t, text, want, longest(scheduledAt(text), newYear, 400))
	}
}

// scheduledAt returns a job of which a schedule and its time zone are known.
func scheduledAt(text string) manifest.Entry {
	at := strings.LastIndexByte(text, ' ')
	return manifest.Entry{Name: "cleanupThings", Schedule: text[:at], TimeZone: text[at+1:]}
}

// TestEveryScheduleComes: what the list may say, the library reads, and it comes within two months.
func TestEveryScheduleComes(t *testing.T) {
	t.Parallel()
	now, tried := time.Date(2027, 1, 31, 12, 0, 0, 0, time.UTC), 0
	for _, minute := range []string{"0", "*/59", "1,2-5,0-59/7"} {
		for _, hour := range []string{"*", "23", "0-23/23"} {
			for _, day := range []string{"*", "31", "30-31", "29,31", "*/31", "1-31/30"} {
				for _, weekday := range []string{"*", "0", "0-6", "5-6", "1,4-6/2", "*/6", "6-6", "06", "00-06/01"} {
					tried++
					schedule := strings.Join([]string{minute, hour, day, "*", weekday}, " ")
					entries, err := manifest.ParseRules(manifest.File{Name: "rules.json", Text: []byte(`{"rules":[{"name":"cleanupThings",
						"schedule":"` + schedule + `","timeZone":"Europe/Berlin","collection":"a","age":{"field":"at","days":1}}]}`)})
					check.OK(t, err)
					if wait := longest(entries[len(entries)-1], now, 1); wait == 0 || wait > 62*24*time.Hour {
						t.Errorf("%s comes after %s", schedule, wait)
					}
				}
			}
		}
	}
	want(t, "schedules that were tried", 486, tried)
}
