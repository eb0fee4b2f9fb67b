package reliability

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"syscall"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Fault is something that goes wrong with a call.
type Fault struct {
	Name  string // as in docs/contributing/reliability.md
	dies  bool   // the process ends at the call, and sends nothing afterwards
	sent  bool   // the call takes effect and its answer is lost; otherwise it is never sent
	cut   bool   // with sent: the first message of a stream's answer arrives
	ends  Ending // nothing happens to the call, but the run is told to end
	first func() // nothing happens to the call, but this is done first; nil: nothing is

	// The error that the caller gets by gRPC and by HTTP, if the process lives. Zero: such calls do not have the fault.
	code   codes.Code
	status int
	on     []Service // nil: all
}

// Ending is why a run ends before it is done.
type Ending int

// The endings. The zero value is that of a run that may go to its end.
const (
	ToldToStop Ending = iota + 1 // the process has been sent SIGTERM, which cancels the request
	OutOfTime                    // the clock is near the function's timeout
)

// Faults are the kinds of faults that are tried.
var Faults = []Fault{
	{Name: "dies before", dies: true},
	{Name: "dies after", dies: true, sent: true},
	{Name: "answer lost", sent: true, code: codes.Unavailable, status: http.StatusServiceUnavailable},
	{Name: "Unavailable, 503", code: codes.Unavailable, status: http.StatusServiceUnavailable},
	{Name: "ResourceExhausted, 429", code: codes.ResourceExhausted, status: http.StatusTooManyRequests},
	{Name: "PermissionDenied, 403", code: codes.PermissionDenied, status: http.StatusForbidden},
	{Name: "DeadlineExceeded", code: codes.DeadlineExceeded, on: []Service{Firestore, Tasks}},
	{Name: "Aborted", code: codes.Aborted, on: []Service{Firestore, Tasks}},
	{Name: "told to stop", ends: ToldToStop},
	{Name: "out of time", ends: OutOfTime},
	{Name: "412", status: http.StatusPreconditionFailed, on: []Service{Storage}},
	{Name: "stream cut off", sent: true, cut: true, code: codes.Unavailable, on: []Service{Firestore}},
}

// Concerns reports whether a call can have the fault.
func (f Fault) Concerns(c Call) bool {
	return (f.on == nil || slices.Contains(f.on, c.Service)) && (!f.cut || c.Streamed)
}

// errDead is the error of a dead process's calls. Nothing repeats such a call.
var errDead = errors.New("the process is dead")

// grpcError returns the error that a gRPC caller gets.
func (f Fault) grpcError() error { return status.Error(f.code, "a fault for the test: "+f.Name) }

// httpAnswer returns the answer that an HTTP caller gets. A lost answer is a broken connection.
func (f Fault) httpAnswer(r *http.Request) (*http.Response, error) {
	if f.sent {
		return nil, syscall.ECONNRESET
	}
	body := fmt.Sprintf(`{"error":{"code":%d,"message":"a fault for the test: %s"}}`, f.status, f.Name)
	return &http.Response{
		Status: fmt.Sprintf("%d %s", f.status, http.StatusText(f.status)), StatusCode: f.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader([]byte(body))), ContentLength: int64(len(body)), Request: r,
	}, nil
}
