package declared_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"cloud.google.com/go/storage"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// TestWhatAnotherRuleKeeps stays, and its parent with it: whatever that rule's unless says, and wherever with leads there.
func TestWhatAnotherRuleKeeps(t *testing.T) {
	t.Parallel()
	const erase = `{"name":"eraseUsers","schedule":"0 4 * * *","collection":"users","age":{"field":"at","days":30},"maxDuePercent":100,"with":[`
	const other = `]},{"name":"cleanupOthers","schedule":"0 4 * * *","age":{"field":"at","days":3000},`
	const invoices = `{"collection":"invoices","field":"userId"}`
	for name, tt := range map[string]struct {
		rules string
		keeps map[string]fields // what keeps the user held
		meets string            // the rule that check names; empty: none
	}{
		"a document":       {invoices + other + `"collection":"invoices","unless":[{"document":"legalHolds/{id}"}]}`, map[string]fields{"legalHolds/of-held": {"x": true}}, "cleanupOthers"},
		"a condition":      {invoices + other + `"collection":"invoices","unless":[{"field":"open","==":true}]}`, map[string]fields{"invoices/of-held": {"userId": "held", "open": true}}, "cleanupOthers"},
		"an account":       {invoices + other + `"collection":"invoices","unless":[{"account":"{keeper}"}]}`, map[string]fields{"invoices/of-held": {"userId": "held", "keeper": "ken"}}, "cleanupOthers"},
		"what is below it": {invoices + other + `"collection":"invoices","unless":[{"subcollection":"disputes"}]}`, map[string]fields{"invoices/of-held/disputes/d": {"x": true}}, "cleanupOthers"},
		"what refers to it": {invoices + other + `"collection":"invoices","unless":[{"collection":"disputes","field":"of"}]}`, map[string]fields{"disputes/d": {"of": "of-held"}},
			"cleanupOthers"},
		"by a path":                           {`{"document":"profiles/{id}"}` + other + `"collection":"profiles","unless":[{"document":"pins/{id}"}]}`, map[string]fields{"profiles/held": {"x": true}, "pins/held": {"x": true}}, "cleanupOthers"},
		"below":                               {`{"subcollection":"notes"}` + other + `"collection":"users/{user}/notes","unless":[{"document":"pins/{user}"}]}`, map[string]fields{"pins/held": {"x": true}}, "cleanupOthers"},
		"in every place":                      {`{"subcollection":"**"}` + other + `"collectionGroup":"notes","unless":[{"field":"open","==":true}]}`, map[string]fields{"users/held/notes/n": {"open": true}}, "cleanupOthers"},
		"all below":                           {`{"subcollection":"**"}` + other + `"collection":"users/{user}/notes","unless":[{"document":"pins/{user}"}]}`, map[string]fields{"pins/held": {"x": true}}, "cleanupOthers"},
		"nested":                              {`{"subcollection":"notes","with":[{"subcollection":"lines"}]}` + other + `"collectionGroup":"lines","unless":[{"field":"open","==":true}]}`, map[string]fields{"users/held/notes/n/lines/l": {"open": true}}, "cleanupOthers"},
		"of the relation":                     {`{"collection":"invoices","field":"userId","unless":[{"document":"legalHolds/{id}"}]}` + "]}", map[string]fields{"legalHolds/of-held": {"x": true}}, ""},
		"a condition of it":                   {`{"collection":"invoices","field":"userId","unless":[{"field":"open","==":true}]}` + "]}", map[string]fields{"invoices/of-held": {"userId": "held", "open": true}}, ""},
		"of one below":                        {`{"subcollection":"notes","unless":[{"document":"pins/{id}"}]}` + "]}", map[string]fields{"users/held/notes/p": {"x": true}, "pins/p": {"x": true}}, ""},
		"of one nested":                       {`{"subcollection":"notes","with":[{"subcollection":"lines","unless":[{"field":"open","==":true}]}]}` + "]}", map[string]fields{"users/held/notes/n/lines/l": {"open": true}}, ""},
		"of the relation, deleted along":      {`{"collection":"invoices","field":"userId","unless":[{"collection":"disputes","field":"of"}]},{"collection":"disputes","field":"userId"}` + "]}", map[string]fields{"disputes/d": {"of": "of-held", "userId": "held"}}, ""},
		"of one below, deleted along":         {`{"subcollection":"notes","unless":[{"subcollection":"lines","where":[{"field":"open","==":true}]}],"with":[{"subcollection":"lines"}]}` + "]}", map[string]fields{"users/held/notes/n/lines/l": {"open": true}}, ""},
		"all below, by what is deleted along": {`{"subcollection":"**"}` + other + `"collection":"users/{user}/notes","unless":[{"document":"users/{user}/config/hold"}]}`, map[string]fields{"users/held/config/hold": {"x": true}}, "cleanupOthers"},
		"by no owner":                         {`{"subcollection":"notes","with":[{"subcollection":"lines"}]}` + other + `"collectionGroup":"lines","unless":[{"document":"{parent}"},{"field":"open","==":true}]}`, map[string]fields{"users/held/notes/n/lines/l": {"open": true}}, "cleanupOthers"},
		"by no owner, beside it":              {`{"collection":"invoices","field":"userId","with":[{"collection":"replies","field":"of"}]}` + other + `"collection":"replies","unless":[{"document":"invoices/{of}"},{"field":"open","==":true}]}`, map[string]fields{"replies/d": {"of": "of-held", "open": true}}, "cleanupOthers"},
		"by no owner, all below":              {`{"subcollection":"**"}` + other + `"collection":"users/{user}/notes/{note}/lines","unless":[{"document":"users/{user}/notes/{note}"},{"document":"users/{user}"},{"field":"open","==":true}]}`, map[string]fields{"users/held/notes/n/lines/l": {"open": true}}, "cleanupOthers"},
		"the rule's own": {`{"document":"users/{partner}"}],"unless":[{"document":"pins/{id}"}` + "]}",
			map[string]fields{"users/held": {"at": old, "partner": "wife"}, "users/wife": {"at": now}, "pins/wife": {"x": true}, "users/free": {"at": old, "partner": "man"}, "users/man": {"at": now}}, "eraseUsers"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			entries := lists(t, erase+tt.rules)
			words := entries[0].Words()
			says := strings.Contains(words, "what "+tt.meets+" keeps stays")
			enginetest.Want(t, "that check says it in "+words, tt.meets != "", says)
			uses := slices.Contains(entries[0].Uses(), config.Auth)
			enginetest.Want(t, "that it uses accounts", strings.Contains(tt.rules, "account"), uses)
			f := enginetest.New(t, newFunction(t, entries[0]))
			f.Indexes, f.Now = entries[0].Indexes, now
			f.SignUp(t, "ken")
			for _, user := range []string{"free", "held"} {
				f.Set(t, "users/"+user, fields{"at": old})
				f.Set(t, "users/"+user+"/notes/n", fields{"at": old})
				f.Set(t, "users/"+user+"/notes/n/lines/m", fields{"at": old})
				f.Set(t, "invoices/of-"+user, fields{"userId": user, "open": false, "keeper": "nobody"})
				f.Set(t, "profiles/"+user, fields{"x": true})
				f.Set(t, "replies/of-"+user, fields{"of": "of-" + user})
			}
			for path, data := range tt.keeps {
				f.Set(t, path, data)
			}
			preview := f.Run(t, `{"dryRun":true}`)
			for _, one := range preview.Plan {
				enginetest.Want(t, one.Target+" is kept by the plan", one.Target == "users/held", one.Kept != "")
			}
			enginetest.Want(t, "items that stay, by the plan", 1, preview.Stay())
			rep := f.Run(t, "")
			enginetest.Want(t, "status", report.Completed, rep.Status)
			users := f.IDs(t, "users")
			enginetest.Want(t, "users that stay", true, slices.Contains(users, "held") && !slices.Contains(users, "free"))
			for path := range tt.keeps {
				if _, there := f.Everything(t)[path]; !there && !strings.Contains(path, "free") && !strings.Contains(path, "man") {
					t.Errorf("%s is deleted", path)
				}
			}
			for _, path := range []string{"users/held/notes/n", "invoices/of-held", "profiles/held"} {
				enginetest.Want(t, path+" is deleted", false, f.Everything(t)[path] == nil)
			}
		})
	}
}

// TestAnAccountStaysWithWhatIsKept: what keeps a document that is deleted with an account keeps the account, too, and plan and run
// say so.
func TestAnAccountStaysWithWhatIsKept(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		bills  fields // of with
		others string // rules
		held   map[string]fields
		unless array  // of the entry of with about people
		stays  string // the collection of what is kept; empty: bills
	}{
		"another rule's unless about its document": {fields{"collection": "bills", "field": "of"},
			`{"name":"cleanupPeople","schedule":"0 4 * * *","collection":"people","age":"any","unless":[{"document":"holds/{id}"}]}`,
			map[string]fields{"holds/held": {}}, nil, "people"},
		"its condition": {fields{"collection": "bills", "field": "of"},
			`{"name":"cleanupPeople","schedule":"0 4 * * *","collectionGroup":"people","age":"any","unless":[{"field":"vip","==":true}]}`,
			map[string]fields{"people/held": {"vip": true}}, nil, "people"},
		"what is below its document": {fields{"collection": "bills", "field": "of"},
			`{"name":"cleanupPeople","schedule":"0 4 * * *","collection":"people","age":"any","unless":[{"subcollection":"locks","within":{"field":"at","days":9}}]}`,
			map[string]fields{"people/held/locks/l": {"at": now}}, nil, "people"},
		"what refers to its document, and is deleted along": {fields{"collection": "bills", "field": "of"},
			`{"name":"cleanupPeople","schedule":"0 4 * * *","collection":"people","age":"any","unless":[{"collection":"bills","field":"of","where":[{"field":"open","==":true}]},{"account":"{id}"}]}`,
			map[string]fields{"bills/of-held": {"of": "held", "open": true}}, nil, "people"},
		"its document's own unless": {fields{"collection": "bills", "field": "of"},
			`{"name":"cleanupOther","schedule":"0 4 * * *","collection":"other","age":"any"}`,
			map[string]fields{"people/held/locks/l": {"at": now}},
			array{fields{"subcollection": "locks", "within": fields{"field": "at", "days": 9}}, fields{"field": "vip", "==": true}}, "people"},
		"another rule's unless": {fields{"collection": "bills", "field": "of"},
			`{"name":"cleanupBills","schedule":"0 4 * * *","collection":"bills","age":"any","unless":[{"document":"holds/{id}"}]}`,
			map[string]fields{"bills/of-held": {"of": "held"}, "holds/of-held": {}}, nil, ""},
		"the relation's unless": {fields{"collection": "bills", "field": "of", "unless": array{fields{"field": "open", "==": true}}},
			`{"name":"cleanupOther","schedule":"0 4 * * *","collection":"other","age":"any"}`,
			map[string]fields{"bills/of-held": {"of": "held", "open": true}}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := world{others: []string{tt.others}, accounts: []string{"held", "free"}, gone: []string{"account free", "people/free", "bills/of-free"},
				documents: map[string]fields{"people/held": {}, "people/free": {}, "bills/of-free": {"of": "free"}}}
			maps.Copy(w.documents, tt.held)
			maps.Copy(w.documents, map[string]fields{"people/other": {"vip": false}, "people/other/locks/l": {"at": old}, "holds/other": {}})
			person := fields{"document": "people/{uid}", "with": array{tt.bills, fields{"subcollection": "locks"}}}
			if tt.unless != nil {
				person["unless"] = tt.unless
			}
			rep, f := w.run(t, fields{"accounts": "all", "maxDuePercent": 100, "age": fields{"by": "creationTime", "days": 30},
				"with": array{person}})
			stays := cmp.Or(tt.stays, "bills")
			check.Holds(t, fmt.Sprint(rep.Kept, f.LogLines(t)), "a document of "+stays+" that would be deleted along stays")
		})
	}
}

// TestWhatKeepsIsDeletedLast: where one commit cannot take all, none deletes what keeps the rest before anybody asked.
func TestWhatKeepsIsDeletedLast(t *testing.T) {
	for name, tt := range map[string]struct {
		with  array
		many  string // documents
		held  string // and what keeps them
		keeps fields
	}{
		"below it": {array{fields{"subcollection": "rooms", "unless": array{fields{"subcollection": "notes", "within": fields{"field": "at", "days": 9}}},
			"with": array{fields{"subcollection": "notes"}}}}, "drafts/d/rooms/r/notes/n%03d", "drafts/d/rooms/r/notes/a", fields{"at": now}},
		"beside it": {array{fields{"collection": "disputes", "field": "draft"}, fields{"collection": "notes", "field": "draft",
			"unless": array{fields{"document": "disputes/{id}"}}}}, "notes/n%03d", "disputes/n890", fields{"draft": "d"}},
		"beside it, with what is below": {array{fields{"collection": "disputes", "field": "draft"}, fields{"collection": "notes", "field": "draft",
			"unless": array{fields{"document": "disputes/{id}"}}, "with": array{fields{"subcollection": "lines"}}}}, "notes/n%03d", "disputes/n890", fields{"draft": "d"}},
		"below it, all": {array{fields{"subcollection": "**"}}, "drafts/d/rooms/r/notes/n%03d", "drafts/d/rooms/r/notes/a", fields{"open": true}},
	} {
		t.Run(name, func(t *testing.T) {
			const rooms = `{"name":"cleanupRooms","schedule":"0 4 * * *","collectionGroup":"rooms","age":"any","unless":[{"subcollection":"notes",
				"where":[{"field":"open","==":true}]}]}`
			f := startEntry(t, entry(t, drafts(fields{"with": tt.with}), rooms))
			for _, path := range []string{"drafts/d", "drafts/other", "drafts/d/rooms/r", "disputes/x", "notes/x/lines/l"} {
				f.Set(t, path, fields{"updatedAt": map[bool]any{true: old, false: now}[path == "drafts/d"], "draft": "nobody", "at": old})
			}
			for first := 0; first < 900; first += 300 {
				f.SetMany(t, 300, func(i int) (string, fields) {
					return fmt.Sprintf(tt.many, first+i), fields{"draft": "d", "at": old, "open": false}
				})
			}
			f.Set(t, tt.held, tt.keeps)
			enginetest.Want(t, "status", report.Completed, f.Run(t, "").Status)
			for _, path := range []string{"drafts/d", tt.held, "drafts/d/rooms/r"} {
				enginetest.Want(t, path+" is deleted", false, f.Everything(t)[path] == nil)
			}
		})
	}
}

// TestWhatIsLeftToDoIsJudgedAgain, for it may wait for months: a file to which another document refers by now stays, and so does
// a folder with such a file. It stays for good, also where a later run does the rest.
func TestWhatIsLeftToDoIsJudgedAgain(t *testing.T) {
	for name, rule := range map[string]array{
		"a file":   {fields{"objects": "covers/**", "field": "covers[]"}},
		"a folder": {fields{"objects": "covers/{id}/**"}, fields{"objects": "covers/**", "field": "covers[]"}},
	} {
		t.Run(name, func(t *testing.T) { isJudgedAgain(t, rule) })
	}
}

func isJudgedAgain(t *testing.T, rule array) {
	t.Helper()
	f := start(t, drafts(fields{"maxDuePercent": 100, "with": rule}))
	if !f.EmbeddedStorage() {
		t.Skip("only the embedded Storage imitates holds")
	}
	hold := func(name string, on bool) {
		_, err := f.Storage(t).Bucket(f.Bucket).Object(name).Update(t.Context(), storage.ObjectAttrsToUpdate{TemporaryHold: on})
		ok(t, err)
	}
	used, held := "covers/due/a.png", "covers/b.png"
	for _, file := range []string{used, held} {
		f.Put(t, file, nil, nil)
		hold(file, true)
	}
	f.Set(t, "drafts/due", fields{"updatedAt": old, "covers": array{used, held}})
	f.Run(t, "")
	enginetest.Want(t, "documents", 0, len(f.IDs(t, "drafts")))
	hold(used, false)
	f.Set(t, "drafts/young", fields{"updatedAt": now, "covers": array{used}})
	const kept = "another document of drafts refers to it"
	for _, request := range []string{`{"dryRun":true}`, ""} {
		if got := f.Run(t, request); got.Kept[kept] == 0 {
			t.Errorf("%s keeps %v", request, got.Kept)
		}
	}
	f.Delete(t, "drafts/young")
	hold(held, false)
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("finish interrupted action", 1))
	enginetest.Want(t, "files", []string{used}, f.Objects(t))
	enginetest.Want(t, "left to do", 0, len(f.IDs(t, "cleanupJobs/cleanupThings/cleanupTodo")))
}

// TestAnAccountThatIsLeftIsJudgedAgain: a rule of the list keeps it by now.
func TestAnAccountThatIsLeftIsJudgedAgain(t *testing.T) {
	f := startEntry(t, entry(t, fields{"collection": "users", "age": fields{"field": "seenAt", "months": 1}, "maxDuePercent": 100,
		"with": array{fields{"account": "{id}"}}},
		`{"name":"cleanupAccounts","schedule":"0 4 * * *","accounts":"all","age":{"by":"lastActive","days":3000},
			"unless":[{"document":"admins/{uid}"}]}`))
	f.Import(t, signedIn("u1", old), signedIn("u2", old))
	f.Set(t, "users/u1", fields{"seenAt": old})
	f.Set(t, "users/u2", fields{"seenAt": old})
	f.Set(t, "admins/somebody", fields{"x": 1})
	a := watch(f)
	a.before = fails("DeleteUsers")
	enginetest.Want(t, "first run", report.Failed, f.Run(t, "").Status)
	a.before = fails("nothing")
	f.Set(t, "admins/u1", fields{"since": now})
	const kept = "the account that would be deleted with it stays, because admins/{uid} exists"
	enginetest.WantKept(t, f.Run(t, ""), report.Completed, enginetest.Done("finish interrupted action", 1), map[string]int{kept: 1})
	enginetest.Want(t, "accounts", []string{"u1"}, f.Accounts(t))
	enginetest.Want(t, "left to do", 0, len(f.IDs(t, "cleanupJobs/cleanupThings/cleanupTodo")))
}

// TestRulesThatDoNotMeet: a rule that is about other documents is not asked, and check does not name it.
func TestRulesThatDoNotMeet(t *testing.T) {
	t.Parallel()
	for name, rules := range map[string]string{
		"another collection":  `{"collection":"invoices","field":"userId"}` + `]},{"name":"cleanupOthers","schedule":"0 4 * * *","collection":"orders","age":"any","unless":[{"document":"h/{id}"}]}`,
		"no unless":           `{"collection":"invoices","field":"userId"}` + `]},{"name":"cleanupOthers","schedule":"0 4 * * *","collection":"invoices","age":"any"}`,
		"an entry is removed": `{"collection":"teams","field":"members[]","remove":true}` + `]},{"name":"cleanupOthers","schedule":"0 4 * * *","collection":"teams","age":"any","unless":[{"document":"h/{id}"}]}`,
		"below another":       `{"subcollection":"**"}` + `]},{"name":"cleanupOthers","schedule":"0 4 * * *","collection":"teams/{t}/notes","age":"any","unless":[{"document":"h/{id}"}]}`,
	} {
		e := lists(t, `{"name":"eraseUsers","schedule":"0 4 * * *","collection":"users","age":{"field":"at","days":30},"with":[`+rules)[0]
		if len(e.Others) > 0 || strings.Contains(e.Words(), "keeps stays") {
			t.Errorf("%s: %s", name, e.Words())
		}
	}
}

// TestAPreviewHoldsLittle: what names others that are deleted along is looked at whole, thirty documents of it.
func TestAPreviewHoldsLittle(t *testing.T) {
	f := start(t, drafts(fields{"with": array{fields{"collection": "messages", "field": "draft",
		"with": array{fields{"document": "owners/{owner}"}}}}}))
	f.Set(t, "drafts/d", fields{"updatedAt": old})
	f.Set(t, "owners/other", fields{"x": true})
	for first := 0; first < 150; first += 30 { // in a commit
		f.SetMany(t, 30, func(i int) (string, fields) {
			return fmt.Sprintf("messages/m%03d", first+i), fields{"draft": "d", "owner": "o", "text": strings.Repeat("x", 100_000)}
		})
	}
	preview := f.Run(t, `{"dryRun":true}`)
	enginetest.Want(t, "the preview tells not all", true, preview.Plan[0].More)
	if reads := preview.Usage.FirestoreReads; reads < 30 || reads > 60 { // of at most 6 MB
		t.Errorf("%d documents were read for a preview", reads)
	}
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("delete draft", 1))
	enginetest.Want(t, "messages", 0, len(f.IDs(t, "messages")))
}

// wantHalfDone makes sure that one warning of a run about a document says why it is left half done, and how to take that back.
func wantHalfDone(t *testing.T, f *enginetest.Function, got *report.Report, document, why string) {
	t.Helper()
	said := f.Warnings(t)[document]
	text := "left half done, " + why + ": look at it; what is gone comes back with: firesweep undo " + got.RunID
	if len(said) != 1 || !strings.Contains(fmt.Sprint(said), text) {
		t.Errorf("%v, want %s", said, text)
	}
}

// TestLeftHalfDone: an item that changes between two of its commits stays, and the log says what to do about those that went along.
func TestLeftHalfDone(t *testing.T) {
	for name, tt := range map[string]struct {
		data fields
		why  string
	}{
		"changed": {fields{"updatedAt": now}, "it changed since it was judged"},
		"no time": {fields{"updatedAt": "soon"}, "it changed since it was judged, updatedAt is not a timestamp"},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, drafts(fields{"with": array{fields{"subcollection": "notes"}}}))
			f.Set(t, "drafts/d", fields{"updatedAt": old})
			f.SetAlike(t, 900, "drafts/d/notes/n%03d", fields{"n": 1})
			f.AfterCommits(func(_ int, commit *firestorepb.CommitRequest) {
				if len(commit.GetWrites()) > 300 {
					f.Set(t, "drafts/d", tt.data)
				}
			})
			got := f.Run(t, "")
			enginetest.WantReport(t, got, report.Completed, map[string]report.Counts{"delete draft": {Planned: 1, Changed: 1}})
			enginetest.Want(t, "drafts", []string{"d"}, f.IDs(t, "drafts"))
			if left := len(f.IDs(t, "drafts/d/notes")); left == 0 || left >= 900 {
				t.Errorf("%d notes are left", left)
			}
			wantHalfDone(t, f, got, "drafts/d", tt.why)
		})
	}
}

// TestLeftHalfDoneBehindAnAccount: of what goes with an account that is gone, and with what an interrupted run has left to do, the log
// says so too.
func TestLeftHalfDoneBehindAnAccount(t *testing.T) {
	t.Parallel()
	for _, interrupted := range []bool{false, true} {
		t.Run(fmt.Sprint("interrupted: ", interrupted), func(t *testing.T) {
			f := start(t, guests(fields{
				"unless": array{fields{"document": "invoices/{uid}"}},
				"with":   array{fields{"document": "users/{uid}", "with": array{fields{"collection": "orders", "field": "userId"}}}},
			}))
			f.Set(t, "invoices/somebody", fields{"x": true})
			f.Import(t, signedIn("u", old))
			f.Set(t, "users/u", fields{"x": true})
			f.SetAlike(t, 1000, "orders/o%03d", fields{"userId": "u"})
			action, refuses := "delete account", interrupted
			f.OnCommit(func(_ int, commit *firestorepb.CommitRequest, send func() error) error {
				if len(commit.GetWrites()) <= 300 {
					return send()
				}
				if refuses {
					return status.Error(codes.PermissionDenied, "not now")
				}
				err := send()
				f.Set(t, "invoices/u", fields{"x": true})
				return err
			})
			if interrupted {
				action = "finish interrupted action"
				enginetest.Want(t, "status of the run before", report.Failed, f.Run(t, "").Status)
				refuses = false
			}
			got := f.Run(t, "")
			enginetest.WantReport(t, got, report.Completed, enginetest.Done(action, 1))
			enginetest.Want(t, "users", []string{"u"}, f.IDs(t, "users"))
			enginetest.Want(t, "accounts", 0, len(f.Accounts(t)))
			if left := len(f.IDs(t, "orders")); left == 0 || left == 1000 {
				t.Errorf("%d orders are left", left)
			}
			wantHalfDone(t, f, got, "users/u", "it changed since it was judged")
		})
	}
}
