package flow_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/shared/flow"
)

var errItem = errors.New("it was made to fail")

// upTo returns the numbers from 0 up to n, and then an error if there is one.
func upTo(n int, err error) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		for i := range n {
			if !yield(i, nil) {
				return
			}
		}
		if err != nil {
			yield(0, err)
		}
	}
}

func these(items iter.Seq2[int, error]) func(context.Context) iter.Seq2[int, error] {
	return func(context.Context) iter.Seq2[int, error] { return items }
}

// TestInOrder has later items be ready earlier: they end in their order all the same, as many at once as are allowed, and
// nothing is under way in the end.
func TestInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var ended []int
		slowly := func(_ context.Context, i int) (int, error) {
			time.Sleep(time.Duration(8-i) * time.Second)
			return 10 * i, nil
		}
		err := flow.Each(t.Context(), 4, these(upTo(8, nil)), slowly, func(i, got int) error {
			check.Same(t, fmt.Sprint("of ", i), 10*i, got)
			ended = append(ended, i)
			return nil
		})
		check.Same(t, "ended", []any{[]int{0, 1, 2, 3, 4, 5, 6, 7}, nil}, []any{ended, err})
		check.Same(t, "it took", 12*time.Second, time.Since(began)) // the first takes 8 and the fifth, which begins then, 4
	})
}

// TestInOrderFails ends with the first error, in the order of the items, and waits for what is under way.
func TestInOrderFails(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		items iter.Seq2[int, error]
		begin func(i int) error
		end   func(i int) error
		ended int
		want  string
	}{
		"an item":            {upTo(9, nil), func(i int) error { return map[int]error{3: errItem, 4: errors.New("later")}[i] }, nil, 3, errItem.Error()},
		"a panic":            {upTo(9, nil), func(i int) error { return map[bool]error{i < 5: nil}[[]bool{true}[i/5]] }, nil, 5, "panic: "},
		"the end of an item": {upTo(9, nil), nil, func(i int) error { return map[int]error{6: errItem}[i] }, 6, errItem.Error()},
		"the items":          {upTo(5, errItem), nil, nil, 5, errItem.Error()},
		"what comes before":  {upTo(5, errItem), func(i int) error { return map[int]error{4: errors.New("sooner")}[i] }, nil, 4, "sooner"},
	} {
		ended := 0
		begin := func(_ context.Context, i int) (int, error) {
			if tt.begin == nil {
				return 0, nil
			}
			return 0, tt.begin(i)
		}
		err := flow.Each(t.Context(), 4, these(tt.items), begin, func(i, _ int) error {
			if tt.end != nil {
				if err := tt.end(i); err != nil {
					return err
				}
			}
			ended++
			return nil
		})
		check.Fails(t, err, tt.want)
		check.Same(t, name+": ended after", tt.ended, ended)
	}
}

// TestCanceledFlow is not taken for one that is through: some items never came.
func TestCanceledFlow(t *testing.T) {
	t.Parallel()
	for range 100 {
		ctx, cancel := context.WithCancel(t.Context())
		ended := 0
		lookup := func(context.Context, int) (int, error) { return 0, nil }
		err := flow.Each(ctx, 4, these(upTo(9, nil)), lookup, func(int, int) error {
			if ended++; ended == 3 {
				cancel()
			}
			return nil
		})
		if ended < 9 && !errors.Is(err, context.Canceled) || ended == 9 && err != nil {
			t.Fatalf("%v after %d of 9", err, ended)
		}
		cancel()
	}
}

// TestMany calls a function side by side, at most so many times at once, and returns the errors in their order when the last call
// has returned.
func TestMany(t *testing.T) {
	t.Parallel()
	for most, want := range map[int]time.Duration{4: 3 * time.Second, 1: 6 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			errs := flow.Many(most, 4, func(i int) error {
				time.Sleep(time.Duration([]int{3, 1, 2, 0}[i]) * time.Second)
				if i == 3 {
					panic("of a function")
				}
				return []error{errItem, nil, context.Canceled}[i]
			})
			if took := time.Since(began); took != want || len(errs) != 4 || !errors.Is(errs[0], errItem) || errs[1] != nil ||
				!errors.Is(errs[2], context.Canceled) || errs[3] == nil || !strings.HasPrefix(errs[3].Error(), "panic: of a function\n") {
				t.Errorf("at most %d at once: after %s: %v", most, took, errs)
			}
		})
	}
	check.Same(t, "errors of none", 0, len(flow.Many(1, 0, nil)))
}
