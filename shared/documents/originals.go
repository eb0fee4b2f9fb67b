package documents

import (
	"context"
	"errors"
	"io"
	"iter"
	"strings"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/firesweep/firesweep/shared/documents/retry"
)

// Original is a whole document in the form of Firestore's API.
type Original struct {
	Path       string
	Fields     map[string]*firestorepb.Value
	UpdateTime time.Time
	Bytes      int // of the message that it came in
}

// Originals returns the documents of some paths, in any order, and leaves out those that do not exist. It holds one document
// at a time, however large they are. It ends after the first error.
func (r Reader) Originals(ctx context.Context, paths []string) iter.Seq2[Original, error] {
	return func(yield func(Original, error) bool) {
		left := make(map[string]bool, len(paths)) // without an answer yet
		for _, path := range paths {
			left[path] = true
		}
		more := true
		err := retry.Do(ctx, func(ctx context.Context) error {
			return r.answers(ctx, left, func(o Original) bool {
				more = yield(o, nil)
				return more
			})
		})
		if err != nil && more {
			yield(Original{}, err)
		}
	}
}

// answers requests the documents in left. It calls f with each that exists, until f returns false, and removes from left what
// was answered.
func (r Reader) answers(ctx context.Context, left map[string]bool, f func(Original) bool) error {
	root := r.c.root + "/documents/"
	request := &firestorepb.BatchGetDocumentsRequest{Database: r.c.root}
	for path := range left {
		request.Documents = append(request.Documents, root+path)
	}
	if len(request.GetDocuments()) == 0 {
		return nil
	}
	ctx, cancel := context.WithCancel(metadata.AppendToOutgoingContext(ctx, DatabaseHeader, r.c.root))
	defer cancel()
	stream, err := r.c.raw.BatchGetDocuments(ctx, request)
	if err != nil {
		return err
	}
	for {
		response, err := stream.Recv()
		if errors.Is(err, io.EOF) && len(left) > 0 { // silence is no answer
			return status.Errorf(codes.Unavailable, "the answer lacks %d documents", len(left))
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		delete(left, strings.TrimPrefix(response.GetMissing(), root))
		d := response.GetFound()
		if d == nil {
			continue
		}
		o := Original{Path: strings.TrimPrefix(d.GetName(), root), Fields: d.GetFields(), UpdateTime: d.GetUpdateTime().AsTime(),
			Bytes: proto.Size(d)}
		delete(left, o.Path)
		if !f(o) {
			return nil
		}
	}
}
