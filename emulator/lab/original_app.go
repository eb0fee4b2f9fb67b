package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	gofirestore "cloud.google.com/go/firestore"
	"cloud.google.com/go/storage"
	"google.golang.org/api/iterator"
)

// deleteAll deletes documents in one commit.
func (g plain) deleteAll(ctx context.Context, found ...*gofirestore.DocumentSnapshot) error {
	return g.db.RunTransaction(ctx, func(_ context.Context, tx *gofirestore.Transaction) error {
		for _, d := range found {
			if err := tx.Delete(d.Ref); err != nil {
				return err
			}
		}
		return nil
	})
}

// deleteURL deletes the object that a download URL names, if there is one.
func (g plain) deleteURL(ctx context.Context, text any) error {
	address, _ := text.(string)
	_, name, ok := strings.Cut(address, "/o/")
	if !ok {
		return nil
	}
	name, err := url.QueryUnescape(strings.TrimSuffix(name, "?alt=media&token=x"))
	if err != nil {
		return err
	}
	if err := g.bucket.Object(name).Delete(ctx); !errors.Is(err, storage.ErrObjectNotExist) {
		return err
	}
	return nil
}

// deletePost deletes a post with its comments, its reactions and its media.
func (g plain) deletePost(ctx context.Context, post *gofirestore.DocumentSnapshot) error {
	all := []*gofirestore.DocumentSnapshot{post}
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

// originalInquiries reads all resolved inquiries, and archives or announces one after the other, messages one after the other.
func originalInquiries(ctx context.Context, g plain, _ int) (looked, done int, err error) {
	now := g.now
	resolved, err := g.db.Collection("inquiries").Where("status", "==", "resolved").Documents(ctx).GetAll()
	if err != nil {
		return 0, 0, fmt.Errorf("query: %w", err)
	}
	for _, inquiry := range resolved {
		data := inquiry.Data()
		at, _ := data["resolvedAt"].(time.Time)
		switch age := now.Sub(at); {
		case age >= 7*day:
			if err := g.archive(ctx, inquiry, data); err != nil {
				return len(resolved), done, err
			}
			done++
		case age >= 6*day:
			note := g.db.Collection("users").Doc(fmt.Sprint(data["userId"])).Collection("notifications").NewDoc()
			if _, err := note.Set(ctx, map[string]any{"type": "inquiry_deletion_warning", "createdAt": now}); err != nil {
				return len(resolved), done, err
			}
			done++
		}
	}
	return len(resolved), done, nil
}

func (g plain) archive(ctx context.Context, inquiry *gofirestore.DocumentSnapshot, data map[string]any) error {
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
func originalCircles(ctx context.Context, g plain, _ int) (looked, done int, err error) {
	now := g.now
	all, err := g.db.Collection("circles").Where("isDeleted", "==", false).Documents(ctx).GetAll()
	if err != nil {
		return 0, 0, fmt.Errorf("query: %w", err)
	}
	for _, circle := range all {
		data := circle.Data()
		posted, isPosted := data["lastHumanPostAt"].(time.Time)
		created, _ := data["createdAt"].(time.Time)
		warned, isWarned := data["ghostWarningNotifiedAt"].(time.Time)
		idle := isPosted && now.Sub(posted) > 365*day || !isPosted && now.Sub(created) > 30*day
		switch {
		case !idle:
			continue
		case !isWarned:
			note := g.db.Collection("users").Doc(fmt.Sprint(data["ownerId"])).Collection("notifications").NewDoc()
			if _, err = note.Set(ctx, map[string]any{"type": "circle_ghost_warning", "createdAt": now}); err == nil {
				_, err = circle.Ref.Update(ctx, []gofirestore.Update{{Path: "ghostWarningNotifiedAt", Value: now}})
			}
		case now.Sub(warned) >= 7*day:
			err = g.deleteCircle(ctx, circle)
		default:
			continue
		}
		if err != nil {
			return len(all), done, err
		}
		done++
	}
	return len(all), done, nil
}

func (g plain) deleteCircle(ctx context.Context, circle *gofirestore.DocumentSnapshot) error {
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
	files := g.bucket.Objects(ctx, &storage.Query{Prefix: "circles/" + circle.Ref.ID + "/"})
	for {
		file, err := files.Next()
		if errors.Is(err, iterator.Done) {
			return nil
		}
		if err == nil {
			err = g.bucket.Object(file.Name).Delete(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// originalBanned deletes the accounts and documents of the first twenty, one after the other, as often as it takes: twenty a day.
// An account that could not be deleted it leaves for ever.
func originalBanned(ctx context.Context, g plain, _ int) (looked, done int, err error) {
	for {
		due, err := g.db.Collection("users").Where("banStatus", "==", "permanent").
			Where("permanentBanScheduledDeletionAt", "<=", g.now).Limit(20).Documents(ctx).GetAll()
		if err != nil {
			return looked, done, fmt.Errorf("query: %w", err)
		}
		looked += len(due)
		for _, user := range due {
			_ = g.auth.DeleteUser(ctx, user.Ref.ID) // as the document has it
			if _, err := user.Ref.Delete(ctx); err != nil {
				return looked, done, err
			}
			done++
		}
		if len(due) < 20 {
			return looked, done, nil
		}
	}
}
