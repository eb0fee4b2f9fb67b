// Package reliability proves that the jobs survive faults and races. It numbers the calls of a run, and runs the job again and
// again with a fault, or a user's write, at each of them. docs/contributing/reliability.md has the results.
package reliability

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
)

// Service is the service that a call goes to.
type Service string

// The services.
const (
	Firestore      Service = "Firestore"
	Storage        Service = "Storage"
	Authentication Service = "Authentication"
	Tasks          Service = "Cloud Tasks"
)

// Call is a call that a run made.
type Call struct {
	Service  Service
	Method   string   // e.g. "Commit", "DELETE", "DeleteUsers", "CreateTask"
	Streamed bool     // the answer comes in several messages
	Targets  []string // what it reads or writes, as far as tests need it: documents, collections, an object
	writes   []*firestorepb.Write
}

// String describes the call in one line.
func (c Call) String() string {
	return string(c.Service) + " " + c.Method + " " + strings.Join(c.Targets, ", ")
}

// Steps counts the calls of a disturbed run, including its worker's, in the order in which they are sent, and has a fault happen
// at those that choose says. Concurrent calls are numbered as they come.
type Steps struct {
	choose func(c Call) *Fault // returns the fault of a call, nil if it has none; nil: none has
	end    func(Ending)        // called at the call at which the run is told to end; may be nil

	mu     sync.Mutex
	calls  []Call
	struck bool
}

// Undisturbed counts the calls and disturbs none.
func Undisturbed() *Steps { return &Steps{} }

// Disturbed has each call have the fault that choose returns, if it does.
func Disturbed(choose func(c Call) *Fault) *Steps { return &Steps{choose: choose} }

// At makes the fault happen at the n-th of the calls that can have it.
func At(n int, fault Fault) *Steps {
	return Disturbed(func(c Call) *Fault {
		if fault.Concerns(c) {
			n--
		}
		if n != 0 {
			return nil
		}
		n-- // once
		return &fault
	})
}

// OnEnding sets what is called at the call at which the run is told to end. The call continues when that returns.
func (s *Steps) OnEnding(f func(Ending)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end = f
}

// Calls returns the calls so far.
func (s *Steps) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// Struck reports whether a fault has happened.
func (s *Steps) Struck() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.struck
}

// next counts a call and returns its fault; nil if nothing happens to the call itself.
func (s *Steps) next(c Call) (fault *Fault) {
	s.mu.Lock()
	s.calls = append(s.calls, c)
	if s.choose != nil {
		fault = s.choose(c)
	}
	s.struck = s.struck || fault != nil
	end := s.end
	s.mu.Unlock()
	switch {
	case fault != nil && fault.first != nil:
		fault.first()
	case fault != nil && fault.ends != 0 && end != nil:
		end(fault.ends)
	case fault != nil && fault.ends == 0:
		return fault
	}
	return nil
}

// targetsOf returns the documents that a Firestore request writes, or the collections and documents that it reads.
func targetsOf(req any) []string {
	var names []string
	for _, w := range writesOf(req) {
		if name := cmp.Or(w.GetUpdate().GetName(), w.GetDelete()); name != "" {
			names = append(names, name)
		}
	}
	queried := func(q *firestorepb.StructuredQuery) {
		for _, from := range q.GetFrom() {
			names = append(names, from.GetCollectionId())
		}
	}
	switch req := req.(type) {
	case *firestorepb.BatchGetDocumentsRequest:
		names = append(names, req.GetDocuments()...)
	case *firestorepb.RunQueryRequest:
		queried(req.GetStructuredQuery())
	case *firestorepb.RunAggregationQueryRequest:
		queried(req.GetStructuredAggregationQuery().GetStructuredQuery())
	}
	for i, name := range names {
		if _, path, ok := strings.Cut(name, "/documents/"); ok {
			names[i] = path
		}
	}
	return names
}

// writesOf returns the writes of a Firestore request.
func writesOf(req any) []*firestorepb.Write {
	commit, _ := req.(*firestorepb.CommitRequest)
	return commit.GetWrites()
}
