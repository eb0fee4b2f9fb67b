package restore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/documents/pace"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/runlog"
	"github.com/firesweep/firesweep/shared/engine/undo"
)

// leaseLength is for how long an undo takes the job's lease; it renews the lease while it works. It is no longer than that of
// any run, or else a run would take the lease for one that no run can hold, and fail, where it is to be skipped.
const leaseLength = 2 * time.Minute

func (u *undoing) record() string { return collections.Jobs + "/" + u.job }

// holder returns who holds the lease of a job, "" if nobody does: record is cleanupJobs/{job} as it was read. Whether the lease has
// ended, Firestore's clock says: the operator's may be minutes off.
func holder(record documents.Document) string {
	lease, _ := record.Data["lease"].(map[string]any)
	runID, _ := lease["runId"].(string)
	if until, _ := lease["expiresAt"].(time.Time); record.ReadTime.Before(until) {
		return runID
	}
	return holderOfShards(record)
}

// holderOfShards returns the run that is under way in shards, "" if there is none.
func holderOfShards(record documents.Document) string {
	if runID, until := engine.HeldInShards(record); record.ReadTime.Before(until) {
		return runID
	}
	return ""
}

// fromTheBeginning lets the job's next run begin at the beginning: what came back, or is pinned no longer, may lie before the
// place from which it would continue. A run that is under way in shards continues where it is.
func (p Project) fromTheBeginning(ctx context.Context, job string) error {
	_, err := p.DB.Exchange(ctx, collections.Jobs+"/"+job, func(d documents.Document, _ bool) (map[string]any, error) {
		begin := map[string]any{"position": ""}
		if _, set := d.Data[undo.SplitField]; set && holderOfShards(d) == "" {
			begin[undo.SplitField] = documents.DeleteField
		}
		return begin, nil
	})
	if err != nil {
		return fmt.Errorf("reset the checkpoint: %w", err)
	}
	return nil
}

// free returns [ErrUnderWay] if a run of the job is under way.
func (u *undoing) free(ctx context.Context) error {
	d, _, err := u.DB.Get(ctx, u.record())
	if err != nil {
		return fmt.Errorf("look whether the job is under way: %w", err)
	}
	return u.busy(d)
}

// busy returns [ErrUnderWay] if somebody else holds the lease.
func (u *undoing) busy(record documents.Document) error {
	if holder := holder(record); holder != "" && holder != u.leaseID() {
		return fmt.Errorf("%w: %s holds its lease; wait for its end", ErrUnderWay, holder)
	}
	return nil
}

// underWay returns the runs and undos that hold a job's lease, by job.
func (p Project) underWay(ctx context.Context) (map[string]string, error) {
	records, err := p.all(ctx, documents.Query{Collection: collections.Jobs, Select: []string{"lease", undo.SplitField}})
	if err != nil {
		return nil, fmt.Errorf("look which jobs are under way: %w", err)
	}
	holders := map[string]string{}
	for _, d := range records {
		if holder := holder(d); holder != "" {
			holders[d.ID()] = holder
		}
	}
	return holders, nil
}

// all returns all documents of a query.
func (p Project) all(ctx context.Context, q documents.Query) (all []documents.Document, err error) {
	for page, err := range p.DB.Pages(ctx, q, "") {
		if err != nil {
			return nil, err
		}
		all = append(all, page.Documents...)
	}
	return all, nil
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
	records, err := p.all(ctx, documents.Query{Collection: collections.Jobs, Select: documents.NameOnly})
	if err != nil {
		return fmt.Errorf("tell the jobs what is pinned: %w", err)
	}
	for _, d := range records {
		_, err := p.DB.ExchangeAnd(ctx, d.Path, d, func(_ documents.Document, found bool) (fields, also map[string]any, err error) {
			if !found { // somebody has deleted it meanwhile
				return nil, nil, nil
			}
			return map[string]any{pinnedAt: documents.ServerTimestamp}, nil, nil
		})
		if err != nil {
			return fmt.Errorf("tell %s what is pinned: %w", d.ID(), err)
		}
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
		_, err := u.DB.Exchange(context.WithoutCancel(ctx), u.record(), func(d documents.Document, _ bool) (map[string]any, error) {
			if holder(d) != u.leaseID() {
				return nil, nil
			}
			return map[string]any{"lease": nil}, nil
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
	now := u.Clock()
	// While a laptop sleeps, its monotonic clock may stand still; its wall clock may be set back.
	if passed := max(now.Sub(u.renewed), now.Round(0).Sub(u.renewed)); passed < leaseLength/3 {
		return nil
	}
	return u.renew(ctx)
}

// renew takes the lease, or holds it for longer. One that ended is not taken again: a run may have begun since. Like a job's next run,
// it saves the report of a run that was killed, of which nothing but the lease tells.
func (u *undoing) renew(ctx context.Context) error {
	began := u.Clock() // before Firestore reads the clock that the lease goes by
	lease := func(d documents.Document, _ bool) (fields, also map[string]any, err error) {
		if err := u.busy(d); err != nil {
			return nil, nil, err
		}
		if !u.renewed.IsZero() && holder(d) != u.leaseID() {
			return nil, nil, ErrLeaseLost
		}
		if killed := engine.KilledIn(u.job, d, d.ReadTime); killed != nil {
			also = map[string]any{collections.Runs + "/" + killed.RunID: killed.Stored()}
		}
		return map[string]any{"lease": map[string]any{"runId": u.leaseID(), "expiresAt": d.ReadTime.Add(leaseLength)}}, also, nil
	}
	_, err := u.DB.ExchangeAnd(ctx, u.record(), documents.Document{}, lease)
	if err == nil {
		u.renewed = began
	}
	return err
}

// begin keeps what the run has left to do from being done: its Todos go.
func (u *undoing) begin(ctx context.Context) error {
	todos, err := u.all(ctx, runlog.PendingOfRun(u.job, u.runID))
	if err != nil {
		return fmt.Errorf("read what the run has left to do: %w", err)
	}
	if len(todos) > 0 && u.partial() {
		return ErrUnfinished
	}
	if err := u.fromTheBeginning(ctx, u.job); err != nil {
		return err
	}
	for some := range slices.Chunk(todos, pace.MaxBatch) {
		refs := make([]documents.Ref, len(some))
		for i, d := range some {
			refs[i] = d.Ref()
		}
		if err := u.DB.Wait(ctx, len(refs)); err != nil {
			return err
		}
		if err := u.DB.Put(ctx, runlog.Deletions(refs)); err != nil {
			return fmt.Errorf("delete %d things that the run has left to do, of %s on: %w", len(some), some[0].Path, err)
		}
	}
	return nil
}
