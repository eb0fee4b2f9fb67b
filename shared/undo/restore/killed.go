package restore

import (
	"cloud.google.com/go/firestore"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/sweep"
)

// saveKilled saves the report of the run that the job's record shows to have been killed, as the job's next run would: the undo
// takes the lease over, which alone tells of that run.
func saveKilled(tx *firestore.Transaction, p Project, job string, record *firestore.DocumentSnapshot) error {
	killed := sweep.KilledIn(job, documents.Document{Data: record.Data()}, p.Clock())
	if killed == nil {
		return nil
	}
	return tx.Set(p.Firestore.Doc("cleanupRuns/"+killed.RunID), killed.Stored())
}
