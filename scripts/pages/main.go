// Command pages writes docs/prices.md and docs/regret.md.
//
//	go run ./scripts/pages           # write
//	go run ./scripts/pages --check   # fail if one is out of date
package main

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
)

func main() {
	check := flag.Bool("check", false, "write nothing; fail if a page is out of date")
	docs := flag.String("docs", "docs", "the folder of the pages, in which the lab's figures are in performance/usage.json")
	flag.Parse()
	pages, err := pricePage(*docs)
	regret, unread := regretPage(*docs)
	if err = cmp.Or(err, unread); err == nil {
		maps.Copy(pages, regret)
		err = write(pages, *docs, *check)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "pages: "+err.Error())
		os.Exit(1)
	}
}

// write writes pages to a folder, or only checks that they are there.
func write(pages map[string][]byte, docs string, check bool) error {
	for name, page := range pages {
		path := filepath.Join(docs, name)
		old, err := os.ReadFile(path)
		switch {
		case err == nil && bytes.Equal(old, page):
			continue
		case err != nil && !os.IsNotExist(err):
			return err
		case check:
			return fmt.Errorf("%s is out of date: run go run ./scripts/pages", path)
		}
		if err := os.WriteFile(path, page, 0o644); err != nil { //nolint:gosec // a page for everybody
			return err
		}
	}
	return nil
}
