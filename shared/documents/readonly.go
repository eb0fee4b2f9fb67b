package documents

import (
	"context"
	"path"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/firesweep/firesweep/shared/documents/wire"
)

// ReadOnly returns dial options for [Open] that allow only requests that read, and refuse all others before they are sent.
// The error's code is PermissionDenied, as with credentials that may not write.
func ReadOnly() []grpc.DialOption { return wire.Before(onlyReads) }

// ReadOnlyAt is [ReadOnly] for the database as it was at t. Firestore answers FailedPrecondition where t is older than what it
// keeps: an hour, or seven days where point-in-time recovery is on. In the latter case t must be a whole minute if it is older
// than an hour.
func ReadOnlyAt(t time.Time) []grpc.DialOption {
	at := timestamppb.New(t)
	return wire.Before(func(ctx context.Context, method string, message any) error {
		readAt(at, message)
		return onlyReads(ctx, method, message)
	})
}

// readMethods are Firestore's requests that only read. Any other counts as a write.
var readMethods = map[string]bool{
	"GetDocument": true, "BatchGetDocuments": true, "ListDocuments": true, "ListCollectionIds": true,
	"RunQuery": true, "RunAggregationQuery": true,
}

func onlyReads(_ context.Context, method string, _ any) error {
	if name := path.Base(method); !readMethods[name] {
		return status.Errorf(codes.PermissionDenied, "the request %s was not sent: this connection only reads", name)
	}
	return nil
}

// readAt makes a request read what was there at a time.
func readAt(at *timestamppb.Timestamp, message any) {
	request := message.(proto.Message).ProtoReflect()
	if field := request.Descriptor().Fields().ByName("read_time"); field != nil {
		request.Set(field, protoreflect.ValueOfMessage(at.ProtoReflect()))
	}
}
