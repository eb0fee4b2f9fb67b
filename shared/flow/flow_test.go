package flow_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

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
		f := flow.Begin(t.Context(), 4, these(upTo(8, nil)),
			func(_ context.Context, i int) (int, error) {
				time.Sleep(time.Duration(8-i) * time.Second)
				return 10 * i, nil
			})
		err := f.Each(func(i, got int) error {
			if got != 10*i {
				t.Errorf("%d came of %d", got, i)
			}
			ended = append(ended, i)
			return nil
		})
		if err != nil || !slices.Equal(ended, []int{0, 1, 2, 3, 4, 5, 6, 7}) {
			t.Errorf("ended %v, %v", ended, err)
		}
		if took := time.Since(began); took != 12*time.Second { // the first takes 8 and the fifth, which begins then, 4
			t.Errorf("it took %s", took)
		}
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
		f := flow.Begin(t.Context(), 4, these(tt.items), func(_ context.Context, i int) (int, error) {
			if tt.begin == nil {
				return 0, nil
			}
			return 0, tt.begin(i)
		})
		err := f.Each(func(i, _ int) error {
			if tt.end != nil {
				if err := tt.end(i); err != nil {
					return err
				}
			}
			ended++
			return nil
		})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
		if ended != tt.ended {
			t.Errorf("%s: it ended after %d, want %d", name, ended, tt.ended)
		}
	}
}

// TestBegunAndNotEnded has a flow begin that nobody waits for: two items are asked about and a third comes, and when it is
// stopped nothing is under way any more.
func TestBegunAndNotEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		stopped := false
		items := func(_ context.Context) iter.Seq2[int, error] {
			return func(yield func(int, error) bool) {
				for i := range 9 {
					if !yield(i, nil) {
						stopped = true
						return
					}
				}
			}
		}
		f := flow.Begin(t.Context(), 4, items, func(context.Context, int) (int, error) {
			asked.Add(1)
			return 0, nil
		})
		synctest.Wait()
		if asked.Load() != 2 {
			t.Errorf("%d items were asked about, want 2", asked.Load())
		}
		f.Stop()
		if !stopped {
			t.Error("the items were not told to stop")
		}
	})
}

// TestCanceledFlow is not taken for one that is through: some items never came.
func TestCanceledFlow(t *testing.T) {
	t.Parallel()
	for range 100 {
		ctx, cancel := context.WithCancel(t.Context())
		ended := 0
		f := flow.Begin(ctx, 4, these(upTo(9, nil)), func(context.Context, int) (int, error) { return 0, nil })
		err := f.Each(func(int, int) error {
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

// TestOne asks about its item at once, before anybody waits for the answer.
func TestOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		f := flow.One(t.Context(), 7, func(_ context.Context, i int) (string, error) {
			asked.Add(1)
			return strings.Repeat("x", i), nil
		})
		synctest.Wait()
		if asked.Load() != 1 {
			t.Error("nobody asked")
		}
		var got []string
		err := f.Each(func(_ int, answer string) error {
			got = append(got, answer)
			return nil
		})
		if err != nil || !slices.Equal(got, []string{"xxxxxxx"}) {
			t.Errorf("%v, %v", got, err)
		}
	})
}

// TestAll calls functions beside each other, and returns their errors in their order when the last has returned.
func TestAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		after := func(seconds int, err error) func() error {
			return func() error {
				time.Sleep(time.Duration(seconds) * time.Second)
				return err
			}
		}
		errs := flow.All(after(3, errItem), after(1, nil), after(2, context.Canceled), func() error { panic("of a function") })
		if took := time.Since(began); took != 3*time.Second || len(errs) != 4 || !errors.Is(errs[0], errItem) || errs[1] != nil ||
			!errors.Is(errs[2], context.Canceled) || errs[3] == nil || !strings.HasPrefix(errs[3].Error(), "panic: of a function\n") {
			t.Errorf("after %s: %v", took, errs)
		}
	})
	if errs := flow.All(); len(errs) != 0 {
		t.Errorf("%v of none", errs)
	}
}
