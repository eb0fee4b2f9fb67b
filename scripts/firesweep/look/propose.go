package look

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/firesweep/firesweep/shared/declared"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/rule"
)

// Proposal is a rule that may be wanted.
type Proposal struct {
	Name   string
	Keys   []Key  // of the rule, in their order
	Scans  bool   // a run reads everything, so it runs once a week
	Why    string // it is proposed
	Things string // documents, files or accounts

	// Due returns what the rule would delete, by what was looked at.
	Due func(r rule.Rule, now time.Time) Due
}

// Key is a key of a rule with its value as JSON.
type Key struct{ Name, Value string }

// Due is how many things a rule would delete.
type Due struct {
	Items int   `json:"items"`
	Of    int   `json:"of"`    // all there are
	Exact bool  `json:"exact"` // else both are about as many, or more
	Bytes int64 `json:"bytes"` // that would be freed, of documents without their indexes
}

// Days after which something goes by default.
const (
	guestDays = 90
	graceDays = 7 // after what it belongs to is gone, or it has expired
)

// pattern is what documents have in common that nobody needs for long.
type pattern struct {
	which, why    string
	heads         []string // the last word of the collection's name, in the singular; nil: it may have any name
	names, values []string // one of these fields, in lower case, must have one of these values …
	maybe         bool     // … if there is such a field
	dates         []times  // the fields whose age counts; without any, it is the time since the document was last used
	days          int
}

const byName = "such data is rarely needed for long, as the name of the collection says"

var patterns = []pattern{
	{which: "Sent", why: "the extension Trigger Email has dealt with it", names: []string{"delivery.state"},
		values: []string{"SUCCESS", "ERROR"}, dates: []times{ended}, days: 30},
	{which: "Deleted", why: "your application has marked it as deleted",
		names: []string{"deleted", "isdeleted", "trashed", "removed"}, values: []string{"true"}, days: 30},
	{which: "Draft", why: "nobody has worked on the draft",
		names: []string{"status", "state"}, values: []string{"draft", "DRAFT"}, days: 180},
	{which: "Old", why: byName, heads: []string{"notification"}, names: []string{"read", "isread", "seen", "opened"},
		values: []string{"true"}, maybe: true, dates: []times{created, plainAt}, days: 90},
	{which: "Old", why: byName, heads: []string{"invite", "invitation"}, names: []string{"status", "state"},
		values: []string{"pending", "new", "sent", "open", "expired", "declined"}, maybe: true, dates: []times{created, plainAt},
		days: 60},
	{which: "Old", why: byName, heads: []string{"log"}, maybe: true, dates: []times{created, plainAt}, days: 180},
	{which: "Old", why: byName, heads: []string{"token", "otp", "nonce"}, maybe: true, days: 180},
	{which: "Old", why: byName, heads: []string{"draft", "session", "presence"}, maybe: true, days: 90},
	{which: "Old", why: byName, heads: []string{"cache", "temp", "tmp"}, maybe: true, days: 30},
}

// Nothing goes by age that the law, a contract or somebody's work keeps: what has a word of evidence in its path, or is one of what is
// kept, such as users, but not users' sessions.
var (
	evidence = []string{"order", "payment", "invoice", "receipt", "transaction", "contract", "subscription", "membership", "license",
		"purchase", "ledger", "audit", "consent", "backup"}
	kept = []string{"user", "account", "customer", "profile", "member", "product", "config", "setting"}
)

// times are names of fields that hold times: those that have one of some words, or that are made of some words alone.
type times struct{ with, alone []string }

var (
	expires = times{alone: []string{"expire", "expired", "expiry", "expiration", "valid", "until", "at", "on", "date", "time"},
		with: []string{"expire", "expired", "expiry", "expiration", "until"}}
	used = times{with: []string{"updated", "update", "modified", "edited", "changed", "refreshed", "last", "seen", "used", "active",
		"accessed", "opened"}}
	usedNow = times{with: []string{"last", "seen", "used", "accessed", "opened", "active"}} // not merely written
	created = times{with: []string{"created", "create", "creation", "sent", "invited", "added", "received", "logged", "timestamp"}}
	plainAt = times{with: []string{"at", "ts", "time", "date"}, alone: []string{"at", "ts", "time", "date"}}
	ended   = times{with: []string{"end"}}
)

func (t times) hold(name string) bool {
	other := func(word string) bool { return !slices.Contains(t.alone, word) }
	return has(name, t.with...) && (t.alone == nil || !slices.ContainsFunc(words(name), other))
}

// Proposals returns rules for what is commonly cleaned up. days replaces the age of those that go by age, unless it is 0.
func (f *Findings) Proposals(now time.Time, days int) (all []Proposal) {
	for _, c := range f.Collections {
		if p, ok := c.byAge(now, days); ok {
			all = append(all, p)
		}
		if p, ok := c.ownerless(); ok {
			all = append(all, p)
		}
	}
	for _, folder := range f.Folders {
		if p, ok := folder.ownerless(); ok {
			all = append(all, p)
		}
	}
	if p, ok := f.Accounts.unused(days); ok {
		all = append(all, p)
	}
	return all
}

// dated returns the first field of such a name that nearly all documents have, and that holds times.
func (c *Collection) dated(names ...times) (Field, bool) {
	for _, n := range names {
		if i := slices.IndexFunc(c.Fields, func(f Field) bool { return f.As != nil && f.Percent >= 90 && n.hold(f.Name) }); i >= 0 {
			return c.Fields[i], true
		}
	}
	return Field{}, false
}

// untouched is the age since a document was last used, as JSON; "" if no field says when. Where one says only when it was
// created, it must not have been written since either.
func (c *Collection) untouched(days int) string {
	if f, ok := c.dated(used); ok {
		return age(f, days)
	}
	if f, ok := c.dated(created, plainAt); ok {
		return "[" + age(f, days) + ", " + written(days) + "]"
	}
	return ""
}

// stated returns a condition on the first field of one of some names that has one of some values, as JSON; "" if none has.
func (c *Collection) stated(names, values []string) string {
	for _, f := range c.Fields {
		is := slices.DeleteFunc(slices.Clone(values), func(value string) bool { return f.Values[value] == 0 })
		switch {
		case len(is) == 0 || !slices.Contains(names, strings.ToLower(f.Name)):
		case is[0] == "true":
			return fmt.Sprintf(`[{ "field": %q, "==": true }]`, f.Name)
		case len(is) == 1:
			return fmt.Sprintf(`[{ "field": %q, "==": %q }]`, f.Name, is[0])
		default:
			return fmt.Sprintf(`[{ "field": %q, "in": ["%s"] }]`, f.Name, strings.Join(is, `", "`))
		}
	}
	return ""
}

// byAge proposes that documents go by their age.
func (c *Collection) byAge(now time.Time, days int) (p Proposal, ok bool) {
	name := last(c.Path)
	if c.Sampled == 0 || slices.Contains(kept, head(name)) || has(c.Path, evidence...) {
		return p, false
	}
	if f, ok := c.dated(expires); ok && f.Oldest.Before(now.AddDate(0, 0, -graceDays)) {
		return c.proposal("Expired", "it has expired", "", age(f, graceDays)), true
	}
	for _, p := range patterns {
		where, n := c.stated(p.names, p.values), cmp.Or(days, p.days)
		old := c.untouched(n)
		if f, ok := c.dated(p.dates...); ok {
			old = age(f, n)
		}
		if (p.heads == nil || slices.Contains(p.heads, head(name))) && (where != "" || p.maybe) && old != "" {
			return c.proposal(p.which, p.why, where, old), true
		}
	}
	if f, ok := c.dated(usedNow); ok && f.Middle.Before(now.AddDate(-1, 0, 0)) {
		what := fmt.Sprintf("by %s, most of %s has not been used for a year", f.Name, name)
		return c.proposal("Unused", what, "", age(f, cmp.Or(days, 730))), true
	}
	return p, false
}

// age returns the age of a field as JSON.
func age(f Field, days int) string {
	as := ""
	if len(f.As) == 1 && f.As[0] != "timestamp" {
		as = fmt.Sprintf(`, "as": %q`, f.As[0])
	} else if len(f.As) > 1 {
		as = fmt.Sprintf(`, "as": ["%s"]`, strings.Join(f.As, `", "`))
	}
	return fmt.Sprintf(`{ "field": %q%s, "days": %d }`, f.Name, as, days)
}

// written is the age of what was written last.
func written(days int) string { return fmt.Sprintf(`{ "by": "updateTime", "days": %d }`, days) }

// proposal proposes a rule about the collection's documents.
func (c *Collection) proposal(which, why, where, age string) Proposal {
	p := Proposal{Name: which + " " + c.Path, Why: why, Things: "documents"}
	p.add("collection", strconv.Quote(c.Path))
	if where != "" {
		p.add("where", where)
	}
	p.add("age", age)
	if len(c.Below) > 0 {
		p.add("with", `[{ "subcollection": "**" }]`)
	}
	p.Due = func(r rule.Rule, now time.Time) Due { return c.due(r, now, nil) }
	return p
}

func (p *Proposal) add(name, value string) { p.Keys = append(p.Keys, Key{name, value}) }

// Text returns the entry of the list functions as JSON.
func (p Proposal) Text(name, schedule string) string {
	all := []Key{{"name", strconv.Quote(name)}, {"schedule", strconv.Quote(schedule)}}
	lines := []string{}
	for _, key := range append(all, p.Keys...) {
		lines = append(lines, fmt.Sprintf("  %q: %s", key.Name, key.Value))
	}
	return "{\n" + strings.Join(lines, ",\n") + "\n}"
}

// due judges the sample as a run would, and takes it for all.
func (c *Collection) due(r rule.Rule, now time.Time, gone func(documents.Document) bool) Due {
	n, bytes := 0, 0
	for _, d := range c.docs {
		if declared.Judge(r, d, now).Kind != "" && (gone == nil || gone(d)) {
			n++
			bytes += documents.Size(d.Path, d.Data)
		}
	}
	of := max(c.Count, c.Sampled)
	return Due{Items: n * of / max(1, c.Sampled), Of: of, Bytes: int64(bytes) * int64(of) / int64(max(1, c.Sampled)),
		Exact: c.Sampled >= c.Count && !c.About && !c.AtLeast}
}

// Times returns the same for as many documents as were counted.
func (d Due) Times(counted int) Due {
	if d.Items > 0 {
		d.Bytes = d.Bytes / int64(d.Items) * int64(counted)
	}
	d.Items, d.Exact = counted, true
	return d
}

// certain reports whether what the link leads to is gone, for all that is known.
func (k *Link) certain() bool {
	return k.Gone > 0 && 2*k.Gone <= k.Looked && k.Odd == "" && k.Alive == 0
}

// ownerless proposes that documents go whose account, owner or parent is gone. If several are, all of these must be.
func (c *Collection) ownerless() (p Proposal, ok bool) {
	for _, from := range c.Links {
		links := []*Link{from}
		if strings.HasPrefix(from.From, "{") && from.From != idHole { // the parent, and the account of the same id
			links = slices.DeleteFunc(slices.Clone(c.Links), func(k *Link) bool { return !strings.HasPrefix(k.From, "{") })
		}
		gone := func(d documents.Document) bool {
			for _, k := range links {
				if value := valueOf(c.Path, d, k.From); value == "" || !k.gone[value] {
					return false
				}
			}
			return true
		}
		if slices.ContainsFunc(links, func(k *Link) bool { return !k.certain() }) || !slices.ContainsFunc(c.docs, gone) {
			continue
		}
		var relations, names []string
		for _, k := range links {
			for _, to := range k.To {
				hole := "{" + strings.Trim(k.From, "{}") + "}"
				switch to {
				case Account:
					relations, names = append(relations, fmt.Sprintf(`{ "account": %q }`, hole)), append(names, "account")
				case "":
					relations, names = append(relations, `{ "document": "{parent}" }`), append(names, "document above it")
				default:
					relations = append(relations, fmt.Sprintf(`{ "document": %q }`, to+"/"+hole))
					names = append(names, "document in "+to)
				}
			}
		}
		n := len(slices.DeleteFunc(slices.Clone(c.docs), func(d documents.Document) bool { return !gone(d) }))
		why := fmt.Sprintf("of %d that were looked at, %d have no %s", c.Sampled, n, strings.Join(names, " and no "))
		p = c.proposal("Orphaned", why, "", written(graceDays))
		p.Scans = true
		at := slices.IndexFunc(p.Keys, func(k Key) bool { return k.Name == "age" }) + 1
		p.Keys = slices.Insert(p.Keys, at, Key{"gone", "[" + strings.Join(relations, ", ") + "]"})
		p.Due = func(r rule.Rule, now time.Time) Due {
			due := c.due(r, now, gone)
			for _, k := range links {
				due.Exact = due.Exact && k.Looked < mostLinked
			}
			return due
		}
		return p, true
	}
	return p, false
}

// ownerless proposes that files go whose owner is gone.
func (f *Folder) ownerless() (p Proposal, ok bool) {
	if f.Owner == nil || !f.Owner.certain() {
		return p, false
	}
	hole := f.Objects[strings.IndexByte(f.Objects, '{') : strings.IndexByte(f.Objects, '}')+1]
	p = Proposal{Name: "Orphaned " + f.Name + " Files", Scans: true, Things: "files",
		Why: fmt.Sprintf("of %d owners that were looked up, %d are not in %s", f.Owner.Looked, f.Owner.Gone, f.Owner.To[0])}
	p.add("objects", strconv.Quote(f.Objects))
	p.add("age", fmt.Sprintf(`{ "days": %d }`, graceDays))
	p.add("gone", fmt.Sprintf(`[{ "document": %q }]`, path.Join(f.Owner.To[0], hole)))
	p.Due = func(r rule.Rule, now time.Time) Due {
		old, looked, n, bytes := 0, 0, 0, int64(0)
		for _, o := range f.files {
			owner := ownerOf(f.Objects, o.Name)
			if owner == "" || !o.Created.Before(r.Age[0].Cutoff(now)) {
				continue
			}
			old++
			if f.Owner.looked[owner] {
				looked++
			}
			if f.Owner.gone[owner] {
				n++
				bytes += o.Size
			}
		}
		return Due{Items: n * old / max(1, looked), Of: f.Files, Bytes: bytes * int64(old) / int64(max(1, looked)),
			Exact: !f.AtLeast && f.Owner.Looked < mostLinked}
	}
	return p, true
}

// unused proposes that accounts of guests go who have not come back.
func (a *Accounts) unused(days int) (p Proposal, ok bool) {
	if a == nil || a.Guests == 0 {
		return p, false
	}
	p = Proposal{Name: "Unused Guests", Scans: true, Things: "accounts",
		Why: "guests who sign in on another device, or delete the app, never come back to their account"}
	p.add("accounts", strconv.Quote(rule.Anonymous))
	p.add("age", fmt.Sprintf(`{ "by": "lastActive", "days": %d }`, cmp.Or(days, guestDays)))
	var unless []string
	for _, owners := range a.owners {
		unless = append(unless, fmt.Sprintf(`{ "document": %q }`, owners+"/{uid}"))
	}
	if unless != nil {
		p.add("unless", "["+strings.Join(unless, ", ")+"]")
	}
	p.Due = func(r rule.Rule, now time.Time) Due {
		old, looked, without := 0, 0, 0
		for uid, at := range a.lastActive {
			if !at.Before(r.Age[0].Cutoff(now)) {
				continue
			}
			old++
			if a.looked[uid] {
				looked++
				if !a.there[uid] {
					without++
				}
			}
		}
		return Due{Items: old * without / max(1, looked), Of: a.Listed, Exact: !a.AtLeast && looked == old}
	}
	return p, true
}
