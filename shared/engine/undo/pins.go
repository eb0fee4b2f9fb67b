package undo

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/firesweep/firesweep/shared/documents"
)

// PinnedIn is the collection that says what every job keeps: what came back by undoing a run, and what an operator pinned.
const PinnedIn = "cleanupJobs/pins/pinned"

// Pinned is a document of that collection.
type Pinned struct {
	Targets []string  `json:"targets"` // as plans name them; gs://bucket/folder/ is all that is in a folder
	With    []string  `json:"with"`    // what is pinned and released with one of them, as [With] puts it
	Why     string    `json:"why"`
	By      string    `json:"by"` // who pinned it; empty: not known
	At      time.Time `json:"at"`
	RunID   string    `json:"runId"` // of the run that was taken back; empty: none was
}

// PinnedOf reads a document of that collection. An error says that this program did not write it.
func PinnedOf(d documents.Document) (Pinned, error) {
	var p Pinned
	text, err := json.Marshal(d.Data) // in which the fields have the same names
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err == nil && (p.Targets == nil || slices.Contains(p.All(), "")) {
		err = errors.New("it names nothing")
	}
	if err != nil {
		return Pinned{}, fmt.Errorf("%s does not say what is pinned: look at it and delete it: %w", d.Path, err)
	}
	return p, nil
}

// All returns the targets that the document names, with those that are pinned with them.
func (p Pinned) All() []string {
	all := slices.Clone(p.Targets)
	for _, text := range p.With {
		something, _ := CutWith(text)
		all = append(all, something)
	}
	return all
}

// Bounds of one document of that collection. It names many targets, so that a run reads them at the price of few reads.
const (
	MaxPinned      = 500
	MaxPinnedBytes = 500 << 10
)

// Reasons of a run to keep what is pinned.
const (
	KeptPinned     = "pinned, until it is released with firesweep release"
	KeptWithPinned = "something pinned goes with it, until that is released with firesweep release"
)

// HolderPrefix precedes the id of the run that is taken back, in the lease that an undo holds.
const HolderPrefix = "undo-"

// The fields of [Pinned.Targets] and [Pinned.With].
const (
	TargetsField = "targets"
	WithField    = "with"
)

// With returns how [Pinned.With] names something that is pinned with a target: as JSON, for a document's id may hold any separator.
func With(something, target string) string {
	text, _ := json.Marshal([]string{something, target})
	return string(text)
}

// CutWith returns what [With] put together; nothing of another text.
func CutWith(text string) (something, target string) {
	var both [2]string
	_ = json.Unmarshal([]byte(text), &both)
	return both[0], both[1]
}

const (
	objectPrefix  = "gs://"
	accountPrefix = "account "
)

// CheckTarget returns an error unless a target is a document's path, gs://bucket/name, gs://bucket/folder/ or "account UID".
func CheckTarget(target string) error {
	bucket, name, isObject := strings.Cut(strings.TrimPrefix(target, objectPrefix), "/")
	switch {
	case strings.HasPrefix(target, objectPrefix):
		if !isObject || bucket == "" || name == "" {
			return fmt.Errorf("%q is no object and no folder, such as gs://my-bucket/posts/u1/a.png or gs://my-bucket/posts/u1/", target)
		}
	case strings.HasPrefix(target, accountPrefix):
		if len(target) == len(accountPrefix) {
			return fmt.Errorf("%q is no account, such as 'account UID'", target)
		}
	default:
		if _, err := documents.RefOf(target); err != nil {
			return fmt.Errorf("%q is no document's path such as reports/abc, no gs://bucket/name and no 'account UID'", target)
		}
	}
	return nil
}

// Pins are the things that are pinned. The zero value has none.
type Pins struct {
	themselves map[string]bool
	above      map[string]bool // what they belong to
}

// Add adds a target.
func (p *Pins) Add(target string) {
	if p.themselves == nil {
		p.themselves, p.above = map[string]bool{}, map[string]bool{}
	}
	p.themselves[target] = true
	for _, higher := range above(target) {
		p.above[higher] = true
	}
}

// Any reports whether anything is pinned.
func (p Pins) Any() bool { return len(p.themselves) > 0 }

// Keep reports whether a target is pinned, or belongs to something that is: to a document above it, or to a folder.
func (p Pins) Keep(target string) bool {
	if !p.Any() {
		return false
	}
	if p.themselves[target] {
		return true
	}
	for _, higher := range above(target) {
		if p.themselves[higher] {
			return true
		}
	}
	return false
}

// Within reports whether something pinned belongs to a target.
func (p Pins) Within(target string) bool { return p.above[target] }

// In returns how many documents of a collection are pinned or have something pinned below them.
func (p Pins) In(collection string) (n int) {
	for target := range p.themselves {
		if path.Dir(target) == collection && !p.above[target] {
			n++
		}
	}
	for target := range p.above {
		if path.Dir(target) == collection {
			n++
		}
	}
	return n
}

// above returns the documents that a document is below, or the folders that an object or a folder is in.
func above(target string) (all []string) {
	if strings.HasPrefix(target, accountPrefix) {
		return nil
	}
	begin, document := 0, true
	if strings.HasPrefix(target, objectPrefix) {
		begin, document = len(objectPrefix), false
	}
	for i, slashes := begin, 0; i < len(target)-1; i++ {
		if target[i] != '/' {
			continue
		}
		switch slashes++; {
		case !document:
			all = append(all, target[:i+1])
		case slashes%2 == 0:
			all = append(all, target[:i])
		}
	}
	return all
}
