package resolvedinquiries

import (
	"context"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/sweep"
)

// inBatches goes through an inquiry's messages, few at a time however large they are. For each batch it calls write in a
// transaction that has read it, with every attempt anew, and then once that is committed. It returns how many messages
// there were.
func (a archiver) inBatches(ctx context.Context, w *sweep.Writers, t target,
	write func(*documents.Transaction, []documents.Document) error, then func([]documents.Document) error) (total int, err error) {
	all, from, most := messagesOf(t.path()), documents.Cursor(""), documents.MaxBatch
	for {
		if err := w.CheckTime(); err != nil {
			return total, err
		}
		var batch []documents.Document
		err := w.Documents.Transact(ctx, func(_ context.Context, tx *documents.Transaction) (err error) {
			if batch, err = a.readBatch(tx, all, from, most); err != nil || len(batch) == 0 {
				return err
			}
			return write(tx, batch)
		})
		switch {
		case documents.Refused(err) && len(batch) > 1:
			most = len(batch) / 2 // documents of many fields have many index entries, which count as well
			continue
		case err != nil || len(batch) == 0:
			return total, err
		}
		total += len(batch)
		if err := then(batch); err != nil {
			return total, err
		}
		if err := w.Documents.Wait(ctx, 2*len(batch)); err != nil {
			return total, err
		}
		if from, err = all.After(batch[len(batch)-1]); err != nil {
			return total, err
		}
	}
}

func (a archiver) readBatch(tx *documents.Transaction, q documents.Query, from documents.Cursor, most int) (batch []documents.Document, err error) {
	bytes := 0
	for d, err := range tx.Stream(q, from) {
		if err != nil {
			return nil, err
		}
		batch = append(batch, d)
		if bytes += documents.Size(d.Path, d.Data); len(batch) == most || bytes >= a.batchBytes {
			break
		}
	}
	return batch, nil
}
