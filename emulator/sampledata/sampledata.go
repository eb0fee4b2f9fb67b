// Package sampledata is a small, realistic project to try the cleanups on: what is in it, and what must have become of
// it once every job has run. Each job's part is in the file named after its package.
package sampledata

import (
	"maps"
	"slices"
	"time"
)

// Document is a document before and after all jobs have run.
type Document struct {
	Path   string
	Before map[string]any // nil: it is not there yet
	After  map[string]any // nil: it must be gone
}

// Object is an object of the bucket, all of which are there before.
type Object struct {
	Name     string
	Metadata map[string]string
	Kept     bool // it must still be there when all jobs have run
}

// Account is an account of Authentication, all of which are there before.
type Account struct {
	UID  string
	Kept bool // it must still be there when all jobs have run
}

// Sample is the whole of it.
type Sample struct {
	Documents []Document
	Objects   []Object
	Accounts  []Account
}

// Of returns the sample as it is for a run at now on a bucket of that name.
func Of(now time.Time, bucket string) Sample {
	mediaDocuments, mediaObjects := orphanedMedia(now, bucket)
	inquiryDocuments, inquiryObjects := resolvedInquiries(now, bucket)
	circleDocuments, circleObjects := ghostCircles(now, bucket)
	bannedDocuments, bannedAccounts := bannedUsers(now)
	placeholderDocuments, placeholderAccounts := placeholderUsers(now)
	return Sample{
		Documents: slices.Concat(mediaDocuments, inquiryDocuments, circleDocuments, bannedDocuments, reports(now),
			expiredComped(now), inactiveProjects(now), memberInvites(now), placeholderDocuments),
		Objects:  slices.Concat(mediaObjects, inquiryObjects, circleObjects),
		Accounts: slices.Concat(bannedAccounts, placeholderAccounts),
	}
}

func kept(path string, data map[string]any) Document {
	return Document{Path: path, Before: data, After: data}
}

func deleted(path string, data map[string]any) Document {
	return Document{Path: path, Before: data}
}

// with returns a document's fields with some of them changed or added.
func with(data, fields map[string]any) map[string]any {
	out := maps.Clone(data)
	maps.Copy(out, fields)
	return out
}
