package retention

import (
	"fmt"
	"testing"
	"time"

	"github.com/firesweep/firesweep/emulator/check"
)

func at(t *testing.T, s string) time.Time {
	t.Helper()
	v, err := time.Parse(time.RFC3339Nano, s)
	check.OK(t, err)
	return v
}

func TestMonthsBefore(t *testing.T) {
	tests := []struct {
		name, now string
		months    int
		want      string
	}{
		{"an ordinary day", "2026-01-10T15:00:00Z", 1, "2025-12-10T15:00:00Z"},
		{"31 March, common year", "2026-03-31T00:00:00Z", 1, "2026-02-28T00:00:00Z"},
		{"31 March, leap year", "2028-03-31T00:00:00Z", 1, "2028-02-29T00:00:00Z"},
		{"30 March, common year", "2026-03-30T23:59:59Z", 1, "2026-02-28T23:59:59Z"},
		{"29 March, common year", "2026-03-29T12:00:00Z", 1, "2026-02-28T12:00:00Z"},
		{"29 February", "2028-02-29T06:07:08.000009Z", 1, "2028-01-29T06:07:08.000009Z"},
		{"29 February, a year back", "2028-02-29T00:00:00Z", 12, "2027-02-28T00:00:00Z"},
		{"1 March", "2026-03-01T00:00:00Z", 1, "2026-02-01T00:00:00Z"},
		{"1 January", "2026-01-01T00:00:00Z", 1, "2025-12-01T00:00:00Z"},
		{"31 December", "2025-12-31T23:59:59.999999Z", 1, "2025-11-30T23:59:59.999999Z"},
		{"31 January crosses the year end", "2026-01-31T00:00:00Z", 1, "2025-12-31T00:00:00Z"},
		{"31 January, two months", "2026-01-31T00:00:00Z", 2, "2025-11-30T00:00:00Z"},
		{"31 May, three months, leap year", "2028-05-31T00:00:00Z", 3, "2028-02-29T00:00:00Z"},
		{"century without a leap day", "2100-03-31T00:00:00Z", 1, "2100-02-28T00:00:00Z"},
		{"no months", "2026-03-31T00:00:00Z", 0, "2026-03-31T00:00:00Z"},
		{"another zone is counted in UTC", "2026-03-31T00:00:00+09:00", 1, "2026-02-28T15:00:00Z"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			check.Same(t, fmt.Sprintf("MonthsBefore(%s, %d)", tt.now, tt.months), at(t, tt.want), MonthsBefore(at(t, tt.now), tt.months))
		})
	}
}

func TestMonthsAfter(t *testing.T) {
	for now, want := range map[string]string{
		"2026-01-28T00:00:00Z": "2026-02-28T00:00:00Z",
		"2026-01-29T00:00:00Z": "2026-02-28T00:00:00Z",
		"2026-01-31T00:00:00Z": "2026-02-28T00:00:00Z",
		"2028-01-31T00:00:00Z": "2028-02-29T00:00:00Z",
		"2025-12-31T10:00:00Z": "2026-01-31T10:00:00Z",
	} {
		check.Same(t, "a month after "+now, at(t, want), MonthsAfter(at(t, now), 1))
	}
}

func TestDaysBeforeIsExactly24Hours(t *testing.T) {
	newYork, err := time.LoadLocation("America/New_York")
	check.OK(t, err)
	// The clocks went forward on 8 March 2026: that local day has 23 hours, a day of retention still 24.
	now := time.Date(2026, 3, 9, 0, 0, 0, 0, newYork)
	check.Same(t, "a day before", now.Add(-24*time.Hour), DaysBefore(now, 1))
	check.Same(t, "a year before", now.Add(-365*24*time.Hour), DaysBefore(now, 365))
}

func TestStamp(t *testing.T) {
	for _, v := range []string{"2026-01-10T15:00:00Z", "2026-01-10T15:00:00.999999Z", "2026-01-11T00:00:00+09:00"} {
		check.Same(t, v, "2026-01-10T15:00:00Z", Stamp(at(t, v)))
	}
}
