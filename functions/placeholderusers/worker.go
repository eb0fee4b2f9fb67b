package placeholderusers

import (
	"context"
	"fmt"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/inorder"
	"github.com/firesweep/firesweep/shared/sweep"
)

// Worker is deletePlaceholderUser: it deletes one placeholder user that nothing refers to: the document, the account if there
// is one, and the details that led to it.
var Worker = sweep.Job{
	Name:     "deletePlaceholderUser",
	Settings: settings,
	Task:     &sweep.Task{Fields: []string{"placeholder_user_id"}, Collection: users, Rule: userRule, Guard: somePlaceWritten},
	Rules:    []sweep.AnyRule{leftRule},
}

// somePlaceWritten makes sure that there is a place in which users may be referred to. The job has asked for all of them, so the
// first that is written is enough.
func somePlaceWritten(ctx context.Context, p *sweep.Planner) error {
	for _, place := range placesOf(p.Config) {
		unwritten, err := sweep.Unwritten(ctx, p.Documents, []sweep.Place{place})
		if err != nil {
			return fmt.Errorf("look where users are referred to: %w", err)
		}
		if len(unwritten) == 0 {
			return nil
		}
	}
	return noPlaceWritten(p.Config)
}

// userRule deletes a user. The account cannot be judged in the commit, so it follows it. The details follow the account:
// while there is one, the job makes more attempts, should Cloud Tasks have given up on the account.
var userRule = sweep.Rule[user]{
	Name: "user", Load: sweep.OneByOne(loadUser), Judge: judgeUser,
	Reach: sweep.Reach{Items: users, Deletes: []string{users}, Account: true},
	Change: func(u user, _ sweep.Decision, _ sweep.Run) sweep.Change {
		return sweep.Change{
			Writes: []documents.Write{{Op: documents.Delete, Ref: u.Ref()}},
			Then:   []sweep.FollowUp{{Account: u.ID(), Absent: u.Ref()}}, Next: []sweep.Item{{Rule: leftRule, Ref: u.Ref()}},
		}
	},
}

// leftRule deletes the details of a user who is deleted.
var leftRule = sweep.Rule[user]{
	Name: "details", Load: sweep.OneByOne(loadDetails), Judge: judgeLeft,
	Reach: sweep.Reach{Items: users, Deletes: []string{details}},
	Change: func(u user, _ sweep.Decision, _ sweep.Run) (c sweep.Change) {
		for _, d := range unclaimed(u) {
			c.Writes = append(c.Writes, documents.Write{Op: documents.Delete, Ref: d.Ref()})
		}
		return c
	},
}

// loadUser looks for what speaks against deleting a placeholder: what refers to it and its details, side by side.
func loadUser(ctx context.Context, src sweep.Source, s sweep.Subject) (user, error) {
	u := user{Subject: s}
	if !isPlaceholder(s) {
		return u, nil
	}
	var withDetails user
	errs := inorder.All(
		func() error {
			in, known, err := sweep.Referred(ctx, src, s.Ref(), placesOf(src.Run().Config))
			u.long, u.referredIn = !known, in
			return err
		},
		func() (err error) {
			withDetails, err = loadDetails(ctx, src, s)
			return err
		})
	if errs[0] != nil || u.long || u.referredIn != (sweep.Place{}) {
		return u, errs[0]
	}
	return withDetails, errs[1]
}

// loadDetails reads the details that name the user.
func loadDetails(ctx context.Context, src sweep.Source, s sweep.Subject) (user, error) {
	names := append(documents.NamesOf(s.ID()), src.Reference(s.Ref()))
	found, err := src.First(ctx, documents.Query{
		Collection: details, Select: []string{"namespace_id"},
		Where: []documents.Filter{{Field: "placeholder_user_id", Op: "in", Value: names}},
	}, "", maxDetails+1)
	return user{Subject: s, details: found}, err
}
