package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/notify"
)

// notifyTime is how long telling somebody may take at most, retries included.
const notifyTime = 20 * time.Second

// notify tells whoever is to be told (NOTIFY) of the runs that this call ended: its own, and one before it that nobody else had
// ended. It changes nothing of them, and a message that cannot be sent is a line of the log.
func (r *run) notify(ctx context.Context) {
	if !r.config.NotifyURL.IsSet() || r.job.Task != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, notifyTime)
	defer cancel()
	for _, of := range []*report.Report{r.overtaken, r.ended()} {
		if of == nil || of.Status == report.Skipped || of.DryRun && !r.scheduled {
			continue
		}
		m, err := notify.Due(ctx, r.config, r.job.Name, r.clients.documents.Reader(), of)
		if err == nil && m != nil {
			err = notify.Post(ctx, r.config.NotifyURL, *m, r.hooks.WaitToNotify)
		}
		if err != nil {
			r.Logger.WarnContext(ctx, fmt.Sprintf("%s could not tell %s of run %s: %v", r.job.Name, r.config.NotifyURL, of.RunID, err))
		}
	}
}

// ended returns the report of the run that ended with this call; nil if it goes on, or had ended before and this is a retry.
func (r *run) ended() *report.Report {
	switch {
	case r.Report.Part == nil && r.continues == nil && !r.Report.Continued:
		return r.Report
	case r.Report.Part != nil && r.leased && r.saved.Settled() && !r.retried:
		return r.saved.Report()
	}
	return nil
}
