package declared

import (
	"context"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/rule"
)

// NamesOf reads what documents refer to, with room for so many hashes of names.
func NamesOf(ctx context.Context, r rule.Rule, most int, in documents.Reader, run cleanup.Run) error {
	_, err := references{r, most}.names(ctx, in, run)
	return err
}
