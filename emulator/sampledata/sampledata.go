// Package sampledata is a small, realistic project to try the cleanups on: what is in it, and what must be left when every job
// has run. Each job's part is in the file named after its package.
package sampledata

import (
	"maps"
	"slices"
	"time"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/retention"
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

// Of returns the sample for a run at now on a bucket of that name: the parts of all jobs.
func Of(now time.Time, bucket string) Sample {
	var whole Sample
	for _, p := range parts {
		one := p.of(now, bucket)
		whole.Documents = append(whole.Documents, one.Documents...)
		whole.Objects = append(whole.Objects, one.Objects...)
		whole.Accounts = append(whole.Accounts, one.Accounts...)
	}
	return whole
}

// WholeAhead is how long after the upload of its objects the jobs run on the sample.
const WholeAhead = 2 * retention.Day

// Jobs returns the names of the jobs that have a part in the sample. A rule of your own has none.
func Jobs() []string {
	names := make([]string, len(parts))
	for i, p := range parts {
		names[i] = p.job
	}
	return names
}

// Job returns a job's part of the sample, as [Of] returns the whole. It is complete: if only this job runs on it, it leaves what
// the part says.
func Job(name string, now time.Time, bucket string) Sample {
	for _, p := range parts {
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
