package placeholderusers

import (
	"context"
	"fmt"

	"github.com/firesweep/firesweep/functions/placeholderusers/places"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
)

// Worker is deletePlaceholderUser: it deletes one placeholder user that nothing refers to: the document, the account if there
// is one, and the details that led to it.
var Worker = cleanup.Job{
	Name:     "deletePlaceholderUser",
	Settings: settings,
	Task:     &cleanup.Task{Fields: []string{"placeholder_user_id"}},
	Rules:    []cleanup.AnyRule{userRule, leftRule},
	Plan: func(ctx context.Context, p *cleanup.Planner) error {
		err := p.ConsiderRefs(ctx, userRule, documents.Ref{Collection: users, ID: p.Task["placeholder_user_id"]})
		if err != nil || p.Planned() == 0 {
			return err
		}
		return somePlaceWritten(ctx, p)
	},
}

// somePlaceWritten makes sure that there is a place in which users may be referred to. The job has asked for all of them, so the
// first that is written is enough.
func somePlaceWritten(ctx context.Context, p *cleanup.Planner) error {
	for _, place := range settings.In(p.Config) {
		unwritten, err := places.Unwritten(ctx, p.Documents, []places.Place{place})
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
var userRule = cleanup.Rule[user]{
	Name: "user", Load: cleanup.OneByOne(loadUser), Judge: judgeUser,
	Reach: cleanup.Reach{Items: users, Deletes: []string{users}, Account: true},
	Change: func(u user, _ cleanup.Decision, _ cleanup.Run) cleanup.Change {
		c := cleanup.Delete(u.Document)
		c.Then, c.Next = []cleanup.FollowUp{{Account: u.ID(), Absent: u.Ref()}}, []cleanup.Item{{Rule: leftRule, Ref: u.Ref()}}
		return c
	},
}

// leftRule deletes the details of a user who is deleted.
var leftRule = cleanup.Rule[user]{
	Name: "details", Load: cleanup.OneByOne(loadDetails), Judge: judgeLeft,
	Reach:  cleanup.Reach{Items: users, Deletes: []string{details}},
	Change: func(u user, _ cleanup.Decision, _ cleanup.Run) cleanup.Change { return cleanup.Delete(unclaimed(u)...) },
}

// loadUser looks for what speaks against deleting a placeholder: what refers to it, and then its details.
func loadUser(ctx context.Context, src cleanup.Source, s cleanup.Subject) (user, error) {
	if !isPlaceholder(s) {
		return user{Subject: s}, nil
	}
	in, known, err := places.Referred(ctx, src, s.Ref(), settings.In(src.Run().Config))
	if err != nil || !known || in != (places.Place{}) {
		return user{Subject: s, long: !known, referredIn: in}, err
	}
	return loadDetails(ctx, src, s)
}

// loadDetails reads the details that name the user.
func loadDetails(ctx context.Context, src cleanup.Source, s cleanup.Subject) (user, error) {
	found, err := src.First(ctx, documents.Query{
		Collection: details, Select: []string{"namespace_id"},
		Where: []documents.Filter{{Field: "placeholder_user_id", Op: "in", Value: s.Ref().Names(src.Reference(s.Ref()))}},
	}, "", maxDetails+1)
	return user{Subject: s, details: found}, err
}
