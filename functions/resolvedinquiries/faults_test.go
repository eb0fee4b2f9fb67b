package resolvedinquiries

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/sweep"
	"github.com/firesweep/firesweep/shared/sweep/sweeptest"
)

// outage makes a run's n-th request fail for good, to Firestore or to Storage.
type outage struct {
	at    int  // the request that fails, from 1 on; 0: none
	after bool // it fails after it has taken effect
	dead  bool // every later request fails as well, without taking effect, as when the run was killed

	mu       sync.Mutex
	calls    int
	planning int // of the calls
}

var errDenied = status.Error(codes.PermissionDenied, "Missing or insufficient permissions.")

// next counts a request and says whether it fails before or after it is sent.
func (o *outage) next() (before, after bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.calls++
	switch {
	case o.at == 0 || o.calls < o.at:
		return false, false
	case o.calls == o.at:
		return !o.after, o.after
	default:
		return o.dead, false
	}
}

// install puts the outage between a function and its backends. Transactions may always be rolled back: for a run that is
// dead Firestore does that by itself.
func (o *outage) install(f *sweeptest.Function) {
	f.Hooks.Dial = append(f.Hooks.Dial,
		grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			if path.Base(method) == "Rollback" {
				return invoke(ctx, method, req, reply, cc, opts...)
			}
			before, after := o.next()
			if before {
				return errDenied
			}
			err := invoke(ctx, method, req, reply, cc, opts...)
			if after {
				return errDenied
			}
			return err
		}),
		grpc.WithChainStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, stream grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			before, after := o.next()
			if before {
				return nil, errDenied
			}
			s, err := stream(ctx, desc, cc, method, opts...)
			if err == nil && after {
				return &brokenStream{ClientStream: s}, nil
			}
			return s, err
		}))
	f.Hooks.Transport = func(next http.RoundTripper) http.RoundTripper { return brokenTransport{o, next} }
}

// brokenStream breaks after its first message.
type brokenStream struct {
	grpc.ClientStream
	received bool
}

func (s *brokenStream) RecvMsg(m any) error {
	if s.received {
		return errDenied
	}
	s.received = true
	return s.ClientStream.RecvMsg(m)
}

type brokenTransport struct {
	outage *outage
	next   http.RoundTripper
}

func (t brokenTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	before, after := t.outage.next()
	denied := &http.Response{StatusCode: http.StatusForbidden, Status: "403 Forbidden", Request: r, Header: http.Header{},
		ProtoMajor: 1, ProtoMinor: 1, Body: io.NopCloser(bytes.NewReader(nil))}
	if before {
		return denied, nil
	}
	resp, err := t.next.RoundTrip(r)
	if err == nil && after {
		_ = resp.Body.Close() // nobody is to read it
		return denied, nil
	}
	return resp, err
}

// Where the archive that was there goes.
const (
	earlierOne = "archivedInquiries/i1/earlier"
	oldAt      = "2025-06-01T00:00:00Z"
)

var oldArchive = map[string]any{"archivedAt": time.Date(2025, 6, 1, 0, 0, 0, 0, time.UTC), "subject": "last year's"}

// state is what a project holds of all that the job works on, by path.
func state(t *testing.T, f *sweeptest.Function) map[string]any {
	t.Helper()
	found := map[string]any{"objects": f.Objects(t)}
	for _, collection := range []string{
		"inquiries", "inquiries/i1/messages", "archivedInquiries", "archivedInquiries/i1/messages", "users/u1/notifications",
		earlierOne, earlierOne + "/" + oldAt + "/messages", earlierOne + "/" + oldAt + "-2/messages",
		"cleanupJobs/cleanupResolvedInquiries/archives", "cleanupJobs/cleanupResolvedInquiries/leftovers",
	} {
		for id, data := range f.Documents(t, collection) {
			found[collection+"/"+id] = anywhere(data, f.Bucket)
		}
	}
	return found
}

// anywhere returns a value as it would be in any project.
func anywhere(value any, bucket string) any {
	switch v := value.(type) {
	case string:
		return strings.ReplaceAll(v, bucket, "BUCKET")
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = anywhere(v[i], bucket)
		}
		return list
	case map[string]any:
		m := map[string]any{}
		for k := range v {
			m[k] = anywhere(v[k], bucket)
		}
		return m
	case time.Time:
		if v.After(now) { // people are told by the wall clock, which has gone on
			return now
		}
		return v
	default:
		return value
	}
}

// kill runs the function with an outage on data of its own, and then undisturbed. Inquiries of more than 8 KiB are archived
// in parts, in batches of that size.
func kill(t *testing.T, o *outage, load func(t *testing.T, f *sweeptest.Function)) (first *sweep.Report, between, end map[string]any) {
	t.Helper()
	job := Job
	job.Plan = func(ctx context.Context, p *sweep.Planner) error {
		return planWith(ctx, p, archiver{maxArchive: 8 << 10, batchBytes: 8 << 10})
	}
	f := sweeptest.New(t, functions.New(job))
	f.Now = now
	f.Clock = func() time.Time { return now }
	load(t, f)
	o.install(f)
	f.Hooks.BeforeApply = func() {
		if o.planning == 0 {
			o.planning = o.calls
		}
	}
	first = f.Run(t, "")
	if o.at == 0 {
		return first, nil, state(t, f)
	}
	o.at = 0
	between = state(t, f)
	f.Clock = func() time.Time { return now.Add(f.Timeout + time.Hour) } // when the lease of a dead run is over
	if second := f.Run(t, ""); second.Status != sweep.Completed {
		t.Errorf("the run after: %s %+v", second.Status, second.Failures)
	}
	return first, between, state(t, f)
}

// TestKilledAtEveryStep lets a run die after each of its requests took effect, which is as much as before the next, or fail
// at one of them, and runs again.
func TestKilledAtEveryStep(t *testing.T) {
	for name, tt := range map[string]struct {
		load     func(t *testing.T, f *sweeptest.Function)
		planning bool // end it while planning as well
		messages int  // of inquiry i1
	}{
		"in one document": {func(t *testing.T, f *sweeptest.Function) {
			f.Set(t, "users/u1", map[string]any{})
			f.Set(t, "inquiries/told", inquiry(6*day))
			f.Set(t, "inquiries/i1", inquiry(8*day))
			f.Set(t, "inquiries/i1/messages/a", withImage(message(2), "gs://"+f.Bucket+"/inquiries/a.png"))
			f.Set(t, "inquiries/i1/messages/b", withImage(message(1), "gs://"+f.Bucket+"/inquiries/b.png"))
			f.Put(t, "inquiries/a.png", nil, nil)
			f.Put(t, "inquiries/b.png", nil, nil)
			f.Put(t, "inquiries/c.png", nil, nil)
		}, true, 2},
		"in parts": {func(t *testing.T, f *sweeptest.Function) {
			f.Set(t, "inquiries/i1", inquiry(8*day))
			f.SetMany(t, 3, func(i int) (string, map[string]any) {
				m := withImage(message(i), fmt.Sprintf("gs://%s/inquiries/%d.png", f.Bucket, i/2))
				m["content"] = strings.Repeat("long ", 1000)
				return fmt.Sprintf("inquiries/i1/messages/m%d", i), m
			})
			f.PutMany(t, 3, func(i int) (string, map[string]string) { return fmt.Sprintf("inquiries/%d.png", i), nil })
		}, false, 3},
		"beside an archive with messages of its own": {func(t *testing.T, f *sweeptest.Function) {
			f.Set(t, "inquiries/i1", inquiry(8*day))
			f.Set(t, "inquiries/i1/messages/a", message(1))
			f.Set(t, "archivedInquiries/i1", oldArchive)
			f.SetMany(t, 3, func(i int) (string, map[string]any) {
				return fmt.Sprintf("archivedInquiries/i1/messages/old%d", i), map[string]any{"content": strings.Repeat("old ", 2000)}
			})
			f.Set(t, earlierOne+"/"+oldAt, map[string]any{"subject": "even earlier"})
		}, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			undisturbed := &outage{}
			report, _, want := kill(t, undisturbed, tt.load)
			if report.Status != sweep.Completed {
				t.Fatalf("undisturbed: %s %+v", report.Status, report.Failures)
			}
			from := 1
			if !tt.planning {
				from = undisturbed.planning
			}
			for n := from; n <= undisturbed.calls; n++ {
				for _, o := range []*outage{{dead: true, after: true}, {dead: false, after: false}} {
					o.at = n
					t.Run(fmt.Sprintf("%d,after=%v,dead=%v", n, o.after, o.dead), func(t *testing.T) {
						t.Parallel()
						first, between, end := kill(t, o, tt.load)
						// A figure that could not be counted fails nothing.
						if first.Status != sweep.Failed && len(first.NotCounted) == 0 {
							t.Errorf("status %s, want failed", first.Status)
						}
						wantWholeArchive(t, between, tt.messages)
						if diff := cmp.Diff(want, end); diff != "" {
							t.Errorf("the end (-undisturbed +got):\n%s", diff)
						}
					})
				}
			}
		})
	}
}

// wantWholeArchive makes sure that there is no archive of inquiry i1 with fewer messages than that had.
func wantWholeArchive(t *testing.T, state map[string]any, messages int) {
	t.Helper()
	old := 0
	for document := range state {
		if strings.Contains(document, "/messages/old") {
			old++
		}
	}
	if _, moved := state[earlierOne+"/"+oldAt]; moved && old != 3 {
		t.Errorf("%d messages of the archive that was there, want 3", old)
	}
	archive, ok := state["archivedInquiries/i1"].(map[string]any)
	if !ok || archive["subject"] == oldArchive["subject"] {
		return
	}
	list, _ := archive["messages"].([]any)
	got := len(list)
	for document := range state {
		if strings.HasPrefix(document, "archivedInquiries/i1/messages/") {
			got++
		}
	}
	if got != messages {
		t.Errorf("an archive of %d messages, want %d", got, messages)
	}
}
