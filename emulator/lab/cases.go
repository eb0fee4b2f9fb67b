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
	world func(n int, now time.Time) standin.World
	seed  seed
	due   func(n int) int           // how many actions n items lead to
	bears float64                   // lookups a second that Firestore bears at first; 0: all that come
	least func(n int) time.Duration // what Google's quotas leave for n items; nil: they do not matter
	quota string                    // which
	env   map[string]string         // what the job is told besides
	usual int                       // items that are always measured
	turns int                       // how often that is done, over each link in turn; the median counts
	most  int                       // items that are measured at most
	why   string                    // it is measured with no more
	bulk  bool                      // the seed's algorithm handles many items at once, so it is measured with the usual number as well
	huge  int                       // items that -full measures besides, over the slowest link; 0: no more
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

const (
	writesQuota  = "500 writes of documents a second"
	objectsQuota = "1,000 deletions of objects a second"
)

const (
	busyLookups = 100             // a second, that Firestore bears at first
	atOnce      = 2 * time.Second // the longest wait with 200 lookups under way from the beginning, at commit 46a5f4c
)

var cases = []measured{
	{
		name: "live", job: "cleanupOrphanedMedia", items: "objects",
		about: "Two objects of each post, all of which exist: nothing is to be done.",
		world: func(n int, _ time.Time) standin.World { return media(n, 0) }, seed: seedMedia,
		due: none, usual: 200_000, turns: 5, most: 1_000_000, huge: 10_000_000,
	},
	{
		name: "busy", job: "cleanupOrphanedMedia", items: "objects",
		about: "The objects of live, and a Firestore that bears 100 lookups of 30 posts a second at first, and half as many more every five minutes: those that come faster wait for their turn.",
		world: func(n int, _ time.Time) standin.World { return media(n, 0) }, seed: seedMedia, bears: busyLookups,
		due: none, least: atRate(1./objectsAPost/30, busyLookups), quota: "100 lookups of 30 posts a second, which is assumed", usual: 20_000, most: 20_000,
		why: "It is about how many lookups are under way.",
	},
	{
		name: "missing", job: "cleanupOrphanedMedia", items: "objects",
		about: "Two objects of each post; every eleventh post does not exist, so its objects are deleted. 1,100,000 objects make 100,000 actions, as many as MAX_ACTIONS allows.",
		world: func(n int, _ time.Time) standin.World { return media(n, 11) }, seed: seedMedia,
		due: func(n int) int { return objectsAPost * (n / objectsAPost / 11) }, least: atRate(1./11, 1000), quota: objectsQuota,
		usual: 50_000, most: 1_000_000, huge: 1_100_000,
	},
	{
		name: "circleposts", job: "cleanupOrphanedMedia", items: "posts",
		about: "Ten posts of each circle, with a comment and a reaction each; every eleventh circle does not exist, so its posts are deleted with what belongs to them.",
		world: circlePosts, seed: seedCirclePosts,
		due: func(n int) int { return postsACircle * (n / postsACircle / 11) }, least: atRate(3./11, 500), quota: writesQuota,
		usual: 10_000, most: 100_000, why: "A circle that is deleted takes its posts along, so posts without one come from accidents: thousands of them, not hundreds of thousands.",
	},
	{
		name: "inquiries", job: "cleanupResolvedInquiries", items: "inquiries",
		about: "Inquiries with five messages and an image each. Half are resolved; a tenth is to be archived and deleted, and the users of another tenth are to be told.",
		world: inquiries, seed: seedInquiries,
		due: func(n int) int { return 2 * (n / 10) }, least: atRate(0.1*7+0.1*2, 500), quota: writesQuota,
		usual: 2000, most: 10_000, why: "A resolved inquiry stays a week, so there are no more than people can answer in that time and have open.",
	},
	{
		name: "inuse", job: "checkGhostCircles", items: "circles",
		about: "Circles of which none is due: people post to some, one of twenty is new, and as many were deleted long ago.",
		world: circlesInUse, seed: seedCircles,
		due: none, usual: 10_000, most: 1_000_000,
	},
	{
		name: "circles", job: "checkGhostCircles", items: "circles",
		about: "Circles with three posts each, a comment, a reaction and an image to each. One of twenty is a ghost whose owner is to be warned, another of twenty was warned and is deleted with " +
			"its posts and images; the others are in use.",
		world: circles, seed: seedCircles,
		due: func(n int) int { return every(n, 20, 0) + every(n, 20, 1) }, least: atRate(0.05*2+0.05*12, 500), quota: writesQuota,
		usual: 5000, most: 100_000, why: "A circle is a group of people: an application with a million users has some ten thousand of them.",
	},
	{
		name: "banned", job: "cleanupBannedUsers", items: "users",
		about: "Users, of whom one of 250 is banned for good; half of those are due. MAX_USERS is 1,000, the most that a run may be told.",
		world: banned, seed: seedBanned, env: map[string]string{"MAX_USERS": "1000"},
		due: func(n int) int { return min(1000, n/250/2) }, least: func(n int) time.Duration { return time.Duration(min(1000, n/500)) * time.Second / 1000 },
		quota: "one call a second that deletes up to 1,000 accounts", usual: 100_000, most: 1_000_000,
	},
	{
		name: "reports", job: "cleanupReports", items: "documents",
		about: "Reports that were all reviewed, a tenth of them more than a month ago: that tenth is deleted.",
		world: reports, seed: seedReports, bulk: true, due: func(n int) int { return n / 10 }, least: atRate(0.1, 500), quota: writesQuota,
		usual: 20_000, most: 1_000_000,
	},
	{
		name: "comped", job: "cleanExpiredComped", items: "rows",
		about: "Complimentary subscriptions, one a member; one of twenty has expired, so its row is deleted, its member becomes free, and an event says so.",
		world: comped, seed: seedComped, due: func(n int) int { return n / 20 }, least: atRate(0.05*3, 500), quota: writesQuota,
		usual: 20_000, most: 1_000_000,
	},
	{
		name: "projects", job: "deleteInactiveProjects", items: "projects",
		about: "Projects, of which a fifth is dormant: of those the people of a quarter are to be warned, a quarter is to be marked for deletion, and half is in its grace.",
		world: projects, seed: seedProjects, due: func(n int) int { return every(n/5, 4, 0) + every(n/5, 4, 1) }, least: atRate(0.05*1+0.05*2, 500), quota: writesQuota,
		usual: 20_000, most: 100_000, why: "GitLab's own largest instances have millions of projects, one that an administrator looks after some ten thousand; the job runs every ten minutes and continues.",
	},
	{
		name: "warning", job: "sendInactiveProjectWarning", items: "tasks",
		about: "The worker: each task warns the people of one project.",
		world: func(n int, now time.Time) standin.World { return projects(projectsATask*n, now) }, seed: seedWarning, due: func(n int) int { return n }, least: atRate(1, 5), quota: "the queue's five tasks a second",
		usual: 20, most: 100, why: "Each task is a run of its own.",
		task: func(i, n int) string {
			return fmt.Sprintf(`{"project_id":%q,"deletion_date":"2099-01-01"}`, warnedProject(i, n))
		}, atOne: 5,
	},
	{
		name: "invites", job: "removeUnacceptedMemberInvites", items: "members",
		about: "Members, of whom a tenth are invitations; half of those were not accepted within 90 days and are deleted.",
		world: invites, seed: seedInvites, bulk: true, due: func(n int) int { return n/10 - n/20 }, least: atRate(0.05, 500), quota: writesQuota,
		usual: 20_000, most: 1_000_000,
	},
	{
		name: "placeholders", job: "cleanupPlaceholderUsers", items: "details",
		about: "Placeholder users of imports, of whom a tenth is in no namespace: each of those gets a task.",
		world: func(n int, _ time.Time) standin.World { return placeholders(n, n/10) }, seed: seedPlaceholders, due: func(n int) int { return n / 10 }, least: atRate(0.1, 500), quota: writesQuota,
		usual: 10_000, most: 100_000, why: "An import makes one placeholder for each author that it does not find.",
	},
	{
		name: "placeholder", job: "deletePlaceholderUser", items: "tasks",
		about: "The worker: each task deletes one placeholder user with the account and the details, if nothing refers to it.",
		world: func(n int, _ time.Time) standin.World { return placeholders(n, n) }, seed: seedPlaceholder, due: func(n int) int { return n }, least: atRate(1, 0.9), quota: "the queue's 0.9 tasks a second",
		usual: 20, most: 100, why: "Each task is a run of its own.",
		task: func(i, n int) string { return fmt.Sprintf(`{"placeholder_user_id":%q}`, id(placeholderID, i, n)) }, atOne: 1,
	},
}
