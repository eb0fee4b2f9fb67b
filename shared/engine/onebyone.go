package engine

import "context"

// OneByOne returns the Load of a rule that reads for one item at a time: load returns an item's state.
func OneByOne[S any](load func(ctx context.Context, src Source, subject Subject) (S, error)) func(context.Context, Source, []Subject) ([]S, error) {
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
