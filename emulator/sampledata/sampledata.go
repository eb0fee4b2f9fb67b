// Package sampledata is a small, realistic project to try the cleanups on: what is in it, and what must be left when every job
// has run. Each job's part is in the file named after its package.
package sampledata

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/rule"
)

// Document is a document before and after all jobs have run.
type Document struct {
	Path   string
	Before map[string]any // nil: it does not exist yet
	After  map[string]any // nil: it must not exist any more
}

// Object is an object of the bucket. All exist before the jobs run.
type Object struct {
	Name     string
	Metadata map[string]string
	Kept     bool // it must still exist when all jobs have run
}

// Account is an account of Authentication. All exist before the jobs run.
type Account struct {
	UID  string
	Kept bool              // it must still be there when all jobs have run
	As   *accounts.Account // its attributes, with its times; nil: a new one without any
}

// Sample is the whole of it.
type Sample struct {
	Documents []Document
	Objects   []Object
	Accounts  []Account
}

// part is a job's part of the sample.
type part struct {
	job string
	of  func(now time.Time, bucket string) Sample

	clients map[string]Client // by collection

	source string // of a declared rule without a part of its own: its collection, folder or kind of accounts
	young  bool   // its objects are not old enough after two days
}

// parts are those of the files of this package.
var parts = []part{
	bannedUsersPart, expiredCompedPart, ghostCirclesPart, inactiveProjectsPart, memberInvitesPart, orphanedMediaPart,
	placeholderUsersPart, reportsPart, resolvedInquiriesPart,
}

// byPeople are the fields with texts that people wrote, tokens or addresses: no log may contain them.
var byPeople = []string{
	"body", "category", "circleName", "content", "displayName", "email", "invite_email", "invite_token", "message", "name", "reason",
	"subject", "text", "title",
}

// notByPeople are the fields with other texts: ids, states, dates, addresses of files.
var notByPeople = []string{
	"admin_bot_user_id", "author_id", "banStatus", "circleId", "contentId", "contentType", "createdAt", "created_at", "deleteReason",
	"deletedBy", "deleting_user", "deletion_date", "expiry_at", "from_status", "imageUrl", "inquiryId", "kind", "lastHumanPostAt",
	"last_activity_at", "member_id", "namespace_id", "organization_id", "ownerId", "owner_ids", "permanentBanScheduledDeletionAt",
	"placeholder_user_id", "postId", "product_id", "project_id", "reporterId", "resolvedAt", "senderType", "source_id", "status",
	"to_status", "type", "url", "userId", "user_id", "user_type",
}

// WrittenByPeople says whether people wrote the texts of a field. It is not known of a field that no list names.
func WrittenByPeople(field string) (is, known bool) {
	is = slices.Contains(byPeople, field)
	return is, is || slices.Contains(notByPeople, field)
}

// all returns the parts in the order of the functions' lists. A rule without a part here has one that is made from the rule.
func all() (all []part) {
	for _, e := range functions.All() {
		i := slices.IndexFunc(parts, func(p part) bool { return p.job == e.Name })
		switch {
		case i >= 0:
			all = append(all, parts[i])
		case e.Rule != nil:
			source := e.Rule.Name()
			switch {
			case e.Objects != "":
				source, _, _ = strings.Cut(e.Objects, "/")
				source += "/"
			case e.Accounts != "":
				source = accountsOf(e.Accounts)
			}
			of := func(now time.Time, _ string) Sample { return Declared(*e.Rule, now) }
			all = append(all, part{job: e.Name, of: of, source: source, young: Ahead(e) > WholeAhead})
		}
	}
	return all
}

// Of returns the sample for a run at now on a bucket of that name: the parts of the [Shown] jobs.
func Of(now time.Time, bucket string) Sample {
	var whole Sample
	for _, p := range shown() {
		one := p.of(now, bucket)
		whole.Documents = append(whole.Documents, one.Documents...)
		whole.Objects = append(whole.Objects, one.Objects...)
		whole.Accounts = append(whole.Accounts, one.Accounts...)
	}
	return whole
}

// Shown returns the names of the jobs whose parts are in the whole sample, which is for runs two days after the upload of its
// objects. These are all jobs except rules about objects that must be older, and rules about a collection, folder or kind of
// accounts that another part uses: each of the two would find items of the other.
func Shown() []string { return names(shown()) }

func shown() (together []part) {
	taken := map[string]bool{}
	for _, p := range all() {
		if p.young || p.source != "" && taken[p.source] {
			continue
		}
		for _, place := range p.of(time.Time{}, "bucket").places() {
			taken[place] = true
		}
		together = append(together, p)
	}
	return together
}

func names(parts []part) []string {
	names := make([]string, len(parts))
	for i, p := range parts {
		names[i] = p.job
	}
	return names
}

// places returns the collections, folders and kinds of accounts of a sample's items.
func (s Sample) places() (all []string) {
	for _, d := range s.Documents {
		for i, name := range strings.Split(d.Path, "/") {
			if i%2 == 0 {
				all = append(all, name)
			}
		}
	}
	for _, o := range s.Objects {
		folder, _, _ := strings.Cut(o.Name, "/")
		all = append(all, folder+"/")
	}
	for _, a := range s.Accounts {
		all = append(all, accountsOf(rule.All))
		for kind, is := range map[string]bool{
			rule.Anonymous: a.As != nil && a.As.Anonymous(), rule.Unverified: a.As != nil && a.As.Unverified(),
			rule.Disabled: a.As != nil && a.As.Disabled,
		} {
			if is {
				all = append(all, accountsOf(kind))
			}
		}
	}
	return all
}

// accountsOf returns the name of a kind of accounts as a place.
func accountsOf(kind string) string { return "accounts " + kind }

// Jobs returns the names of the jobs that have a part in the sample.
func Jobs() []string { return names(all()) }

// Job returns a job's part of the sample, as [Of] returns the whole. It is complete: if only this job runs on it, it leaves what
// the part says.
func Job(name string, now time.Time, bucket string) Sample {
	for _, p := range all() {
		if p.job == name {
			return p.of(now, bucket)
		}
	}
	panic("emulator/sampledata has no part for " + name + ": add one in a file of its own, and to parts")
}

func kept(path string, data map[string]any) Document { return changed(path, data, data) }

func deleted(path string, data map[string]any) Document { return changed(path, data, nil) }

func created(path string, after map[string]any) Document { return changed(path, nil, after) }

func changed(path string, before, after map[string]any) Document {
	return Document{Path: path, Before: before, After: after}
}

// marked is a document of which only some fields change.
func marked(path string, before, fields map[string]any) Document {
	return changed(path, before, with(before, fields))
}

// with returns a document's fields with some changed or added.
func with(data, fields map[string]any) map[string]any {
	out := maps.Clone(data)
	maps.Copy(out, fields)
	return out
}

// without returns a document's fields but for one.
func without(data map[string]any, field string) map[string]any {
	out := maps.Clone(data)
	delete(out, field)
	return out
}
