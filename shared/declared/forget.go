package declared

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/rule"
)

// Forget returns the job that does for one user what rules say of accounts, backwards. By a rule with an account in gone, unless or
// with, documents go (or change, with set) that name this user there and nobody else, with all that goes along; then the account.
// where, age and warn do not count, nothing is archived, and copies in archives go too. Whatever else keeps a document keeps it. The
// error says which rule cannot be turned round, or that none says anything of accounts.
func Forget(name, uid string, rules []rule.Rule) (cleanup.Job, error) {
	if !accounts.Deletable(uid) || !documents.ValidID(uid) {
		return cleanup.Job{}, fmt.Errorf("%q is no uid: it has 1 to 128 bytes, no slash and no blanks at its ends", uid)
	}
	f := forgetting{uid: uid}
	for _, r := range rules {
		if err := f.turn(r); err != nil {
			return cleanup.Job{}, err
		}
	}
	if len(f.parts) == 0 && !slices.ContainsFunc(rules, func(r rule.Rule) bool { return r.Accounts != "" }) {
		return cleanup.Job{}, errors.New(`no rule says whose anything is: name the account in gone, unless or with, as in ` +
			`"gone": [{"account": "{userId}"}]; a rule with "schedule": "never" is for forget only`)
	}
	for _, p := range f.parts {
		along := p.With
		p.With = nil
		f.take(p, along)
	}
	f.leaveToNarrower()
	slices.SortStableFunc(f.parts, func(a, b *part) int { return a.turn() - b.turn() })
	f.account = f.accountRule(rules)
	job := cleanup.Job{Name: name, Plan: f.plan, Accounts: true, AccountRule: f.account, Reach: cleanup.Reach{Account: true}}
	for _, p := range f.parts {
		p.keepers, p.forgets = &keepers{}, uid
		p.sweep = p.ruleOf(p.name, p.judgeMine)
		job.Rules = append(job.Rules, p.sweep)
	}
	return job, nil
}

// forgetting is what all rules say of one user.
type forgetting struct {
	uid     string
	parts   []*part
	account *cleanup.AccountRule
}

// part is what rules say alike of documents in one place that name the account in one way. It is one rule of the job.
type part struct {
	documentsOf
	name      string
	account   string  // how a document names the account, such as {userId}
	follows   bool    // they go along with the account
	elsewhere []*part // to which documents of their places are left
	sweep     cleanup.AnyRule
}

// turn adds what a rule says of accounts.
func (f *forgetting) turn(r rule.Rule) error {
	if r.Accounts != "" {
		for _, w := range r.With {
			p := part{account: "{id}", follows: true}
			p.Rule = accountsOf{r}.following(w)
			p.Because = "it goes with the account"
			f.add(p)
		}
		return nil
	}
	var done []string
	for _, related := range slices.Concat(r.Gone, r.Unless, r.With) {
		account := related.Account
		if !strings.Contains(account, "{") || slices.Contains(done, account) { // one that is the same for all says nothing of any
			continue
		}
		done = append(done, account)
		if strings.LastIndexByte(account, '{') > 0 || !strings.HasSuffix(account, "}") || account == "{parent}" {
			return fmt.Errorf("%s: account %s cannot be turned round: a hole must be the whole uid, as in {userId}", r.Source(), account)
		}
		field := strings.TrimSuffix(strings.TrimSuffix(strings.Trim(account, "{}"), "[]"), ".*")
		if _, changes := r.Set[field]; !changes && !r.Deletes() {
			return fmt.Errorf("%s: set leaves %s, so it forgets nobody: set %s too, or delete the document", r.Source(), account, field)
		}
		p := part{account: account}
		p.Rule = r
		p.Unless = slices.DeleteFunc(slices.Clone(r.Unless), func(u rule.Relation) bool { return u.Newest > 0 }) // by age, which does not count
		p.Where, p.Age, p.Warn, p.Archive = nil, rule.Ages{}, nil, ""
		p.Because, p.With = account+" is the uid", slices.Clone(r.With)
		f.add(p)
		if r.Archive != "" {
			p.copies, p.Collection, p.CollectionGroup = r.Collection, r.Archive, ""
			p.With = []rule.Relation{{Subcollection: rule.Everything}} // nothing else reads what is below a copy
			f.add(p)
		}
	}
	return nil
}

// add adds a part. What several rules delete goes with all that any of them takes along, unless any of them keeps it.
func (f *forgetting) add(p part) {
	for _, other := range f.parts {
		if other.alike(p) && p.At() == other.At() {
			other.Gone, other.Unless = slices.Concat(other.Gone, p.Gone), slices.Concat(other.Unless, p.Unless)
			other.With = append(other.With, p.With...)
			other.follows = other.follows || p.follows
			return
		}
	}
	p.name = fmt.Sprintf("%s by %s", p.At(), p.account)
	if !p.Deletes() {
		p.name += fmt.Sprintf(", set %d", len(f.parts))
	}
	f.parts = append(f.parts, &p)
}

// leaveToNarrower leaves a group's documents to the part of the collection they are in, which then keeps what any rule keeps, and takes
// along what the group's rule does.
func (f *forgetting) leaveToNarrower() {
	for _, p := range f.parts {
		for _, of := range f.parts {
			if !rule.Same(p.At(), of.At()) { // though a query for collections of one name finds both
				of.elsewhere = append(of.elsewhere, p)
			}
			if of.CollectionGroup != "" && p.CollectionGroup == "" && p.alike(*of) && rule.Same(p.At(), of.At()) {
				of.elsewhere = append(of.elsewhere, p)
				p.Gone, p.Unless = slices.Concat(p.Gone, of.Gone), slices.Concat(p.Unless, of.Unless)
				f.take(p, byReference(of.With, of.At()))
			}
		}
	}
}

// byReference returns what goes along with documents of a place, by references alone where ids repeat: elsewhere, ids may name more.
func byReference(with []rule.Relation, at string) []rule.Relation {
	with = slices.Clone(with)
	for i, w := range with {
		with[i].Repeats, with[i].With = strings.Contains(at, "/"), byReference(w.With, w.At(at))
	}
	return with
}

// leaves reports whether another part has a document: not one of its own place whose path names another user.
func (p *part) leaves(d documents.Document) bool {
	return slices.ContainsFunc(p.elsewhere, func(o *part) bool {
		return rule.Same(o.At(), d.Ref().Collection) && (!rule.Same(o.At(), p.At()) || o.mine(d))
	})
}

// alike reports whether both of two parts delete documents that name the account in one way.
func (p *part) alike(of part) bool { return p.Deletes() && of.Deletes() && p.account == of.account }

// take adds what goes along with a part's documents, each once, but not what another part finds by itself, which also looks what
// keeps it.
func (f *forgetting) take(p *part, along []rule.Relation) {
	for _, w := range along {
		same := func(other rule.Relation) bool { return says(other) == says(w) }
		if i := slices.IndexFunc(f.parts, func(other *part) bool { return other.covers(p, w) }); i >= 0 {
			f.take(f.parts[i], w.With)
		} else if !slices.ContainsFunc(p.With, same) {
			p.With = append(p.With, w)
		}
	}
}

// says returns what a rule says of a relation, wherever it does.
func says(w rule.Relation) string {
	text, _ := json.Marshal(w) // it was read from such a text
	return string(text)
}

// covers reports whether a part finds all that goes along with the user's document of another.
func (p *part) covers(of *part, w rule.Relation) bool {
	byField := w.Collection != "" && w.Collection == p.Collection && p.account == "{"+w.Field+"}" &&
		of.Collection == "users" // where a reference to the document names the account as well
	below := w.Subcollection != "" && p.Collection == of.Collection+"/"+p.account+"/"+w.Subcollection
	return (byField || below) && p != of && of.copies == "" && p.Deletes() && !w.Remove && of.account == "{id}"
}

// turn is when a part is planned: what may take others along comes after those, and what is only changed last.
func (p *part) turn() int {
	switch {
	case !p.Deletes():
		return 2
	case p.takesBelow() || p.DeletesAccounts():
		return 1
	}
	return 0
}

func (p *part) takesBelow() bool {
	return slices.ContainsFunc(p.With, func(w rule.Relation) bool { return w.Subcollection != "" })
}

// itemOf is [rule.Rule.ItemOf] of a document, or of the original whose copy it is, which it returns as well.
func (c documentsOf) itemOf(d documents.Document) (i rule.Item, of documents.Document, ok bool) {
	i, ok = c.ItemOf(d)
	if c.copies == "" || !ok {
		return i, d, ok
	}
	place, ok := i.Fill(c.copies + "/x")
	if ok {
		d.Path = place[0].Collection + "/" + original(i.ID)
	}
	i, _ = rule.Rule{Collection: c.copies}.ItemOf(d)
	return i, d, ok
}

// original returns the id of what a copy was made of: to that of a second copy, shared/cascade appends a time.
func original(id string) string {
	i := strings.LastIndexByte(id, '@')
	if t, err := time.Parse(time.RFC3339Nano, id[i+1:]); i < 0 || err != nil || t.UTC().Format(time.RFC3339Nano) != id[i+1:] {
		return id
	}
	return id[:i]
}

// mine reports whether a document of the part's place is this user's and nobody else's.
func (p *part) mine(d documents.Document) bool {
	item, _, ok := p.itemOf(d)
	uid, named := item.UID(p.account)
	return ok && named && uid == p.forgets
}

// judgeMine decides about a document: while planning, and in the commit.
func (p *part) judgeMine(i item, run cleanup.Run) (d cleanup.Decision) {
	_, here := p.ItemOf(i.Document)
	switch {
	case !i.Found:
		return d
	case !here:
		d = cleanup.Keep("in another place of that name")
	case !p.mine(i.Document):
		d = cleanup.Keep(p.account + " does not name this user alone")
	default:
		d = p.judge(i, run)
	}
	if d.Kind == "" && d.Reason != "" {
		return p.named(i.Document, d)
	}
	return d
}

// named names a document that is kept, because a receipt must.
func (p *part) named(d documents.Document, kept cleanup.Decision) cleanup.Decision {
	kept.Reason = p.Source() + ": " + kept.Reason
	kept.Notice = &cleanup.Notice{Message: d.Path + " is kept: " + kept.Reason}
	return kept
}

// accountRule deletes the account, unless a document keeps it: one that a rule about accounts names, or one of the user that keeps
// what is the user's, such as a legal hold.
func (f *forgetting) accountRule(rules []rule.Rule) *cleanup.AccountRule {
	r := &cleanup.AccountRule{Judge: func(a accounts.Account, run cleanup.Run) cleanup.Decision {
		if a.UID != f.uid {
			return cleanup.Keep("another account")
		}
		for _, of := range rules {
			if of.Accounts == "" {
				continue
			}
			of.Accounts, of.Where, of.Age = rule.All, nil, nil
			if d := (accountsOf{of}).judge(a, run); d.Kind == "" {
				d.Reason = "account: " + d.Reason
				return d
			}
		}
		return cleanup.Do("delete account", "it is the user")
	}}
	keep := func(related rule.Relation, document string) {
		if of, ok := documentOf(rule.Relation{Document: document}, f.uid); ok {
			r.Keepers = append(r.Keepers, cleanup.Keeper{
				Collection: of.Collection, Reason: "account: " + related.Exists(), ID: func(string) string { return of.ID }})
		}
	}
	for _, of := range rules {
		for _, related := range of.Related() {
			if of.Accounts != "" {
				keep(related, related.Document)
			}
		}
	}
	for _, p := range f.parts {
		for _, related := range p.Unless {
			if strings.Contains(related.Document, p.account) && strings.Count(related.Document, "{") == 1 {
				keep(related, strings.Replace(related.Document, p.account, "{id}", 1))
			}
		}
	}
	return r
}
