package reliability

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/storage"
	"firebase.google.com/go/v4/auth"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/emulator/sampledata"
	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/manifest"
	"github.com/firesweep/firesweep/shared/rule"
)

// action is what a user does while a job is running, with something that the job would otherwise delete or mark.
type action struct {
	name string
	do   func(ctx context.Context, w *world) error
	kept []string // documents that must end as they are right after it: there with these fields, or not there
	// made are documents that the job makes, by a text that their path and fields, printed, contain: they must, likewise,
	// end as they are then.
	made     []string
	objects  []string // those of them that are still there must stay
	accounts []string
	keeper   string                   // the document that keeps an account, if one does
	then     func(end map[string]any) // what else follows from it in the end; may be nil
	late     late
}

// ofBucket and ofAccount begin the names of objects and accounts, as [world.named] has them.
const ofBucket, ofAccount = "gs://bucket/", "account "

// late is an object or account that may be gone if what keeps it was there only after the job last asked for that.
type late struct {
	gone   string
	method string // of the call that asks
	asked  string // what it asks for
}

// lateObject is an object that a document keeps.
func lateObject(name, collection string) late {
	return late{gone: name, method: "RunAggregationQuery", asked: collection}
}

// keeps returns the paths of all documents that the action keeps.
func (a action) keeps(w *world) []string {
	paths := slices.Clone(a.kept)
	for _, d := range w.sample.Documents {
		for _, text := range a.made {
			if d.Before == nil && strings.Contains(fmt.Sprint(d.Path, d.After, " "), text) {
				paths = append(paths, d.Path)
			}
		}
	}
	return paths
}

// during is when the users act: during the run, and so after its now.
var during = now.Add(time.Minute)

var actions = map[string][]action{
	"cleanupOrphanedMedia": {
		{name: "the post is published", do: publish("posts/user-hana/never posted.png", "post-published"),
			kept: []string{"posts/post-published"}, objects: []string{ofBucket + "posts/user-hana/never posted.png"}},
		{
			name: "the circle is restored, with its post and a new icon", do: restoreCircle,
			kept: []string{"circles/circle-closed", "posts/post-in-closed-circle", "comments/on-closed-1", "comments/on-closed-2",
				"reactions/on-closed"},
			objects: []string{ofBucket + "posts/user-ken/山 🗻.png", ofBucket + "circles/circle-closed/icon/icon.png"},
		},
		{
			name: "the task is created", do: create("tasks/task-thrown-away", map[string]any{"title": "essay"}),
			kept: []string{"tasks/task-thrown-away"}, objects: []string{ofBucket + "task_attachments/user-hana/task-thrown-away/draft.pdf"},
			late: lateObject(ofBucket+"task_attachments/user-hana/task-thrown-away/draft.pdf", "tasks"),
		},
	},
	"cleanupResolvedInquiries": {
		{
			name: "a message is added", then: archived,
			do: update("inquiries/inquiry-login", nil, map[string]any{"lastMessageAt": during}, func(w *world, b *batch) {
				b.Create(w.content.Firestore.Doc("inquiries/inquiry-login/messages/m0-new"), newMessage)
			}),
		},
		{name: "the inquiry is reopened",
			do:   update("inquiries/inquiry-silent", nil, map[string]any{"status": "in_progress"}),
			kept: []string{"inquiries/inquiry-silent", "archivedInquiries/inquiry-silent"}},
		{
			name: "the inquiry to announce is reopened", do: update("inquiries/inquiry-resolved-anew", nil,
				map[string]any{"status": "open"}),
			kept: []string{"inquiries/inquiry-resolved-anew"}, made: []string{"inquiryId:inquiry-resolved-anew"},
		},
	},
	"checkGhostCircles": {
		{
			name: "the circle to delete is posted to", do: postTo("circle-cinema"),
			kept: []string{"circles/circle-cinema", "posts/post-new-circle-cinema", "posts/post-cinema-1", "posts/post-cinema-2",
				"comments/on-cinema", "reactions/on-cinema"},
			made:    []string{"映画同好会"},
			objects: []string{ofBucket + "posts/user-mio/cinema.png", ofBucket + "circles/circle-cinema/icon/icon.png"},
			then:    unmarked("circles/circle-cinema", circleMark),
		},
		{name: "the circle to warn about is posted to", do: postTo("circle-haiku"),
			kept: []string{"circles/circle-haiku", "posts/post-haiku", "posts/post-new-circle-haiku"},
			made: []string{"circleId:circle-haiku"}, then: unmarked("circles/circle-haiku", circleMark)},
	},
	"cleanupBannedUsers": {
		{name: "the user is unbanned", do: update("users/user-banned-last-month", nil, map[string]any{"banStatus": "none"}),
			kept: []string{"users/user-banned-last-month"}, accounts: []string{ofAccount + "user-banned-last-month"}},
	},
	"cleanupReports": {
		{name: "the report is reopened",
			do:   update("reports/reviewed-last-winter", nil, map[string]any{"status": "pending"}),
			kept: []string{"reports/reviewed-last-winter"}},
	},
	"cleanExpiredComped": {
		{name: "the member pays", do: update("members/member-comped", nil, map[string]any{"status": "paid"}),
			kept: []string{"members/member-comped"}, made: []string{"member_id:member-comped "}},
		{
			name: "the subscription is renewed", do: update("members_products/comp-expired-too", nil, map[string]any{"expiry_at": nil}),
			kept: []string{"members_products/comp-expired-too", "members/member-comped-twice"}, made: []string{
				"member_id:member-comped-twice "},
		},
	},
	"deleteInactiveProjects": {
		{
			name: "the project to mark is active", do: update("projects/project-grace-over", nil,
				map[string]any{"last_activity_at": during}),
			kept: []string{"projects/project-grace-over", "inactive_project_deletion_warnings/project-grace-over"},
		},
		{
			name: "the project to warn about is active", do: update("projects/project-dormant", nil,
				map[string]any{"last_activity_at": during}),
			kept: []string{"projects/project-dormant", "inactive_project_deletion_warnings/project-dormant"},
			made: []string{"project_id:project-dormant", "Project Dormant is"},
		},
	},
	"removeUnacceptedMemberInvites": {
		{name: "the invite is accepted",
			do:   update("members/invited-last-year", nil, map[string]any{"user_id": "user-new"}),
			kept: []string{"members/invited-last-year"}},
	},
	"cleanupPlaceholderUsers": {
		{
			name: "the placeholder is referred to", do: create("posts/post-new", map[string]any{"userId": "placeholder-unused"}),
			kept: []string{"posts/post-new", "users/placeholder-unused"}, accounts: []string{ofAccount + "placeholder-unused"},
			then: referred,
		},
		{name: "the placeholder is taken up by an import",
			do:   update("import_placeholder_user_details/detail-released", nil, map[string]any{"namespace_id": "group"}),
			kept: []string{"import_placeholder_user_details/detail-released", "users/placeholder-released"}},
	},
}

// batch is several writes, all at once or not at all, without a transaction, whose locks would keep a job waiting.
type batch = firestore.WriteBatch //nolint:staticcheck // Google would have a transaction instead

func missing(err error) bool { return status.Code(err) == codes.NotFound }

var errRefused = errors.New("the application refuses it")

// attempts is how often a user's write is tried that somebody else's came before.
const attempts = 20

// update changes fields of a document that exists and that the application, having looked at it, lets the user change. allow may
// be nil.
func update(path string, allow func(data map[string]any) bool, fields map[string]any, with ...func(w *world, b *batch)) func(
	context.Context, *world) error {
	return func(ctx context.Context, w *world) error {
		ref := w.content.Firestore.Doc(path)
		var updates []firestore.Update
		for field, value := range fields {
			updates = append(updates, firestore.Update{Path: field, Value: value})
		}
		for range attempts {
			d, err := ref.Get(ctx)
			if err != nil {
				return fmt.Errorf("look at %s: %w", path, err)
			}
			if allow != nil && !allow(d.Data()) {
				return fmt.Errorf("%s: %w", path, errRefused)
			}
			b := w.content.Firestore.Batch() //nolint:staticcheck // as above
			b.Update(ref, updates, firestore.LastUpdateTime(d.UpdateTime))
			for _, f := range with {
				f(w, b)
			}
			_, err = b.Commit(ctx)
			switch status.Code(err) {
			case codes.OK:
				return nil
			case codes.FailedPrecondition, codes.Aborted, codes.NotFound: // look again
			default:
				return fmt.Errorf("update %s: %w", path, err)
			}
		}
		return fmt.Errorf("update %s: it changes all the time", path)
	}
}

// actionsOf returns what users do while a job is running. Of a rule of docs/examples they take up the first thing that is due: they
// change the document, create the owner of the object, or sign in.
func actionsOf(job string) []action {
	e, isExample := exampleOf(job)
	switch {
	case !isExample:
		return actions[job]
	case e.Accounts != "":
		return comeBack(e)
	default:
		return []action{takenUp(e)}
	}
}

// comeBack are what the users of accounts do that are due: one signs in, and where documents keep accounts another gets one.
func comeBack(e manifest.Entry) (all []action) {
	s := sampledata.ExampleData(e, now)
	first, second := *s.Accounts[0].As, s.Accounts[1].UID
	documents, files := along(s, first.UID)
	all = append(all, action{
		name: "the user signs in", accounts: []string{ofAccount + first.UID}, kept: documents, objects: files, late: late{ofAccount + first.UID, "GetUsers", first.UID},
		do: func(ctx context.Context, w *world) error {
			switch err := w.people.DeleteUser(ctx, first.UID); {
			case auth.IsUserNotFound(err):
				return fmt.Errorf("sign in: %w", errRefused)
			case err != nil:
				return err
			}
			back := first
			back.Created, back.LastLogin = during.UnixMilli(), during.UnixMilli() // by which a rule counts, whichever it is
			refused, err := w.content.Importer.Import(ctx, []accounts.Account{back})
			if len(refused) > 0 {
				err = errors.New(refused[back.UID])
			}
			return err
		},
	})
	for _, u := range e.Related()[:min(1, len(e.Related()))] {
		refs, _ := rule.Item{ID: second, Bound: map[string]string{"uid": second}}.Fill(u.Document)
		keeper := refs[0]
		documents, files := along(s, second)
		all = append(all, action{
			name: "the user gets a document", do: create(keeper.Path(), map[string]any{"name": "hana"}), keeper: keeper.Path(),
			kept: append(documents, keeper.Path()), objects: files, accounts: []string{ofAccount + second},
			late: late{ofAccount + second, "RunAggregationQuery", keeper.Collection},
		})
	}
	return all
}

// along returns what goes along with a document or an account of this id.
func along(s sampledata.Sample, id string) (documents, files []string) {
	for _, d := range s.Documents {
		// of the archive as well, where they are not then
		if strings.Contains(d.Path+"/", "/"+id+"/") || strings.HasSuffix(d.Path, "/of-"+id) {
			documents = append(documents, d.Path)
		}
	}
	for _, o := range s.Objects {
		if !o.Kept && strings.Contains(o.Name, id) {
			files = append(files, ofBucket+o.Name)
		}
	}
	return documents, files
}

func takenUp(e manifest.Entry) action {
	s := sampledata.ExampleData(e, now)
	if e.Objects != "" {
		object := s.Objects[slices.IndexFunc(s.Objects, func(o sampledata.Object) bool { return !o.Kept })]
		gone := e.Gone[0]
		owner := string(gone.Place("")) + "/" + strings.TrimSuffix(path.Base(object.Name), path.Ext(object.Name))
		if gone.Field != "" {
			return action{
				name: "a document names the object", do: create(owner, map[string]any{gone.Field: object.Name}), kept: []string{owner},
				objects: []string{ofBucket + object.Name}, late: late{ofBucket + object.Name, "RunQuery", string(gone.Place(""))},
			}
		}
		return action{
			name: "the owner is created", do: create(owner, map[string]any{"name": "hana"}), kept: []string{owner}, objects: []string{
				ofBucket + object.Name},
			late: lateObject(ofBucket+object.Name, string(gone.Place(""))),
		}
	}
	due := s.Documents[slices.IndexFunc(s.Documents, func(d sampledata.Document) bool {
		return path.Base(path.Dir(d.Path)) == e.Rule.Name() && d.Before != nil && !cmp.Equal(d.Before, d.After)
	})]
	id := due.Path[strings.LastIndexByte(due.Path, '/')+1:]
	a := action{name: "the document is changed", do: update(due.Path, nil, map[string]any{e.Age[0].Field: during})}
	a.kept, a.objects = along(s, id)
	if e.Warn != nil {
		a.then = unmarked(due.Path, e.Warn.Field)
	}
	for _, account := range s.Accounts {
		if account.UID == id {
			a.accounts = append(a.accounts, ofAccount+id)
		}
	}
	return a
}

func create(path string, data map[string]any) func(context.Context, *world) error {
	return func(ctx context.Context, w *world) error {
		_, err := w.content.Firestore.Doc(path).Create(ctx, data)
		return err
	}
}

// publish makes a post of an object that was uploaded for it.
func publish(object, post string) func(context.Context, *world) error {
	return func(ctx context.Context, w *world) error {
		if err := create("posts/"+post, map[string]any{"text": "おはよう", "userId": "user-hana", "createdAt": during})(ctx,
			w); err != nil {
			return err
		}
		return attach(ctx, w, object, post)
	}
}

// attach makes an object a post's, as long as it is there.
func attach(ctx context.Context, w *world, object, post string) error {
	_, err := w.content.Bucket.Object(object).Update(ctx, storage.ObjectAttrsToUpdate{Metadata: map[string]string{"postId": post}})
	if errors.Is(err, storage.ErrObjectNotExist) {
		return nil
	}
	return err
}

// restoreCircle restores a circle whose post is still there, and attaches the icon to it.
func restoreCircle(ctx context.Context, w *world) error {
	restore := update("posts/post-in-closed-circle", nil, map[string]any{"restoredAt": during}, func(w *world, b *batch) {
		b.Create(w.content.Firestore.Doc("circles/circle-closed"),
			map[string]any{"name": "朝活", "ownerId": "user-hana", "createdAt": during, "isDeleted": false})
	})
	if err := restore(ctx, w); err != nil {
		return err
	}
	return attach(ctx, w, "circles/circle-closed/icon/icon.png", "")
}

// postTo posts to a circle as long as the application shows it.
func postTo(id string) func(context.Context, *world) error {
	shown := func(data map[string]any) bool { return data["isDeleted"] != true }
	return update("circles/"+id, shown, map[string]any{"lastHumanPostAt": during}, func(w *world, b *batch) {
		b.Create(w.content.Firestore.Doc("posts/post-new-"+id), map[string]any{"circleId": id, "text": "ただいま", "createdAt": during})
	})
}

const circleMark = "ghostWarningNotifiedAt"

// unmarked expects that the job takes the mark of its warning from a document that is in use again.
func unmarked(path, mark string) func(end map[string]any) {
	return func(end map[string]any) {
		if fields, there := end[path].(map[string]any); there {
			end[path] = enginetest.With(fields, mark, enginetest.Missing)
		}
	}
}

// referred expects that the attempt to delete a placeholder that is referred to counts, as it must, unless it was deleted before.
func referred(end map[string]any) {
	if end["users/placeholder-unused"] == nil {
		delete(end, ofAccount+"placeholder-unused")
		return
	}
	end["import_placeholder_user_details/detail-unused"] = map[string]any{
		"placeholder_user_id": "placeholder-unused", "namespace_id": nil, "deletion_attempts": int64(1), "last_deletion_attempt_at": now,
	}
}

var newMessage = map[string]any{"senderType": "user", "content": "まだです", "createdAt": during}

// archived expects that a message which was added before its inquiry was archived is in the archive, as the last.
func archived(end map[string]any) {
	const path = "archivedInquiries/inquiry-login"
	fields := end[path].(map[string]any)
	messages := slices.Clone(fields["messages"].([]any))
	end[path] = enginetest.With(fields, "lastMessageAt", during, "messages", append(messages, newMessage))
}
