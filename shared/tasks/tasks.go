// Package tasks is what the bundle knows of Cloud Tasks: handing a piece of work to a worker function, once.
package tasks

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"time"

	cloudtasks "cloud.google.com/go/cloudtasks/apiv2"
	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"github.com/googleapis/gax-go/v2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/firesweep/firesweep/shared/digest"
	"github.com/firesweep/firesweep/shared/documents/wire"
	"github.com/firesweep/firesweep/shared/usage"
)

// MaxDelay is how far ahead Cloud Tasks accepts a schedule time.
const MaxDelay = 30 * 24 * time.Hour

// createTimeout bounds how long one task is tried to be created, attempts and pauses together.
const createTimeout = 20 * time.Second

// Queue says which queue to hand tasks to, and which function its tasks call.
type Queue struct {
	Project        string
	Location       string // e.g. "asia-northeast1"
	ID             string
	TargetURL      string // of the worker, whose origin is the audience of the token its tasks carry
	ServiceAccount string // whose OIDC token they carry
	EmulatorHost   string // host:port of an emulator; empty for Google's service
}

// Task is work for the queue's worker.
type Task struct {
	// Key names the work. As long as its task exists, and for some time after its end, the same key is the same task, however often
	// it is handed over; it also tells a lost answer from a task that was never made. How long its name stays taken is said twice:
	// an hour by Google's reference, up to 24 hours by the API's definition. Rely on neither: a key that may come again must differ.
	Key       []string
	Body      any               // sent as JSON
	NotBefore time.Time         // at most [MaxDelay] ahead; zero is at once
	Headers   map[string]string // further ones
}

// Client is an open queue. It is safe for concurrent use by any number of runs.
type Client struct {
	queue Queue
	tasks *cloudtasks.Client
	clock func() time.Time
}

// Open connects to the service. Further dial options, such as interceptors, are applied to every connection. It fails
// where no credentials are found; nothing of a failed attempt is kept, so that a later one can succeed.
func Open(ctx context.Context, q Queue, clock func() time.Time, dial ...grpc.DialOption) (*Client, error) {
	options, err := wire.ClientOptions(q.EmulatorHost, append([]grpc.DialOption{grpc.WithChainUnaryInterceptor(meter)}, dial...))
	if err != nil {
		return nil, fmt.Errorf("connect to the Cloud Tasks emulator at %s: %w", q.EmulatorHost, err)
	}
	client, err := cloudtasks.NewClient(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("open Cloud Tasks of project %s: %w", q.Project, err)
	}
	return &Client{queue: q, tasks: client, clock: clock}, nil
}

// Close closes the connections.
func (c *Client) Close() error { return c.tasks.Close() }

// Enqueue hands a task over. That it was handed over before is a success. An error means that it may or may not have
// been; to hand it over again is safe.
func (c *Client) Enqueue(ctx context.Context, t Task) error {
	request, err := c.request(t)
	if err != nil {
		return fmt.Errorf("enqueue task %q: %w", t.Key, err)
	}
	ctx, cancel := context.WithTimeout(ctx, createTimeout)
	defer cancel()
	// The library would not repeat it: it cannot know that the task has a name, and so cannot be made twice.
	_, err = c.tasks.CreateTask(ctx, request, gax.WithRetry(func() gax.Retryer {
		return gax.OnCodes(
			[]codes.Code{codes.Unavailable, codes.ResourceExhausted, codes.DeadlineExceeded, codes.Internal, codes.Aborted},
			gax.Backoff{Initial: 200 * time.Millisecond, Max: 5 * time.Second, Multiplier: 2})
	}))
	if err != nil && status.Code(err) != codes.AlreadyExists {
		return fmt.Errorf("enqueue task %q in queue %s: %w", t.Key, c.parent(), err)
	}
	return nil
}

func (c *Client) parent() string {
	return fmt.Sprintf("projects/%s/locations/%s/queues/%s", c.queue.Project, c.queue.Location, c.queue.ID)
}

func (c *Client) request(t Task) (*cloudtaskspb.CreateTaskRequest, error) {
	body, err := json.Marshal(t.Body)
	if err != nil {
		return nil, fmt.Errorf("write its body: %w", err)
	}
	headers := map[string]string{"Content-Type": "application/json"}
	maps.Copy(headers, t.Headers)
	audience, err := originOf(c.queue.TargetURL)
	if err != nil {
		return nil, err
	}
	task := &cloudtaskspb.Task{
		// A digest, because Cloud Tasks is slow on ids that begin alike and takes few characters.
		Name: c.parent() + "/tasks/" + digest.Of(t.Key...),
		MessageType: &cloudtaskspb.Task_HttpRequest{HttpRequest: &cloudtaskspb.HttpRequest{
			Url: c.queue.TargetURL, HttpMethod: cloudtaskspb.HttpMethod_POST, Headers: headers, Body: body,
			AuthorizationHeader: &cloudtaskspb.HttpRequest_OidcToken{OidcToken: &cloudtaskspb.OidcToken{
				ServiceAccountEmail: c.queue.ServiceAccount, Audience: audience,
			}},
		}},
	}
	if !t.NotBefore.IsZero() {
		if latest := c.clock().Add(MaxDelay); t.NotBefore.After(latest) {
			return nil, fmt.Errorf("its time is %s, later than Cloud Tasks accepts (%s)",
				t.NotBefore.Format(time.RFC3339), latest.Format(time.RFC3339))
		}
		task.ScheduleTime = timestamppb.New(t.NotBefore)
	}
	return &cloudtaskspb.CreateTaskRequest{Parent: c.parent(), Task: task}, nil
}

// originOf returns a URL without its path: Cloud Run knows itself by its service's URL.
func originOf(target string) (string, error) {
	u, err := url.Parse(target)
	if err != nil || u.Host == "" {
		return "", fmt.Errorf("%q is not a URL to call", target)
	}
	return u.Scheme + "://" + u.Host, nil
}

// meter counts the tasks that were created.
func meter(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker,
	opts ...grpc.CallOption) error {
	err := invoke(ctx, method, req, reply, cc, opts...)
	if err == nil {
		usage.FromContext(ctx).Add(usage.Usage{Tasks: 1})
	}
	return err
}
