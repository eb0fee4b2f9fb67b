package main

import (
	"fmt"
	"time"

	"github.com/firesweep/firesweep/emulator/lab/standin"
)

// measured is a case: a job, and the data that it runs on.
type measured struct {
	name  string // of the case
	job   string
	about string // what there is and what of it is due
	items string // what is counted
	world func(n int, now time.Time) *standin.World
	due   func(n int) int           // how many actions n items lead to
	bears float64                   // lookups a second that Firestore bears at first; 0: all that come
	least func(n int) time.Duration // what Google's quotas leave for n items; nil: they do not matter
	quota string                    // which; empty: that of writes of documents
	env   map[string]string         // what the job is told besides
	usual int                       // items that it is measured with, without a link and over the long one
	turns int                       // how often that is done, over each link in turn; the median counts
	more  []int                     // items that it is measured with besides
	most  int                       // items that it is measured with over the long link only; 0: no more
	task  func(i, n int) string     // of a worker: the body of its i-th task
	atOne int                       // of a worker: tasks under way at once, as its queue has it
}

func none(int) int { return 0 }

// every returns how many of the numbers from 0 up to n leave the rest when divided by the divisor.
func every(n, divisor, rest int) int { return (n + divisor - 1 - rest) / divisor }

// atRate returns the time for n items, if each needs so many operations and a quota allows so many a second.
func atRate(each float64, perSecond float64) func(n int) time.Duration {
	return func(n int) time.Duration { return time.Duration(float64(n) * each / perSecond * float64(time.Second)) }
}

// What Google's services take from all runs together.
const (
	writesOfAll  = 500  // of documents a second, to a collection at first
	deletesOfAll = 1000 // of objects a second
)

const (
	busyLookups = 100             // a second, that Firestore bears at first
	atOnce      = 2 * time.Second // the longest wait with 200 lookups under way from the beginning, at commit 46a5f4c
)

var cases = []measured{
	{
		name: "live", job: "cleanupOrphanedMedia", items: "objects",
		about: "Two objects of each post, all of which exist: nothing is to be done.",
		world: live, due: none,
		usual: 200_000, turns: 5, more: []int{1_000_000}, most: 10_000_000,
	},
	{
		name: "busy", job: "cleanupOrphanedMedia", items: "objects",
		about: "The objects of live, and a Firestore that bears 100 lookups of 30 posts a second at first, and half as many " +
			"more every five minutes: those that come faster wait for their turn.",
		world: live, bears: busyLookups, due: none,
		least: atRate(1./objectsAPost/30, busyLookups), quota: "100 lookups a second, which is assumed", usual: 20_000,
	},
	{
		name: "missing", job: "cleanupOrphanedMedia", items: "objects",
		about: "Two objects of each post; every eleventh post does not exist, so its objects are deleted. 1,100,000 objects " +
			"make 100,000 actions, as many as MAX_ACTIONS allows.",
		world: func(n int, _ time.Time) *standin.World { return media(n, 11) },
		due:   func(n int) int { return objectsAPost * (n / objectsAPost / 11) },
		least: atRate(1./11, deletesOfAll), quota: "1,000 deletions of objects a second", usual: 50_000, most: 1_100_000,
	},
	{
		name: "circleposts", job: "cleanupOrphanedMedia", items: "posts",
		about: "Ten posts of each circle, with a comment and a reaction each; every eleventh circle does not exist, so its " +
			"posts are deleted with what belongs to them.",
		world: circlePosts, due: func(n int) int { return postsACircle * (n / postsACircle / 11) },
		least: atRate(3./11, writesOfAll), usual: 10_000,
	},
	{
		name: "inquiries", job: "cleanupResolvedInquiries", items: "inquiries",
		about: "Inquiries with five messages and an image each. Half are resolved; a tenth is to be archived and deleted, and " +
			"the users of another tenth are to be told.",
		world: inquiries, due: func(n int) int { return 2 * (n / 10) },
		least: atRate(0.1*7+0.1*2, writesOfAll), usual: 2000,
	},
	{
		name: "inuse", job: "checkGhostCircles", items: "circles",
		about: "Circles of which none is due: people post to some, one of twenty is new, and as many were deleted long ago.",
		world: circlesInUse, due: none, usual: 1_000_000,
	},
	{
		name: "circles", job: "checkGhostCircles", items: "circles",
		about: "Circles with three posts each, a comment, a reaction and an image to each. One of twenty is a ghost whose " +
			"owner is to be warned, another of twenty was warned and is deleted with its posts and images; the others are " +
			"in use.",
		world: circles, due: func(n int) int { return every(n, 20, 0) + every(n, 20, 1) },
		least: atRate(0.05*2+0.05*12, writesOfAll), usual: 5000,
	},
	{
		name: "banned", job: "cleanupBannedUsers", items: "users",
		about: "Users, of whom one of 250 is banned for good; half of those are due. MAX_USERS is 1,000, the most that a run " +
			"may be told.",
		world: banned, env: map[string]string{"MAX_USERS": "1000"},
		due:   func(n int) int { return min(1000, n/250/2) },
		least: func(n int) time.Duration { return time.Duration(min(1000, n/500)) * time.Second / 1000 },
		quota: "one call a second that deletes up to 1,000 accounts", usual: 100_000,
	},
	{
		name: "reports", job: "cleanupReports", items: "documents",
		about: "Reports that were all reviewed, a tenth of them more than a month ago: that tenth is deleted.",
		world: reports, due: func(n int) int { return n / 10 },
		least: atRate(0.1, writesOfAll), usual: 20_000,
	},
	{
		name: "comped", job: "cleanExpiredComped", items: "rows",
		about: "Complimentary subscriptions, one a member; one of twenty has expired, so its row is deleted, its member " +
			"becomes free, and an event says so.",
		world: comped, due: func(n int) int { return n / 20 },
		least: atRate(0.05*3, writesOfAll), usual: 20_000,
	},
	{
		name: "projects", job: "deleteInactiveProjects", items: "projects",
		about: "Projects, of which a fifth is dormant: of those the people of a quarter are to be warned, a quarter is to be " +
			"marked for deletion, and half is in its grace.",
		world: projects, due: func(n int) int { return every(n/5, 4, 0) + every(n/5, 4, 1) },
		least: atRate(0.05*1+0.05*2, writesOfAll), usual: 20_000,
	},
	{
		name: "warning", job: "sendInactiveProjectWarning", items: "tasks",
		about: "The worker: each task, a run of its own, warns the people of one project.",
		world: func(n int, now time.Time) *standin.World { return projects(projectsATask*n, now) },
		due:   func(n int) int { return n },
		least: atRate(1, 5), quota: "the queue's five tasks a second", usual: 20, atOne: 5,
		task: func(i, n int) string {
			return fmt.Sprintf(`{"project_id":%q,"deletion_date":"2099-01-01"}`, warnedProject(i, n))
		},
	},
	{
		name: "invites", job: "removeUnacceptedMemberInvites", items: "members",
		about: "Members, of whom a tenth are invitations; half of those were not accepted within 90 days and are deleted.",
		world: invites, due: func(n int) int { return n/10 - n/20 },
		least: atRate(0.05, writesOfAll), usual: 20_000,
	},
	{
		name: "placeholders", job: "cleanupPlaceholderUsers", items: "details",
		about: "Placeholder users of imports, of whom a tenth is in no namespace: each of those gets a task.",
		world: func(n int, _ time.Time) *standin.World { return placeholders(n, n/10) },
		due:   func(n int) int { return n / 10 },
		least: atRate(0.1, writesOfAll), usual: 10_000,
	},
	{
		name: "placeholder", job: "deletePlaceholderUser", items: "tasks",
		about: "The worker: each task, a run of its own, deletes a placeholder user with account and details, if nothing " +
			"refers to it.",
		world: func(n int, _ time.Time) *standin.World { return placeholders(n, n) },
		due:   func(n int) int { return n },
		least: atRate(1, 0.9), quota: "the queue's 0.9 tasks a second", usual: 20, atOne: 1,
		task: func(i, n int) string { return fmt.Sprintf(`{"placeholder_user_id":%q}`, ids("users", n)(i)) },
	},
}

func live(n int, _ time.Time) *standin.World { return media(n, 0) }
