package documents

import (
	"context"

	"google.golang.org/grpc/codes"

	"github.com/firesweep/firesweep/shared/documents/retry"
)

// Written is a write that took effect, or may have.
type Written struct {
	Op   string // "create", "set", "update" or "delete"
	Path string
	// Unsure says that the answer was lost, so the write may not have taken effect.
	Unsure bool
}

// tell calls [Writer.Written], if it is set, with the writes of one commit.
func (w Writer) tell(ctx context.Context, writes []Written) {
	if w.Written != nil && len(writes) > 0 {
		w.Written(ctx, writes)
	}
}

// lost reports whether a commit that ended with this error may have taken effect all the same.
func lost(err error) bool {
	switch retry.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Internal, codes.Unknown, codes.Canceled, codes.ResourceExhausted:
		return true
	default:
		return false
	}
}

// TookEffect says that an earlier attempt, whose answer was lost, took effect.
func (t *Transaction) TookEffect() { t.o.took = true }

// outcome collects the writes of a transaction's attempts.
type outcome struct {
	attempt []Written // of the attempt under way
	ready   bool      // the attempt reached its commit
	unsure  []Written // of an earlier attempt that reached its commit and whose answer was lost
	took    bool      // that one took effect
}

// begin forgets the writes of an attempt that had no effect.
func (o *outcome) begin() { o.attempt, o.ready = nil, false }

// end records how an attempt ended.
func (o *outcome) end(err error) {
	if err != nil && o.ready && lost(err) && len(o.attempt) > 0 {
		o.unsure = o.attempt
	}
	if err != nil {
		o.attempt = nil
	}
}

// writes returns the writes that took effect, and those that perhaps did: those of an attempt whose answer was lost, unless a
// later attempt wrote to the same document.
func (o *outcome) writes() []Written {
	certain := map[string]bool{}
	for _, w := range o.attempt {
		certain[w.Path] = true
	}
	all := o.attempt
	for _, w := range o.unsure {
		if !certain[w.Path] {
			w.Unsure = !o.took
			all = append(all, w)
		}
	}
	return all
}
