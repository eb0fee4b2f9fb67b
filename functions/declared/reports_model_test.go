package declared_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	model "github.com/firesweep/firesweep/shared/engine/enginetest/modeltest"
)

// reportsAfterRun is cleanupReports, by its rules.
func reportsAfterRun(w model.World, now time.Time) model.World {
	w = w.Clone()
	for id, report := range w.In("reports") {
		created, dated := report["createdAt"].(time.Time)
		if (report["status"] == "reviewed" || report["status"] == "dismissed") && dated && created.Year() > 1970 && created.Before(model.MonthsAgo(now, 1)) {
			delete(w.Documents, "reports/"+id)
		}
	}
	return w
}

func TestReportsModel(t *testing.T) {
	t.Parallel()
	f := enginetest.New(t, functions.New(functions.Registered()["cleanupReports"]))
	job := model.Job{
		Pair:  enginetest.Pair{Function: f},
		After: func(_ *rapid.T, w model.World, _ map[string]bool) model.World { return reportsAfterRun(w, f.Now) },
	}
	job.Check(t, func(rt *rapid.T) model.World {
		f.Now = model.Now(rt)
		w := model.NewWorld()
		report := model.Fields{
			"status": model.OneOf("reviewed", "dismissed", "pending", "reviewed", "dismissed", "Reviewed", "", nil, model.Missing, int64(1), []any{"reviewed"}),
			"createdAt": rapid.OneOf(model.OneOf(math.NaN(), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), []byte{0}),
				model.Around(model.MonthsAgo(f.Now, 1), f.Now, f.Now.AddDate(0, 0, -30), f.Now.AddDate(0, -1, 0)), model.Around(model.MonthsAgo(f.Now, 1), f.Now)),
			"reason": model.OneOf("スパム"),
		}
		for n := range model.Items {
			path := rapid.SampledFrom([]string{"reports/", "reports/", "reports/", "reports/", "reportsx/", "archive/x/reports/"}).Draw(rt, "path")
			id := model.ID(rt, fmt.Sprint(n))
			if n%20 == 0 {
				id += strings.Repeat("x", 1500-len(id))
			}
			w.Documents[path+id] = report.Draw(rt, "report")
		}
		return w
	})
}
