package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	gofirestore "cloud.google.com/go/firestore"
	"firebase.google.com/go/v4/errorutils"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/tasks"
)

// originalComped reads the rows that have expired and deletes them; then it reads their members, and makes those free who are
// comped.
func originalComped(ctx context.Context, g plain, _ int) (looked, done int, err error) {
	now := g.now.UTC()
	expired, err := g.db.Collection("members_products").Where("expiry_at", "<", now.Truncate(day)).Documents(ctx).GetAll()
	if err != nil {
		return 0, 0, fmt.Errorf("query: %w", err)
	}
	for _, row := range expired {
		if _, err := row.Ref.Delete(ctx); err != nil {
			return len(expired), done, err
		}
	}
	for _, row := range expired {
		id := fmt.Sprint(row.Data()["member_id"])
		member, err := g.db.Collection("members").Doc(id).Get(ctx)
		if err != nil {
			return len(expired), done, err
		}
		if member.Data()["status"] != "comped" {
			continue
		}
		if _, err := member.Ref.Update(ctx, []gofirestore.Update{{Path: "status", Value: "free"}}); err != nil {
			return len(expired), done, err
		}
		event := g.db.Collection("members_status_events").NewDoc()
		data := map[string]any{"member_id": id, "from_status": "comped", "to_status": "free", "created_at": now}
		if _, err := event.Set(ctx, data); err != nil {
			return len(expired), done, err
		}
		done++
	}
	return len(expired), done, nil
}

// originalProjects reads the dormant projects by hundreds, and asks for the warning of each.
func originalProjects(ctx context.Context, g plain, _ int) (looked, done int, err error) {
	now := g.now
	if _, err := g.db.Doc("application_settings/current").Get(ctx); err != nil {
		return 0, 0, err
	}
	q := g.db.Collection("projects").Where("last_activity_at", "<", now.AddDate(0, -6, 0)).
		OrderBy("last_activity_at", gofirestore.Asc).Limit(100)
	for from := q; ; {
		batch, err := from.Documents(ctx).GetAll()
		if err != nil {
			return looked, done, fmt.Errorf("query: %w", err)
		}
		looked += len(batch)
		for _, project := range batch {
			did, err := g.inactive(ctx, project, now)
			if err != nil {
				return looked, done, err
			}
			if did {
				done++
			}
		}
		if len(batch) < 100 {
			return looked, done, nil
		}
		from = q.StartAfter(batch[len(batch)-1])
	}
}

// inactive warns about a project or marks it; did says whether either was due.
func (g plain) inactive(ctx context.Context, project *gofirestore.DocumentSnapshot, now time.Time) (did bool, err error) {
	entry, err := g.db.Collection("inactive_project_deletion_warnings").Doc(project.Ref.ID).Get(ctx)
	warned := err == nil
	if err != nil && status.Code(err) != codes.NotFound {
		return false, err
	}
	if !warned {
		date := now.AddDate(0, 3, 0).Format(time.DateOnly)
		err := g.tasks.Enqueue(ctx, tasks.Task{
			Key: []string{project.Ref.ID, date}, Body: map[string]string{"project_id": project.Ref.ID, "deletion_date": date},
		})
		if err != nil {
			return false, err
		}
		_, err = g.db.Collection("audit_events").NewDoc().Set(ctx, map[string]any{"project_id": project.Ref.ID, "deletion_date": date})
		return true, err
	}
	if at, _ := entry.Data()["warned_on"].(time.Time); at.After(now.AddDate(0, -3, 0)) {
		return false, nil
	}
	organization, err := g.db.Collection("organizations").Doc(fmt.Sprint(project.Data()["organization_id"])).Get(ctx)
	if err != nil {
		return false, err
	}
	if _, err := entry.Ref.Delete(ctx); err != nil {
		return false, err
	}
	_, err = project.Ref.Update(ctx, []gofirestore.Update{
		{Path: "marked_for_deletion_on", Value: now}, {Path: "deleting_user", Value: organization.Data()["admin_bot_user_id"]},
	})
	return true, err
}

// originalWarning sends the warning about one project after the other.
func originalWarning(ctx context.Context, g plain, n int) (looked, done int, err error) {
	for i := range n {
		project, err := g.db.Collection("projects").Doc(warnedProject(i, n)).Get(ctx)
		if err != nil {
			return n, done, err
		}
		mail := map[string]any{"toUids": project.Data()["owner_ids"], "message": map[string]any{"subject": project.Data()["name"]}}
		if _, err := g.db.Collection("mail").NewDoc().Set(ctx, mail); err != nil {
			return n, done, err
		}
		entry := map[string]any{"warned_on": time.Now(), "deletion_date": "2099-01-01"}
		if _, err := g.db.Collection("inactive_project_deletion_warnings").Doc(project.Ref.ID).Set(ctx, entry); err != nil {
			return n, done, err
		}
		done++
	}
	return n, done, nil
}

// originalInvites asks for ten thousand old invitations at a time and deletes them, by hundreds, until there are none.
func originalInvites(ctx context.Context, g plain, _ int) (looked, done int, err error) {
	q := g.db.Collection("members").Where("invite_token", ">", "").Where("created_at", "<", g.now.Add(-90*day)).
		Where("user_id", "==", nil).Limit(10_000)
	for {
		due, err := q.Documents(ctx).GetAll()
		if err != nil || len(due) == 0 {
			return looked, done, err
		}
		looked += len(due)
		for len(due) > 0 {
			some := due[:min(100, len(due))]
			if err := g.deleteAll(ctx, some...); err != nil {
				return looked, done, err
			}
			done, due = done+len(some), due[len(some):]
		}
	}
}

// originalPlaceholders counts the attempt of each detail that is due, and hands its user to the worker.
func originalPlaceholders(ctx context.Context, g plain, _ int) (looked, done int, err error) {
	found, err := g.db.Collection("import_placeholder_user_details").Where("namespace_id", "==", nil).Documents(ctx).GetAll()
	if err != nil {
		return 0, 0, fmt.Errorf("query: %w", err)
	}
	for i, detail := range found {
		if n, _ := detail.Data()["deletion_attempts"].(int64); n >= 15 {
			continue
		}
		if _, err := detail.Ref.Update(ctx, []gofirestore.Update{
			{Path: "deletion_attempts", Value: gofirestore.Increment(1)}, {Path: "last_deletion_attempt_at", Value: time.Now()},
		}); err != nil {
			return len(found), done, err
		}
		err := g.tasks.Enqueue(ctx, tasks.Task{
			Key: []string{detail.Ref.ID, strconv.Itoa(i)}, NotBefore: time.Now().Add(time.Duration(i) * time.Second),
			Body: map[string]any{"placeholder_user_id": detail.Data()["placeholder_user_id"]},
		})
		if err != nil {
			return len(found), done, err
		}
		done++
	}
	return len(found), done, nil
}

// originalPlaceholder looks for what refers to one user after the other, and deletes the account, the document and the detail.
func originalPlaceholder(ctx context.Context, g plain, n int) (looked, done int, err error) {
	for i := range n {
		user, err := g.db.Collection("users").Doc(id(placeholderID, i, n)).Get(ctx)
		if err != nil {
			return n, done, err
		}
		references := map[string]string{"posts": "userId", "comments": "userId", "members": "user_id", "projects": "owner_ids"}
		for collection, field := range references {
			if _, err := g.db.Collection(collection).Where(field, "==", user.Ref.ID).Limit(1).Documents(ctx).GetAll(); err != nil {
				return n, done, err
			}
		}
		for err = g.auth.DeleteUser(ctx, user.Ref.ID); errorutils.IsResourceExhausted(err); err = g.auth.DeleteUser(ctx, user.Ref.ID) {
			time.Sleep(100 * time.Millisecond) // as its queue would have it tried again, only later
		}
		if err != nil {
			return n, done, err
		}
		details, err := g.db.Collection("import_placeholder_user_details").
			Where("placeholder_user_id", "==", user.Ref.ID).Documents(ctx).GetAll()
		if err != nil {
			return n, done, err
		}
		if err := g.deleteAll(ctx, append(details, user)...); err != nil {
			return n, done, err
		}
		done++
	}
	return n, done, nil
}
