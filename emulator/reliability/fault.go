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

// Fault is something that goes wrong with one call.
type Fault struct {
	Name string // as in docs/reliability.md
	dies bool   // the process ends at the call: nothing of it is sent afterwards
	sent bool   // the call takes effect and its answer is lost; or else it is never sent
	cut  bool   // with sent: of a stream's answer, the first message arrives
	ends Ending // the call is as ever, but the run is to end

	// What the caller is told, where the process lives: of gRPC and of HTTP. Zero: the fault is not one of such calls.
	code   codes.Code
	status int
	on     []Service // nil: all
}

// Ending is why a run is to end before it is done.
type Ending int

// The endings. A run that is not to end has the zero one.
const (
	ToldToStop Ending = iota + 1 // the process has been sent SIGTERM, which cancels the request
	OutOfTime                    // by the clock, the function's timeout is near
)

// Faults are the kinds that are tried.
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

// errDead is what a dead process's calls come to. Nothing repeats it.
var errDead = errors.New("the process is dead")

// grpcError returns what a gRPC caller is told.
func (f Fault) grpcError() error { return status.Error(f.code, "a fault for the test: "+f.Name) }

// httpAnswer returns what an HTTP caller is told. A lost answer is a broken connection.
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
