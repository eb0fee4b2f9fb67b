package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPrices: the page says what is measured, by the prices, and whoever measures again is told to write it again.
func TestPrices(t *testing.T) {
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
	check := func(docs string, check bool) error {
		pages, err := pricePage(docs)
		if err != nil {
			return err
		}
		return write(pages, docs, check)
	}
	lab("2000")
	if err := check(docs, true); err == nil {
		t.Error("a page that is not there is not missed")
	}
	if err := check(docs, false); err != nil {
		t.Fatal(err)
	}
	if err := check(docs, true); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(filepath.Join(docs, "prices.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| multi-region | nam5, eur3 | $0.06 | $0.18 | $0.02 |",
		"| `cleanupReports` | 30 | 1000 and 3 | $0.02 | $0.01 | $0.0091 |",
		"| `cleanupReports` | reports | 200000 | 0 | 100000 | 0 | $0.14 | $0.10 | $0.07 |",
		"| `cleanupOrphanedMedia` | live | 10000 | 0 | 0 | 1100 | $0.02 | $0.01 | $0.0085 |",
		"| soft delete for 7 days, of a TiB of files a month | $6.21 | $8.36 | $4.78 |",
		"| soft delete for 30 days | $26.62 | $35.84 | $20.48 |",
		"| point-in-time recovery, of a TiB changed or deleted | $43.01 | $53.76 | $35.84 |",
		"| undo of a million documents | $2.41 | $1.81 | $1.20 |",
		"| undo of a million files | $10.82 | $5.82 | $5.81 |",
	} {
		if strings.Count(string(text), want) != 1 {
			t.Errorf("no line %q in\n%s", want, text)
		}
	}
	lab("3000")
	if err := check(docs, true); err == nil || !strings.Contains(err.Error(), "out of date: run go run ./scripts/pages") {
		t.Errorf("%v", err)
	}
}

// TestRegret: the page is what the command writes.
func TestRegret(t *testing.T) {
	t.Parallel()
	pages, err := regretPage("../../docs")
	if err != nil {
		t.Fatal(err)
	}
	if err := write(pages, "../../docs", true); err != nil {
		t.Error(err)
	}
}

// TestJudge: a rule of 30 days deletes an item once, and regrets it if somebody comes back to it later.
func TestJudge(t *testing.T) {
	for name, c := range map[string]struct {
		item
		want outcome
	}{
		"forgotten":            {item{}, outcome{deleted: 1, waiting: 30. / 365}},
		"needed in time":       {item{longest: 30}, outcome{deleted: 1, waiting: 30. / 365}},
		"needed later":         {item{longest: 30.01}, outcome{deleted: 1, regretted: 1}},
		"deleted by its owner": {item{longest: 30, finished: true}, outcome{}},
		"deleted before that":  {item{longest: 30.01, finished: true}, outcome{deleted: 1, regretted: 1}},
	} {
		if got := judge([]item{c.item}, 30); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
