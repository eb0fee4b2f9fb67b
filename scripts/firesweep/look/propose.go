package look

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
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

// kind is a kind of collections whose documents nobody needs for long.
type kind struct {
	words []string
	days  int
	used  bool // its age is the time since it was last used
}

var kinds = []kind{
	{[]string{"notification"}, 90, false},
	{[]string{"log"}, 180, false},
	{[]string{"draft"}, 90, true},
	{[]string{"session", "presence"}, 90, true},
	{[]string{"token", "otp", "nonce"}, 180, true},
	{[]string{"cache", "temp", "tmp"}, 30, true},
	{[]string{"invite", "invitation"}, 60, false},
}

// kept are words for what the law, a contract or somebody's work keeps: none of it goes by age.
var kept = []string{"order", "payment", "invoice", "receipt", "transaction", "contract", "subscription", "membership", "license",
	"purchase", "ledger", "user", "account", "customer", "profile", "member", "product", "config", "setting"}

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

// stated returns the first field of one of some names that holds one of some values, and these.
func (c *Collection) stated(names []string, values ...string) (field string, found []string) {
	for _, f := range c.Fields {
		if !slices.Contains(names, strings.ToLower(f.Name[strings.LastIndexByte(f.Name, '.')+1:])) {
			continue
		}
		for _, value := range values {
			if f.Values[value] > 0 {
				found = append(found, value)
			}
		}
		if found != nil {
			return f.Name, found
		}
	}
	return "", nil
}

// byAge proposes that documents go by their age.
func (c *Collection) byAge(now time.Time, days int) (p Proposal, ok bool) {
	name := last(c.Path)
	if c.Sampled == 0 || slices.Contains(kept, head(name)) || has(name, "audit", "consent", "backup") {
		return p, false
	}
	after := func(otherwise int) int {
		if days > 0 {
			return days
		}
		return otherwise
	}
	// Mail of the extension Trigger Email.
	if state, sent := c.stated([]string{"state"}, "SUCCESS", "ERROR"); state == "delivery.state" {
		if end, ok := c.dated(ended); ok {
			return c.proposal("Sent", "the extension Trigger Email has dealt with it", where(state, sent), age(end, after(30))), true
		}
	}
	if f, ok := c.dated(expires); ok && f.Oldest.Before(now.AddDate(0, 0, -graceDays)) {
		return c.proposal("Expired", "it has expired", "", age(f, graceDays)), true
	}
	if field, is := c.stated([]string{"deleted", "isdeleted", "trashed", "removed"}, "true"); is != nil && c.untouched(1) != "" {
		return c.proposal("Deleted", "your application has marked it as deleted", where(field, is), c.untouched(after(30))), true
	}
	if field, is := c.stated([]string{"status", "state"}, "draft"); is != nil && c.untouched(1) != "" {
		return c.proposal("Draft", "nobody has worked on the draft", where(field, is), c.untouched(after(180))), true
	}
	for _, k := range kinds {
		if !slices.Contains(k.words, head(name)) {
			continue
		}
		what := fmt.Sprintf("such data is rarely needed for long: it is called %s", name)
		condition := ""
		if slices.Contains(k.words, "notification") {
			if field, is := c.stated([]string{"read", "isread", "seen", "opened"}, "true"); is != nil {
				condition = where(field, is)
			}
		}
		if slices.Contains(k.words, "invite") {
			if field, is := c.stated([]string{"status", "state"}, "pending", "new", "sent", "open", "expired", "declined"); is != nil {
				condition = where(field, is)
			}
		}
		old := c.untouched(after(k.days))
		if f, ok := c.dated(created, plainAt); ok && !k.used {
			old = age(f, after(k.days))
		}
		if old != "" {
			return c.proposal("Old", what, condition, old), true
		}
	}
	if f, ok := c.dated(usedNow); ok && f.Middle.Before(now.AddDate(-1, 0, 0)) {
		what := fmt.Sprintf("by %s, most of %s has not been used for a year", f.Name, name)
		return c.proposal("Unused", what, "", age(f, after(730))), true
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

// where returns a condition as JSON.
func where(field string, values []string) string {
	switch {
	case slices.Equal(values, []string{"true"}):
		return fmt.Sprintf(`[{ "field": %q, "==": true }]`, field)
	case len(values) == 1:
		return fmt.Sprintf(`[{ "field": %q, "==": %q }]`, field, values[0])
	}
	return fmt.Sprintf(`[{ "field": %q, "in": ["%s"] }]`, field, strings.Join(values, `", "`))
}

// proposal proposes a rule about the collection's documents.
func (c *Collection) proposal(which, why, where, age string) Proposal {
	p := Proposal{Name: which + " " + c.Path, Why: why, Things: "documents"}
	p.add("collection", quoted(c.Path))
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
	all := []Key{{"name", quoted(name)}, {"schedule", quoted(schedule)}}
	lines := []string{}
	for _, key := range append(all, p.Keys...) {
		lines = append(lines, fmt.Sprintf("  %q: %s", key.Name, key.Value))
	}
	return "{\n" + strings.Join(lines, ",\n") + "\n}"
}

func quoted(text string) string {
	q, _ := json.Marshal(text) // a string is always JSON
	return string(q)
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
	p.add("objects", quoted(f.Objects))
	p.add("age", fmt.Sprintf(`{ "days": %d }`, graceDays))
	p.add("gone", fmt.Sprintf(`[{ "document": %q }]`, path.Join(f.Owner.To[0], hole)))
	p.Due = func(r rule.Rule, now time.Time) Due {
		d := Due{Of: f.Files, Exact: !f.AtLeast && f.Owner.Looked < mostLinked}
		binds := r.Binds()
		for _, o := range f.files {
			bound, _ := binds(o.Name)
			for _, owner := range bound {
				if f.Owner.gone[owner] && o.Created.Before(r.Age[0].Cutoff(now)) {
					d.Items++
					d.Bytes += o.Size
				}
			}
		}
		return d
	}
	return p, true
}

// unused proposes that accounts of guests go who have not come back.
func (a *Accounts) unused(days int) (p Proposal, ok bool) {
	if a == nil || a.Guests == 0 {
		return p, false
	}
	if days == 0 {
		days = guestDays
	}
	p = Proposal{Name: "Unused Guests", Scans: true, Things: "accounts",
		Why: "guests who sign in on another device, or delete the app, never come back to their account"}
	p.add("accounts", quoted(rule.Anonymous))
	p.add("age", fmt.Sprintf(`{ "by": "lastActive", "days": %d }`, days))
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
