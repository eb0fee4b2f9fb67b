package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPage: the page says what is measured, by the prices, and whoever measures again is told to write it again.
func TestPage(t *testing.T) {
	t.Parallel()
	docs := t.TempDir()
	if err := os.Mkdir(filepath.Join(docs, "performance"), 0o755); err != nil {
		t.Fatal(err)
	}
	lab := func(reads string) {
		t.Helper()
		text := `[
			{"Case": "reports", "Job": "cleanupReports", "Items": 0, "Usage": {"firestoreReads": 1000, "firestoreWrites": 3}},
			{"Case": "reports", "Job": "cleanupReports", "Items": 10, "Done": 10, "Usage": {"firestoreReads": 9999}},
			{"Case": "reports", "Job": "cleanupReports", "Items": 1000, "Done": 1000, "Usage": {"firestoreReads": ` + reads + `, "firestoreDeletes": 1000}},
			{"Case": "live", "Job": "cleanupOrphanedMedia", "Items": 500000, "Usage": {"firestoreReads": 5000, "storageClassA": 550}}]`
		if err := os.WriteFile(filepath.Join(docs, "performance", "usage.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lab("2000")
	if err := run(docs, true); err == nil {
		t.Error("a page that is not there is not missed")
	}
	if err := run(docs, false); err != nil {
		t.Fatal(err)
	}
	if err := run(docs, true); err != nil {
		t.Error(err)
	}
	page, err := os.ReadFile(filepath.Join(docs, "prices.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| multi-region | nam5, eur3 | $0.06 | $0.18 | $0.02 |",
		"| `cleanupReports` | 30 | 1000 and 3 | $0.02 | $0.0091 |",
		"| `cleanupReports` | reports | 200000 | 0 | 100000 | 0 | $0.14 | $0.07 |",
		"| `cleanupOrphanedMedia` | live | 10000 | 1100 | $0.02 | $0.0085 |",
	} {
		if strings.Count(string(page), want) != 1 {
			t.Errorf("no line %q in\n%s", want, page)
		}
	}
	lab("3000")
	if err := run(docs, true); err == nil || !strings.Contains(err.Error(), "out of date: run go run ./scripts/pricepage") {
		t.Errorf("%v", err)
	}
}
