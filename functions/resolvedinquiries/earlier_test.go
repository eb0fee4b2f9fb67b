package resolvedinquiries

import (
	"fmt"
	"testing"

	"github.com/firesweep/firesweep/shared/sweep"
	"github.com/firesweep/firesweep/shared/sweep/sweeptest"
)

// TestArchiveThatIsThereAlready restores an inquiry three times, as docs/jobs.md says how, and has it archived again each time.
func TestArchiveThatIsThereAlready(t *testing.T) {
	f := newFunction(t)
	const archive, undatedArchive = "archivedInquiries/i1", "archivedInquiries/i1/earlier/undated"
	f.Set(t, archive, map[string]any{"from": "elsewhere", "archivedAt": "yesterday"})
	f.Set(t, undatedArchive, map[string]any{"from": "even earlier"})
	want := map[string]map[string]any{"undated": {"from": "even earlier"}, "undated-2": {"from": "elsewhere", "archivedAt": "yesterday"}}
	for n := range 3 {
		data := inquiry(8 * day)
		data["n"] = int64(n)
		f.Set(t, "inquiries/i1", data)
		f.Set(t, "inquiries/i1/messages/m", message(n))
		sweeptest.WantReport(t, f.Run(t, ""), sweep.Completed, archivedOnce)
		data["archivedAt"], data["messages"] = f.Now, []any{message(n)}
		sweeptest.Want(t, fmt.Sprintf("archive %d", n), data, f.Documents(t, "archivedInquiries")["i1"])
		sweeptest.Want(t, fmt.Sprintf("earlier archives, round %d", n), want, f.Documents(t, archive+"/earlier"))
		name := "2026-01-10T18:00:00Z"
		if n == 1 { // at the same instant
			name += "-2"
		}
		want[name] = data
		wantIDs(t, f, "inquiries/i1/messages")
	}
}

// TestArchiveInPartsThatIsThereAlready has archives with messages of their own, more than a batch, before one and before another
// that has its own messages too.
func TestArchiveInPartsThatIsThereAlready(t *testing.T) {
	for name, large := range map[string]bool{"before one document": false, "before another in parts": true} {
		t.Run(name, func(t *testing.T) {
			f := newFunction(t)
			messages := map[string]map[string]any{"m": message(1)}
			if large {
				messages = setLarge(t, f)
			} else {
				f.Set(t, "inquiries/i1", inquiry(8*day))
				f.Set(t, "inquiries/i1/messages/m", message(1))
			}
			old := map[string]any{"archivedAt": now.Add(-30 * day), "messagesInSubcollection": true}
			f.Set(t, "archivedInquiries/i1", old)
			others := map[string]map[string]any{}
			for i := range 60 {
				others[fmt.Sprintf("a%02d", i)] = message(i)
			}
			f.SetMany(t, 60, func(i int) (string, map[string]any) {
				return fmt.Sprintf("archivedInquiries/i1/messages/a%02d", i), message(i)
			})
			sweeptest.WantReport(t, f.Run(t, ""), sweep.Completed, archivedOnce)
			const earlier = "archivedInquiries/i1/earlier"
			at := "2025-12-11T18:00:00Z"
			sweeptest.Want(t, "earlier archives", map[string]map[string]any{at: old}, f.Documents(t, earlier))
			sweeptest.Want(t, "their messages", others, f.Documents(t, earlier+"/"+at+"/messages"))
			if large {
				wantInParts(t, f, messages)
				return
			}
			sweeptest.Want(t, "archive", []any{message(1)}, f.Documents(t, "archivedInquiries")["i1"]["messages"])
			wantIDs(t, f, "archivedInquiries/i1/messages")
		})
	}
}
