package documents

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/documents/retry"
)

// Original is a whole document in the form of Firestore's API.
type Original struct {
	Fields     map[string]*firestorepb.Value
	UpdateTime time.Time
}

// Originals returns those documents of some paths, all different, that exist, by path.
func (r Reader) Originals(ctx context.Context, paths []string) (found map[string]Original, err error) {
	request := &firestorepb.BatchGetDocumentsRequest{Database: r.c.root}
	for _, path := range paths {
		request.Documents = append(request.Documents, r.Name(path))
	}
	err = retry.Do(metadata.AppendToOutgoingContext(ctx, DatabaseHeader, r.c.root), func(ctx context.Context) (err error) {
		found, err = r.originals(ctx, request)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read %d documents: %w", len(paths), err)
	}
	return found, nil
}

func (r Reader) originals(ctx context.Context, request *firestorepb.BatchGetDocumentsRequest) (map[string]Original, error) {
	stream, err := r.c.raw.BatchGetDocuments(ctx, request)
	if err != nil {
		return nil, err
	}
	found := map[string]Original{}
	for left := len(request.GetDocuments()); ; {
		answer, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF) && left > 0: // silence is no answer
			return nil, status.Errorf(codes.Unavailable, "the answer lacks %d documents", left)
		case errors.Is(err, io.EOF):
			return found, nil
		case err != nil:
			return nil, err
		case answer.GetResult() != nil:
			left--
		}
		if d := answer.GetFound(); d != nil {
			found[strings.TrimPrefix(d.GetName(), r.Name(""))] = Original{d.GetFields(), d.GetUpdateTime().AsTime()}
		}
	}
}
