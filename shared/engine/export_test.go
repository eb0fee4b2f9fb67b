package engine

import (
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/objects"
)

// WritersOf returns what the engine would write with in a planner's run, for a test that tries to.
func WritersOf(p *Planner) (documents.Writer, objects.Writer) { return p.run.documents, p.run.objects }
