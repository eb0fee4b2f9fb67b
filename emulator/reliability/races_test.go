package reliability

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/firesweep/firesweep/emulator/sampledata"
)

// lockWait is how long a user's write is waited for before the call goes out. In the emulator, whose transactions lock what they
// read, it may not be possible before the job's transaction has ended; then it comes after that.
const lockWait = 250 * time.Millisecond

// tryRace lets users do what keeps something right before a call, and compares what is left in the end: what they wrote is there,
// so is what it keeps, and everything else is as the sample says.
func tryRace(t *testing.T, s subject, _ *expected, p point) (lines []string, steps *Steps) {
	t.Helper()
	w := newWorld(t, s)
	want := w.wanted()
	var (
		users errgroup.Group
		mu    sync.Mutex // guards want and outcomes
	)
	outcomes := map[string]error{}
	steps = At(p.at, Fault{first: func() {
		done := make(chan struct{})
		for _, a := range actionsOf(s.name) {
			users.Go(func() error {
				e, err := w.act(t.Context(), a)
				mu.Lock()
				defer mu.Unlock()
				outcomes[a.name] = err
				if err == nil {
					e.addTo(&want)
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
	calls := steps.Calls()
	if !w.recover(t) {
		lines = append(lines, fmt.Sprintf("after %d undisturbed runs something is still left to do", maxRuns))
	}
	all := slices.Concat(lines, w.differences(t, want))
	lines = slices.DeleteFunc(slices.Clone(all), func(line string) bool { return isLate(line, all, s, calls, p.at) })
	if len(lines) > 0 {
		t.Logf("before call %d the users did (nil: in time): %v", p.at, outcomes)
	}
	return lines, steps
}

// isLate says that a difference is one that nothing can prevent: a document of Firestore cannot be a condition for deleting an
// object of Cloud Storage or an account, and neither can a sign-in. What comes after the job has last asked for it is too late, also
// for what goes along with an account that is gone.
func isLate(line string, all []string, s subject, calls []Call, at int) bool {
	for _, a := range actionsOf(s.name) {
		gone := a.late.gone + " should be there and is gone"
		late := line == gone || slices.Contains(all, gone) && a.goesAlong(line)
		if a.late.gone == "" || !late {
			continue
		}
		kind, name, _ := strings.Cut(a.late.gone, " ")
		deletes := map[string]string{"account": "DeleteUsers", "object": "DELETE"}[kind]
		last := 0
		for i, c := range calls {
			if c.Method == deletes && slices.Contains(c.Targets, name) {
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

// goesAlong says that a difference is what goes along with an account that the action keeps.
func (a action) goesAlong(line string) bool {
	return len(a.accounts) > 0 && (slices.ContainsFunc(a.kept, func(path string) bool { return line == path+" should be there and is not" }) ||
		slices.ContainsFunc(a.objects, func(name string) bool { return line == "object "+name+" should be there and is gone" }))
}

// expectation is what a user's write keeps, as it was right after it.
type expectation struct {
	documents map[string]map[string]any // by path; nil: there is none
	objects   []string
	accounts  []string
}

// wanted returns what must be there in the end, to which what users write is added.
func (w *world) wanted() sampledata.Sample {
	want := w.sample
	want.Documents, want.Objects, want.Accounts = slices.Clone(want.Documents), slices.Clone(want.Objects), slices.Clone(want.Accounts)
	return want
}

func (e expectation) addTo(want *sampledata.Sample) {
	for path, data := range e.documents {
		i := slices.IndexFunc(want.Documents, func(d sampledata.Document) bool { return d.Path == path })
		if i < 0 {
			want.Documents = append(want.Documents, sampledata.Document{Path: path, After: data})
			continue
		}
		want.Documents[i].After = data
	}
	for i := range want.Objects {
		want.Objects[i].Kept = want.Objects[i].Kept || slices.Contains(e.objects, want.Objects[i].Name)
	}
	for i := range want.Accounts {
		want.Accounts[i].Kept = want.Accounts[i].Kept || slices.Contains(e.accounts, want.Accounts[i].UID)
	}
}

// act does what a user does, and looks at what that keeps. An error says that the user came too late, or was refused.
func (w *world) act(ctx context.Context, a action) (expectation, error) {
	e := expectation{documents: map[string]map[string]any{}}
	if err := a.do(ctx, w); err != nil {
		return e, err
	}
	for _, path := range a.keeps(w) {
		d, err := w.content.Firestore.Doc(path).Get(ctx)
		if err != nil && !missing(err) {
			return e, fmt.Errorf("look at %s: %w", path, err)
		}
		e.documents[path] = nil
		if d.Exists() {
			e.documents[path] = d.Data()
		}
	}
	for _, name := range a.objects {
		if _, err := w.content.Bucket.Object(name).Attrs(ctx); err == nil {
			e.objects = append(e.objects, name)
		}
	}
	for _, uid := range a.accounts {
		if _, err := w.content.Auth.GetUser(ctx, uid); err == nil {
			e.accounts = append(e.accounts, uid)
		}
	}
	stay := func(path string) bool { return e.documents[path] != nil && path != a.keeper }
	if len(a.accounts) > 0 && len(e.accounts) == 0 && !slices.ContainsFunc(slices.Collect(maps.Keys(e.documents)), stay) {
		e.objects = nil // who comes when the account and its documents are gone is too late
	}
	if a.then != nil {
		a.then(w, &e)
	}
	return e, nil
}
