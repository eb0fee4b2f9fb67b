package backends

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
)

// send sends a task's HTTP request. The error is nil if the answer was a 2xx.
func (s *taskState) send(ctx context.Context, p *cloudtaskspb.Task) error {
	ctx, cancel := context.WithTimeout(ctx, p.DispatchDeadline.AsDuration())
	defer cancel()
	request, err := newDelivery(ctx, p)
	if err != nil {
		return fmt.Errorf("deliver %s: %w", p.Name, err)
	}
	response, err := s.client.Do(request)
	if err != nil {
		return fmt.Errorf("deliver %s: %w", p.Name, err)
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	body, err := io.ReadAll(io.LimitReader(response.Body, 1024))
	if err != nil {
		return fmt.Errorf("deliver %s: %w", p.Name, err)
	}
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("deliver %s: %s answered %s: %s", p.Name, request.URL, response.Status, body)
	}
	return nil
}

// ownHeaders is how headers begin that a task cannot set. Google calls its list of headers that Cloud Tasks ignores or replaces
// partial, so this one includes headers of Google's other services.
var ownHeaders = []string{
	"Host", "Content-Length", "User-Agent", "X-Google-", "X-Appengine-", "X-Cloudtasks-", "X-Cloudscheduler",
}

func ownHeader(key string) bool {
	name := http.CanonicalHeaderKey(key)
	return slices.ContainsFunc(ownHeaders, func(own string) bool { return strings.HasPrefix(name, own) })
}

// newDelivery makes a task's request, with the headers that Cloud Tasks adds, as far as functions read them.
func newDelivery(ctx context.Context, p *cloudtaskspb.Task) (*http.Request, error) {
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
	return request, nil
}
