package placeholderusers

import (
	"context"
	"fmt"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/sweep"
)

// Worker is deletePlaceholderUser: it deletes one placeholder user that nothing refers to: the document, the account if there
// is one, and the details that led to it.
var Worker = sweep.Job{
	Name:     "deletePlaceholderUser",
	Settings: settings,
	Task:     &sweep.Task{Fields: []string{"placeholder_user_id"}, Check: checkTask},
	Plan:     planDeletion,
	Rules:    []sweep.AnyRule{leftRule},
	Earlier:  []sweep.Earlier{earlier},
}

const users = "users"

func checkTask(task map[string]string) error {
	if !documents.ValidID(task["placeholder_user_id"]) {
		return fmt.Errorf("placeholder_user_id %q cannot be a document's id", task["placeholder_user_id"])
	}
	return nil
}

func planDeletion(ctx context.Context, p *sweep.Planner) error {
	return p.ConsiderRefs(ctx, userRule, documents.Ref{Collection: users, ID: p.Task["placeholder_user_id"]})
}

// userRule deletes a user. The account cannot be judged in the commit, so it follows it. The details follow the account:
// while there is one, the job makes more attempts, should Cloud Tasks have given up on the account.
var userRule = sweep.Rule[user]{
	Name: "user",
	Load: func(ctx context.Context, src sweep.Source, subjects []sweep.Subject) ([]user, error) {
		return load(subjects, func(u *user) error { return u.look(ctx, src) })
	},
	Judge: judgeUser,
	Change: func(u user, _ sweep.Decision, _ sweep.Run) sweep.Change {
		then, next := leftOf(u.Ref())
		return sweep.Change{Writes: []documents.Write{{Op: documents.Delete, Ref: u.Ref()}}, Then: then, Next: next}
	},
}

// leftOf returns what is left to do of a user whose document is deleted.
func leftOf(ref documents.Ref) ([]sweep.FollowUp, []sweep.Item) {
	return []sweep.FollowUp{{Account: ref.ID, Absent: ref}}, []sweep.Item{{Rule: leftRule, Ref: ref}}
}

// leftRule deletes the details of a user who is deleted.
var leftRule = sweep.Rule[user]{
	Name: "details",
	Load: func(ctx context.Context, src sweep.Source, subjects []sweep.Subject) ([]user, error) {
		return load(subjects, func(u *user) error { return u.lookForDetails(ctx, src) })
	},
	Judge: judgeLeft,
	Change: func(u user, _ sweep.Decision, _ sweep.Run) (c sweep.Change) {
		for _, d := range unclaimed(u) {
			c.Writes = append(c.Writes, documents.Write{Op: documents.Delete, Ref: d.Ref()})
		}
		return c
	},
}

// earlier are the records of users whose document is deleted and whose account perhaps not yet.
var earlier = sweep.Earlier{
	Collection: "cleanupJobs/deletePlaceholderUser/accounts",
	ID:         func(task map[string]string) string { return task["placeholder_user_id"] },
	Read: func(record documents.Document) ([]sweep.FollowUp, []sweep.Item, error) {
		if _, dated := record.Time("at"); !dated {
			return nil, nil, sweep.ErrForeign
		}
		then, next := leftOf(documents.Ref{Collection: users, ID: record.ID()})
		return then, next, nil
	},
}

func load(subjects []sweep.Subject, look func(*user) error) ([]user, error) {
	all := make([]user, len(subjects))
	for i, s := range subjects {
		all[i].Subject = s
		if err := look(&all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// look looks for what speaks against deleting the user, up to the first thing that does.
func (u *user) look(ctx context.Context, src sweep.Source) error {
	if !isPlaceholder(*u) {
		return nil
	}
	names := append(documents.NamesOf(u.ID()), src.Reference(u.Ref()))
	for _, name := range names {
		if u.long = !documents.Queryable(name); u.long {
			return nil
		}
	}
	for _, r := range src.Run().Config.Own.([]reference) {
		q := documents.Query{Collection: r.collection, Select: documents.NameOnly}
		for _, name := range names {
			q.Any = append(q.Any, []documents.Filter{{Field: r.field, Op: "==", Value: name}},
				[]documents.Filter{{Field: r.field, Op: "array-contains", Value: name}})
		}
		referring, err := src.First(ctx, q, "", 1)
		if err != nil {
			return err
		}
		if len(referring) > 0 {
			u.referredIn = r.collection + "." + r.field
			return nil
		}
	}
	return u.lookForDetails(ctx, src)
}

// lookForDetails reads the details that name the user.
func (u *user) lookForDetails(ctx context.Context, src sweep.Source) (err error) {
	q := documents.Query{
		Collection: details, Select: []string{"namespace_id"},
		Where: []documents.Filter{{Field: "placeholder_user_id", Op: "in", Value: documents.NamesOf(u.ID())}},
	}
	u.details, err = src.First(ctx, q, "", maxDetails+1)
	return err
}
