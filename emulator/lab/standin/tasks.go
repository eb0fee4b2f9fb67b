package standin

import (
	"context"
	"strings"
	"sync"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// queues is the service of Cloud Tasks: it takes tasks and delivers none; [Google.Tasks] gives them to whoever does.
type queues struct {
	cloudtaskspb.UnimplementedCloudTasksServer
	mu    sync.Mutex
	taken map[string]bool // by name
	tasks []*cloudtaskspb.Task
}

// CreateTask implements the service.
func (q *queues) CreateTask(_ context.Context, r *cloudtaskspb.CreateTaskRequest) (*cloudtaskspb.Task, error) {
	name := r.GetTask().GetName()
	switch {
	case name == "" || !strings.HasPrefix(name, r.GetParent()+"/tasks/"):
		return nil, status.Errorf(codes.InvalidArgument, "Task name must be formatted: %q", name)
	case r.GetTask().GetHttpRequest().GetUrl() == "":
		return nil, status.Error(codes.InvalidArgument, "HttpRequest.url is required")
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.taken[name] {
		return nil, status.Error(codes.AlreadyExists, "Requested entity already exists")
	}
	q.taken[name] = true
	q.tasks = append(q.tasks, r.GetTask())
	return r.GetTask(), nil
}

// Tasks returns the tasks that were created since the last call, in their order.
func (g *Google) Tasks() []*cloudtaskspb.Task {
	g.queues.mu.Lock()
	defer g.queues.mu.Unlock()
	tasks := g.queues.tasks
	g.queues.tasks = nil
	return tasks
}
