package cleanup

import (
	"context"

	"github.com/firesweep/firesweep/shared/documents"
)

// Itself is the Load of a rule that judges documents by their own fields.
func Itself(_ context.Context, _ Source, subjects []Subject) ([]Subject, error) { return subjects, nil }

// Each returns the Load of a rule that judges documents by their own fields, in a state that has room for what Gather reads.
func Each[S any](of func(Subject) S) func(context.Context, Source, []Subject) ([]S, error) {
	return OneByOne(func(_ context.Context, _ Source, s Subject) (S, error) { return of(s), nil })
}

// EachWith returns the Load of a rule that judges each item by one further document, which other names. It is not Found if
// there is no such document, or if other returns false because the item names none.
func EachWith[S any](
	other func(documents.Document) (documents.Ref, bool), of func(item, other Subject) S,
) func(context.Context, Source, []Subject) ([]S, error) {
	return func(ctx context.Context, src Source, subjects []Subject) ([]S, error) {
		var refs []documents.Ref
		for _, s := range subjects {
			if ref, ok := other(s.Document); ok {
				refs = append(refs, ref)
			}
		}
		found, err := src.Get(ctx, refs)
		if err != nil {
			return nil, err
		}
		states := make([]S, len(subjects))
		for i, s := range subjects {
			ref, _ := other(s.Document)
			d, there := found[ref]
			states[i] = of(s, Subject{Document: d, Found: there})
		}
		return states, nil
	}
}

// OneByOne returns the Load of a rule that reads for one item at a time: load returns an item's state.
func OneByOne[S any](
	load func(ctx context.Context, src Source, subject Subject) (S, error),
) func(context.Context, Source, []Subject) ([]S, error) {
	return func(ctx context.Context, src Source, subjects []Subject) ([]S, error) {
		states := make([]S, len(subjects))
		for i, subject := range subjects {
			var err error
			if states[i], err = load(ctx, src, subject); err != nil {
				return nil, err
			}
		}
		return states, nil
	}
}
