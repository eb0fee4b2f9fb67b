package backends

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
)

// send sends a task's HTTP request. The status is nil if there was no response. The error is nil if the response was a 2xx.
func (s *taskState) send(ctx context.Context, p *cloudtaskspb.Task) (*rpcstatus.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, p.DispatchDeadline.AsDuration())
	defer cancel()
	request, err := newDelivery(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("deliver %s: %w", p.Name, err)
	}
	response, err := s.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("deliver %s: %w", p.Name, err)
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	body, err := io.ReadAll(io.LimitReader(response.Body, 1024))
	if err != nil {
		return nil, fmt.Errorf("deliver %s: %w", p.Name, err)
	}
	status := &rpcstatus.Status{
		Code: int32(httpCode(response.StatusCode)), Message: "HTTP status code " + strconv.Itoa(response.StatusCode)}
	if response.StatusCode/100 != 2 {
		return status, fmt.Errorf("deliver %s: %s answered %s: %s", p.Name, request.URL, response.Status, body)
	}
	return status, nil
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
	header.Set("X-CloudTasks-TaskRetryCount", strconv.Itoa(int(p.DispatchCount)))
	header.Set("X-CloudTasks-TaskExecutionCount", strconv.Itoa(int(p.ResponseCount)))
	eta := p.ScheduleTime.AsTime()
	header.Set("X-CloudTasks-TaskETA", fmt.Sprintf("%d.%06d", eta.Unix(), eta.Nanosecond()/1000))
	if last := p.LastAttempt.GetResponseStatus(); last != nil {
		var previous int
		if _, err := fmt.Sscanf(last.Message, "HTTP status code %d", &previous); err == nil { // send wrote it
			header.Set("X-CloudTasks-TaskPreviousResponse", strconv.Itoa(previous))
		}
	}
	if token := target.GetOidcToken(); token != nil {
		jwt, err := unsignedToken(token, target.Url, time.Now())
		if err != nil {
			return nil, err
		}
		header.Set("Authorization", "Bearer "+jwt)
	}
	return request, nil
}

// unsignedToken returns a JWT with the claims of Google's tokens and without a signature.
func unsignedToken(token *cloudtaskspb.OidcToken, target string, now time.Time) (string, error) {
	audience := token.Audience
	if audience == "" {
		audience = target
	}
	parts := []map[string]any{
		{"alg": "none", "typ": "JWT"},
		{
			"iss": "https://accounts.google.com", "aud": audience, "email": token.ServiceAccountEmail, "email_verified": true,
			"sub": token.ServiceAccountEmail, "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
		},
	}
	var jwt string
	for _, part := range parts {
		text, err := json.Marshal(part)
		if err != nil {
			return "", err
		}
		jwt += base64.RawURLEncoding.EncodeToString(text) + "."
	}
	return jwt, nil
}

// httpCode returns the gRPC code for an HTTP status.
func httpCode(status int) codes.Code {
	switch {
	case status/100 == 2:
		return codes.OK
	case status == http.StatusBadRequest:
		return codes.InvalidArgument
	case status == http.StatusUnauthorized:
		return codes.Unauthenticated
	case status == http.StatusForbidden:
		return codes.PermissionDenied
	case status == http.StatusNotFound:
		return codes.NotFound
	case status == http.StatusConflict:
		return codes.Aborted
	case status == http.StatusTooManyRequests:
		return codes.ResourceExhausted
	case status == http.StatusServiceUnavailable:
		return codes.Unavailable
	case status >= http.StatusInternalServerError:
		return codes.Internal
	}
	return codes.Unknown
}
