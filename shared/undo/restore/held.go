package restore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/sweep"
	"github.com/firesweep/firesweep/shared/undo"
)

// leaseLength is for how long an undo takes the job's lease; it renews the lease while it works. It is no longer than that of
// any run, or else a run would take the lease for one that no run can hold, and fail, where it is to be skipped.
const leaseLength = 2 * time.Minute

func (u *undoing) jobRef() *firestore.DocumentRef { return u.Firestore.Doc("cleanupJobs/" + u.job) }

// holder returns who holds the job's lease, "" if nobody does.
func (u *undoing) holder(d *firestore.DocumentSnapshot) string {
	lease, _ := d.Data()["lease"].(map[string]any)
	runID, _ := lease["runId"].(string)
	if until, _ := lease["expiresAt"].(time.Time); u.Clock().Before(until) {
		return runID
	}
	return holderOfShards(d, u.Clock())
}

// holderOfShards returns the run that is under way in shards, "" if there is none.
func holderOfShards(d *firestore.DocumentSnapshot, now time.Time) string {
	if runID, until := sweep.HeldInShards(documents.Document{Data: d.Data()}); now.Before(until) {
		return runID
	}
	return ""
}

// fromTheBeginning lets the job's next run begin at the beginning: what came back, or is held no longer, may lie before the place from
// which it would continue. A run that is under way in shards continues where it is.
func (p Project) fromTheBeginning(ctx context.Context, job string) error {
	ref := p.Firestore.Doc("cleanupJobs/" + job)
	err := p.Firestore.RunTransaction(ctx, func(_ context.Context, tx *firestore.Transaction) error {
		d, err := tx.Get(ref)
		if err != nil && status.Code(err) != codes.NotFound {
			return err
		}
		begin := map[string]any{"position": ""}
		if _, set := d.Data()[undo.SplitField]; set && holderOfShards(d, p.Clock()) == "" {
			begin[undo.SplitField] = firestore.Delete
		}
		return tx.Set(ref, begin, firestore.MergeAll)
	})
	if err != nil {
		return fmt.Errorf("reset the checkpoint: %w", err)
	}
	return nil
}

// free returns [ErrUnderWay] if a run of the job is under way.
func (u *undoing) free(ctx context.Context) error {
	d, err := u.jobRef().Get(ctx)
	if err != nil && status.Code(err) != codes.NotFound {
		return fmt.Errorf("look whether the job is under way: %w", err)
	}
	return u.busy(d)
}

// busy returns [ErrUnderWay] if somebody else holds the lease.
func (u *undoing) busy(d *firestore.DocumentSnapshot) error {
	if holder := u.holder(d); holder != "" && holder != u.leaseID() {
		return fmt.Errorf("%w: %s holds its lease; wait for its end", ErrUnderWay, holder)
	}
	return nil
}

// leaseID is as whom an undo holds the lease: the same when it is done again.
func (u *undoing) leaseID() string { return undo.HolderPrefix + u.runID }

// lease takes the job's lease, so that no run is under way meanwhile, and returns what gives it back.
func (u *undoing) lease(ctx context.Context) (release func() error, err error) {
	if err := u.renew(ctx); err != nil {
		return nil, err
	}
	return func() error {
		err := u.Firestore.RunTransaction(context.WithoutCancel(ctx), func(_ context.Context, tx *firestore.Transaction) error {
			d, err := tx.Get(u.jobRef())
			if err != nil || u.holder(d) != u.leaseID() {
				return err
			}
			return tx.Update(u.jobRef(), []firestore.Update{{Path: "lease", Value: nil}})
		})
		if err != nil {
			return fmt.Errorf("give the lease of %s back, which ends by itself after %s: %w", u.job, leaseLength, err)
		}
		return nil
	}, nil
}

// stillOurs returns an error unless this undo holds the lease and will for another minute. It is asked before whatever is written.
func (u *undoing) stillOurs(ctx context.Context) error {
	u.leasing.Lock()
	defer u.leasing.Unlock()
	if u.Clock().Sub(u.renewed) < leaseLength/3 {
		return nil
	}
	return u.renew(ctx)
}

// renew takes the lease, or holds it for longer. One that ended is not taken again: a run may have begun since.
func (u *undoing) renew(ctx context.Context) error {
	var at time.Time
	err := u.Firestore.RunTransaction(ctx, func(_ context.Context, tx *firestore.Transaction) error {
		d, err := tx.Get(u.jobRef())
		if err != nil && status.Code(err) != codes.NotFound {
			return err
		}
		if err := u.busy(d); err != nil {
			return err
		}
		if !u.renewed.IsZero() && u.holder(d) != u.leaseID() {
			return ErrLeaseLost
		}
		at = u.Clock()
		if err := saveKilled(tx, u.Project, u.job, d); err != nil {
			return err
		}
		return tx.Set(u.jobRef(), map[string]any{
			"lease": map[string]any{"runId": u.leaseID(), "expiresAt": at.Add(leaseLength)}, undo.HeldField: true,
		}, firestore.MergeAll)
	})
	if err == nil {
		u.renewed = at
	}
	return err
}

// begin keeps what the run has left to do from being done: the journal's entries of the run go.
func (u *undoing) begin(ctx context.Context) error {
	open, err := u.Firestore.Collection("cleanupJobs/"+u.job+"/journal").Where("runId", "==", u.runID).Select().Documents(ctx).GetAll()
	if err != nil {
		return fmt.Errorf("read the journal: %w", err)
	}
	if len(open) > 0 && len(u.Only) > 0 {
		return ErrUnfinished
	}
	if err := u.fromTheBeginning(ctx, u.job); err != nil {
		return err
	}
	for _, d := range open {
		if _, err := d.Ref.Delete(ctx); err != nil {
			return fmt.Errorf("delete %s: %w", d.Ref.Path, err)
		}
	}
	return nil
}

// hold makes the job keep from now on what it deleted or changed according to an entry. It is called before these are back. Of
// single targets these themselves are held, for an object, say, that comes back without its document may be an item too. An
// item's place in the log says which document names it, so what is held already stays held when this is done again, or for
// other targets.
func (u *undoing) hold(ctx context.Context, records []undo.Record) error {
	if !u.Apply {
		return nil
	}
	chunks := map[int][]any{}
	for _, r := range records {
		n := u.items / undo.MaxHeld
		if r.Item != "" {
			u.items++
		}
		switch {
		case len(u.Only) == 0 && r.Item != "":
			chunks[n] = append(chunks[n], r.Item)
		case len(u.Only) > 0:
			for _, target := range u.Only {
				if u.names(r, target) {
					chunks[n] = append(chunks[n], target)
				}
			}
		}
	}
	for n, items := range chunks {
		if err := u.stillOurs(ctx); err != nil {
			return err
		}
		ref := u.Firestore.Doc(fmt.Sprintf("%s/%s-%06d", undo.HeldOf(u.job), u.runID, n+1))
		held := map[string]any{undo.TargetsField: firestore.ArrayUnion(items...), "runId": u.runID, "at": u.Clock()}
		if _, err := ref.Set(ctx, held, firestore.MergeAll); err != nil {
			return fmt.Errorf("hold %s and %d more: %w", items[0], len(items)-1, err)
		}
	}
	return nil
}

// Release lifts the hold on items of a job, or on all. It returns those of them that were not held.
func (p Project) Release(ctx context.Context, job string, items ...string) (notHeld []string, err error) {
	notHeld = slices.Clone(items)
	docs, err := p.Firestore.Collection(undo.HeldOf(job)).Documents(ctx).GetAll()
	if err != nil {
		return nil, fmt.Errorf("read what is held of %s: %w", job, err)
	}
	for _, d := range docs {
		err := p.Firestore.RunTransaction(ctx, func(_ context.Context, tx *firestore.Transaction) error {
			d, err := tx.Get(d.Ref)
			if status.Code(err) == codes.NotFound {
				return nil
			}
			if err != nil {
				return err
			}
			values, _ := d.Data()[undo.TargetsField].([]any)
			left := slices.DeleteFunc(values, func(v any) bool {
				text, _ := v.(string)
				return len(items) == 0 || slices.Contains(items, text)
			})
			if len(left) == 0 {
				return tx.Delete(d.Ref)
			}
			return tx.Update(d.Ref, []firestore.Update{{Path: undo.TargetsField, Value: left}})
		})
		values, ok := d.Data()[undo.TargetsField].([]any)
		if !ok && err == nil {
			err = errors.New("it does not say what is held: look at it and delete it")
		}
		if err != nil {
			return nil, fmt.Errorf("release items in %s: %w", d.Ref.Path, err)
		}
		notHeld = slices.DeleteFunc(notHeld, func(item string) bool { return slices.Contains(values, any(item)) })
	}
	if len(docs) == 0 {
		return notHeld, nil
	}
	return notHeld, p.fromTheBeginning(ctx, job)
}
