package declared

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/retention"
	"github.com/firesweep/firesweep/shared/rule"
)

// item is a document with the first reasons to keep it.
type item struct {
	cleanup.Subject
	keeper  string // a document of unless that exists
	unnamed string // a document of unless whose id is invalid
}

func (c documentsOf) keptYoung() string   { return "not older than " + c.Age.Words() }
func (c documentsOf) keptUnset() string   { return c.Age.Field + " is not set yet" }
func (c documentsOf) keptUndated() string { return c.Age.Field + " is not a timestamp" }

// Judge decides about a document by its own fields, as a run at now would. The decision leaves out what unless says.
func Judge(r rule.Rule, d documents.Document, now time.Time) cleanup.Decision {
	return ofDocuments(r).judgeFields(d, cleanup.Run{Now: now})
}

// judgeFields decides about a document by its own fields.
func (c documentsOf) judgeFields(d documents.Document, run cleanup.Run) cleanup.Decision {
	for _, w := range c.Where {
		switch answer := w.Holds(d.Lookup(w.Field)); {
		case answer == rule.Unmet:
			return cleanup.Keep(w.Unmet())
		case answer == rule.Unclear && w.Is == rule.NotTrue:
			return cleanup.Invalid(w.Field + " is neither true, false nor null")
		case answer == rule.Unclear:
			return cleanup.Invalid(w.Unmet())
		}
	}
	at, dated := d.Time(c.Age.Field)
	switch {
	case !dated && d.Value(c.Age.Field) == nil:
		return cleanup.Keep(c.keptUnset())
	case !dated:
		return cleanup.Invalid(c.keptUndated())
	case !at.Before(c.Age.Cutoff(run.Now)):
		return cleanup.Keep(c.keptYoung())
	}
	return cleanup.Do(c.Kind(), c.reason(d, at))
}

// reason says why a document is due. It shows no more of the document than the values that the rule asks for, and the time.
func (c documentsOf) reason(d documents.Document, at time.Time) string {
	var parts []string
	if c.Because != "" {
		parts = append(parts, c.Because)
	}
	for _, w := range c.Where {
		switch {
		case c.Because != "":
		case w.Is == "":
			parts = append(parts, fmt.Sprintf("%s %v", w.Field, d.Value(w.Field)))
		default:
			parts = append(parts, w.Words())
		}
	}
	return strings.Join(append(parts, fmt.Sprintf("%s %s, older than %s", c.Age.Field, retention.Stamp(at), c.Age.Words())), ", ")
}

// judge decides about a document by its own fields and by the documents of unless.
func (c documentsOf) judge(i item, run cleanup.Run) cleanup.Decision {
	d := c.judgeFields(i.Document, run)
	switch {
	case d.Kind == "":
		return d
	case i.unnamed != "":
		return cleanup.Invalid(i.unnamed + " names no document")
	case i.keeper != "":
		return cleanup.Keep(i.keeper + " exists")
	}
	return d
}

// load looks up the documents of unless for the documents that are due without them.
func (c documentsOf) load(ctx context.Context, src cleanup.Source, subjects []cleanup.Subject) ([]item, error) {
	type keeper struct {
		item int
		of   rule.Unless
		ref  documents.Ref
	}
	items := make([]item, len(subjects))
	var all []keeper
	var refs []documents.Ref
	for i, s := range subjects {
		items[i].Subject = s
		if c.judgeFields(s.Document, src.Run()).Kind == "" {
			continue
		}
		for _, u := range c.Unless {
			ref, ok := u.Of(s.Document)
			if !ok {
				items[i].unnamed = u.Document
				continue
			}
			all, refs = append(all, keeper{i, u, ref}), append(refs, ref)
		}
	}
	found, err := src.Get(ctx, refs)
	if err != nil {
		return nil, err
	}
	for _, k := range all {
		_, there := found[k.ref]
		if there {
			items[k.item].keeper = k.of.Document
		}
		c.keepers.lookedUp(k.of.Keepers(), there)
	}
	return items, nil
}
