package tell

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/logging"
)

// TestManyMayWarn at once, and no warning is lost.
func TestManyMayWarn(t *testing.T) {
	teller := &Teller{Report: &report.Report{}}
	const many, each = 8, 5000
	var all sync.WaitGroup
	for range many {
		all.Go(func() {
			for range each {
				teller.Warn(t.Context(), "odd")
			}
		})
	}
	all.Wait()
	check.Same(t, "warnings", many*each, len(teller.Report.Warnings))
}

// TestForget: a plan that is made once more reports what is wrong once.
func TestForget(t *testing.T) {
	empty := func() *report.Report {
		return &report.Report{Job: "j", Actions: map[string]report.Counts{}, Kept: map[string]int{}, Failures: []report.Failure{}}
	}
	teller := &Teller{Report: empty(), Logger: logging.New(t.Output())}
	teller.Scanned(1)
	teller.Keep("young", 1)
	teller.Name("things/a", "odd", 1)
	teller.Warn(t.Context(), "odd")
	teller.Counted("delete thing", func(c *report.Counts) { c.Planned++ })
	teller.Report.List(report.Planned{Target: "things/b"})
	teller.Report.NotCounted = []string{"things"}
	for i := range 30 { // more than a report holds
		teller.Fail(t.Context(), fmt.Sprint("things/", i), "judge", errors.New("odd"))
	}
	teller.Forget()
	check.Same(t, "report", empty(), teller.Report)
	check.Same(t, "invalid", 0, len(teller.invalid))
}
