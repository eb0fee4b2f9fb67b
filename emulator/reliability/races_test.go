package reliability

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

// lockWait is how long a user's write is waited for before the call goes out. In the emulator, whose transactions lock what they
// read, it may not be possible before the job's transaction has ended; then it comes after that.
const lockWait = 250 * time.Millisecond

// tryRace lets users do what keeps something right before a call, and compares what is left in the end: what they wrote is there,
// so is what it keeps, and everything else is as after an undisturbed run.
func tryRace(t *testing.T, s subject, want *expected, p point) (lines []string, steps *Steps) {
	t.Helper()
	w := newWorld(t, s)
	end := maps.Clone(want.end)
	var (
		users errgroup.Group
		mu    sync.Mutex // guards end and outcomes
	)
	outcomes := map[string]error{}
	steps = At(p.at, Fault{first: func() {
		done := make(chan struct{})
		for _, a := range actionsOf(s.name) {
			users.Go(func() error {
				kept, err := w.act(t, a)
				mu.Lock()
				defer mu.Unlock()
				outcomes[a.name] = err
				if err == nil {
					a.addTo(end, kept)
				}
				return nil
			})
		}
		go func() {
			_ = users.Wait() // none returns one
			close(done)
		}()
		select {
		case <-done:
		case <-time.After(lockWait):
		}
	}})
	w.run(t, steps)
	_ = users.Wait() // none returns one
	for name, err := range outcomes {
		if err != nil && (p.at == 1 || !missing(err) && !errors.Is(err, errRefused)) {
			t.Errorf("%s, before call %d: %v", name, p.at, err)
		}
	}
	if !w.recover(t) {
		lines = append(lines, fmt.Sprintf("after %d undisturbed runs something is still left to do", maxRuns))
	}
	got, calls := w.named(t), steps.Calls()
	maps.DeleteFunc(end, func(name string, _ any) bool {
		_, there := got[name]
		return !there && isLate(name, got, s, calls, p.at)
	})
	if lines = slices.Concat(lines, differ("at the end", end, got), w.unfinished(t)); len(lines) > 0 {
		t.Logf("before call %d the users did (nil: in time): %v", p.at, outcomes)
	}
	return lines, steps
}

// isLate says that what is gone is something that nothing can prevent: a document of Firestore cannot be a condition for deleting an
// object of Cloud Storage or an account, and neither can a sign-in. What comes after the job has last asked for it is too late, also
// for what goes along with an account that is gone.
func isLate(gone string, left map[string]any, s subject, calls []Call, at int) bool {
	for _, a := range actionsOf(s.name) {
		_, there := left[a.late.gone]
		along := len(a.accounts) > 0 && (slices.Contains(a.kept, gone) || slices.Contains(a.objects, gone))
		if a.late.gone == "" || there || gone != a.late.gone && !along {
			continue
		}
		deletes, target := "DeleteUsers", strings.TrimPrefix(a.late.gone, "account ")
		if name, isObject := strings.CutPrefix(a.late.gone, ofBucket); isObject {
			deletes, target = "DELETE", name
		}
		last := 0
		for i, c := range calls {
			if c.Method == deletes && slices.Contains(c.Targets, target) {
				break // what it asks for afterwards keeps nothing
			}
			if c.Method == a.late.method && slices.Contains(c.Targets, a.late.asked) {
				last = i + 1
			}
		}
		return at > last
	}
	return false
}

// addTo adds to what must be there in the end what a user's write kept.
func (a action) addTo(end, kept map[string]any) {
	for name, v := range kept {
		if v == nil {
			delete(end, name)
		} else {
			end[name] = v
		}
	}
	if a.then != nil {
		a.then(end)
	}
}

// act does what a user does, and returns what that keeps, as it is right after it; of a document that is not there, nil. An error says
// that the user came too late, or was refused.
func (w *world) act(t *testing.T, a action) (kept map[string]any, err error) {
	t.Helper()
	if err := a.do(t.Context(), w); err != nil {
		return nil, err
	}
	now := w.named(t)
	kept = map[string]any{}
	late := len(a.accounts) > 0
	for _, path := range a.keeps(w) {
		kept[path] = now[path]
		late = late && (now[path] == nil || path == a.keeper)
	}
	for _, account := range a.accounts {
		if v, there := now[account]; there {
			kept[account], late = v, false
		}
	}
	for _, object := range a.objects {
		if v, there := now[object]; there && !late { // who comes when the account and its documents are gone is too late
			kept[object] = v
		}
	}
	return kept, nil
}
