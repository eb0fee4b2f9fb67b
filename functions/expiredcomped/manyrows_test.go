package expiredcomped

import (
	"fmt"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"

	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// TestManyRowsOfOneMember is a member with 420 expired rows, which take two commits of at most 400. Rows that stay lie before them,
// among them and behind them, or are given before the last commit.
func TestManyRowsOfOneMember(t *testing.T) {
	for name, tt := range map[string]struct{ stays, given string }{ // a row that never expires
		"none stays":          {},
		"the first stays":     {stays: "a"},
		"one in the middle":   {stays: "r0210x"},
		"the last stays":      {stays: "z"},
		"one is given before": {given: "a"},
		"one is given behind": {given: "z"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFunction(t)
			const n = 420
			f.Set(t, "members/m", member("comped"))
			if tt.stays != "" {
				f.Set(t, "members_products/"+tt.stays, row("m", nil))
			}
			f.SetMany(t, n, func(i int) (string, map[string]any) {
				return fmt.Sprintf("members_products/r%04d", i), row("m", yesterday.Add(-time.Duration(i)*time.Hour))
			})
			given := false
			f.OnCommit(func(_ int, c *firestorepb.CommitRequest, send func() error) error {
				err := send()
				if len(c.GetWrites()) >= 399 && tt.given != "" && !given {
					given = true
					f.Set(t, "members_products/"+tt.given, row("m", nil))
				}
				return err
			})
			got := f.Run(t, "")
			enginetest.WantReport(t, got, report.Completed, enginetest.Done(kind, 1))
			enginetest.Want(t, "lines", removedLine(n, min(1, len(f.Documents(t, "members_status_events"))), got), ownLines(t, f)[1])
			want, stays := world{"members/m": member("comped")}, tt.stays+tt.given
			if stays != "" {
				want["members_products/"+stays] = row("m", nil)
			} else {
				want = want.Changed("members/m", map[string]any{"status": "free", "updated_at": now})
			}
			for id, data := range f.Documents(t, "members_status_events") {
				want["members_status_events/"+id] = data
			}
			want.Is(t, f)
			enginetest.Want(t, "documents, with an event of a member made free", 2, len(want))
		})
	}
}

// TestRowsThatStayBeforeThoseThatGo is a member whose rows that stay alone are more than one commit looks at.
func TestRowsThatStayBeforeThoseThatGo(t *testing.T) {
	f := newFunction(t)
	w := world{"members/m": member("comped")}
	for i := range 450 {
		w[fmt.Sprintf("members_products/r%03d", i)] = row("m", nil)
	}
	w.With(world{"members_products/x": row("m", yesterday)}).Write(t, f)
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done(kind, 1))
	w.Is(t, f)
}
