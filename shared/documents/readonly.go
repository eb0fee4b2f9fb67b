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
// The error's code is PermissionDenied, as with credentials that may not write. See [AsOf].
func ReadOnly() []grpc.DialOption { return wire.Before(onlyReads) }

type asOf struct{}

// AsOf returns a context whose requests on a connection that is [ReadOnly] read the database as it was at t. Firestore answers
// FailedPrecondition where t is older than what it keeps: an hour, or seven days where point-in-time recovery is on. In the
// latter case t must be a whole minute if it is older than an hour.
func AsOf(ctx context.Context, t time.Time) context.Context {
	return context.WithValue(ctx, asOf{}, timestamppb.New(t))
}

// readMethods are Firestore's requests that only read, as of a time if that is asked for. Any other counts as a write.
var readMethods = map[string]bool{
	"GetDocument": true, "BatchGetDocuments": true, "ListDocuments": true, "ListCollectionIds": true,
	"RunQuery": true, "RunAggregationQuery": true,
}

func onlyReads(ctx context.Context, method string, message any) error {
	if name := path.Base(method); !readMethods[name] {
		return status.Errorf(codes.PermissionDenied, "the request %s was not sent: this connection only reads", name)
	}
	if at, past := ctx.Value(asOf{}).(*timestamppb.Timestamp); past {
		request := message.(proto.Message).ProtoReflect()
		request.Set(request.Descriptor().Fields().ByName("read_time"), protoreflect.ValueOfMessage(at.ProtoReflect()))
	}
	return nil
}
