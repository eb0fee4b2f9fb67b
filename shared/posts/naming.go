package posts

import (
	"errors"

	"github.com/firesweep/firesweep/shared/documents"
)

// errManyAlike is why what belongs to an id of 1,500 bytes is not told apart from what belongs to others.
var errManyAlike = errors.New("too many documents name ids of 1,500 bytes that begin alike: delete it by hand")

// maxAlike is how many documents are looked through for those that name an id of 1,500 bytes.
const maxAlike = 1000

// First returns the first documents whose field names an id, at most limit, read in a transaction.
func First(tx *documents.Transaction, collection, field, id string, limit int) ([]documents.Document, error) {
	q, names := documents.Naming(collection, field, id)
	if len(q.OrderBy) == 0 {
		return tx.Query(q, limit)
	}
	alike, err := tx.Query(q, maxAlike)
	if err != nil {
		return nil, err
	}
	var found []documents.Document
	for _, d := range alike {
		if names(d) && len(found) < limit {
			found = append(found, d)
		}
	}
	if len(alike) == maxAlike && len(found) < limit {
		return nil, errManyAlike
	}
	return found, nil
}
