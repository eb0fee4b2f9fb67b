package backends

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
)

// send sends a task's HTTP request and returns the status of the response; 0 if there was none. The error is nil if it was a 2xx.
func (s *taskState) send(ctx context.Context, t task) (status int, err error) {
	ctx, cancel := context.WithTimeout(ctx, t.proto.DispatchDeadline.AsDuration())
	defer cancel()
	request, err := newDelivery(ctx, t)
	if err != nil {
		return 0, fmt.Errorf("deliver %s: %w", t.proto.Name, err)
	}
	response, err := s.client.Do(request)
	if err != nil {
		return 0, fmt.Errorf("deliver %s: %w", t.proto.Name, err)
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	body, err := io.ReadAll(io.LimitReader(response.Body, 1024))
	if err != nil {
		return 0, fmt.Errorf("deliver %s: %w", t.proto.Name, err)
	}
	if response.StatusCode/100 != 2 {
		return response.StatusCode, fmt.Errorf("deliver %s: %s answered %s: %s", t.proto.Name, request.URL, response.Status, body)
	}
	return response.StatusCode, nil
}

// ownHeaders are headers that a task cannot set; a name with a dash at its end stands for all headers that begin with it.
// Google calls its list of headers that Cloud Tasks ignores or replaces partial, so this one includes headers of Google's other
// services.
var ownHeaders = []string{
	"Host", "Content-Length", "User-Agent",
	"X-Google-", "X-Appengine-", "X-Cloudtasks-", "X-Cloudscheduler", "X-Cloudscheduler-",
}

func ownHeader(key string) bool {
	name := http.CanonicalHeaderKey(key)
	return slices.ContainsFunc(ownHeaders, func(own string) bool {
		return name == own || strings.HasSuffix(own, "-") && strings.HasPrefix(name, own)
	})
}

// newDelivery makes a task's request, with the headers that Cloud Tasks adds.
func newDelivery(ctx context.Context, t task) (*http.Request, error) {
	p := t.proto
	target := p.GetHttpRequest()
	request, err := http.NewRequestWithContext(ctx, target.HttpMethod.String(), target.Url, bytes.NewReader(target.Body))
	if err != nil {
		return nil, err
	}
	header := request.Header
	if len(target.Body) > 0 {
		header.Set("Content-Type", "application/octet-stream")
	}
	for key, value := range target.Headers {
		if !ownHeader(key) {
			header.Set(key, value)
		}
	}
	header.Set("User-Agent", "Google-Cloud-Tasks")
	header.Set("X-CloudTasks-QueueName", path.Base(queueOf(p.Name)))
	header.Set("X-CloudTasks-TaskName", path.Base(p.Name))
	header.Set("X-CloudTasks-TaskRetryCount", strconv.Itoa(int(p.DispatchCount)))
	header.Set("X-CloudTasks-TaskExecutionCount", strconv.Itoa(int(p.ResponseCount)))
	eta := p.ScheduleTime.AsTime()
	header.Set("X-CloudTasks-TaskETA", fmt.Sprintf("%d.%06d", eta.Unix(), eta.Nanosecond()/1000))
	if t.previous != 0 {
		header.Set("X-CloudTasks-TaskPreviousResponse", strconv.Itoa(t.previous))
	}
	return request, nil
}
