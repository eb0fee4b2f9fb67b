package manifest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/firesweep/firesweep/shared/version"
)

// LockName returns the name of the lock file of a list: rules.lock.json for rules.json.
func LockName(list string) string { return strings.TrimSuffix(list, ".json") + ".lock.json" }

// Lock returns the text of the lock file of a list of rules, from which Terraform deploys them. It has a complete entry for each
// rule that is deployed, those of functions/manifest.json included. The error names every problem of the two lists. Terraform
// takes the file only for functions of the same version: others may refuse more rules, and then none starts, or derive
// something else.
func Lock(manifest, rules File) ([]byte, error) {
	all, err := Parse(manifest, rules)
	if err != nil {
		return nil, err
	}
	lock := struct {
		About     string           `json:"about"`
		Version   string           `json:"version"`           // [version.Lock]
		Rules     string           `json:"rules"`             // the digest of the list
		Manifest  string           `json:"manifest"`          // that of functions/manifest.json, with which the list was checked
		Enabled   []string         `json:"enabled,omitempty"` // of the jobs that are no rules of the list, those that it enables
		Functions map[string]Entry `json:"functions"`
	}{
		About:   "Written by firesweep check --write for Terraform. Do not edit it.",
		Version: version.Lock, Rules: digest(rules.Text), Manifest: digest(manifest.Text),
		Functions: map[string]Entry{},
	}
	for _, e := range all {
		if e.Used && !e.Own && e.Trigger == Schedule {
			lock.Enabled = append(lock.Enabled, e.Name)
		}
		if e.Rule != nil {
			e.Rule = nil // Terraform needs only what follows from it
			lock.Functions[e.Name] = e
		}
	}
	text, err := json.MarshalIndent(lock, "", "  ")
	return append(text, '\n'), err
}

// digest returns the SHA-256 of a text. Line ends count as LF, because Git on Windows may check the text out with CRLF.
func digest(text []byte) string {
	sum := sha256.Sum256(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")))
	return hex.EncodeToString(sum[:])
}
