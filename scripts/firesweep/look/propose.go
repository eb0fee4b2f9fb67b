package look

import (
	"encoding/json"
	"fmt"
	"maps"
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

// MostProposals is how many rules are proposed at once.
const MostProposals = 5

// Proposal is a rule that may be wanted. It has passed the checks that a file of rules must pass.
type Proposal struct {
	Name   string          `json:"name"`
	Rule   json.RawMessage `json:"rule"` // as it stands in the list of a file
	Does   string          `json:"does"`
	Why    string          `json:"why"`
	Looked int             `json:"looked"` // how many documents or files were looked at
	Due    int             `json:"due"`    // how many of these are due now
}

// ListKey is the key of a file under which its rules stand.
const ListKey = "rules"

// File returns the text of a file with these rules.
func File(rules ...Proposal) string {
	list := ""
	for i, one := range rules {
		list += strings.Repeat(",", min(i, 1)) + "\n    " + strings.ReplaceAll(string(one.Rule), "\n", "\n    ")
	}
	if list != "" {
		list += "\n  "
	}
	return fmt.Sprintf("{\n  \"$schema\": %q,\n  %q: [%s]\n}\n", version.File("rules.schema.json"), ListKey, list)
}

// graceDays is how long ago something must have been written or uploaded whose document does not exist.
const graceDays = 7

// kind is what documents have in common that nobody needs for long.
type kind struct {
	which, why string
	of         *regexp.Regexp // the collection's name; nil: any
	state      *regexp.Regexp // a field that must have …
	values     *regexp.Regexp // … one of these values; "set" stands for any time
	known      bool           // a field must say whether somebody accepted or wants it
	anyway     bool           // … and else it does not matter
	age        *regexp.Regexp // the field that holds the age
	days       int
}

func named(pattern string) *regexp.Regexp { return regexp.MustCompile(`(?i)^(` + pattern + `)$`) }

const (
	when    = `_?(at|on|date|time)`
	deleted = `(is_?)?(deleted|removed|trashed)`
	created = `(created|sent|invited|added|received|issued)` + when + `?|date|time|timestamp`
	changed = `(updated|modified|edited|changed|saved)` + when + `?|last_?(updated?|modified|edited|changed?|saved)` + when + `?`
	taken   = `accepted|answered|joined|used|redeemed|claimed|confirmed|completed|finished|fulfilled|approved|signed|paid|done|` +
		`pinned|featured|highlighted|favou?rite|permanent`
)

var (
	takenField = named(`(is_?)?(` + taken + `)(` + when + `|_?by)?`)
	takenValue = named(taken)
	status     = named(`status|state`)
	// kept matches what the law, a contract or somebody's work keeps.
	kept = regexp.MustCompile(`(?i)order|payment|payout|invoice|receipt|refund|bill|transaction|purchase|booking|` +
		`reservation|contract|subscri|member|licen|insur|certif|ledger|audit|consent|legal|medical|tax|backup|config|setting`)
)

// kinds are all of them, the surest first. Of a collection, the first counts.
var kinds = []kind{
	{which: "Deleted", why: "your application marked them as deleted", age: named(deleted + when), anyway: true, days: 30},
	{which: "Deleted", why: "your application marked them as deleted", state: named(deleted), values: named("true"),
		age: named(changed), anyway: true, days: 30},
	{which: "Expired", why: "they have expired", age: named(`(expir(es?|ed|y|ation)|valid_?(until|till|to))` + when + `?`),
		days: 30},
	{which: "Open", why: "nobody accepted these invitations for so long", of: named(`\w*invit\w*`), known: true,
		age: named(created), days: 90},
	{which: "Read", why: "they have been read", of: named(`\w*(notif|inbox)\w*`), state: named(`(is_?)?(read|seen|opened)` +
		when + `?`),
		values: named("true|set"), age: named(created), days: 90},
	{which: "Closed", why: "the case is closed", of: named(`\w*(support|ticket)\w*`), state: status,
		values: named("closed|resolved|solved"), age: named(`(closed|resolved|solved)` + when + `|` + changed), days: 180},
	{which: "Stale", why: "nobody has worked on the draft for so long", state: status, values: named("draft"), age: named(changed),
		days: 180},
}

// propose proposes rules, the surest first.
func (l *looker) propose() {
	all := l.collections()
	for _, c := range slices.Concat(all, l.folders) {
		switch k := c.owner; {
		case !k.certain():
		case c.objects != "":
			why := fmt.Sprintf("their names have ids of %s, and %d of %d of these do not exist", k.to.path, len(k.gone), k.looked)
			idOf := func(d documents.Document) string { return idIn(c.objects, d.Path) }
			l.orphaned(c, why, k, idOf, "document", k.to.path+"/"+k.from)
		default:
			why := fmt.Sprintf("%d of %d documents of %s do not exist, but have %s", len(k.gone), k.looked, k.to.path, c.name())
			l.orphaned(c, why, k, parentOf, "document", "{parent}")
		}
	}
	done := map[*place]bool{}
	for _, k := range kinds {
		for _, c := range all {
			if where, age := k.in(c, l.Now); age != nil && !done[c] {
				done[c] = true
				l.ofKind(c, k, append(where, ageOf(age, k.days))...)
			}
		}
	}
	for _, c := range l.top {
		if k := c.people; k.certain() && !c.referred && !kept.MatchString(c.path) {
			why := fmt.Sprintf("their ids are those of accounts, and %d of %d accounts do not exist", len(k.gone), k.looked)
			l.orphaned(c, why, k, documents.Document.ID, "account", "{id}")
		}
	}
	if more := len(l.found.Proposals) - MostProposals; more > 0 {
		l.found.Proposals, l.found.More = l.found.Proposals[:MostProposals], more
	}
}

// orphaned proposes that what refers to something that does not exist is deleted, once it is a few days old.
func (l *looker) orphaned(c *place, why string, k *link, idOf func(documents.Document) string, what, which string) {
	age := `"age": { "by": "updateTime", "days": %d }`
	if c.objects != "" {
		age = `"age": { "days": %d }`
	}
	gone := fmt.Sprintf(`{ %q: %s }`, what, quoted(which))
	if k.people {
		gone += `, { "account": ` + quoted(k.from) + ` }`
	}
	p := Proposal{Name: l.nameOf("Orphaned", c.path), Why: why, Looked: len(c.docs)}
	for _, d := range c.docs {
		if k.gone[idOf(d)] && d.UpdateTime.Before(l.Now.AddDate(0, 0, -graceDays)) {
			p.Due++
		}
	}
	if _, ok := l.check(c, &p, "4 * * 1", fmt.Sprintf(age, graceDays), `"gone": [`+gone+`]`); ok {
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
	among := 0 // those that meet the conditions, however old they are
	for _, d := range c.docs {
		unmet := func(w criteria.Condition) bool { return w.Holds(d.Lookup) != criteria.Met }
		if !slices.ContainsFunc(e.Where, unmet) {
			among++
		}
		if declared.Judge(*e.Rule, d, l.Now).Kind != "" {
			p.Due++
		}
	}
	if 5*p.Due > 2*among { // or else its safety limit may keep it from doing anything
		_, ok = l.check(c, &p, "3 * * *", append(keys, fmt.Sprintf(`"maxDuePercent": %d`, min(100, p.Due*10/among*10+20)))...)
	}
	if ok && p.Due > 0 {
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
	taken := map[string]bool{}
	for _, e := range l.Rules.All {
		taken[strings.ToLower(e.Name)] = true
	}
	for _, p := range l.found.Proposals {
		taken[strings.ToLower(p.Name)] = true
	}
	free := name
	for n := 2; taken[strings.ToLower(free)]; n++ {
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
// none, or if something else needs them.
func (k kind) in(c *place, now time.Time) (where []string, age *field) {
	if c.referred || c.people != nil || kept.MatchString(c.path) || k.of != nil && !k.of.MatchString(c.name()) {
		return nil, nil
	}
	var conditions []string
	for _, f := range c.fields {
		isAge := f.isTime() && k.age.MatchString(f.name)
		condition, ok := k.condition(f)
		if !ok || len(f.forms) > 0 && !isAge && f.newest.After(now) { // what is to come is not over
			return nil, nil
		}
		if condition != "" {
			conditions = append(conditions, condition)
		}
		if isAge && (age == nil || len(f.values) > len(age.values)) {
			age = f
		}
	}
	if conditions == nil && (k.state != nil || k.known) {
		return nil, nil
	}
	if conditions != nil {
		where = []string{`"where": [` + strings.Join(conditions, ", ") + `]`}
	}
	return where, age
}

// condition returns what a field of such a document must be, "" if that is all the same; ok is false if no document can be meant.
func (k kind) condition(f *field) (text string, ok bool) {
	isState := k.state != nil && k.state.MatchString(f.name)
	switch isTaken := !k.anyway && takenField.MatchString(f.name); {
	case isTaken && f.isBool():
		return fmt.Sprintf(`{ "field": %q, "is": "not true" }`, f.name), true
	case isTaken:
		return fmt.Sprintf(`{ "field": %q, "is": "not set" }`, f.name), true
	case isState && f.isTime() && k.values.MatchString("set"):
		return fmt.Sprintf(`{ "field": %q, "is": "set" }`, f.name), true
	case isState:
		return f.is(k.values.MatchString)
	case !k.anyway && k.state == nil && status.MatchString(f.name) && len(f.values) > 0:
		return f.is(func(value string) bool { return !takenValue.MatchString(value) })
	}
	return "", true
}

// is returns the condition that a field has one of the values that chosen chooses; ok is false if there is none, or one that is
// no plain word.
func (f *field) is(chosen func(value string) bool) (text string, ok bool) {
	values := slices.Sorted(maps.Keys(f.states))
	values = slices.DeleteFunc(values, func(value string) bool { return !chosen(value) })
	switch odd := func(value string) bool { return !plainName.MatchString(value) }; {
	case len(values) == 0 || slices.ContainsFunc(values, odd):
		return "", false
	case f.isBool():
		return fmt.Sprintf(`{ "field": %q, "==": %s }`, f.name, values[0]), true
	case len(values) == 1:
		return fmt.Sprintf(`{ "field": %q, "==": %q }`, f.name, values[0]), true
	}
	return fmt.Sprintf(`{ "field": %q, "in": %s }`, f.name, quoted(values)), true
}
