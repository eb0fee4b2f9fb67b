package sampledata

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/manifest"
	"github.com/firesweep/firesweep/shared/retention"
	"github.com/firesweep/firesweep/shared/rule"
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
		d.add(fmt.Sprintf("due-%d", i+1), d.fields(i), true)
	}
	young := d.fields(0)
	put(young, r.Age.Field, r.Age.Cutoff(now))
	d.add("exactly-as-old", young, false)
	undated := d.fields(0)
	put(undated, r.Age.Field, "2020-01-01")
	d.add("date-as-text", undated, false)
	for i, c := range r.Where {
		other := d.fields(0)
		put(other, c.Field, unmet(c))
		d.add(fmt.Sprintf("other-%d", i+1), other, false)
	}
	for i, u := range r.Unless {
		d.keep(fmt.Sprintf("kept-%d", i+1), u)
	}
	return d.sample
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
			if value, there := met(c, n); there && (c.Is != rule.NotNull) == within {
				put(data, c.Field, value)
			}
		}
	}
	for _, u := range d.Unless {
		for _, field := range u.Fields() {
			if !d.said(field) {
				put(data, field, "nobody")
			}
		}
	}
	put(data, d.Age.Field, d.Age.Cutoff(d.now).Add(-time.Duration(n)*retention.Day-time.Microsecond))
	return data
}

// said reports whether the rule says which values a field has.
func (d *declared) said(field string) bool {
	return slices.ContainsFunc(d.Where, func(c rule.Condition) bool { return c.Field == field && len(c.Alternatives()) > 0 })
}

func met(c rule.Condition, n int) (value any, there bool) {
	switch alternatives := c.Alternatives(); {
	case len(alternatives) > 0:
		return alternatives[n%len(alternatives)], true
	case c.Is == rule.Text, c.Is == rule.NotNull:
		return "some text", true
	case c.Is == rule.True:
		return true, true
	case c.Is == rule.NotTrue:
		return false, n == 0
	case c.Is == rule.Null:
		return nil, n == 0
	}
	return nil, false
}

func unmet(c rule.Condition) any {
	switch c.Is {
	case rule.Text:
		return ""
	case rule.Null, rule.Missing:
		return "set"
	case rule.NotNull:
		return nil
	case rule.True:
		return false
	case rule.NotTrue:
		return true
	}
	return "anything else"
}

// put sets the value at a path. A part of the path that ends in [] stands for a list.
func put(data map[string]any, path string, value any) {
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

// name returns an id that no other rule's data uses.
func (d *declared) name(id string) string { return d.Group() + "-" + id }

// keep adds a document that another one keeps, and that other one.
func (d *declared) keep(id string, u rule.Unless) {
	data, keeper := d.fields(0), strings.ReplaceAll(u.Document, "{id}", d.name(id))
	for _, field := range u.Fields() {
		if d.said(field) {
			return // the documents that are due have the same keeper
		}
		put(data, field, "somebody")
		keeper = strings.ReplaceAll(keeper, "{"+field+"}", "somebody")
	}
	if keeper == u.Document {
		return // one document keeps all
	}
	d.add(id, data, false)
	d.sample.Documents = append(d.sample.Documents, kept(keeper, map[string]any{"name": "hana"}))
}

// add adds a document with all that is deleted with it.
func (d *declared) add(id string, data map[string]any, due bool) {
	id = d.name(id)
	at := d.Collection + "/" + id
	if d.CollectionGroup != "" {
		at = "somewhere/deep/" + d.CollectionGroup + "/" + id
	}
	for _, a := range d.With {
		d.along(a, at, id, data, due)
	}
	switch {
	case !due:
		d.sample.Documents = append(d.sample.Documents, kept(at, data))
	case !d.Deletes():
		fields := map[string]any{}
		for field, value := range d.Set {
			if fields[field] = value; value == rule.Now {
				fields[field] = d.now
			}
		}
		d.sample.Documents = append(d.sample.Documents, marked(at, data, fields))
	default:
		d.delete(at, id, data)
	}
}

// delete adds a document that is deleted, with its copy in the archive, at the path that it has there.
func (d *declared) delete(at, archived string, data map[string]any) {
	d.sample.Documents = append(d.sample.Documents, deleted(at, data))
	if d.Archive != "" {
		d.sample.Documents = append(d.sample.Documents, created(d.Archive+"/"+archived, data))
	}
}

func (d *declared) along(a rule.Along, at, id string, data map[string]any, due bool) {
	document := func(path, archived string, data map[string]any) {
		if due {
			d.delete(path, archived, data)
		} else {
			d.sample.Documents = append(d.sample.Documents, kept(path, data))
		}
	}
	object := func(name string, due bool) {
		d.sample.Objects = append(d.sample.Objects, Object{Name: name, Kept: !due})
	}
	switch {
	case a.Subcollection != "":
		document(at+"/"+a.Subcollection+"/first", id+"/"+a.Subcollection+"/first", map[string]any{"text": "hello"})
	case a.Collection != "":
		child := map[string]any{"text": "hello"}
		put(child, a.Field, id)
		name := path.Base(a.Collection) // in case another rule uses the same collection
		document(a.Collection+"/of-"+id, id+"/"+name+"/of-"+id, child)
	case a.Folder != "":
		object(strings.ReplaceAll(a.Folder, "{id}", id)+"photo.png", due)
		object(strings.ReplaceAll(a.Folder, "{id}", id+"x")+"photo.png", false)
	case a.Object != "":
		name := strings.ReplaceAll(a.Under, "{id}", id) + id + ".png"
		object(name, due)
		put(data, a.Object, name)
	case a.Account:
		d.sample.Accounts = append(d.sample.Accounts, Account{UID: id, Kept: !due})
	}
}

// WholeAhead is how long after the upload of its objects the jobs run on the whole sample.
const WholeAhead = 2 * retention.Day

// Ahead returns how far ahead of the clock the now of a job's run on its part of the sample must be: two days, or the age in a
// rule about objects. The time of an object's upload cannot be chosen.
func Ahead(e manifest.Entry) time.Duration {
	if e.Rule == nil || e.Rule.Objects == "" {
		return WholeAhead
	}
	age := *e.Rule.Age
	return max(WholeAhead, time.Duration(age.Hours)*time.Hour+time.Duration(age.Days+31*age.Months)*retention.Day+time.Hour)
}

// Gone is the id of an owner that does not exist, and that objects in a declared rule's data name.
const Gone = "somebody-else"

// declaredObjects returns data for a rule about objects.
func declaredObjects(r rule.Rule) (s Sample) {
	s.Documents = append(s.Documents, kept(r.Owner.Collection+"/somebody", map[string]any{"name": "hana"}))
	for _, owner := range []string{"somebody", Gone, "some"} {
		o := Object{Name: r.Objects + owner + "-photo.png", Kept: owner == "somebody"}
		if r.Owner.Metadata != "" {
			o.Metadata = map[string]string{r.Owner.Metadata: owner}
		} else {
			o.Name = r.Objects
			for range r.Owner.Segment - strings.Count(r.Objects, "/") - 1 {
				o.Name += "part/"
			}
			if o.Name += owner; r.Owner.Stem {
				o.Name += ".png"
			} else {
				o.Name += "/photo.png"
			}
		}
		s.Objects = append(s.Objects, o)
	}
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
		return a.UID
	}
	cutoff := r.Age.Cutoff(now)
	old := cutoff.Add(-time.Millisecond)
	add("due-1", old, false, nil)
	add("due-2", old.Add(-retention.Day), false, nil)
	add("exactly-as-old", cutoff, true, nil)
	if r.Accounts != rule.All {
		add("other", old, true, func(a *accounts.Account) {
			a.Email, a.EmailVerified, a.Disabled = a.UID+"@example.com", true, false
		})
	}
	for i, u := range r.Unless {
		uid := add(fmt.Sprintf("kept-%d", i+1), old, true, nil)
		keeper, _ := u.OfAccount(uid)
		s.Documents = append(s.Documents, kept(keeper.Path(), map[string]any{"name": "hana"}))
	}
	return s
}
