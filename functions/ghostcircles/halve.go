package ghostcircles

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/firesweep/firesweep/shared/documents"
)

// span is a span of time: From lies in it, Until does not.
type span struct{ From, Until time.Time }

// Where returns the conditions that a field lies in the span.
func (s span) Where(field string) []documents.Filter {
	return []documents.Filter{{Field: field, Op: ">=", Value: s.From}, {Field: field, Op: "<", Value: s.Until}}
}

// portion is how many documents there are, and how many of them are sought.
type portion struct{ Sought, All int }

// readWhole is how many documents are read for each that is sought rather than counted further: to find one among eight by
// halving costs as many reads.
const readWhole = 8

// instant is the shortest span: Firestore keeps microseconds.
const instant = time.Microsecond

// countsAtOnce bounds the counts that [halve] has under way.
const countsAtOnce = 16

// halve finds where in a span the documents are that no query can ask for, such as those without a field. It halves the span as
// long as few of the documents in it are sought, and returns, in order, the spans to read. share counts those of a span, at a
// read per thousand. What is written meanwhile may be left for the next run to find.
func halve(ctx context.Context, in span, all portion, share func(context.Context, span) (portion, error)) ([]span, error) {
	type part struct {
		span
		portion
	}
	parts := []part{{in, all}}
	for halved := true; halved; {
		halved = false
		next := make([][2]part, len(parts))
		counts, ctx := errgroup.WithContext(ctx)
		counts.SetLimit(countsAtOnce)
		for i, p := range parts {
			half := p.Until.Sub(p.From) / 2
			if p.All <= readWhole*p.Sought || half < instant {
				next[i][0] = p
				continue
			}
			halved = true
			middle := p.From.Add(half.Truncate(instant))
			counts.Go(func() (err error) {
				left, right := &next[i][0], &next[i][1]
				left.span, right.span = span{p.From, middle}, span{middle, p.Until}
				left.portion, err = share(ctx, left.span)
				right.portion = portion{p.Sought - left.Sought, p.All - left.All}
				return err
			})
		}
		if err := counts.Wait(); err != nil {
			return nil, err
		}
		parts = parts[:0]
		for _, two := range next {
			for _, p := range two {
				if p.Sought > 0 {
					parts = append(parts, p)
				}
			}
		}
	}
	var spans []span
	for _, p := range parts {
		if last := len(spans) - 1; last >= 0 && spans[last].Until.Equal(p.From) {
			spans[last].Until = p.Until
			continue
		}
		spans = append(spans, p.span)
	}
	return spans, nil
}
