package backends

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// TaskServer imitates Cloud Tasks in memory: named tasks, schedule times, delivery over HTTP and retries. Every queue exists.
type TaskServer struct {
	*taskState
	project string // "": all
}

// taskState is the state that all views of a server share.
type taskState struct {
	now     func() time.Time // a test's clock may stand in for it
	client  *http.Client
	stop    context.CancelFunc
	stopped chan struct{} // closed when the dispatcher has ended; nil if there is none

	mu       sync.Mutex
	tasks    map[string]*task                          // by full name
	gone     map[string]time.Time                      // when a task of the name ended
	refuse   map[string]func(*cloudtaskspb.Task) error // by project
	sequence int
}

// task is a task that is not done.
type task struct {
	proto    *cloudtaskspb.Task // replaced, never changed
	due      time.Time          // zero: at once
	sequence int                // of creation
	running  bool
}

const (
	concurrentDeliveries = 10
	rememberNames        = 24 * time.Hour
	shortestBackoff      = 100 * time.Millisecond // between a task's attempts
	longestBackoff       = 10 * time.Second
	betweenLooks         = 20 * time.Millisecond // of the dispatcher
)

// newTaskServer returns a server. It delivers tasks by itself, unless that is done by hand.
func newTaskServer(manual bool) *TaskServer {
	ctx, stop := context.WithCancel(context.Background())
	s := &taskState{
		now: time.Now,
		client: &http.Client{
			Transport:     &http.Transport{MaxIdleConnsPerHost: concurrentDeliveries}, // and no proxy
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		stop:   stop,
		tasks:  map[string]*task{},
		gone:   map[string]time.Time{},
		refuse: map[string]func(*cloudtaskspb.Task) error{},
	}
	server := &TaskServer{taskState: s}
	if !manual {
		s.stopped = make(chan struct{})
		go server.dispatch(ctx)
	}
	return server
}

// close ends all deliveries, including those under way.
func (s *taskState) close() {
	s.stop()
	if s.stopped != nil {
		<-s.stopped
	}
	s.client.CloseIdleConnections()
}

// ForProject returns a view of the server with the tasks of one project only.
func (s *TaskServer) ForProject(project string) *TaskServer {
	return &TaskServer{taskState: s.taskState, project: project}
}

// owns reports whether the view includes a task or queue.
func (s *TaskServer) owns(name string) bool { return s.project == "" || projectOf(name) == s.project }

// Pending returns the tasks that are not done, ordered by schedule time and then by creation. The queue is a full name
// (projects/…/locations/…/queues/…); "" is all queues.
func (s *TaskServer) Pending(queue string) []*cloudtaskspb.Task {
	s.mu.Lock()
	defer s.mu.Unlock()
	var pending []*cloudtaskspb.Task
	for _, t := range slices.SortedFunc(maps.Values(s.tasks), (*task).compare) {
		if name := t.proto.Name; s.owns(name) && (queue == "" || queueOf(name) == queue) {
			pending = append(pending, proto.CloneOf(t.proto))
		}
	}
	return pending
}

// FailCreates makes CreateTask answer with the error that refuse returns, if any, for tasks of the view's project. The error may
// be a gRPC status. A nil function ends this.
func (s *TaskServer) FailCreates(refuse func(*cloudtaskspb.Task) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse[s.project] = refuse
}

// Clear forgets all tasks and the names of those that are done, and ends what FailCreates began.
func (s *TaskServer) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.tasks, func(name string, _ *task) bool { return s.owns(name) })
	maps.DeleteFunc(s.gone, func(name string, _ time.Time) bool { return s.owns(name) })
	delete(s.refuse, s.project)
}

// Deliver delivers every task that is due at the time, one after the other in the order of schedule times, including tasks that
// are created meanwhile. A task without a schedule time is always due. Deliver returns how many tasks it delivered, and the
// joined errors of failed deliveries. A failed task is due again a backoff after the time. Deliver is for servers that deliver
// nothing by themselves.
func (s *TaskServer) Deliver(ctx context.Context, until time.Time) (delivered int, err error) {
	var failures []error
	for {
		if err := ctx.Err(); err != nil {
			return delivered, errors.Join(append(failures, err)...)
		}
		next := s.nextDue(until)
		if next == nil {
			return delivered, errors.Join(failures...)
		}
		if err := s.attempt(ctx, next, func() time.Time { return until }); err != nil {
			failures = append(failures, err)
		} else {
			delivered++
		}
	}
}

// dispatch delivers tasks when they are due, until the context is done. Then it waits for those under way.
func (s *TaskServer) dispatch(ctx context.Context) {
	defer close(s.stopped)
	var running errgroup.Group
	running.SetLimit(concurrentDeliveries)
	for ctx.Err() == nil {
		next := s.nextDue(s.now())
		if next == nil {
			select {
			case <-ctx.Done():
			case <-time.After(betweenLooks):
			}
			continue
		}
		running.Go(func() error {
			_ = s.attempt(ctx, next, s.now) // the task is due again
			return nil
		})
	}
	_ = running.Wait() // none returns one
}

// nextDue returns the first task that is due at the time, and marks it as running; nil if there is none.
func (s *TaskServer) nextDue(at time.Time) (next *task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, t := range s.tasks {
		if !t.running && s.owns(name) && !t.due.After(at) && (next == nil || t.compare(next) < 0) {
			next = t
		}
	}
	if next != nil {
		next.running = true
	}
	return next
}

// compare orders tasks by the time at which they are due, and then by creation.
func (t *task) compare(other *task) int {
	return cmp.Or(t.due.Compare(other.due), t.sequence-other.sequence)
}

// attempt delivers a task once. The task is then done, or due again.
func (s *taskState) attempt(ctx context.Context, t *task, now func() time.Time) error {
	s.mu.Lock()
	p := proto.CloneOf(t.proto)
	s.mu.Unlock()
	err := s.send(ctx, p)
	p.DispatchCount++
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tasks[p.Name] != t { // deleted meanwhile
		return err
	}
	if err == nil {
		delete(s.tasks, p.Name)
		s.gone[p.Name] = s.now()
		return nil
	}
	t.due = now().Add(backoff(p.DispatchCount))
	p.ScheduleTime = timestamppb.New(t.due)
	t.proto, t.running = p, false
	return err
}

// backoff returns how long after its n-th attempt a task is tried again.
func backoff(n int32) time.Duration {
	wait := shortestBackoff
	for ; n > 1 && wait < longestBackoff; n-- {
		wait *= 2
	}
	return min(wait, longestBackoff)
}
