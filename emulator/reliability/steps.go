// Package reliability proves that the jobs survive faults and races. It numbers the calls of a run, and runs the job again and
// again with a fault, or a user's write, at each of them. docs/contributing/reliability.md has the results.
package reliability

import (
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
}

// String describes the call in one line.
func (c Call) String() string {
	return string(c.Service) + " " + c.Method + " " + strings.Join(c.Targets, ", ")
}

// Steps counts the calls of a disturbed run, including its worker's, in the order in which they are sent, and makes the fault
// happen at one of them. Concurrent calls are numbered as they come.
type Steps struct {
	fault  Fault
	at     int                      // the number of the disturbed call, from 1, among those that can have the fault; 0: none
	before func(number int, c Call) // called before each call is sent; may be nil
	end    func(Ending)             // called at the call at which the run is told to end; may be nil

	mu     sync.Mutex
	calls  []Call
	passed int // calls so far that can have the fault
	struck bool
}

// Undisturbed counts the calls and disturbs none.
func Undisturbed() *Steps { return &Steps{} }

// At makes the fault happen at the n-th of the calls that can have it.
func At(n int, fault Fault) *Steps { return &Steps{fault: fault, at: n} }

// Before calls f before each call is sent, with its number from 1.
func Before(f func(number int, c Call)) *Steps { return &Steps{before: f} }

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

// Struck reports whether the fault has happened.
func (s *Steps) Struck() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.struck
}

// next numbers a call and returns its fault; nil if it has none.
func (s *Steps) next(c Call) *Fault {
	s.mu.Lock()
	s.calls = append(s.calls, c)
	number := len(s.calls)
	var fault *Fault
	if s.at > 0 && s.fault.Concerns(c) {
		if s.passed++; s.passed == s.at {
			s.struck, fault = true, &s.fault
		}
	}
	end := s.end
	s.mu.Unlock()
	if s.before != nil {
		s.before(number, c)
	}
	if fault != nil && fault.ends != 0 {
		if end != nil {
			end(fault.ends)
		}
		return nil
	}
	return fault
}

// targetsOf returns the documents that a Firestore request writes, or the collections and documents that it reads.
func targetsOf(req any) []string {
	var names []string
	written := func(writes []*firestorepb.Write) {
		for _, w := range writes {
			switch {
			case w.GetUpdate() != nil:
				names = append(names, w.GetUpdate().GetName())
			case w.GetDelete() != "":
				names = append(names, w.GetDelete())
			}
		}
	}
	queried := func(q *firestorepb.StructuredQuery) {
		for _, from := range q.GetFrom() {
			names = append(names, from.GetCollectionId())
		}
	}
	switch req := req.(type) {
	case *firestorepb.CommitRequest:
		written(req.GetWrites())
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
