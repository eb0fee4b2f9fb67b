package sampledata

import (
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/firesweep/firesweep/shared/manifest"
)

var block = regexp.MustCompile("(?s)```json\n(.*?)```")

// Examples returns the entries in a page such as docs/rules.md, as a user would paste them.
func Examples(page string) ([]manifest.Entry, error) {
	blocks, err := ExampleTexts(page)
	if err != nil {
		return nil, err
	}
	return manifest.ParseRules(manifest.File{Name: page, Text: []byte(`{"rules":[` + strings.Join(blocks, ",") + `]}`)})
}

// ExampleTexts returns the text of each entry in the page.
func ExampleTexts(page string) (blocks []string, err error) {
	text, err := os.ReadFile(page)
	if err != nil {
		return nil, fmt.Errorf("read the examples: %w", err)
	}
	for _, m := range block.FindAllStringSubmatch(string(text), -1) {
		blocks = append(blocks, m[1])
	}
	return blocks, nil
}
