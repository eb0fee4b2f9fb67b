package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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

// ruleFile is the file of an application's rules, to which rules are added.
type ruleFile struct {
	name  string
	root  *hujson.Value
	own   []manifest.Entry // those that it has
	taken []string         // names, in lower case
}

// openRules reads the file of rules: the one of the flag, or else firesweep.json in this folder or above it, up to the one of
// firebase.json. It need not exist. The error says what is wrong with it.
func (a *app) openRules(name string) (*ruleFile, error) {
	f := &ruleFile{name: name}
	if name == "" {
		f.name = nearest()
	}
	text, err := os.ReadFile(f.name)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = []byte(noRules), nil
	}
	if err != nil {
		return nil, wrongUse("--rules: %w", err)
	}
	root, err := hujson.Parse(text)
	if err != nil {
		return nil, wrongUse("%s: %s: nothing was read or written", f.name, strings.TrimPrefix(err.Error(), "hujson: "))
	}
	f.root = &root
	if root.Value.Kind() != '{' {
		return nil, wrongUse("%s: it is not a JSON object: nothing was read or written", f.name)
	}
	if root.Find("/functions") == nil {
		addMember(f.root, "", "functions", &hujson.Array{})
	}
	all, err := readRules(f.name, f.root)
	if err != nil {
		return nil, a.wrongList(err)
	}
	nine, err := functions.Read(manifest.File{Name: "none", Text: []byte("{}")})
	if err != nil {
		return nil, a.wrongList(err)
	}
	f.own = all[len(nine):]
	for _, e := range all {
		f.take(e.Name)
	}
	return f, nil
}

// readRules checks the text of a list as check does.
func readRules(name string, root *hujson.Value) ([]manifest.Entry, error) {
	plain := root.Clone()
	plain.Standardize()
	return functions.Read(manifest.File{Name: name, Text: plain.Pack()})
}

// nearest returns where firesweep.json is, or would be: beside firebase.json, if there is one here or above.
func nearest() string {
	const name = "firesweep.json"
	for up := ""; len(up) < 3*32; up += "../" {
		if _, err := os.Stat(up + name); err == nil {
			return up + name
		}
		if _, err := os.Stat(up + "firebase.json"); err == nil {
			return up + name
		}
		if at, err := filepath.Abs(up); err != nil || at == filepath.Dir(at) {
			break
		}
	}
	return name
}

func (f *ruleFile) take(name string) { f.taken = append(f.taken, strings.ToLower(name)) }

// with returns an entry as it is read in the file; ok is false if the checks refuse it there.
func (f *ruleFile) with(text string) (e manifest.Entry, ok bool) {
	root := f.root.Clone()
	if err := addRule(&root, text); err != nil {
		return e, false
	}
	all, err := readRules(f.name, &root)
	if err != nil {
		return e, false
	}
	return all[len(all)-1], true
}

// covers reports whether the file has a rule that goes through the same, for a reason of the same kind.
func (f *ruleFile) covers(e manifest.Entry) bool {
	return slices.ContainsFunc(f.own, func(own manifest.Entry) bool {
		return own.Rule != nil && own.Accounts == e.Accounts && (own.Gone != nil) == (e.Gone != nil) &&
			(e.Source() == "" || rule.Same(own.Source(), e.Source()))
	})
}

// addRule appends an entry to the list functions, on lines of its own.
func addRule(root *hujson.Value, text string) error {
	array, isList := root.Find("/functions").Value.(*hujson.Array)
	if !isList {
		return errors.New("functions is not a list")
	}
	element, err := hujson.Parse([]byte(strings.ReplaceAll(text, "\n", "\n"+indent+indent)))
	if err != nil {
		return err
	}
	element.BeforeExtra = ownLine(array.AfterExtra, 2)
	array.Elements, array.AfterExtra = append(array.Elements, element), ownLine(nil, 1)
	return nil
}

// write adds the rules that are to be written, and leaves everything else as it is.
func (f *ruleFile) write(all []proposed) error {
	some := false
	for _, one := range all {
		if !one.Written {
			continue
		}
		some = true
		if err := addRule(f.root, string(one.Rule)); err != nil {
			return fmt.Errorf("%s: %w: nothing was written", f.name, err)
		}
	}
	if !some {
		return nil
	}
	if _, err := readRules(f.name, f.root); err != nil {
		return fmt.Errorf("%s: nothing was written: together, the rules are wrong: %w", f.name, err)
	}
	return os.WriteFile(f.name, f.root.Pack(), 0o644)
}

var (
	pathHole   = regexp.MustCompile(`\{[^{}]*\}`)
	partOfName = regexp.MustCompile(`[A-Za-z0-9]+`)
)

// newName makes the name of an entry from words and paths, such as "Old users/{user}/sessions". It has 30 characters at most.
func (f *ruleFile) newName(words string) string {
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
	for n := 2; slices.Contains(f.taken, strings.ToLower(name)); n++ {
		number := fmt.Sprint(n)
		name = strings.TrimRight(name, "0123456789")
		name = name[:min(len(name), most-len(number))] + number
	}
	return name
}
