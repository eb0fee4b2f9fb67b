package resolvedinquiries

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/sweep"
)

// An archive may be there already when an inquiry is archived: somebody has restored the inquiry from it, or it was written by
// another program that was interrupted. What it holds is moved to archivedInquiries/{id}/earlier/{its archivedAt}: the document
// in the commit that writes the new archive, messages in its subcollection before that, for they may be too many for a commit.
// From then until that commit they wait under a document that is not there yet.

// undated names an earlier archive without a usable archivedAt.
const undated = "undated"

// gatherArchive reads the archive that is there already, and finds where it goes.
func (s *state) gatherArchive(ctx context.Context, src sweep.Source) error {
	found, err := src.Get(ctx, []documents.Ref{s.archiveRef()})
	if err != nil {
		return err
	}
	name := undated
	if old, exists := found[s.archiveRef()]; exists {
		s.old = &old
		if at, ok := old.Time(archivedAt); ok {
			name = at.UTC().Format(time.RFC3339Nano)
		}
	}
	s.earlier = s.earlierRef(cmp.Or(s.at.Moved, name))
	for n := 2; s.at.Moved == "" && (s.old != nil || s.inTheWay); n++ { // of two of the same instant the second gets a number
		taken, err := src.Get(ctx, []documents.Ref{s.earlier})
		if err != nil || len(taken) == 0 {
			return err
		}
		s.earlier = s.earlierRef(fmt.Sprintf("%s-%d", name, n))
	}
	return nil
}

func (s state) earlierRef(name string) documents.Ref {
	return documents.Ref{Collection: s.archiveRef().Path() + "/earlier", ID: name}
}
