package apply

import (
	"context"
	"slices"
	"sync"

	"github.com/firesweep/firesweep/shared/guard"
)

// gathered deletes the accounts of several commits in one call, because one call a second is allowed. Accounts that come up
// while a call is under way wait for the next call.
type gathered struct {
	mu      sync.Mutex
	busy    bool
	waiting []*accountCall
}

// accountCall is what one commit wants deleted.
type accountCall struct {
	uids    []string
	results []error
	done    chan struct{}
}

// delete deletes accounts and returns an error for each uid.
func (g *gathered) delete(ctx context.Context, call func(context.Context, []string) []error, uids []string) []error {
	c := &accountCall{uids: uids, done: make(chan struct{})}
	g.mu.Lock()
	g.waiting = append(g.waiting, c)
	first := !g.busy
	g.busy = true
	g.mu.Unlock()
	if first {
		go g.work(ctx, call)
	}
	<-c.done
	return c.results
}

// work makes calls until nobody waits.
func (g *gathered) work(ctx context.Context, call func(context.Context, []string) []error) {
	for {
		g.mu.Lock()
		calls := g.waiting
		g.waiting = nil
		if g.busy = len(calls) > 0; !g.busy {
			g.mu.Unlock()
			return
		}
		g.mu.Unlock()
		var all []string
		for _, c := range calls {
			all = append(all, c.uids...)
		}
		var results []error
		if err := guard.Call(func() error {
			results = call(ctx, all)
			return nil
		}); err != nil {
			results = slices.Repeat([]error{err}, len(all))
		}
		for _, c := range calls {
			c.results, results = results[:len(c.uids)], results[len(c.uids):]
			close(c.done)
		}
	}
}
