package restore

import (
	"context"
	"fmt"
	"iter"

	"github.com/firesweep/firesweep/shared/engine/runlog"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/flow"
)

// doneBy returns what a run did, in the order in which it was done. The error is [ErrNoLog] where there is nothing.
func (p Project) doneBy(ctx context.Context, runID string) ([]runlog.Done, error) {
	all, err := runlog.List(ctx, p.DB.Reader, runID)
	if err == nil && len(all) == 0 {
		err = ErrNoLog
	}
	return all, err
}

// eachDone calls f with the records of each commit, in order. It reads the next ones meanwhile.
func (u *undoing) eachDone(ctx context.Context, f func(runlog.Done, []undo.Record) error) error {
	log := func(context.Context) iter.Seq2[runlog.Done, error] {
		return func(yield func(runlog.Done, error) bool) {
			for _, done := range u.log {
				if !yield(done, nil) {
					return
				}
			}
		}
	}
	read := func(ctx context.Context, done runlog.Done) ([]undo.Record, error) {
		if u.Apply {
			if err := u.stillOurs(ctx); err != nil {
				return nil, err
			}
		}
		return done.Records(ctx, u.DB.Reader)
	}
	return flow.Each(ctx, 1, log, read, func(done runlog.Done, records []undo.Record) error { return f(done, u.within(records)) })
}

// survey goes through the log once: a document that several commits wrote to is taken back when the last of them has been read,
// so they are counted first, and nothing may come back before the jobs are held. It returns what may come back. While
// a run is under way, its log grows: this is called when none is any more.
func (u *undoing) survey(ctx context.Context) (t *touched, err error) {
	t = u.newTouched()
	if u.log, err = u.doneBy(ctx, u.runID); err != nil {
		return t, err
	}
	u.writes, u.copyOf, u.whole = map[string]int{}, map[string]string{}, map[string]bool{}
	u.matched, u.ids, u.claimed = map[string]bool{}, map[string]bool{}, map[identifier]string{}
	if u.Where != nil { // what it means may stand before the document that says so
		err = u.eachDone(ctx, func(_ runlog.Done, records []undo.Record) error {
			for _, r := range records {
				u.match(r)
			}
			return nil
		})
		if err != nil {
			return t, err
		}
	}
	err = u.eachDone(ctx, func(_ runlog.Done, records []undo.Record) error {
		u.touch(t, records)
		for _, r := range records {
			if r.Write != nil {
				u.writes[r.Write.Path]++
				if r.Write.CopyOf != "" {
					u.copyOf[r.Write.Path] = r.Write.CopyOf
				}
			}
		}
		return nil
	})
	for _, target := range u.Only {
		if err == nil && !t.named[target] && !u.refused[target] {
			err = fmt.Errorf("%s: %w", target, ErrNotInLog)
		}
	}
	return t, err
}

// maxTurns is how often an undo goes through the log: an archive that was moved is a copy of what is a copy now.
const maxTurns = 3

// turnOf returns in which turn a document is taken back: copies go after what they are copies of is back.
func (u *undoing) turnOf(path string) (turn int) {
	for turn = 0; turn < maxTurns-1 && u.copyOf[path] != ""; turn++ {
		path = u.copyOf[path]
	}
	return turn
}

// takeBack goes through the log and takes back what it has: as often as there are turns.
func (u *undoing) takeBack(ctx context.Context) error {
	turns := 1
	for path := range u.copyOf {
		turns = max(turns, u.turnOf(path)+1)
	}
	for turn := range turns {
		if err := u.takeTurn(ctx, turn, turns); err != nil {
			return err
		}
	}
	return u.tellRefused()
}

func (u *undoing) takeTurn(ctx context.Context, turn, turns int) error {
	open := map[string][]undo.Write{}
	done := turn * len(u.log)
	return u.eachDone(ctx, func(d runlog.Done, records []undo.Record) error {
		if u.Progress != nil {
			u.Progress(done, turns*len(u.log))
		}
		done++
		var changes []undo.Change
		var objects []undo.Object
		var accounts []undo.Account
		for _, r := range records {
			switch {
			case r.Write != nil && u.turnOf(r.Write.Path) == turn:
				path := r.Write.Path
				if open[path] = append(open[path], *r.Write); len(open[path]) == u.writes[path] {
					changes = append(changes, undo.Net(open[path])...)
					delete(open, path)
				}
			case r.Object != nil && turn == 0:
				objects = append(objects, *r.Object)
			case r.Account != nil && turn == 0:
				accounts = append(accounts, *r.Account)
			}
		}
		if err := u.documents(ctx, changes); err != nil {
			return err
		}
		if err := u.objects(ctx, objects, d.At); err != nil {
			return err
		}
		return u.accounts(ctx, accounts)
	})
}
