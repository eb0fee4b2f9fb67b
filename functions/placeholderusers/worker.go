package placeholderusers

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/sweep"
)

// Worker is deletePlaceholderUser: it deletes one placeholder user that nothing refers to: the document, the account if there
// is one, and the detail that led to it.
var Worker = sweep.Job{
	Name: "deletePlaceholderUser",
	Task: &sweep.Task{Fields: []string{"placeholder_user_id"}, Check: checkTask},
	Plan: planDeletion,
}

const (
	users = "users"
	// unfinished holds a document for each user whose document is deleted and whose account perhaps not yet.
	unfinished = "cleanupJobs/deletePlaceholderUser/accounts"
)

// Why users are kept.
const (
	keptLong       = "its id is too long to ask what refers to it"
	keptCrowded    = "more details name it than can be looked at"
	keptGone       = "the user does not exist"
	keptNot        = "user_type is not placeholder"
	keptReferenced = "still referenced"
	keptClaimed    = "its detail has a namespace_id again"
)

// referencedMessage is what is logged of a user that something refers to.
const referencedMessage = "Unable to delete placeholder user because it is still referenced in other tables"

func checkTask(task map[string]string) error {
	if !documents.ValidID(task["placeholder_user_id"]) {
		return fmt.Errorf("placeholder_user_id %q cannot be a document's id", task["placeholder_user_id"])
	}
	return nil
}

// lookup is what a user is judged by, read within a transaction or without.
type lookup struct {
	ref   func(path string) any // a reference to a document, as a value
	get   func(path string) (documents.Document, bool, error)
	query func(q documents.Query, limit int) ([]documents.Document, error)
}

func planDeletion(ctx context.Context, p *sweep.Planner) error {
	id := p.Task["placeholder_user_id"]
	read := lookup{
		ref: p.Documents.Ref,
		get: func(path string) (documents.Document, bool, error) { return p.Documents.Get(ctx, path) },
		query: func(q documents.Query, limit int) ([]documents.Document, error) {
			q.PageSize = limit
			for page, err := range p.Documents.Pages(ctx, q, "") {
				return page.Documents, err
			}
			return nil, nil
		},
	}
	references, err := config.References(p.Config.PlaceholderReferences)
	if err != nil {
		return err // which config.Load has checked
	}
	reason, by, err := read.judge(id, references)
	if err != nil {
		return err
	}
	action := sweep.Action{Kind: "delete placeholder user", Target: users + "/" + id, Reason: "a placeholder, and nothing refers to it"}
	switch reason {
	case "":
		action.Effect = sweep.Steps(func(ctx context.Context, w *sweep.Writers) error { return deleteUser(ctx, w, id, references) })
		return p.Propose(ctx, action)
	case keptGone:
		_, begun, err := read.get(unfinished + "/" + id)
		if err != nil {
			return err
		}
		if begun {
			action.Kind, action.Reason = "finish deleting placeholder user", "an earlier attempt deleted the document and did not get to the account"
			action.Effect = sweep.Steps(func(ctx context.Context, w *sweep.Writers) error { return finish(ctx, w, id) })
			return p.Propose(ctx, action)
		}
	case keptLong, keptCrowded:
		p.KeepDoubtful(ctx, users+"/"+id, reason, 1)
		return nil
	case keptReferenced:
		p.Log.WarnContext(ctx, referencedMessage, slog.String("placeholder_user_id", id), slog.String("referenced_in", by))
	}
	p.KeepNamed(ctx, users+"/"+id, reason)
	return nil
}

// judge returns why a user is kept, "" if it is to be deleted; of one that is referred to, by says where.
func (l lookup) judge(id string, references []config.Reference) (reason, by string, err error) {
	user, found, err := l.get(users + "/" + id)
	switch {
	case err != nil:
		return "", "", err
	case !found:
		return keptGone, "", nil
	case !isPlaceholder(user):
		return keptNot, "", nil
	}
	names := append(documents.NamesOf(id), l.ref(users+"/"+id))
	for _, name := range names {
		if !documents.Queryable(name) {
			return keptLong, "", nil
		}
	}
	for _, r := range references {
		q := documents.Query{Collection: r.Collection, Select: documents.NameOnly}
		for _, name := range names {
			q.Any = append(q.Any, []documents.Filter{{Field: r.Field, Op: "==", Value: name}},
				[]documents.Filter{{Field: r.Field, Op: "array-contains", Value: name}})
		}
		referring, err := l.query(q, 1)
		if err != nil {
			return "", "", err
		}
		if len(referring) > 0 {
			return keptReferenced, r.Collection + "." + r.Field, nil
		}
	}
	all, err := l.detailsOf(id)
	if len(all) > maxDetails {
		return keptCrowded, "", nil
	}
	for _, d := range all {
		if d.Data["namespace_id"] != nil {
			return keptClaimed, "", nil // an import took it up after the task was made
		}
	}
	return "", "", err
}

// maxDetails is how many details of one user are looked at; imports make one. A user with more is kept, for one of the others
// may have a namespace.
const maxDetails = 100

// detailsOf returns the details that name a user, one more than maxDetails at most.
func (l lookup) detailsOf(userID string) ([]documents.Document, error) {
	return l.query(documents.Query{
		Collection: details, Select: []string{"namespace_id"},
		Where: []documents.Filter{{Field: "placeholder_user_id", Op: "in", Value: documents.NamesOf(userID)}},
	}, maxDetails+1)
}

// deleteUser deletes the document in a transaction that judges the user once more, and then the account, which cannot take
// part in one. What the commit notes lets a later attempt finish, wherever this one is interrupted.
func deleteUser(ctx context.Context, w *sweep.Writers, id string, references []config.Reference) error {
	err := w.Documents.Transact(ctx, func(_ context.Context, tx *documents.Transaction) error {
		_, begun, err := tx.Get(unfinished + "/" + id)
		if err != nil {
			return err
		}
		reason, _, err := lookup{ref: w.Documents.Ref, get: tx.Get, query: tx.Query}.judge(id, references)
		if err != nil || reason == keptGone && begun {
			return err // in the latter case an earlier try took effect and its answer was lost
		}
		if reason != "" {
			return sweep.ErrChanged
		}
		if err := tx.Delete(users + "/" + id); err != nil {
			return err
		}
		return tx.Set(unfinished+"/"+id, map[string]any{"at": documents.ServerTimestamp})
	})
	if err != nil {
		return err
	}
	return finish(ctx, w, id)
}

// finish deletes the account of a user whose document is deleted, and then what led here.
func finish(ctx context.Context, w *sweep.Writers, id string) error {
	_, back, err := w.Documents.Get(ctx, users+"/"+id)
	switch {
	case err != nil:
		return err
	case back:
		w.Log.WarnContext(ctx, fmt.Sprintf("account %s kept: there is a document %s/%s again: if it should be deleted, delete the account too; then delete %s/%s",
			id, users, id, unfinished, id), slog.String("target", users+"/"+id))
		return sweep.ErrChanged
	}
	if err := w.Accounts.Delete(ctx, []string{id})[0]; err != nil {
		return err
	}
	return w.Documents.Transact(ctx, func(_ context.Context, tx *documents.Transaction) error {
		all, err := lookup{query: tx.Query}.detailsOf(id)
		if err != nil {
			return err
		}
		for _, d := range all {
			if d.Data["namespace_id"] != nil {
				continue // an import took it up meanwhile
			}
			if err := tx.Delete(d.Path); err != nil {
				return err
			}
		}
		return tx.Delete(unfinished + "/" + id)
	})
}
