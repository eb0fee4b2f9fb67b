package undo

import (
	"cmp"
	"slices"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// Thing is what a run did to a document, an object or an account in all.
type Thing struct {
	Target  string  `json:"target"`           // as [Record.Target]
	What    string  `json:"what,omitempty"`   // "deleted", [Unsure], "changed" or "created"; empty of an item that is none of these
	Action  string  `json:"action,omitempty"` // of an item that was judged
	Reason  string  `json:"reason,omitempty"` // likewise
	Sent    bool    `json:"sent,omitempty"`
	Fields  []Field `json:"fields,omitempty"`  // of a document, before and after the run
	Account string  `json:"account,omitempty"` // what there was to know of an account, as JSON
}

// Unsure is what was done to an object or an account by a run that was killed: it saved that before the deletion.
const Unsure = "deleted, or about to be"

// Target names what a record is about: a document by its path, an object by gs://bucket/name, an account by "account UID".
func (r Record) Target(bucket string) string {
	switch {
	case r.Write != nil:
		return r.Write.Path
	case r.Object != nil:
		return report.ObjectTarget(bucket, r.Object.Name)
	case r.Account != nil:
		return report.AccountTarget(r.Account.UID)
	}
	return r.Item
}

// Sum adds up the records of one run.
type Sum struct {
	Bucket string
	Of     func(Record) bool // of which records besides items; nil: all
	Killed bool              // the run was, or is under way
	Names  bool              // of what was in documents and accounts, only the names of written fields, which take little room

	all    []Thing
	at     map[string]int // by target
	writes []Write
}

// Add adds the next records, in the order of the log.
func (s *Sum) Add(records []Record) {
	for _, r := range records {
		if r == (Record{}) || r.Item == "" && s.Of != nil && !s.Of(r) {
			continue
		}
		target := r.Target(s.Bucket)
		i, known := s.at[target]
		if !known {
			if s.at == nil {
				s.at = map[string]int{}
			}
			i, s.all = len(s.all), append(s.all, Thing{Target: target})
			s.at[target] = i
		}
		switch t := &s.all[i]; {
		case r.Item != "": // of several commits, the first says why
			t.Action, t.Reason = cmp.Or(t.Action, r.Action), cmp.Or(t.Reason, r.Reason)
		case r.Write == nil:
			if t.What = map[bool]string{false: "deleted", true: Unsure}[s.Killed]; r.Account != nil && !s.Names {
				t.Account = r.Account.Data
			}
		case s.Names:
			s.writes = append(s.writes, r.Write.names())
		default:
			s.writes = append(s.writes, *r.Write)
		}
	}
}

// names returns the write without the contents of the document, but for the names of fields that an update wrote.
func (w Write) names() Write {
	n := Write{Op: w.Op, Path: w.Path, Found: w.Found, Sent: w.Sent}
	if w.Op == documents.Update {
		n.After = Fields{}
		for _, name := range w.Wrote() {
			n.After[name] = nil
		}
	}
	return n
}

// Things returns what the records come to, in the order of the first record of each; with Of, only what such a record is of.
func (s *Sum) Things() []Thing {
	for _, c := range Net(s.writes) {
		t := &s.all[s.at[c.Path]]
		t.What, t.Sent = c.What(), c.Sent
		if !s.Names {
			t.Fields = c.Fields()
		} else if !c.Whole {
			for _, name := range c.Wrote() {
				t.Fields = append(t.Fields, Field{Name: name, Changed: true})
			}
		}
	}
	return slices.DeleteFunc(append([]Thing{}, s.all...), func(t Thing) bool { return t.What == "" && s.Of != nil })
}
