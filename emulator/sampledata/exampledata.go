package sampledata

import (
	"path"
	"strings"
	"time"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/declared"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/manifest"
	"github.com/firesweep/firesweep/shared/retention"
)

// OldEnough is a now at which what is written today is old enough for every rule of docs/examples, also by its own time.
func OldEnough() time.Time { return time.Now().AddDate(0, 25, 0).UTC().Truncate(time.Second) }

// ExampleData returns data for a rule of docs/examples for a run at now: two items that are due, with all that
// is deleted with them, and for each condition an item that is kept because of it.
func ExampleData(e manifest.Entry, now time.Time) Sample {
	x := &example{Entry: e, now: now}
	fill := exampleData[e.Name]
	if fill == nil {
		panic("emulator/sampledata/exampledata.go has no data for the rule " + e.Name + ": add it to exampleData")
	}
	fill(x)
	return x.Sample
}

// example is the data of a rule as it is made.
type example struct {
	Sample
	manifest.Entry
	now time.Time
	// belongs is what belongs to each item, where {} stands for its id: documents, each perhaps with the field that holds the id;
	// objects, which begin with gs:; and the account of that uid.
	belongs []string
}

type fields = map[string]any

// tick is how much older than exactly as old an item must be: Authentication keeps milliseconds.
const tick = time.Millisecond

func (x *example) days(n int) time.Time   { return retention.DaysBefore(x.now, n) }
func (x *example) months(n int) time.Time { return retention.MonthsBefore(x.now, n) }

func (x *example) document(at string, before, after fields) {
	x.Documents = append(x.Documents, changed(at, before, after))
}

func (x *example) object(name string, kept bool) {
	x.Objects = append(x.Objects, Object{Name: name, Kept: kept})
}

// keeper adds a document that keeps others.
func (x *example) keeper(at string) {
	data := fields{"name": "hana"}
	x.document(at, data, data)
}

// due adds a document that is deleted with all that belongs to it.
func (x *example) due(at string, data fields) { x.add(at, data, nil) }

// kept adds a document that stays with all that belongs to it.
func (x *example) kept(at string, data fields) { x.add(at, data, data) }

func (x *example) add(at string, before, after fields) {
	x.document(at, before, after)
	x.follow(path.Base(at), after != nil)
}

// follow adds what belongs to an item.
func (x *example) follow(id string, kept bool) {
	for _, one := range x.belongs {
		one, field, _ := strings.Cut(strings.ReplaceAll(one, "{}", id), " ")
		object, isObject := strings.CutPrefix(one, "gs:")
		data := fields{"text": "hello"}
		if field != "" {
			data[field] = id
		}
		switch {
		case isObject:
			x.object(object, kept)
		case one == "account":
			x.Accounts = append(x.Accounts, Account{UID: id, Kept: kept})
		case kept:
			x.document(one, data, data)
		default:
			x.document(one, data, nil)
		}
	}
}

// account adds an account that was created and last used at a time, with all that belongs to it.
func (x *example) account(at time.Time, kept bool, a accounts.Account) {
	a.Created, a.LastLogin = at.UnixMilli(), at.UnixMilli()
	x.Accounts = append(x.Accounts, Account{UID: a.UID, Kept: kept, As: &a})
	x.follow(a.UID, kept)
}

var exampleData = map[string]func(x *example){
	"cleanupStaleDrafts": func(x *example) {
		x.belongs = []string{"drafts/{}/revisions/first", "comments/of-{} draftId", "gs:drafts/{}.png"}
		draft := func(id string, published, updated any) (string, fields) {
			return "drafts/" + id, fields{"published": published, "updatedAt": updated, "coverUrl": "drafts/" + id + ".png"}
		}
		old := x.days(90)
		x.due(draft("due-1", false, old.Add(-tick)))
		x.due(draft("due-2", nil, old.AddDate(0, 0, -1)))
		x.kept(draft("exactly-as-old", false, old))
		x.kept(draft("no-date", false, true))
		x.kept(draft("published", true, old.Add(-tick)))
	},
	"cleanupUnconfirmedUsers": func(x *example) {
		x.belongs = []string{"account"}
		signup := func(id string, created any, marks ...any) (string, fields) {
			data := fields{"createdAt": created, "email": "hana@example.com"}
			for _, mark := range marks {
				data["warnedAt"] = mark
			}
			return "signups/" + id, data
		}
		// Who was warned three days ago was due then. Who is due and was not warned, or before any date counts, is warned now.
		warned, old := x.days(3), retention.DaysBefore(x.days(3), 7).Add(-tick)
		x.due(signup("due-1", old, warned))
		x.due(signup("due-2", old.AddDate(0, 0, -1), warned))
		x.kept(signup("exactly-as-old", x.days(7)))
		x.kept(signup("no-date", true))
		x.kept(signup("warned-later", old, warned.Add(time.Second)))
		x.kept(signup("odd-mark", old, "yesterday"))
		at, data := signup("confirmed", old)
		x.kept(at, with(data, fields{"confirmedAt": x.now}))
		at, data = signup("renewed", x.now, warned)
		x.add(at, data, without(data, "warnedAt"))
		for id, mark := range map[string]any{"unwarned": nil, "warned-too-early": documents.Earliest} {
			at, data := signup(id, old, mark)
			x.add(at, data, with(data, fields{"warnedAt": x.now}))
			mail, _, _ := declared.Message(*x.Rule, documents.Document{Path: at, Data: data}, x.now)
			subject := "Your sign-up ends on " + x.now.AddDate(0, 0, 3).Format(time.DateOnly)
			x.document(mail.Path(), nil, fields{"to": []any{"hana@example.com"},
				"message": fields{"subject": subject, "text": "Confirm it to keep it."}})
		}
	},
	"cleanupNotifications": func(x *example) {
		notification := func(at string, created any) (string, fields) {
			return "users/" + at, fields{"read": true, "createdAt": created}
		}
		old := x.days(30)
		for i, user := range []string{"hana", "ken"} {
			x.due(notification(user+"/notifications/due-of-"+user, old.AddDate(0, 0, -i).Add(-tick)))
		}
		x.kept(notification("mio/notifications/exactly-as-old", old))
		x.kept(notification("mio/notifications/no-date", true))
		at, unread := notification("ken/notifications/unread", old.Add(-tick))
		x.kept(at, with(unread, fields{"read": false}))
	},
	"cleanupClosedTickets": func(x *example) {
		x.belongs = []string{"tickets/{}/messages/first"}
		ticket := func(id, status string, closed any) (string, fields) {
			return "tickets/" + id, fields{"status": status, "closedAt": closed}
		}
		old := x.months(6)
		x.due(ticket("due-1", "closed", old.Add(-tick)))
		x.due(ticket("due-2", "closed", old.AddDate(0, 0, -1)))
		x.kept(ticket("exactly-as-old", "closed", old))
		x.kept(ticket("no-date", "closed", true))
		x.kept(ticket("open", "open", old.Add(-tick)))
	},
	"hideForgottenPosts": func(x *example) {
		old := x.months(12)
		hide := func(id string, data fields) {
			x.document("articles/"+id, data, with(data, fields{"hidden": true, "hiddenAt": x.now}))
		}
		hide("due-1", fields{"hidden": false, "pinned": false, "lastOpenedAt": old.Add(-tick)})
		hide("due-2", fields{"lastOpenedAt": old.AddDate(0, 0, -1)})
		x.kept("articles/exactly-as-old", fields{"lastOpenedAt": old})
		x.kept("articles/no-date", fields{"lastOpenedAt": true})
		x.kept("articles/hidden", fields{"hidden": true, "lastOpenedAt": old.Add(-tick)})
		x.kept("articles/pinned", fields{"pinned": true, "lastOpenedAt": old.Add(-tick)})
	},
	"cleanupHiddenPosts": func(x *example) {
		x.belongs = []string{
			"articleComments/of-{} article", "likes/of-{} articleId", "gs:articles/{}.png", "gs:articleThumbnails/{}/photo.png",
		}
		article := func(id string, hidden bool, at any) (string, fields) {
			x.object("articleThumbnails/"+id+"x/photo.png", true) // of another, whose id begins like this one
			return "articles/" + id, fields{"hidden": hidden, "hiddenAt": at, "photos": []any{fields{"url": "articles/" + id + ".png"}}}
		}
		old := x.days(30)
		x.due(article("due-1", true, old.Add(-tick)))
		x.due(article("due-2", true, old.AddDate(0, 0, -1)))
		x.kept(article("exactly-as-old", true, old))
		x.kept(article("no-date", true, true))
		x.kept(article("shown", false, old.Add(-tick)))
		x.kept(article("held", true, old.Add(-tick)))
		x.keeper("legalHolds/held")
	},
	"cleanupUnusedEvents": func(x *example) { // documents' own times cannot be chosen
		x.belongs = []string{"projects/{}/parts/first", "projects/{}/parts/first/more/first"}
		old := x.months(24)
		x.due("projects/due-1", fields{"keyUsedAt": old.Add(-tick)})
		x.due("projects/due-2", fields{"name": "without a key"})
		x.kept("projects/exactly-as-old", fields{"keyUsedAt": old})
		x.kept("projects/no-date", fields{"keyUsedAt": true})
		x.kept("projects/voted", fields{"keyUsedAt": old.Add(-tick)})
		vote := fields{"at": x.now}
		x.document("projects/voted/votes/last", vote, vote)
	},
	"cleanupPushTokens": func(x *example) {
		tokens := func(phone any) fields { return fields{"pushTokens": fields{"phone": fields{"usedAt": phone}}} }
		old := x.days(270)
		x.document("users/due-1", tokens(old.Add(-tick)), fields{"pushTokens": fields{}})
		x.document("users/due-2", tokens(old.AddDate(0, 0, -1)), fields{"pushTokens": fields{}})
		x.kept("users/exactly-as-old", tokens(old))
		x.kept("users/no-date", tokens(true))
	},
	"cleanupOrphanedAvatars": func(x *example) { // the age of objects cannot be chosen
		x.keeper("users/hana")
		x.object("avatars/hana.png", true)
		x.object("avatars/due-1.png", false)
		x.object("avatars/due-2.jpeg", false)
	},
	"cleanupAnonymousAccounts": func(x *example) {
		old := x.days(30)
		x.account(old.Add(-tick), false, accounts.Account{UID: "due-1"})
		x.account(old.AddDate(0, 0, -1), false, accounts.Account{UID: "due-2"})
		x.account(old, true, accounts.Account{UID: "exactly-as-old"})
		x.account(old.Add(-tick), true, accounts.Account{UID: "named", Email: "hana@example.com", EmailVerified: true})
		x.account(old.Add(-tick), true, accounts.Account{UID: "with-document"})
		x.keeper("users/with-document")
	},
	"cleanupUnverifiedAccounts": func(x *example) {
		x.belongs = []string{"users/{}", "users/{}/orders/first", "gs:avatars/{}/photo.png"}
		add := func(uid string, at time.Time, kept, verified bool) {
			a := accounts.Account{UID: uid, Email: uid + "@example.com", EmailVerified: verified, Password: true}
			x.account(at, kept, a)
			x.object("avatars/"+uid+"x/photo.png", true) // of another, whose uid begins like this one
		}
		old := x.days(14)
		add("due-1", old.Add(-tick), false, false)
		add("due-2", old.AddDate(0, 0, -1), false, false)
		add("exactly-as-old", old, true, false)
		add("verified", old.Add(-tick), true, true)
		add("invoiced", old.Add(-tick), true, false)
		add("held", old.Add(-tick), true, false)
		x.keeper("invoices/invoiced")
		x.keeper("legalHolds/held")
	},
	"cleanupUnusedPictures": func(x *example) { // the age of objects cannot be chosen
		x.kept("products/vase", fields{"image": "products/vase.png"})
		x.kept("products/lamp", fields{"imageCollection": []any{fields{"url": "products/lamp.png"}}})
		x.object("products/vase.png", true)
		x.object("products/lamp.png", true)
		x.object("products/due-1.png", false)
		x.object("products/due-2.png", false)
	},
	"eraseBannedUsers": func(x *example) {
		x.belongs = []string{
			"users/{}/notifications/first", "posts/of-{} userId", "comments/of-{} userId", "reactions/of-{} userId",
			"reports/of-{} reporterId", "gs:avatars/{}/photo.png", "account",
		}
		user := func(id, banned string, until any) (string, fields) {
			x.object("avatars/"+id+"x/photo.png", true) // of another, whose id begins like this one
			return "users/" + id, fields{"banStatus": banned, "permanentBanScheduledDeletionAt": until}
		}
		old := x.now.Add(-time.Hour)
		x.due(user("due-1", "permanent", old.Add(-tick)))
		x.due(user("due-2", "permanent", old.AddDate(0, 0, -1)))
		x.kept(user("exactly-as-old", "permanent", old))
		x.kept(user("no-date", "permanent", true))
		x.kept(user("unbanned", "none", old.Add(-tick)))
		x.kept(user("held", "permanent", old.Add(-tick)))
		x.keeper("legalHolds/held")
	},
	"erasePostsOfNobody": func(x *example) {
		x.belongs = []string{"comments/of-{} postId", "reactions/of-{} postId", "gs:posts/{}.png"}
		post := func(id, author string, created any) (string, fields) {
			media := []any{fields{"url": "posts/" + id + ".png"}}
			return "posts/" + id, fields{"userId": author, "createdAt": created, "mediaItems": media}
		}
		old := x.days(30)
		x.due(post("due-1", "nobody", old.Add(-tick)))
		x.due(post("due-2", "nobody", old.AddDate(0, 0, -1)))
		x.kept(post("exactly-as-old", "nobody", old))
		x.kept(post("no-date", "nobody", true))
		x.kept(post("of-hana", "hana", old.Add(-tick)))
		x.keeper("users/hana")
	},
	"eraseInquiryArchives": func(x *example) {
		old := x.months(12)
		x.due("archivedInquiries/due-1", fields{"archivedAt": old.Add(-tick)})
		x.due("archivedInquiries/due-2", fields{"archivedAt": old.AddDate(0, 0, -1)})
		x.kept("archivedInquiries/exactly-as-old", fields{"archivedAt": old})
		x.kept("archivedInquiries/no-date", fields{"archivedAt": true})
	},
}
