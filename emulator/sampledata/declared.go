package sampledata

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/cascade"
	declare "github.com/firesweep/firesweep/shared/declared"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/manifest"
	"github.com/firesweep/firesweep/shared/retention"
	"github.com/firesweep/firesweep/shared/rule"
	"github.com/firesweep/firesweep/shared/rule/criteria"
)

// Declared returns data for a declared rule, made from the rule: items that are due, with all that is deleted with them, and for
// each condition an item that is kept because of it.
func Declared(r rule.Rule, now time.Time) Sample {
	if r.Objects != "" {
		return declaredObjects(r)
	}
	if r.Accounts != "" {
		return declaredAccounts(r, now)
	}
	d := declared{Rule: r, now: now}
	for i := range 2 {
		id := fmt.Sprintf("due-%d", i+1)
		d.add(id, d.fields(i), true)
		d.addNewer(id)
	}
	for _, a := range r.Age {
		if a.Field == "" {
			continue // of documents' own times, which nobody can choose
		}
		young := d.fields(0)
		put(young, a.Field, a.Value(a.Cutoff(now)))
		d.add("exactly-as-old", young, false)
		undated := d.fields(0)
		put(undated, a.Field, true)
		d.add("no-date", undated, false)
	}
	for i, c := range r.Where {
		other := d.fields(0)
		if value, there := unmet(c); !strings.ContainsAny(c.Field, "{[*") && len(c.Any) == 0 {
			if !there {
				value = documents.DeleteField
			}
			if top, whole := cascade.Changed(other, c.Field, value); whole == documents.DeleteField {
				delete(other, top)
			} else {
				other[top] = whole
			}
			d.add(fmt.Sprintf("other-%d", i+1), other, false)
		}
	}
	for i, c := range r.Exceptions() {
		if value, there := met(c, 0); there {
			kept := d.fields(0)
			put(kept, c.Field, value)
			d.add(fmt.Sprintf("excepted-%d", i+1), kept, false)
		}
	}
	for i, u := range r.Related() {
		d.keep(fmt.Sprintf("kept-%d", i+1), u)
	}
	if r.Warn != nil {
		d.addWarned()
	}
	return d.sample
}

// addWarned adds documents by the marks of their warnings.
func (d *declared) addWarned() {
	over := d.overSince()
	add := func(id string, mark any, age time.Time) *Document {
		data := d.fields(0)
		data[d.Warn.Field] = mark
		if !age.IsZero() {
			put(data, d.Age[0].Field, d.Age[0].Value(age))
		}
		d.add(id, data, false)
		return &d.sample.Documents[len(d.sample.Documents)-1]
	}
	add("warned", over.Add(time.Second), time.Time{})
	add("odd-mark", "yesterday", time.Time{})
	inUse := add("in-use", over, d.now)
	inUse.After = without(inUse.Before, d.Warn.Field)
	for id, mark := range map[string]any{"unwarned": nil, "warned-too-early": documents.Earliest} {
		of := add(id, mark, time.Time{})
		of.After = with(of.Before, map[string]any{d.Warn.Field: d.now})
		if to, data, _ := declare.Message(d.Rule, documents.Document{Path: of.Path, Data: of.Before}, d.now); data != nil {
			d.sample.Documents = append(d.sample.Documents, created(to.Path(), data))
		}
	}
}

// overSince returns since when a document must be due that goes now.
func (d *declared) overSince() time.Time {
	if d.Warn == nil {
		return d.now
	}
	return retention.DaysBefore(d.now, d.Warn.Days)
}

// addNewer adds the documents that are the newest in place of one that is due.
func (d *declared) addNewer(id string) {
	for _, u := range d.Unless {
		for n := range u.Newest {
			newer := d.fields(0)
			put(newer, d.Age[0].Field, d.Age[0].Value(d.Age[0].Cutoff(d.now)))
			d.sample.Documents = append(d.sample.Documents, kept(fmt.Sprintf("%s-newer-%d", d.at(d.name(id)), n), newer))
		}
	}
}

type declared struct {
	rule.Rule
	now    time.Time
	sample Sample
}

// fields returns the fields of a document that is due. n chooses among the possible values.
func (d *declared) fields(n int) map[string]any {
	data := map[string]any{}
	for _, within := range []bool{false, true} { // a field that must only exist may be a map that holds others
		for _, c := range d.Where {
			if len(c.Any) > 0 {
				c = c.Any[n%len(c.Any)]
			}
			if value, there := met(c, n); there && !strings.Contains(c.Field, "{") && (c.Is != "set" && c.Is != "not empty") == within {
				put(data, c.Field, value)
			}
		}
	}
	for _, u := range d.Related() {
		fields := d.Fields(u)
		if u.Per != "" && u.Per != "{parent}" {
			fields = append(fields, u.Per)
		}
		for _, field := range fields {
			if !d.said(field) {
				put(data, field, "nobody")
			}
		}
	}
	if d.Warn != nil {
		for _, hole := range d.Warn.Holes() {
			put(data, hole, "nobody")
		}
	}
	for _, a := range d.Age {
		if a.Field != "" {
			put(data, a.Field, a.Value(a.Cutoff(d.overSince()).Add(-time.Duration(n)*retention.Day-time.Millisecond)))
		}
	}
	return data
}

// said reports whether the rule says which values a field has.
func (d *declared) said(field string) bool {
	return slices.ContainsFunc(d.Where, func(c criteria.Condition) bool { return c.Field == field && len(c.Values()) > 0 })
}

// met returns a value that meets a condition, and whether there must be one.
func met(c criteria.Condition, n int) (value any, there bool) {
	if all := c.Values(); len(all) > 0 {
		return all[n%len(all)], true
	}
	switch c.Is {
	case "text", "set", "not empty":
		return "some text", true
	case "empty":
		return "", true
	case "not true":
		return false, n == 0
	case "not set":
		return nil, n == 0
	case "missing":
		return nil, false
	}
	return c.Example()
}

// unmet returns a value that does not meet a condition, and whether there is one.
func unmet(c criteria.Condition) (value any, there bool) {
	switch c.Is {
	case "text", "not empty":
		return "", true
	case "not set", "missing", "empty":
		return "set", true
	case "set":
		return nil, true
	case "not true":
		return true, true
	}
	return nil, false // no operator is met by a missing field
}

// put sets the value at a path. A part of the path that ends in [] stands for a list.
func put(data map[string]any, path string, value any) {
	path = strings.ReplaceAll(path, ".*", ".entry")
	part, rest, deeper := strings.Cut(path, ".")
	name, list := strings.CutSuffix(part, "[]")
	if deeper {
		before := data[name]
		if elements, ok := before.([]any); ok && list {
			before = elements[0]
		}
		inner, _ := before.(map[string]any)
		if inner == nil {
			inner = map[string]any{}
		}
		put(inner, rest, value)
		value = inner
	}
	if list {
		value = []any{value}
	}
	data[name] = value
}

// empty leaves nothing in the list or map that holds what a field names.
func empty(data map[string]any, field string) {
	if list, isList := strings.CutSuffix(field, "[]"); isList {
		put(data, list, []any{})
	} else {
		put(data, field[:strings.LastIndexByte(field, '.')], map[string]any{})
	}
}

// name returns an id that no other rule's data uses.
func (d *declared) name(id string) string { return d.Name() + "-" + id }

// at returns the path of a document of the rule, each in collections of its own where the rule's path has holes.
func (d *declared) at(id string) string {
	if d.CollectionGroup != "" {
		return "somewhere/deep/" + d.CollectionGroup + "/" + id
	}
	return holes.ReplaceAllString(d.Collection, "$1-of-"+id) + "/" + id
}

var holes = regexp.MustCompile(`\{([^{}]*)\}`)

// fill returns a path of a relation of a document.
func (d *declared) fill(path, at, id string, data map[string]any) string {
	parts := strings.Split(at, "/")
	bound := strings.Split(d.Collection, "/")
	return holes.ReplaceAllStringFunc(path, func(hole string) string {
		if i := slices.Index(bound, hole); i >= 0 {
			return parts[i]
		}
		switch hole {
		case "{id}":
			return id
		case "{parent}":
			return strings.Join(parts[:len(parts)-2], "/")
		}
		return fmt.Sprint(documents.Document{Data: data}.Value(strings.Trim(hole, "{}[].*")))
	})
}

// keep adds a document that something keeps, and what keeps it.
func (d *declared) keep(id string, u rule.Relation) {
	data := d.fields(0)
	if u.Newest > 0 && (u.Per == "" || d.said(u.Per)) {
		return // there are newer ones
	} else if u.Newest > 0 && u.Per != "{parent}" {
		put(data, u.Per, "somebody")
	}
	for _, field := range d.Fields(u) {
		if d.said(field) {
			return // the documents that are due have the same keeper
		}
		put(data, field, "somebody")
	}
	name := d.name(id)
	at := d.at(name)
	related := map[string]any{"name": "hana"}
	for _, c := range u.Where {
		if value, there := met(c, 0); there {
			put(related, c.Field, value)
		}
	}
	if u.Within != nil {
		put(related, u.Within.Field, u.Within.Value(d.now))
	}
	keeper := ""
	switch {
	case u.Newest > 0:
	case u.Document != "":
		keeper = d.fill(u.Document, at, name, data)
	case u.Account != "":
		d.sample.Accounts = append(d.sample.Accounts, Account{UID: d.fill(u.Account, at, name, data), Kept: true})
	case u.Subcollection != "":
		keeper = at + "/" + u.Subcollection + "/keeper" // beside what goes along in that collection
	default:
		keeper = u.Collection + u.CollectionGroup + "/for-" + name
		put(related, strings.ReplaceAll(u.Field, "{id}", name), name)
	}
	if keeper == u.Document && keeper != "" {
		return // one document keeps all
	}
	d.add(id, data, false)
	if keeper != "" {
		d.sample.Documents = append(d.sample.Documents, kept(keeper, related))
	}
}

// add adds a document with all that is deleted with it.
func (d *declared) add(id string, data map[string]any, due bool) {
	id = d.name(id)
	at := d.at(id)
	if due && d.Warn != nil {
		data[d.Warn.Field] = d.overSince()
	}
	archived := d.fill(d.Archive, at, id, data)
	for _, a := range d.With {
		d.along(a, at, id, archived+"/"+id, data, due)
	}
	switch {
	case !due:
		d.sample.Documents = append(d.sample.Documents, kept(at, data))
	case !d.Deletes():
		fields := map[string]any{}
		for path, value := range d.Set {
			switch value {
			case rule.Now:
				value = d.now
			case rule.Delete:
				continue
			}
			put(fields, path, value)
		}
		if d.Remove != "" {
			empty(fields, d.Remove)
		}
		d.sample.Documents = append(d.sample.Documents, marked(at, data, fields))
	default:
		d.delete(at, archived+"/"+id, data)
	}
}

// delete adds a document that is deleted, with its copy in the archive.
func (d *declared) delete(at, archived string, data map[string]any) {
	d.sample.Documents = append(d.sample.Documents, deleted(at, data))
	if d.Archive != "" {
		d.sample.Documents = append(d.sample.Documents, created(archived, data))
	}
}

func (d *declared) along(a rule.Relation, at, id, archived string, data map[string]any, due bool) {
	document := func(place, below string, fields map[string]any) {
		inner := place[strings.LastIndexByte(place, '/')+1:]
		for _, w := range a.With {
			d.along(w, place, inner, below, fields, due)
		}
		if due {
			d.delete(place, below, fields)
		} else {
			d.sample.Documents = append(d.sample.Documents, kept(place, fields))
		}
	}
	object := func(name string, due bool) {
		d.sample.Objects = append(d.sample.Objects, Object{Name: name, Kept: !due})
	}
	folder := strings.TrimSuffix(a.Objects, rule.Everything)
	switch {
	case a.Subcollection == rule.Everything:
		document(at+"/parts/first", archived+"/parts/first", map[string]any{"text": "hello"})
		document(at+"/parts/first/more/first", archived+"/parts/first/more/first", map[string]any{"text": "hello"})
	case a.Subcollection != "":
		document(at+"/"+a.Subcollection+"/first", archived+"/"+a.Subcollection+"/first", map[string]any{"text": "hello"})
	case a.Document != "":
		place := d.fill(a.Document, at, id, data)
		document(place, archived+"/"+path.Base(path.Dir(place))+"/"+path.Base(place), map[string]any{"text": "hello"})
	case a.Remove:
		var both [2]map[string]any // before and after
		for i := range both {
			both[i] = map[string]any{"text": "hello"}
			put(both[i], strings.ReplaceAll(a.Field, "{id}", id), id)
		}
		if due {
			empty(both[1], a.Field)
		}
		d.sample.Documents = append(d.sample.Documents, changed(a.Collection+"/of-"+id, both[0], both[1]))
	case a.Collection != "":
		child := map[string]any{"text": "hello"}
		put(child, a.Field, id)
		name := path.Base(a.Collection) // in case another rule uses the same collection
		document(a.Collection+"/of-"+id, archived+"/"+name+"/of-"+id, child)
	case a.Objects != "" && a.Field == "":
		object(strings.ReplaceAll(folder, "{id}", id)+"photo.png", due)
		object(strings.ReplaceAll(folder, "{id}", id+"x")+"photo.png", false)
	case a.Objects != "":
		name := strings.ReplaceAll(folder, "{id}", id) + id + ".png"
		object(name, due)
		put(data, a.Field, name)
	case a.Account != "":
		d.sample.Accounts = append(d.sample.Accounts, Account{UID: id, Kept: !due})
	}
}

// WholeAhead is how long after the upload of its objects the jobs run on the whole sample.
const WholeAhead = 2 * retention.Day

// Ahead returns how far ahead of the clock the now of a job's run on its part of the sample must be: two days, or the age by a
// time that cannot be chosen, as that of an account can: an object's or a document's own.
func Ahead(e manifest.Entry) time.Duration {
	ahead, now := WholeAhead, time.Now()
	if e.Rule == nil || e.Accounts != "" {
		return ahead
	}
	for _, a := range e.Age {
		if a.By != "" {
			ahead = max(ahead, now.Sub(a.Cutoff(now))+4*retention.Day) // the months ahead may be longer
		}
	}
	return ahead
}

// Gone is the id of an owner that does not exist, and that objects in a declared rule's data name.
const Gone = "somebody-else"

// declaredObjects returns data for a rule about objects.
func declaredObjects(r rule.Rule) (s Sample) {
	add := func(owner string, kept bool) {
		o := Object{Kept: kept, Metadata: map[string]string{}}
		name := strings.ReplaceAll(strings.ReplaceAll(r.Objects, rule.Everything, "photo.png"), ".*", ".png")
		name = strings.ReplaceAll(name, "*", owner)
		o.Name = holes.ReplaceAllString(name, owner)
		if len(r.Gone) > 0 {
			if _, key, found := strings.Cut(r.Gone[0].Document, "{metadata."); found {
				key, _, _ = strings.Cut(key, "}")
				o.Metadata[key], o.Name = owner, strings.Replace(o.Name, "photo", owner+"-photo", 1)
			}
		}
		if r.ByReference() {
			o.Name = strings.Replace(o.Name, "photo", owner+"-photo", 1)
		}
		s.Objects = append(s.Objects, o)
	}
	switch {
	case r.ByReference():
		for i, g := range r.Gone {
			in := g.Collection
			if g.CollectionGroup != "" {
				in = "somewhere/deep/" + g.CollectionGroup
			}
			names := map[string]any{}
			add(fmt.Sprintf("named-%d", i), true)
			put(names, g.Field, s.Objects[i].Name)
			s.Documents = append(s.Documents, kept(fmt.Sprintf("%s/names-%d", in, i), names))
		}
	case len(r.Gone) > 0:
		s.Documents = append(s.Documents, kept(holes.ReplaceAllString(r.Gone[0].Document, "somebody"), map[string]any{"name": "hana"}))
		add("somebody", true)
	}
	add("some", false)
	add(Gone, false)
	return s
}

// declaredAccounts returns data for a rule about accounts.
func declaredAccounts(r rule.Rule, now time.Time) (s Sample) {
	add := func(id string, at time.Time, kept bool, change func(*accounts.Account)) string {
		a := accounts.Account{UID: r.Accounts + "-" + id, Created: at.UnixMilli(), LastLogin: at.UnixMilli()}
		switch r.Accounts {
		case rule.Unverified:
			a.Email, a.Password = a.UID+"@example.com", true
		case rule.Disabled:
			a.Email, a.EmailVerified, a.Disabled = a.UID+"@example.com", true, true
		}
		if change != nil {
			change(&a)
		}
		s.Accounts = append(s.Accounts, Account{UID: a.UID, Kept: kept, As: &a})
		for _, w := range r.With {
			d := declared{Rule: rule.Rule{Collection: w.Place().Collection}, now: now}
			d.along(rule.Relation{Document: strings.ReplaceAll(w.Document, "{uid}", "{id}"), With: w.With}, "", a.UID, "", nil, !kept)
			s.Documents, s.Objects = append(s.Documents, d.sample.Documents...), append(s.Objects, d.sample.Objects...)
		}
		return a.UID
	}
	cutoff := r.Age[0].Cutoff(now)
	old := cutoff.Add(-time.Millisecond)
	add("due-1", old, false, nil)
	add("due-2", old.Add(-retention.Day), false, nil)
	add("exactly-as-old", cutoff, true, nil)
	if r.Accounts != rule.All {
		add("other", old, true, func(a *accounts.Account) {
			a.Email, a.EmailVerified, a.Disabled = a.UID+"@example.com", true, false
		})
	}
	for i, u := range r.Related() {
		uid := add(fmt.Sprintf("kept-%d", i+1), old, true, nil)
		s.Documents = append(s.Documents, kept(holes.ReplaceAllString(u.Document, uid), map[string]any{"name": "hana"}))
	}
	return s
}
