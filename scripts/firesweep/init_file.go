package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/manifest"
	"github.com/firesweep/firesweep/shared/rule"
)

// noRules is the text of a file without rules.
const noRules = `{
  "$schema": "https://raw.githubusercontent.com/firesweep/firesweep/main/rules.schema.json",
  "functions": []
}
`

// rulesList is where a file has its rules.
const rulesList = "/functions"

// ruleFile is the file of an application's rules, to which rules are added.
type ruleFile struct {
	name  string // as it is shown
	file  string // as the process opens it
	root  *hujson.Value
	own   []manifest.Entry // those that it has
	taken []string         // names, in lower case
}

// openRules opens the file of rules, which load has read and checked. It need not exist.
func (a *app) openRules() (*ruleFile, error) {
	f := &ruleFile{name: a.rules, file: a.within(a.rules), own: a.Own}
	root, err := hujson.Parse(a.text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.name, err)
	}
	f.root = &root
	if root.Find(rulesList) == nil {
		addMember(f.root, "", "functions", &hujson.Array{})
	}
	for _, e := range a.All {
		f.take(e.Name)
	}
	return f, nil
}

// read checks a list's text as every command does.
func (f *ruleFile) read(root *hujson.Value) (functions.List, error) {
	return functions.With(manifest.File{Name: f.name, Text: root.Pack()})
}

func (f *ruleFile) take(name string) { f.taken = append(f.taken, strings.ToLower(name)) }

// with returns an entry as it is read in the file; ok is false if the checks refuse it there.
func (f *ruleFile) with(text string) (e manifest.Entry, ok bool) {
	root := f.root.Clone()
	if err := appendText(&root, rulesList, text); err != nil {
		return e, false
	}
	list, err := f.read(&root)
	if err != nil {
		return e, false
	}
	return list.Own[len(list.Own)-1], true
}

// covers reports whether the file has a rule that goes through the same, for a reason of the same kind.
func (f *ruleFile) covers(e manifest.Entry) bool {
	return slices.ContainsFunc(f.own, func(own manifest.Entry) bool {
		return own.Rule != nil && own.Accounts == e.Accounts && (own.Gone != nil) == (e.Gone != nil) &&
			(e.Source() == "" || rule.Same(own.Source(), e.Source()))
	})
}

// write adds the rules that are to be written, and leaves everything else as it is.
func (f *ruleFile) write(all []proposed) error {
	some := false
	for _, one := range all {
		if !one.Written {
			continue
		}
		some = true
		if err := appendText(f.root, rulesList, string(one.Rule)); err != nil {
			return fmt.Errorf("%s: %w: nothing was written", f.name, err)
		}
	}
	if !some {
		return nil
	}
	if _, err := f.read(f.root); err != nil {
		return fmt.Errorf("%s: nothing was written: together, the rules are wrong: %w", f.name, err)
	}
	return os.WriteFile(f.file, f.root.Pack(), 0o644)
}

var (
	pathHole   = regexp.MustCompile(`\{[^{}]*\}`)
	partOfName = regexp.MustCompile(`[A-Za-z0-9]+`)
)

// newName makes the name of an entry from words and paths, such as "Old users/{user}/sessions". It has 30 characters at most, and
// is none of those that are taken, in lower case.
func newName(words string, taken []string) string {
	parts := partOfName.FindAllString(pathHole.ReplaceAllString(words, " "), -1)
	const most = 30
	name := "cleanup"
	for i, part := range parts {
		part = strings.ToUpper(part[:1]) + part[1:]
		if i > 0 && i+1 < len(parts) && len(name)+len(strings.Join(parts[i:], "")) > most {
			continue // what it is called at its end says more than what it lies below
		}
		name += part
	}
	name = name[:min(len(name), most)]
	for n := 2; slices.Contains(taken, strings.ToLower(name)); n++ {
		number := fmt.Sprint(n)
		name = strings.TrimRight(name, "0123456789")
		name = name[:min(len(name), most-len(number))] + number
	}
	return name
}
