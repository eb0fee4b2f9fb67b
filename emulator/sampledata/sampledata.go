// Package sampledata is a small, realistic project to try the cleanups on: what is in it, and what must have become of
// it once every job has run. Each job's part is in the file named after its package.
package sampledata

import (
	"maps"
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

// part is what of the sample belongs to one job.
type part struct {
	job string
	of  func(now time.Time, bucket string) Sample
}

var parts = []part{
	{"cleanupOrphanedMedia", orphanedMedia},
	{"cleanupResolvedInquiries", resolvedInquiries},
	{"checkGhostCircles", ghostCircles},
	{"cleanupBannedUsers", bannedUsers},
	{"cleanupReports", reports},
	{"cleanExpiredComped", expiredComped},
	{"deleteInactiveProjects", inactiveProjects},
	{"removeUnacceptedMemberInvites", memberInvites},
	{"cleanupPlaceholderUsers", placeholderUsers},
}

// Of returns the sample as it is for a run at now on a bucket of that name.
func Of(now time.Time, bucket string) Sample {
	var all Sample
	for _, p := range parts {
		one := p.of(now, bucket)
		all.Documents = append(all.Documents, one.Documents...)
		all.Objects = append(all.Objects, one.Objects...)
		all.Accounts = append(all.Accounts, one.Accounts...)
	}
	return all
}

// Jobs returns the names of the jobs that have a part in the sample.
func Jobs() []string {
	names := make([]string, len(parts))
	for i, p := range parts {
		names[i] = p.job
	}
	return names
}

// Job returns the part of the sample that belongs to one job, as [Of] returns the whole. It is complete: the job, run
// on it alone, leaves what it says.
func Job(name string, now time.Time, bucket string) Sample {
	for _, p := range parts {
		if p.job == name {
			return p.of(now, bucket)
		}
	}
	panic("emulator/sampledata has no part for " + name + ": add one to parts in sampledata.go, in a file of its own")
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
