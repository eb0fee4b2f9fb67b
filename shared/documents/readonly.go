package documents

import (
	"context"
	"path"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/documents/wire"
)

// ReadOnly returns dial options for [Open] that allow only requests that read, and refuse all others before they are sent.
// The error's code is PermissionDenied, as with credentials that may not write.
func ReadOnly() []grpc.DialOption { return wire.Before(onlyReads) }

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
