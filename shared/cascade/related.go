package cascade

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/flow"
	"github.com/firesweep/firesweep/shared/rule"
	"github.com/firesweep/firesweep/shared/rule/criteria"
)

// Question asks whether something is related to an item, with the answer to it.
type Question struct {
	Of   rule.Relation
	Item int // of those for whom somebody asks

	// What to ask for: documents by their paths, an account, or what queries find.
	Refs    []documents.Ref
	UID     string
	Queries []documents.Query
	self    documents.Ref
	among   []documents.Query      // with within: for all that is related, with its time or without one
	owners  map[documents.Ref]bool // documents that do not count: it belongs to them, and they are deleted

	Found bool
	There []documents.Ref // those of Refs that there are
	Odd   string          // why it is unknown whether what was found is related to the item; "" if something is for certain
}

// questionsAtOnce is how many queries are asked side by side.
const questionsAtOnce = 20

// Ask returns the question of a relation for an item, a document of its own or not; ok is false if the item names nothing, or
// nothing that could be asked for.
func Ask(src cleanup.Source, of rule.Relation, i rule.Item, self documents.Ref) (q *Question, ok bool) {
	q = &Question{Of: of, self: self}
	switch {
	case of.Document != "":
		q.Refs, ok = i.Fill(of.Document)
	case of.Account != "":
		q.UID, ok = i.UID(of.Account)
	default:
		if q.Queries, ok = of.Queries(self, src.Reference, src.Run().Now); of.Within != nil {
			q.among, _ = of.Any(self, src.Reference)
		}
	}
	return q, ok
}

// Answer answers questions: documents first, then queries, and accounts last, which no transaction holds still.
func Answer(ctx context.Context, src cleanup.Source, all []*Question) error {
	var refs []documents.Ref
	var uids []string
	var asked []*Question // by query
	var queries []documents.Query
	for _, q := range all {
		refs = append(refs, q.Refs...)
		if q.UID != "" {
			uids = append(uids, q.UID)
		}
		for _, query := range q.Queries {
			query.ReadOnly = true
			asked, queries = append(asked, q), append(queries, query)
		}
	}
	there, err := src.Get(ctx, refs)
	if err != nil {
		return err
	}
	found := make([][]documents.Document, len(queries))
	errs := flow.Many(questionsAtOnce, len(queries), func(i int) (err error) {
		found[i], err = src.First(ctx, queries[i], "", len(asked[i].owners)+1)
		return err
	})
	if err := cmp.Or(errs...); err != nil {
		return err
	}
	accounts, err := src.Accounts(ctx, uids)
	if err != nil {
		return err
	}
	for i, q := range asked {
		for _, d := range found[i] {
			if q.owners[d.Ref()] {
				continue
			}
			odd := q.odd(d)
			if !q.Found || odd == "" {
				q.Odd = odd
			}
			q.Found = true
		}
	}
	errs = flow.Many(questionsAtOnce, len(all), func(i int) error { return all[i].undated(ctx, src) })
	if err := cmp.Or(errs...); err != nil {
		return err
	}
	for _, q := range all {
		for _, ref := range q.Refs {
			d, exists := there[ref]
			if !exists {
				continue
			}
			q.There = append(q.There, ref)
			if keeps, odd := q.meets(d); keeps && !q.owners[ref] {
				if !q.Found || odd == "" {
					q.Odd = odd
				}
				q.Found = true
			}
		}
		q.Found = q.Found || accounts[q.UID]
	}
	return nil
}

// undated finds out whether something related, of which nothing else was found, lacks the time by which it is judged.
func (q *Question) undated(ctx context.Context, src cleanup.Source) error {
	for _, query := range q.among {
		if q.Found {
			break
		}
		lacks, err := src.Lacking(ctx, query, q.Of.Within.Field)
		if err != nil {
			return err
		}
		if lacks {
			q.Found, q.Odd = true, q.noTime(nil, false)
		}
	}
	return nil
}

// odd returns why a document that was found keeps an item though nobody can tell whether it should: it has no time that can be
// read, or a blank beside the id by which it refers to the item; "" if it is in order.
func (q *Question) odd(d documents.Document) string {
	field := q.Of.PlainField()
	if of := q.Of.Within; of != nil {
		value, there := d.Lookup(of.Field)
		if _, dated := of.At(value); !dated {
			return q.noTime(value, there)
		}
	}
	values, isList := d.Value(field).([]any)
	if !isList {
		values = []any{d.Value(field)}
	}
	for _, blank := range q.self.BlankTexts() {
		if field != "" && slices.Contains(values, blank) {
			return fmt.Sprintf("a document of %s refers to it by %s, with a blank beside the id", q.Of.Place(""), field)
		}
	}
	return ""
}

// meets reports whether a document to which a path leads meets the relation's conditions, and if nobody can tell, why.
func (q *Question) meets(d documents.Document) (meets bool, odd string) {
	for _, c := range q.Of.Where {
		switch c.Holds(d.Lookup) {
		case criteria.Unmet:
			return false, ""
		case criteria.Unclear:
			odd = q.Of.Document + " exists, and its " + c.Unknown(d.Lookup)
		case criteria.Met:
		}
	}
	return true, odd
}

// noTime returns why a document keeps an item that lacks the field of within, or holds another value than a time there.
func (q *Question) noTime(value any, there bool) string {
	is := "not " + q.Of.Within.Form()
	switch {
	case !there:
		is = "missing"
	case value == nil:
		is = "null"
	}
	return fmt.Sprintf("a %s exists whose %s is %s", q.Of.Noun(), q.Of.Within.Field, is)
}
