package look

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/declared"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/manifest"
	"github.com/firesweep/firesweep/shared/rule/criteria"
	"github.com/firesweep/firesweep/shared/version"
)

// Proposal is a rule that may be wanted. It has passed the checks that a file of rules must pass.
type Proposal struct {
	Name   string          `json:"name"`
	Rule   json.RawMessage `json:"rule"` // as it stands in the list of a file
	Does   string          `json:"does"`
	Why    string          `json:"why"`
	Looked int             `json:"looked"` // how many documents or files were looked at
	Due    int             `json:"due"`    // how many of these are due now
}

// File returns the text of a file with these rules.
func File(rules ...Proposal) string {
	list := make([]string, len(rules))
	for i, one := range rules {
		list[i] = "\n    " + strings.ReplaceAll(string(one.Rule), "\n", "\n    ")
	}
	schema := version.File("rules.schema.json")
	return fmt.Sprintf("{\n  \"$schema\": %q,\n  \"rules\": [%s\n  ]\n}\n", schema, strings.Join(list, ","))
}

// graceDays is how long ago something must have been written or uploaded whose document does not exist.
const graceDays = 7

// kind is what documents have in common that nobody needs for long.
type kind struct {
	which, why string
	of         *regexp.Regexp // the collection's name; nil: any
	state      *regexp.Regexp // the field that must be true, or a time, and the value of a status; nil: none
	stateless  bool           // the age says the same where there is no such field
	age        *regexp.Regexp // the field that holds the age
	days       int
}

func named(pattern string) *regexp.Regexp { return regexp.MustCompile(`(?i)^(` + pattern + `)$`) }

const (
	when    = `_?(at|on|date|time)`
	deleted = `(is_?)?(deleted|removed|trashed)`
	created = `(created|sent|added|received)` + when + `?|date|time|timestamp`
	changed = `(updated|modified|edited|changed|saved)` + when + `?|last_?(updated?|modified|edited|changed?|saved)` + when + `?`
	taken   = `accepted|answered|joined|used|redeemed|claimed|confirmed|completed|finished|fulfilled|approved|signed|paid|done|` +
		`pinned|featured|highlighted|favou?rite|permanent`
)

var (
	// decided matches fields that say what somebody did with a document, or whether it is still wanted.
	decided = named(`(is_?)?(` + taken + `)(` + when + `|_?by)?|status|state`)
	status  = named(`status|state`)
	// kept matches what the law, a contract or somebody's work keeps.
	kept = regexp.MustCompile(`(?i)order|payment|payout|invoice|receipt|refund|bill|transaction|purchase|booking|` +
		`reservation|contract|subscri|member|licen|insur|certif|ledger|audit|consent|legal|medical|tax|backup|config|setting`)
)

// kinds are all of them, the surest first. Of a collection, the first counts.
var kinds = []kind{
	{which: "Deleted", why: "your application marked them as deleted", state: named(deleted), stateless: true,
		age: named(deleted + when), days: 30},
	{which: "Deleted", why: "your application marked them as deleted", state: named(deleted), age: named(changed), days: 30},
	{which: "Expired", why: "they have expired", age: named(`(expir(es?|ed|y|ation)|valid_?(until|till|to))` + when + `?`),
		days: 30},
	{which: "Read", why: "they have been read", of: named(`\w*(notif|inbox)\w*`),
		state: named(`(is_?)?(read|seen|opened)` + when + `?`), age: named(created), days: 90},
}

// propose proposes rules, the surest first.
func (l *looker) propose() {
	all := l.collections()
	for _, c := range slices.Concat(all, l.folders) {
		if c.owner.certain() {
			l.orphaned(c)
		}
	}
	done := map[*place]bool{}
	for _, k := range kinds {
		for _, c := range all {
			if where, age := k.in(c, l.Now); age != nil && !done[c] {
				keys := []string{ageOf(age, k.days)}
				if done[c] = true; len(where) > 0 {
					keys = append([]string{`"where": [` + strings.Join(where, ", ") + "]"}, keys...)
				}
				l.ofKind(c, k, keys...)
			}
		}
	}
}

// orphaned proposes that what belongs to a document that does not exist is deleted, once it is a few days old.
func (l *looker) orphaned(c *place) {
	o, idOf, age, gone := c.owner, parentOf, `"by": "updateTime", `, []string{"{parent}"}
	why := fmt.Sprintf("%d of %d documents of %s do not exist, but have %s", len(o.gone), o.looked, o.in[0], c.name())
	if c.objects != "" {
		idOf = func(d documents.Document) string { return idIn(c.objects, d.Path) }
		age, gone = "", nil
		for _, in := range o.in {
			gone = append(gone, in+"/{"+criteria.Holes(c.objects)[0]+"}")
		}
		why = fmt.Sprintf("their names have ids of %s, and %d of %d of these do not exist there",
			criteria.List(o.in, "and"), len(o.gone), o.looked)
	}
	p := Proposal{Name: l.nameOf("Orphaned", c.path), Why: why, Looked: len(c.docs)}
	for _, d := range c.docs {
		if o.gone[idOf(d)] && d.UpdateTime.Before(l.Now.AddDate(0, 0, -graceDays)) {
			p.Due++
		}
	}
	document := quoted(gone[0])
	if len(gone) > 1 {
		document = quoted(gone)
	}
	if _, ok := l.check(c, &p, "4 * * 1", fmt.Sprintf(`"age": { %s"days": %d }`, age, graceDays),
		`"gone": [{ "document": `+document+` }]`); ok {
		l.found.Proposals = append(l.found.Proposals, p)
	}
}

// ofKind proposes that a collection's documents of a kind are deleted.
func (l *looker) ofKind(c *place, k kind, keys ...string) {
	p := Proposal{Name: l.nameOf(k.which, c.path), Why: k.why, Looked: len(c.docs)}
	e, ok := l.check(c, &p, "3 * * *", keys...)
	if !ok {
		return
	}
	for _, d := range c.docs {
		if declared.Judge(*e.Rule, d, l.Now).Kind != "" {
			p.Due++
		}
	}
	if p.Due > 0 {
		l.found.Proposals = append(l.found.Proposals, p)
	}
}

// check writes the rule and reads it as a file is read. ok is false if the checks refuse it, or if there is one like it.
func (l *looker) check(c *place, p *Proposal, schedule string, keys ...string) (e manifest.Entry, ok bool) {
	source := `"collection": ` + quoted(c.path)
	if c.objects != "" {
		source = `"objects": ` + quoted(c.objects)
	}
	if len(c.below) > 0 {
		keys = append(keys, `"with": [{ "subcollection": "**" }]`)
	}
	begin := []string{`"name": ` + quoted(p.Name), fmt.Sprintf(`"schedule": "%d %s"`, len(l.found.Proposals)*7%60, schedule), source}
	p.Rule = json.RawMessage("{\n  " + strings.Join(append(begin, keys...), ",\n  ") + "\n}")
	list, err := functions.With(manifest.File{Name: "init", Text: []byte(File(*p))})
	if err != nil || !plainPath.MatchString(c.path) {
		return e, false
	}
	e = list.Own[0]
	p.Does = e.Words()
	return e, !slices.ContainsFunc(l.Rules.Own, func(own manifest.Entry) bool {
		return own.Rule != nil && own.Source() == e.Source() && (own.Gone != nil) == (e.Gone != nil)
	})
}

// plainPath matches paths that can be shown and pasted as they are.
var plainPath = regexp.MustCompile(`^[\p{L}\p{N}_/{}. -]+$`)

var notOfName = regexp.MustCompile(`[^A-Za-z0-9]+`)

// nameOf makes a name that no rule has, of the last part of a path.
func (l *looker) nameOf(which, of string) string {
	const most = 28 // and a number
	name := "cleanup" + which + capital(notOfName.ReplaceAllString(path.Base(of), ""))
	name = name[:min(len(name), most)]
	taken := func(name string) bool {
		return slices.ContainsFunc(l.Rules.All, func(e manifest.Entry) bool { return strings.EqualFold(e.Name, name) }) ||
			slices.ContainsFunc(l.found.Proposals, func(p Proposal) bool { return strings.EqualFold(p.Name, name) })
	}
	free := name
	for n := 2; taken(free); n++ {
		free = fmt.Sprint(name, n)
	}
	return free
}

func capital(s string) string { return strings.ToUpper(s[:min(len(s), 1)]) + s[min(len(s), 1):] }

func quoted(value any) string {
	text, _ := json.Marshal(value) // texts and lists of texts
	return string(text)
}

func ageOf(f *field, days int) string {
	as := ""
	if f.forms[0] != "timestamp" {
		as = fmt.Sprintf(`, "as": %q`, f.forms[0])
	}
	return fmt.Sprintf(`"age": { "field": %q%s, "days": %d }`, f.name, as, days)
}

// in returns the conditions and the field of the age for documents of this kind in a collection. The field is nil if it has
// none, or if something else may need them.
func (k kind) in(c *place, now time.Time) (where []string, age *field) {
	if c.needed || kept.MatchString(c.path) || k.of != nil && !k.of.MatchString(c.name()) {
		return nil, nil
	}
	for _, f := range c.fields {
		isAge := f.isTime() && k.age.MatchString(f.name)
		isState := k.state != nil && k.state.MatchString(f.name)
		says := func(value any) bool {
			text, _ := value.(string)
			return isState && value == true || k.state != nil && status.MatchString(f.name) && k.state.MatchString(text)
		}
		switch at := slices.IndexFunc(f.values, says); {
		case at >= 0:
			where = append(where, fmt.Sprintf(`{ "field": %q, "==": %s }`, f.name, quoted(f.values[at])))
		case isState && f.isTime():
			where = append(where, fmt.Sprintf(`{ "field": %q, "is": "set" }`, f.name))
		case isState && len(f.values) > 0: // of none, as when all were restored
			return nil, nil
		case k.which != "Deleted" && decided.MatchString(f.name):
			return nil, nil
		}
		if len(f.forms) > 0 && !isAge && f.newest.After(now) { // what is to come is not over
			return nil, nil
		}
		if isAge && (age == nil || len(f.values) > len(age.values)) {
			age = f
		}
	}
	if k.state != nil && !k.stateless && len(where) == 0 {
		return nil, nil
	}
	return where, age
}
