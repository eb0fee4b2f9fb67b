package sampledata

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/firesweep/firesweep/shared/manifest"
)

// Examples returns the entries of the rules in a folder such as docs/examples, in the order of the files' names.
func Examples(folder string) ([]manifest.Entry, error) {
	texts, err := ExampleTexts(folder)
	if err != nil {
		return nil, err
	}
	return manifest.ParseRules(manifest.File{Name: folder, Text: []byte(`{"rules":[` + strings.Join(texts, ",") + `]}`)})
}

// ExampleTexts returns the text of each rule in the files of a folder, as a user would paste it.
func ExampleTexts(folder string) (texts []string, err error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("%s has %d examples: %w", folder, len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read an example: %w", err)
		}
		var list struct{ Rules []json.RawMessage }
		if text, err = hujson.Standardize(text); err == nil {
			err = json.Unmarshal(text, &list)
		}
		if err != nil {
			return nil, fmt.Errorf("read the example %s: %w", file, err)
		}
		for _, rule := range list.Rules {
			texts = append(texts, string(rule))
		}
	}
	return texts, nil
}
