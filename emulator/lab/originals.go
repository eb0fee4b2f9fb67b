package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	gofirestore "cloud.google.com/go/firestore"
	"cloud.google.com/go/storage"
	"firebase.google.com/go/v4/errorutils"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/tasks"
)

// originalMedia asks for the post of each object, and deletes the object if there is none.
func originalMedia(ctx context.Context, g *plain) error {
	return g.eachFile(ctx, "posts/", func(file *storage.ObjectAttrs) error {
		g.looked++
		_, err := g.db.Collection("posts").Doc(file.Metadata["postId"]).Get(ctx)
		if status.Code(err) != codes.NotFound {
			return err
		}
		g.done++
		return g.bucket.Object(file.Name).Delete(ctx)
	})
}

// originalReports reads what is due whole, one status after the other, and deletes it in one commit.
func originalReports(ctx context.Context, g *plain) error {
	var due []snapshot
	for _, is := range []string{"reviewed", "dismissed"} {
		q := g.db.Collection("reports").Where("status", "==", is).Where("createdAt", "<", g.now.AddDate(0, -1, 0))
		found, err := g.all(ctx, q)
		if err != nil {
			return err
		}
		due = append(due, found...)
	}
	g.done = len(due)
	return g.deleteAll(ctx, due...)
}

// deleteURL deletes the object that a download URL names, if there is one.
func (g *plain) deleteURL(ctx context.Context, text any) error {
	address, _ := text.(string)
	_, name, ok := strings.Cut(address, "/o/")
	if !ok {
		return nil
	}
	name, err := url.QueryUnescape(strings.TrimSuffix(name, "?alt=media&token=x"))
	if err == nil {
		err = g.bucket.Object(name).Delete(ctx)
	}
	if errors.Is(err, storage.ErrObjectNotExist) {
		return nil
	}
	return err
}

// deletePost deletes a post with its comments, its reactions and its media.
func (g *plain) deletePost(ctx context.Context, post snapshot) error {
	all := []snapshot{post}
	for _, of := range []string{"comments", "reactions"} {
		found, err := g.db.Collection(of).Where("postId", "==", post.Ref.ID).Documents(ctx).GetAll()
		if err != nil {
			return err
		}
		all = append(all, found...)
	}
	if err := g.deleteAll(ctx, all...); err != nil {
		return err
	}
	items, _ := post.Data()["mediaItems"].([]any)
	for _, item := range items {
		if err := g.deleteURL(ctx, item.(map[string]any)["url"]); err != nil {
			return err
		}
	}
	return nil
}

// notify tells a user something.
func (g *plain) notify(ctx context.Context, user any, kind string) error {
	return g.add(ctx, fmt.Sprintf("users/%v/notifications", user), map[string]any{"type": kind, "createdAt": g.now})
}

// originalInquiries reads all resolved inquiries, and archives or announces one after the other, messages one after the other.
func originalInquiries(ctx context.Context, g *plain) error {
	return g.each(ctx, g.db.Collection("inquiries").Where("status", "==", "resolved"), func(inquiry snapshot) (bool, error) {
		at, _ := inquiry.Data()["resolvedAt"].(time.Time)
		switch age := g.now.Sub(at); {
		case age >= 7*day:
			return true, g.archive(ctx, inquiry, inquiry.Data())
		case age >= 6*day:
			return true, g.notify(ctx, inquiry.Data()["userId"], "inquiry_deletion_warning")
		}
		return false, nil
	})
}

func (g *plain) archive(ctx context.Context, inquiry snapshot, data map[string]any) error {
	messages, err := inquiry.Ref.Collection("messages").Documents(ctx).GetAll()
	if err != nil {
		return err
	}
	var contents []any
	for _, m := range messages {
		contents = append(contents, m.Data())
	}
	data["archivedAt"], data["messages"] = time.Now(), contents
	if _, err := g.db.Collection("archivedInquiries").Doc(inquiry.Ref.ID).Set(ctx, data); err != nil {
		return err
	}
	for _, m := range messages {
		if err := g.deleteURL(ctx, m.Data()["imageUrl"]); err != nil {
			return err
		}
	}
	for _, m := range append(messages, inquiry) {
		if _, err := m.Ref.Delete(ctx); err != nil {
			return err
		}
	}
	return nil
}

// originalCircles reads all circles and warns or deletes one after the other. Its query for circles that are not deleted needs
// none of the fields that it looks at.
func originalCircles(ctx context.Context, g *plain) error {
	return g.each(ctx, g.db.Collection("circles").Where("isDeleted", "==", false), func(circle snapshot) (bool, error) {
		data := circle.Data()
		posted, isPosted := data["lastHumanPostAt"].(time.Time)
		created, _ := data["createdAt"].(time.Time)
		warned, isWarned := data["ghostWarningNotifiedAt"].(time.Time)
		idle := isPosted && g.now.Sub(posted) > 365*day || !isPosted && g.now.Sub(created) > 30*day
		switch {
		case idle && !isWarned:
			err := g.notify(ctx, data["ownerId"], "circle_ghost_warning")
			if err == nil {
				err = change(ctx, circle, map[string]any{"ghostWarningNotifiedAt": g.now})
			}
			return true, err
		case idle && g.now.Sub(warned) >= 7*day:
			return true, g.deleteCircle(ctx, circle)
		}
		return false, nil
	})
}

func (g *plain) deleteCircle(ctx context.Context, circle snapshot) error {
	posts, err := g.db.Collection("posts").Where("circleId", "==", circle.Ref.ID).Documents(ctx).GetAll()
	if err != nil {
		return err
	}
	for _, post := range posts {
		if err := g.deletePost(ctx, post); err != nil {
			return err
		}
	}
	if _, err := circle.Ref.Delete(ctx); err != nil {
		return err
	}
	return g.eachFile(ctx, "circles/"+circle.Ref.ID+"/", func(file *storage.ObjectAttrs) error {
		return g.bucket.Object(file.Name).Delete(ctx)
	})
}

// originalBanned deletes the accounts and documents of the first twenty, one after the other, as often as it takes: twenty a day.
// An account that could not be deleted it leaves for ever.
func originalBanned(ctx context.Context, g *plain) error {
	q := g.db.Collection("users").Where("banStatus", "==", "permanent").
		Where("permanentBanScheduledDeletionAt", "<=", g.now).Limit(20)
	for full := true; full; {
		before := g.looked
		err := g.each(ctx, q, func(user snapshot) (bool, error) {
			_ = g.auth.DeleteUser(ctx, user.Ref.ID) // as the document has it
			_, err := user.Ref.Delete(ctx)
			return true, err
		})
		if err != nil {
			return err
		}
		full = g.looked == before+20
	}
	return nil
}

// originalComped reads the rows that have expired and deletes them; then it reads their members, and makes those free who are
// comped.
func originalComped(ctx context.Context, g *plain) error {
	var members []string
	q := g.db.Collection("members_products").Where("expiry_at", "<", g.now.Truncate(day))
	err := g.each(ctx, q, func(row snapshot) (bool, error) {
		members = append(members, fmt.Sprint(row.Data()["member_id"]))
		_, err := row.Ref.Delete(ctx)
		return false, err
	})
	if err != nil {
		return err
	}
	for _, id := range members {
		member, err := g.db.Collection("members").Doc(id).Get(ctx)
		if err != nil {
			return err
		}
		if member.Data()["status"] != "comped" {
			continue
		}
		if err := change(ctx, member, map[string]any{"status": "free"}); err != nil {
			return err
		}
		event := map[string]any{"member_id": id, "from_status": "comped", "to_status": "free", "created_at": g.now}
		if err := g.add(ctx, "members_status_events", event); err != nil {
			return err
		}
		g.done++
	}
	return nil
}

// originalProjects reads the dormant projects by hundreds, and asks for the warning of each.
func originalProjects(ctx context.Context, g *plain) error {
	if _, err := g.db.Doc("application_settings/current").Get(ctx); err != nil {
		return err
	}
	q := g.db.Collection("projects").Where("last_activity_at", "<", g.now.AddDate(0, -6, 0)).
		OrderBy("last_activity_at", gofirestore.Asc).Limit(100)
	for from, full := q, true; full; {
		before := g.looked
		err := g.each(ctx, from, func(project snapshot) (bool, error) {
			from = q.StartAfter(project)
			return g.inactive(ctx, project)
		})
		if err != nil {
			return err
		}
		full = g.looked == before+100
	}
	return nil
}

// inactive warns about a project or marks it; did says whether either was due.
func (g *plain) inactive(ctx context.Context, project snapshot) (did bool, err error) {
	entry, err := g.db.Collection("inactive_project_deletion_warnings").Doc(project.Ref.ID).Get(ctx)
	if status.Code(err) == codes.NotFound {
		date := g.now.AddDate(0, 3, 0).Format(time.DateOnly)
		warning := map[string]any{"project_id": project.Ref.ID, "deletion_date": date}
		if err := g.tasks.Enqueue(ctx, tasks.Task{Key: []string{project.Ref.ID, date}, Body: warning}); err != nil {
			return false, err
		}
		return true, g.add(ctx, "audit_events", warning)
	}
	if err != nil {
		return false, err
	}
	if at, _ := entry.Data()["warned_on"].(time.Time); at.After(g.now.AddDate(0, -3, 0)) {
		return false, nil
	}
	organization, err := g.db.Collection("organizations").Doc(fmt.Sprint(project.Data()["organization_id"])).Get(ctx)
	if err != nil {
		return false, err
	}
	if _, err := entry.Ref.Delete(ctx); err != nil {
		return false, err
	}
	return true, change(ctx, project, map[string]any{
		"marked_for_deletion_on": g.now, "deleting_user": organization.Data()["admin_bot_user_id"],
	})
}

// originalWarning sends the warning about one project after the other.
func originalWarning(ctx context.Context, g *plain) error {
	for i := range g.n {
		project, err := g.db.Collection("projects").Doc(warnedProject(i, g.n)).Get(ctx)
		if err != nil {
			return err
		}
		mail := map[string]any{"toUids": project.Data()["owner_ids"], "message": map[string]any{"subject": project.Data()["name"]}}
		if err := g.add(ctx, "mail", mail); err != nil {
			return err
		}
		entry := map[string]any{"warned_on": time.Now(), "deletion_date": "2099-01-01"}
		if _, err := g.db.Collection("inactive_project_deletion_warnings").Doc(project.Ref.ID).Set(ctx, entry); err != nil {
			return err
		}
		g.done++
	}
	return nil
}

// originalInvites asks for ten thousand old invitations at a time and deletes them, by hundreds, until there are none.
func originalInvites(ctx context.Context, g *plain) error {
	q := g.db.Collection("members").Where("invite_token", ">", "").Where("created_at", "<", g.now.Add(-90*day)).
		Where("user_id", "==", nil).Limit(10_000)
	for {
		due, err := g.all(ctx, q)
		if err != nil || len(due) == 0 {
			return err
		}
		for len(due) > 0 {
			some := due[:min(100, len(due))]
			if err := g.deleteAll(ctx, some...); err != nil {
				return err
			}
			g.done, due = g.done+len(some), due[len(some):]
		}
	}
}

// originalPlaceholders counts the attempt of each detail that is due, and hands its user to the worker.
func originalPlaceholders(ctx context.Context, g *plain) error {
	q := g.db.Collection("import_placeholder_user_details").Where("namespace_id", "==", nil)
	return g.each(ctx, q, func(detail snapshot) (bool, error) {
		if n, _ := detail.Data()["deletion_attempts"].(int64); n >= 15 {
			return false, nil
		}
		attempt := map[string]any{"deletion_attempts": gofirestore.Increment(1), "last_deletion_attempt_at": time.Now()}
		if err := change(ctx, detail, attempt); err != nil {
			return false, err
		}
		return true, g.tasks.Enqueue(ctx, tasks.Task{
			Key: []string{detail.Ref.ID, strconv.Itoa(g.done)}, NotBefore: time.Now().Add(time.Duration(g.done) * time.Second),
			Body: map[string]any{"placeholder_user_id": detail.Data()["placeholder_user_id"]},
		})
	})
}

// originalPlaceholder looks for what refers to one user after the other, and deletes the account, the document and the detail.
func originalPlaceholder(ctx context.Context, g *plain) error {
	for i := range g.n {
		user, err := g.db.Collection("users").Doc(ids("users", g.n)(i)).Get(ctx)
		if err != nil {
			return err
		}
		references := map[string]string{"posts": "userId", "comments": "userId", "members": "user_id", "projects": "owner_ids"}
		for collection, field := range references {
			if _, err := g.db.Collection(collection).Where(field, "==", user.Ref.ID).Limit(1).Documents(ctx).GetAll(); err != nil {
				return err
			}
		}
		for err = g.auth.DeleteUser(ctx, user.Ref.ID); errorutils.IsResourceExhausted(err); err = g.auth.DeleteUser(ctx, user.Ref.ID) {
			time.Sleep(100 * time.Millisecond) // as its queue would have it tried again, only later
		}
		if err != nil {
			return err
		}
		details, err := g.db.Collection("import_placeholder_user_details").
			Where("placeholder_user_id", "==", user.Ref.ID).Documents(ctx).GetAll()
		if err == nil {
			err = g.deleteAll(ctx, append(details, user)...)
		}
		if err != nil {
			return err
		}
		g.done++
	}
	return nil
}
