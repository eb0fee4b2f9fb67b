package engine

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/firesweep/firesweep/shared/documents"
)

// Span is a span of time: From lies in it, Until does not.
type Span struct{ From, Until time.Time }

// Where returns the conditions that a field lies in the span.
func (s Span) Where(field string) []documents.Filter {
	return []documents.Filter{{Field: field, Op: ">=", Value: s.From}, {Field: field, Op: "<", Value: s.Until}}
}

// Share is how many documents there are, and how many of them are sought.
type Share struct{ Sought, All int }

// readWhole is how many documents are read for each that is sought rather than counted further: to find one among eight by
// halving costs as many reads.
const readWhole = 8

// instant is the shortest span: Firestore keeps microseconds.
const instant = time.Microsecond

// countsAtOnce bounds the counts that [Halve] has under way.
const countsAtOnce = 16

// Halve finds where in a span the documents are that no query can ask for, such as those without a field. It halves the span as
// long as few of the documents in it are sought, and returns, in order, the spans to read. share counts those of a span, at a
// read per thousand. What is written meanwhile may be left for the next run to find.
func Halve(ctx context.Context, in Span, all Share, share func(context.Context, Span) (Share, error)) ([]Span, error) {
	type part struct {
		Span
		Share
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
				left.Span, right.Span = Span{p.From, middle}, Span{middle, p.Until}
				left.Share, err = share(ctx, left.Span)
				right.Share = Share{p.Sought - left.Sought, p.All - left.All}
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
	var spans []Span
	for _, p := range parts {
		if last := len(spans) - 1; last >= 0 && spans[last].Until.Equal(p.From) {
			spans[last].Until = p.Until
			continue
		}
		spans = append(spans, p.Span)
	}
	return spans, nil
}
