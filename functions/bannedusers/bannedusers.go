// Package bannedusers is cleanupBannedUsers: it deletes the documents and accounts of permanently banned users when their
// scheduled time has come, a few users a run. The rules are in rules.go.
package bannedusers

import (
	"context"
	"fmt"
	"maps"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
)

// Job is cleanupBannedUsers.
var Job = cleanup.Job{Name: "cleanupBannedUsers", Settings: settings, Plan: plan, Rules: []cleanup.AnyRule{userRule, noteRule}}

func init() { functions.Register(Job) }

// settings is how many users a run deletes, at most.
var settings config.Own[int] = func(l *config.Loader) int { return l.Integer("MAX_USERS", 20, 1, 1000) }

// plan considers the first users that are due, then the accounts that earlier runs could not delete. The checkpoint is a
// place in the notes. The users need none: few are due, and a run always begins with the first.
func plan(ctx context.Context, p *cleanup.Planner) error {
	maxUsers := settings.In(p.Config)
	banned := documents.Filter{Field: statusField, Op: "==", Value: permanent}
	due := documents.Query{
		Collection: users,
		// Without the lower bound, users with an unset date would be the first each time, and take the places of those who are due.
		Where: []documents.Filter{
			banned, {Field: dueField, Op: ">=", Value: documents.Earliest}, {Field: dueField, Op: "<=", Value: p.Now},
		},
		OrderBy:  []string{dueField},
		Select:   []string{statusField, dueField},
		PageSize: maxUsers,
	}
	looked := 0
	for page, err := range p.Documents.Pages(ctx, due, "") {
		if err != nil {
			return err
		}
		for rest := page.Documents; len(rest) > 0 && p.Planned() < maxUsers; {
			some := rest[:min(len(rest), maxUsers-p.Planned())] // those that are kept take nobody's place
			rest = rest[len(some):]
			looked += len(some)
			if err := p.Consider(ctx, userRule, some); err != nil {
				return err
			}
		}
		if p.Planned() == maxUsers {
			break
		}
	}
	p.Scanned(looked)
	if err := p.SaveCheckpoint(p.Checkpoint); err != nil {
		return err
	}
	p.CountNotDue(ctx, cleanup.NotDue{
		All: documents.Query{Collection: users, Where: []documents.Filter{banned}}, Due: due,
		Then: func(_, found int, _ []any, _ bool) {
			p.Keep(ctx, users, cleanup.Keep(fmt.Sprintf(keptByLimit, maxUsers)), found-looked)
		},
	})
	return p.Sweep(ctx, documents.Query{Collection: notes}, documents.Cursor(p.Checkpoint), noteRule)
}

// userRule deletes documents first and accounts second. Only a document can be judged again and deleted in one commit, so
// somebody who is unbanned meanwhile loses neither. The same commit writes a note of the uid, so that a later run knows what
// is left to delete, wherever this run is interrupted.
var userRule = cleanup.Rule[cleanup.Subject]{
	Name: "user", Load: cleanup.Itself, Judge: judgeUser,
	Reach: cleanup.Reach{Items: users, Deletes: []string{users, notes}, Writes: []string{notes}, Account: true, Recorded: true},
	Change: func(user cleanup.Subject, _ cleanup.Decision, run cleanup.Run) cleanup.Change {
		note := documents.Document{Path: documents.Ref{Collection: notes, ID: user.ID()}.Path(),
			Data: map[string]any{"addedAt": run.Now, "attempts": int64(0)}}
		return cleanup.Change{
			Writes: []documents.Write{{Op: documents.Delete, Ref: user.Ref()}, {Op: documents.Set, Ref: note.Ref(), Data: note.Data}},
			Then:   []cleanup.FollowUp{deleteAccount(note)},
		}
	},
}

// noted is a note with the user document of its uid, if one exists again.
type noted struct {
	cleanup.Subject
	user cleanup.Subject
}

func userOf(note documents.Document) (documents.Ref, bool) {
	return documents.Ref{Collection: users, ID: note.ID()}, true
}

// noteRule deletes the accounts that earlier runs could not delete.
var noteRule = cleanup.Rule[noted]{
	Name: "note", Judge: judgeNote,
	Reach: cleanup.Reach{Items: notes, Deletes: []string{notes}, Writes: []string{notes}, Account: true, Recorded: true},
	Load:  cleanup.EachWith(userOf, func(note, user cleanup.Subject) noted { return noted{note, user} }),
	Change: func(n noted, _ cleanup.Decision, _ cleanup.Run) cleanup.Change {
		return cleanup.Change{Then: []cleanup.FollowUp{deleteAccount(n.Document)}}
	},
}

// deleteAccount deletes the account that a note is about, and then the note. If the account could not be deleted, the note
// stays for the next run and counts the attempts. That is a warning, not a failure of the run, and the action does not count
// as done. After [alertAttempts] attempts it is an alert.
func deleteAccount(note documents.Document) cleanup.FollowUp {
	failed := documents.Document{Path: note.Path, Data: map[string]any{}}
	maps.Copy(failed.Data, note.Data)
	failed.Data["attempts"] = attemptsOf(note) + 1
	return cleanup.FollowUp{
		Account: note.ID(),
		Recorded: &cleanup.Recorded{
			Since:  note.CreateTime, // an attempt that failed may have deleted it all the same, and somebody has signed up again
			Done:   cleanup.Delete(note).Writes,
			Failed: []documents.Write{{Op: documents.Set, Ref: note.Ref(), Data: failed.Data}}, Kept: keptAccount,
			Notice: func(err error) cleanup.Notice { return warning(failed, err) },
		},
	}
}
