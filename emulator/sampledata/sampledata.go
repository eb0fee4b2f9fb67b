// Package sampledata is a small, realistic project to try the cleanups on: what is in it, and what must have become of
// it once every job has run. Each job's part is in the file named after its package.
package sampledata

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/firesweep/firesweep/functions"
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

// all returns the parts, with those of rules that have none here: their data is made from the rule.
func all() []part {
	all := slices.Clone(parts)
	for _, e := range functions.All() {
		known := slices.ContainsFunc(parts, func(p part) bool { return p.job == e.Name })
		if e.Rule != nil && !known {
			all = append(all, part{e.Name, func(now time.Time, _ string) Sample { return Declared(*e.Rule, now) }})
		}
	}
	return all
}

// Of returns the sample as it is for a run at now on a bucket of that name. Of rules without a part of their own it has those
// whose collections or folders no other part has.
func Of(now time.Time, bucket string) Sample {
	var whole Sample
	taken := map[string]bool{}
	for _, p := range all() {
		one := p.of(now, bucket)
		places := one.places()
		own := slices.ContainsFunc(parts, func(o part) bool { return o.job == p.job })
		if !own && slices.ContainsFunc(places, func(place string) bool { return taken[place] }) {
			continue
		}
		for _, place := range places {
			taken[place] = true
		}
		whole.Documents = append(whole.Documents, one.Documents...)
		whole.Objects = append(whole.Objects, one.Objects...)
		whole.Accounts = append(whole.Accounts, one.Accounts...)
	}
	return whole
}

// places returns the collections and folders that a sample has something in, and the accounts.
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
		all = append(all, "account "+a.UID)
	}
	return all
}

// Jobs returns the names of the jobs that have a part in the sample.
func Jobs() (names []string) {
	for _, p := range all() {
		names = append(names, p.job)
	}
	return names
}

// Job returns the part of the sample that belongs to one job, as [Of] returns the whole. It is complete: the job, run
// on it alone, leaves what it says.
func Job(name string, now time.Time, bucket string) Sample {
	for _, p := range all() {
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
