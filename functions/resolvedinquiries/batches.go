package resolvedinquiries

import (
	"context"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/sweep"
)

// firstBatch is how many documents are asked for before it is known how large they are.
const firstBatch = 25

// readAll returns all documents that a query matches, or [errTooLarge] if they hold more than so many bytes.
func readAll(tx *documents.Transaction, q documents.Query, most int) (all []documents.Document, err error) {
	size, from := 0, documents.Cursor("")
	for limit := firstBatch; ; limit *= 2 {
		n := 0
		for d, err := range tx.Stream(q, from, limit) {
			if err != nil {
				return nil, err
			}
			if size += documents.ValueSize(d.Data); size > most {
				return nil, errTooLarge
			}
			all = append(all, d)
			n++
		}
		if n < limit {
			return all, nil
		}
		if from, err = q.After(all[len(all)-1]); err != nil {
			return nil, err
		}
	}
}

// inBatches goes through the messages below a path, few at a time however large they are. For each batch it calls write in a
// transaction that has read it, with every attempt anew, and then once that is committed. It returns how many messages
// there were.
func (a archiver) inBatches(ctx context.Context, w *sweep.Writers, path string,
	write func(*documents.Transaction, []documents.Document) error, then func([]documents.Document) error) (total int, err error) {
	all, from := messagesOf(path), documents.Cursor("")
	for limit, most := firstBatch, documents.MaxBatch; ; {
		if err := w.CheckTime(); err != nil {
			return total, err
		}
		var batch []documents.Document
		err := w.Documents.Transact(ctx, func(_ context.Context, tx *documents.Transaction) (err error) {
			if batch, err = readBatch(tx, all, from, limit, a.batchBytes); err != nil || len(batch) == 0 {
				return err
			}
			return write(tx, batch)
		})
		switch {
		case documents.Refused(err) && len(batch) > 1:
			most = len(batch) / 2 // documents of many fields have many index entries, which count as well
			limit = most
			continue
		case err != nil || len(batch) == 0:
			return total, err
		}
		limit = min(2*len(batch), most) // if they are few, they are large
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

// readBatch returns the next documents, at most limit and, unless the first alone is larger, not much more than so many
// bytes.
func readBatch(tx *documents.Transaction, q documents.Query, from documents.Cursor, limit, bytes int) (batch []documents.Document, err error) {
	for d, err := range tx.Stream(q, from, limit) {
		if err != nil {
			return nil, err
		}
		batch = append(batch, d)
		if bytes -= documents.Size(d.Path, d.Data); bytes <= 0 {
			break
		}
	}
	return batch, nil
}
