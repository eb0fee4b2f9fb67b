package backends

import (
	"context"
	"crypto/rand"
	"net/url"
	"regexp"
	"strings"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

const (
	latestSchedule   = 30 * 24 * time.Hour
	defaultDeadline  = 10 * time.Minute
	shortestDeadline = 15 * time.Second
	longestDeadline  = 30 * time.Minute
)

var (
	queuePattern = regexp.MustCompile(`^projects/[a-z0-9.:-]+/locations/[a-z0-9-]+/queues/[A-Za-z0-9-]{1,100}$`)
	taskPattern  = regexp.MustCompile(`^[A-Za-z0-9_-]{1,500}$`) // behind the queue's name and /tasks/
)

// queueOf returns the queue in a task's full name.
func queueOf(name string) string {
	queue, _, _ := strings.Cut(name, "/tasks/")
	return queue
}

// projectOf returns the project in a full name.
func projectOf(name string) string {
	project, _, _ := strings.Cut(strings.TrimPrefix(name, "projects/"), "/")
	return project
}

// taskService is the server's gRPC side. It creates tasks: jobs call nothing else.
type taskService struct {
	cloudtaskspb.UnimplementedCloudTasksServer
	*TaskServer
}

// CreateTask implements cloudtaskspb.CloudTasksServer.
func (s taskService) CreateTask(_ context.Context, r *cloudtaskspb.CreateTaskRequest) (*cloudtaskspb.Task, error) {
	now := s.now()
	p, err := newTask(r, now)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	refuse := s.refuse[projectOf(p.Name)]
	s.mu.Unlock()
	if refuse != nil { // it is called without the lock
		if err := refuse(proto.CloneOf(p)); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tasks[p.Name] != nil {
		return nil, status.Errorf(codes.AlreadyExists, "a task named %s exists", p.Name)
	}
	if ended, ok := s.gone[p.Name]; ok && now.Sub(ended) < rememberNames {
		return nil, status.Errorf(codes.AlreadyExists, "a task named %s existed too recently", p.Name)
	}
	s.sequence++
	t := &task{proto: p, sequence: s.sequence}
	if r.Task.ScheduleTime != nil {
		t.due = p.ScheduleTime.AsTime()
	}
	s.tasks[p.Name] = t
	return p, nil // it is replaced, never changed
}

// newTask checks a request and returns its task.
func newTask(r *cloudtaskspb.CreateTaskRequest, now time.Time) (*cloudtaskspb.Task, error) {
	if !queuePattern.MatchString(r.Parent) {
		return nil, status.Errorf(codes.InvalidArgument, "invalid queue name %q", r.Parent)
	}
	if r.Task == nil {
		return nil, status.Error(codes.InvalidArgument, "no task")
	}
	p := proto.CloneOf(r.Task)
	if p.Name == "" {
		p.Name = r.Parent + "/tasks/" + rand.Text()
	}
	if id, inQueue := strings.CutPrefix(p.Name, r.Parent+"/tasks/"); !inQueue || !taskPattern.MatchString(id) {
		return nil, status.Errorf(codes.InvalidArgument, "invalid name %q for a task in %s", p.Name, r.Parent)
	}
	if err := completeRequest(p); err != nil {
		return nil, err
	}
	switch {
	case p.ScheduleTime == nil:
		p.ScheduleTime = timestamppb.New(now)
	case p.ScheduleTime.CheckValid() != nil:
		return nil, status.Errorf(codes.InvalidArgument, "invalid schedule time: %v", p.ScheduleTime.CheckValid())
	case p.ScheduleTime.AsTime().Sub(now) > latestSchedule:
		return nil, status.Error(codes.InvalidArgument, "the schedule time is more than 30 days ahead")
	}
	if p.DispatchDeadline == nil {
		p.DispatchDeadline = durationpb.New(defaultDeadline)
	}
	if d := p.DispatchDeadline.AsDuration(); d < shortestDeadline || d > longestDeadline {
		return nil, status.Errorf(codes.InvalidArgument, "the dispatch deadline %v is not between %v and %v",
			d, shortestDeadline, longestDeadline)
	}
	p.CreateTime = timestamppb.New(now)
	p.DispatchCount, p.ResponseCount, p.FirstAttempt, p.LastAttempt = 0, 0, nil, nil
	return p, nil
}

// completeRequest checks a task's HTTP request and fills in its method.
func completeRequest(p *cloudtaskspb.Task) error {
	request := p.GetHttpRequest()
	if request == nil {
		return status.Error(codes.InvalidArgument, "the task has no HTTP request; others are not imitated")
	}
	target, err := url.Parse(request.Url)
	if err != nil || target.Scheme != "http" && target.Scheme != "https" || target.Host == "" {
		return status.Errorf(codes.InvalidArgument, "invalid URL %q", request.Url)
	}
	switch request.HttpMethod {
	case cloudtaskspb.HttpMethod_HTTP_METHOD_UNSPECIFIED:
		request.HttpMethod = cloudtaskspb.HttpMethod_POST
	case cloudtaskspb.HttpMethod_POST, cloudtaskspb.HttpMethod_PUT, cloudtaskspb.HttpMethod_PATCH:
	default:
		if len(request.Body) > 0 {
			return status.Errorf(codes.InvalidArgument, "a %v request has no body", request.HttpMethod)
		}
	}
	return nil
}
