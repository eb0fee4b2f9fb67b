package restore

import (
	"context"
	"fmt"
	"strings"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/sweep"
	"github.com/firesweep/firesweep/shared/undo"
)

// leaseLength is for how long an undo takes the job's lease; it renews the lease while it works. It is no longer than that of
// any run, or else a run would take the lease for one that no run can hold, and fail, where it is to be skipped.
const leaseLength = 2 * time.Minute

func (u *undoing) jobRef() *firestore.DocumentRef { return u.Firestore.Doc("cleanupJobs/" + u.job) }

// holder returns who holds the job's lease, "" if nobody does.
func (p Project) holder(d *firestore.DocumentSnapshot) string {
	lease, _ := d.Data()["lease"].(map[string]any)
	runID, _ := lease["runId"].(string)
	if until, _ := lease["expiresAt"].(time.Time); p.Clock().Before(until) {
		return runID
	}
	return holderOfShards(d, p.Clock())
}

// holderOfShards returns the run that is under way in shards, "" if there is none.
func holderOfShards(d *firestore.DocumentSnapshot, now time.Time) string {
	if runID, until := sweep.HeldInShards(documents.Document{Data: d.Data()}); now.Before(until) {
		return runID
	}
	return ""
}

// fromTheBeginning lets the job's next run begin at the beginning: what came back, or is pinned no longer, may lie before the
// place from which it would continue. A run that is under way in shards continues where it is.
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

// underWay returns the runs and undos that hold a job's lease, by job.
func (p Project) underWay(ctx context.Context) (map[string]string, error) {
	records, err := p.Firestore.Collection(collections.Jobs).Select("lease", undo.SplitField).Documents(ctx).GetAll()
	if err != nil {
		return nil, fmt.Errorf("look which jobs are under way: %w", err)
	}
	holders := map[string]string{}
	for _, d := range records {
		if holder := p.holder(d); holder != "" {
			holders[d.Ref.ID] = holder
		}
	}
	return holders, nil
}

// othersFree returns [ErrUnderWay] if a run of another job is under way, which may have begun before it could know what is
// pinned. An undo of another job's run is no such run.
func (u *undoing) othersFree(ctx context.Context) error {
	holders, err := u.underWay(ctx)
	for job, holder := range holders {
		if job != u.job && !strings.HasPrefix(holder, undo.HolderPrefix) {
			return fmt.Errorf("%w: %s might delete what comes back: wait for its end, or tell it to stop with firesweep stop %s",
				ErrUnderWay, holder, job)
		}
	}
	return err
}

// pinnedAt is the field of cleanupJobs/{job} that is written after something was pinned.
const pinnedAt = "pinnedAt"

// touch writes to the record of each job: a run that has read what is pinned, and not taken its lease yet, begins anew.
func (p Project) touch(ctx context.Context) error {
	records, err := p.Firestore.Collection(collections.Jobs).Select().Documents(ctx).GetAll()
	for _, d := range records {
		_, err := d.Ref.Update(ctx, []firestore.Update{{Path: pinnedAt, Value: p.Clock()}})
		if err != nil && status.Code(err) != codes.NotFound {
			return fmt.Errorf("tell %s what is pinned: %w", d.Ref.ID, err)
		}
	}
	if err != nil {
		return fmt.Errorf("tell the jobs what is pinned: %w", err)
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
			"lease": map[string]any{"runId": u.leaseID(), "expiresAt": at.Add(leaseLength)},
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
	if len(open) > 0 && u.partial() {
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
