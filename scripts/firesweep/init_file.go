package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/tailscale/hujson"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/scripts/firesweep/look"
	"github.com/firesweep/firesweep/scripts/prices"
	"github.com/firesweep/firesweep/scripts/screen"
	"github.com/firesweep/firesweep/shared/manifest"
	"github.com/firesweep/firesweep/shared/rule"
	"github.com/firesweep/firesweep/shared/version"
)

// noRules is the text of a file without rules.
var noRules = `{
  "$schema": "` + version.File("rules.schema.json") + `",
  "rules": []
}
`

// rulesList is where a file has its rules.
const rulesList = "/rules"

// ruleFile is the file of an application's rules, to which rules are added.
type ruleFile struct {
	name  string // as it is shown
	file  string // as the process opens it
	text  string // as it was read
	root  *hujson.Value
	own   []manifest.Entry // those that it has
	taken []string         // names, in lower case
}

// openRules opens the file of rules, which load has read and checked. It need not exist.
func (a *app) openRules() (*ruleFile, error) {
	f := &ruleFile{name: a.rules, file: a.within(a.rules), text: string(a.text), own: a.Own}
	root, err := hujson.Parse(a.text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.name, err)
	}
	f.root = &root
	if root.Find(rulesList) == nil {
		addMember(f.root, "", "rules", &hujson.Array{})
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
	switch text, err := os.ReadFile(f.file); {
	case errors.Is(err, fs.ErrNotExist) && f.text == noRules:
	case err != nil:
		return err
	case string(text) != f.text:
		return fmt.Errorf("%s is no longer what was read, so nothing was written: try again", f.name)
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

// seen prints what a project holds.
func (p *printer) seen(f *look.Findings, bound *look.Bound) {
	p.Line("")
	if len(f.Collections) > 0 {
		var rows []screen.Row
		for _, c := range f.Collections {
			row := screen.Row{Notes: fieldNotes(c.Fields)}
			row.Cells = []string{c.Path, many(c.Count, !c.About, c.AtLeast), fmt.Sprint(c.Sampled)}
			for _, k := range c.Links {
				row.Notes = append(row.Notes, linkNote(k))
			}
			if c.Missing > 0 {
				row.Notes = append(row.Notes, fmt.Sprintf("of the first names, %d have no document, but collections below them", c.Missing))
			}
			rows = append(rows, row)
		}
		p.Table([]screen.Column{
			{Name: "COLLECTION", Path: true}, {Name: "DOCUMENTS", Right: true}, {Name: "LOOKED AT", Right: true},
		}, rows)
		p.Line("")
	}
	if len(f.Folders) > 0 {
		var rows []screen.Row
		for _, o := range f.Folders {
			row := screen.Row{Cells: []string{o.Name, many(o.Files, true, o.AtLeast), size(o.Bytes), date(o.Oldest), date(o.Newest)}}
			if o.Owner != nil {
				row.Notes = []string{o.Objects + ": " + linkNote(o.Owner)}
			} else {
				row.Notes = []string{"no collection was found whose documents they name"}
			}
			rows = append(rows, row)
		}
		p.Table([]screen.Column{
			{Name: "FOLDER", Path: true}, {Name: "FILES", Right: true}, {Name: "SIZE", Right: true}, {Name: "OLDEST"}, {Name: "NEWEST"},
		}, rows)
		p.Line("")
	}
	if a := f.Accounts; a != nil {
		p.Say("", 2, 2, "%s, %d of them guests (anonymous)", many(a.Listed, true, a.AtLeast)+" accounts", a.Guests)
	}
	for _, text := range f.Unseen {
		p.Say(screen.Yellow, 2, 2, "not looked at: %s", text)
	}
	p.Say("", 2, 2, "%d documents read; nothing was written to the project", bound.Used())
	p.Line("")
}

// many says a count.
func many(n int, exact, atLeast bool) string {
	text := fmt.Sprint(n)
	if atLeast {
		return text + " or more"
	}
	if !exact {
		return "about " + text
	}
	return text
}

func date(at *time.Time) string {
	if at == nil {
		return ""
	}
	return at.UTC().Format(time.DateOnly)
}

// fieldNotes describes fields: all of them by their types in one text, and those that hold times each in its own.
func fieldNotes(fields []look.Field) (notes []string) {
	var plain, dated []string
	for _, f := range fields {
		text := f.Name + " " + cmp.Or(strings.Join(f.Types, " or "), "null")
		if f.Percent < 100 {
			text += fmt.Sprintf(" in %d %%", f.Percent)
		}
		if f.As != nil {
			as := ""
			if f.As[0] != "timestamp" {
				as = ", holds times as " + strings.Join(f.As, " or ") + ":"
			}
			dated = append(dated, fmt.Sprintf("%s%s from %s to %s, half before %s",
				text, as, date(f.Oldest), date(f.Newest), date(f.Middle)))
			continue
		}
		var values []string
		for _, value := range slices.Sorted(maps.Keys(f.Values)) {
			values = append(values, fmt.Sprintf("%.30s: %d", value, f.Values[value]))
		}
		if values != nil {
			text += " (" + strings.Join(values, ", ") + ")"
		}
		plain = append(plain, text)
	}
	const most = 12
	if len(plain) > most {
		plain = append(plain[:most], fmt.Sprintf("%d more", len(plain)-most))
	}
	return append([]string{strings.Join(plain, ", ")}, dated...)
}

// linkNote says what something belongs to.
func linkNote(k *look.Link) string {
	var to []string
	for _, target := range k.To {
		to = append(to, map[string]string{look.Account: "an account", "": "the document above it"}[target])
		if last := &to[len(to)-1]; *last == "" {
			*last = "a document in " + target
		}
	}
	text := fmt.Sprintf("%s names %s: %d of %d gone", k.From, strings.Join(to, " or "), k.Gone, k.Looked)
	switch {
	case k.Odd != "":
		text += fmt.Sprintf(", but %.40q is perhaps nobody's id: nothing is proposed", k.Odd)
	case k.Alive > 0:
		text += fmt.Sprintf(", but %d have an account: nothing is proposed", k.Alive)
	case 2*k.Gone > k.Looked:
		text += ", more than half: nothing is proposed"
	}
	return text
}

// proposed prints a proposal.
func (p *printer) proposed(n int, one proposed) {
	p.Say(screen.Bold, 0, 0, "%d. %s", n, one.Name)
	p.Say("", 2, 0, "%s.", capital(one.Does))
	p.Line("")
	about := "about "
	if one.Due.Exact {
		about = ""
	}
	p.Say("", 2, 10, "%-9s %s%d of %d %s now", "finds", about, one.Due.Items, one.Due.Of, one.things)
	p.Say("", 2, 10, "%-9s %s", "why", one.Why)
	p.Say("", 2, 10, "%-9s now %s; then, each month, %s", "costs", prices.About(one.now), prices.About(one.month))
	if one.Due.Bytes > 0 {
		most, least := one.Saves[prices.Lists[0].Name], one.Saves[prices.Lists[0].Name]
		for _, saved := range one.Saves {
			most, least = max(most, saved), min(least, saved)
		}
		saves := "less than a cent"
		if most >= 0.005 {
			saves = prices.Dollars(least) + " to " + prices.Dollars(most)
		}
		p.Say("", 2, 10, "%-9s %s, %s a month", "saves", size(one.Due.Bytes), saves)
	}
	if one.Index {
		p.Say("", 2, 10, "%-9s it needs one that Firestore does not make by itself: firesweep check says which", "index")
	}
	if 2*one.Due.Items > one.Due.Of {
		p.Say(screen.Red, 2, 0, "THIS DELETES MORE THAN HALF OF ALL THESE %s. READ ITS PLAN BEFORE YOU LET IT RUN.",
			strings.ToUpper(one.things))
	}
	p.Line("")
}

// size says a number of bytes.
func size(n int64) string {
	for _, unit := range []struct {
		name  string
		bytes float64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if float64(n) >= unit.bytes {
			return fmt.Sprintf("%.1f %s", float64(n)/unit.bytes, unit.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}

// notYet names the rules that would find nothing yet.
func (p *printer) notYet(all []proposed) {
	if len(all) == 0 {
		return
	}
	p.Say("", 0, 2, "Not proposed, because nothing is old enough yet (--now +8d looks as of then):")
	for _, one := range all {
		p.Say("", 2, 2, "%s: %s", one.Name, one.Does)
	}
	p.Line("")
}

// initDone says what was written, and what comes next.
func (p *printer) initDone(file string, c *cobra.Command, all []proposed) {
	var written, left []string
	for _, one := range all {
		if one.Written {
			written = append(written, one.Name)
		} else {
			left = append(left, one.Name)
		}
	}
	switch {
	case len(all) == 0:
		p.Say("", 0, 0, "Nothing is proposed: nothing is due that is commonly cleaned up and has no rule in %s yet. "+
			"%s has rules to start from.", file, rulesPage)
	case len(written) == 0:
		p.Say("", 0, 0, "Nothing was written into %s. To write all of these rules add --write, or name those that you want:", file)
		p.Command("firesweep init%s --yes %s", asGiven(c, "project", "rules", "max-reads", "days", "now"), left[0])
	default:
		p.Say("", 0, 0, "%s was written: %s. Nothing is deleted yet. What they would delete, one by one, and why:",
			file, strings.Join(written, ", "))
		p.Command("firesweep plan%s", asGiven(c, "project", "rules", "now"))
	}
}
