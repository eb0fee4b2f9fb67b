package documents

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
)

// Written is a write that took effect: what was done to which document.
type Written struct {
	Op   string // "create", "set", "update" or "delete"
	Path string
	// Unsure says that the answer was lost, so that the write may not have taken effect.
	Unsure bool
}

// tell calls [Writer.Written], where it is set, with writes of one commit.
func (w Writer) tell(ctx context.Context, writes []Written) {
	if w.Written != nil && len(writes) > 0 {
		w.Written(ctx, writes)
	}
}

// lost reports whether a commit that ended with the error may have taken effect all the same.
func lost(err error) bool {
	switch codeOf(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Internal, codes.Unknown, codes.Canceled, codes.ResourceExhausted:
		return true
	default:
		return false
	}
}

// outcome collects what the attempts of one transaction wrote.
type outcome struct {
	attempt []Written // by the attempt under way
	ready   bool      // the attempt came to its commit
	unsure  []Written // by an earlier attempt that came to its commit and whose answer was lost
}

// begin forgets what an attempt that had no effect wanted to write.
func (o *outcome) begin() { o.attempt, o.ready = nil, false }

// end takes note of how an attempt ended.
func (o *outcome) end(err error) {
	if err != nil && o.ready && lost(err) && len(o.attempt) > 0 {
		o.unsure = o.attempt
	}
	if err != nil {
		o.attempt = nil
	}
}

// writes returns what took effect, and what perhaps did: an attempt whose answer was lost, unless a later one wrote the
// same.
func (o *outcome) writes() []Written {
	certain := map[string]bool{}
	for _, w := range o.attempt {
		certain[w.Path] = true
	}
	all := o.attempt
	for _, w := range o.unsure {
		if !certain[w.Path] {
			w.Unsure = true
			all = append(all, w)
		}
	}
	return all
}

// tellDeleted tells of the deletions that took effect, and of those whose answer was lost.
func (w Writer) tellDeleted(ctx context.Context, deletions []Deletion, results []error, unsure map[int]bool) {
	var writes []Written
	for i, err := range results {
		switch {
		case err == nil:
			writes = append(writes, Written{Op: "delete", Path: deletions[i].Path})
		case unsure[i] && !errors.Is(err, ErrChanged):
			writes = append(writes, Written{Op: "delete", Path: deletions[i].Path, Unsure: true})
		}
	}
	w.tell(ctx, writes)
}
