package bannedusers

import (
	"context"
	"maps"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/logging"
	"github.com/firesweep/firesweep/shared/sweep"
)

// maxGroup is how many users share a commit, and their accounts a call, of which there may be one a second. Each user takes
// two writes.
const maxGroup = 200

// userRule deletes documents first and accounts second. Only a document can be judged again and deleted in one commit, so
// that somebody unbanned meanwhile loses neither; and the same commit notes the uid, so that a later run knows what is left
// to delete, wherever this one is interrupted.
var userRule = sweep.Rule[sweep.Subject]{
	Name: "user", Group: maxGroup, Load: sweep.Itself, Judge: judgeUser,
	Change: func(user sweep.Subject, _ sweep.Decision, run sweep.Run) sweep.Change {
		note := documents.Document{Path: notes + "/" + user.ID(), Data: map[string]any{"addedAt": run.Now, "attempts": int64(0)}}
		return sweep.Change{
			Writes: []documents.Write{{Op: documents.Delete, Ref: user.Ref()}, {Op: documents.Set, Ref: note.Ref(), Data: note.Data}},
			Then:   []sweep.FollowUp{deleteAccount(note)},
		}
	},
}

// noteRule deletes the accounts that earlier runs could not delete.
var noteRule = sweep.Rule[noted]{
	Name: "note", Group: maxGroup, Load: loadNotes, Judge: judgeNote,
	Change: func(n noted, _ sweep.Decision, _ sweep.Run) sweep.Change {
		return sweep.Change{Then: []sweep.FollowUp{deleteAccount(n.Document)}}
	},
}

func loadNotes(ctx context.Context, src sweep.Source, subjects []sweep.Subject) ([]noted, error) {
	refs := make([]documents.Ref, len(subjects))
	for i, s := range subjects {
		refs[i] = documents.Ref{Collection: users, ID: s.ID()}
	}
	found, err := src.Get(ctx, refs)
	all := make([]noted, len(subjects))
	for i, s := range subjects {
		user, back := found[refs[i]]
		all[i] = noted{Subject: s, user: sweep.Subject{Document: user, Found: back}}
	}
	return all, err
}

// deleteAccount deletes the account that a note is about, and then the note. The note of an account that could not be
// deleted stays for the next run and counts its attempts: that is a warning and no failure of the run, but it is not done
// either. After [alertAttempts] it is an alert.
func deleteAccount(d documents.Document) sweep.FollowUp {
	failed := noteOf(d)
	failed.attempts++
	data := map[string]any{}
	maps.Copy(data, d.Data)
	data["attempts"] = failed.attempts
	return sweep.FollowUp{
		Account: d.ID(), Done: []documents.Write{{Op: documents.Delete, Ref: d.Ref()}},
		Noted: &sweep.Noted{
			Failed: []documents.Write{{Op: documents.Set, Ref: d.Ref(), Data: data}}, Kept: keptAccount,
			Warn: func(err error) sweep.Notice {
				notice := sweep.Notice{Message: failed.warning(d.ID(), err), Fields: map[string]any{"attempts": failed.attempts}}
				if failed.attempts >= alertAttempts {
					notice.Fields["alert"] = logging.AlertAccount
				}
				return notice
			},
		},
	}
}
