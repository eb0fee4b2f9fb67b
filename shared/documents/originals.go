package documents

import (
	"context"
	"errors"
	"io"
	"iter"
	"strings"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

// Original is a whole document as Firestore's API has it.
type Original struct {
	Path       string
	Fields     map[string]*firestorepb.Value
	UpdateTime time.Time
	Bytes      int // of the message that it came in
}

// Originals returns those of some documents that there are, in no order, one at a time however large they are. An error ends it.
// Transient ones are not tried again, for some documents have been returned: the caller's next attempt asks for all.
func (r Reader) Originals(ctx context.Context, paths []string) iter.Seq2[Original, error] {
	return func(yield func(Original, error) bool) {
		if len(paths) == 0 {
			return
		}
		root := r.c.root + "/documents/"
		request := &firestorepb.BatchGetDocumentsRequest{Database: r.c.root}
		for _, path := range paths {
			request.Documents = append(request.Documents, root+path)
		}
		ctx, cancel := context.WithCancel(metadata.AppendToOutgoingContext(ctx, databaseHeader, r.c.root))
		defer cancel()
		stream, err := r.c.batch.BatchGetDocuments(ctx, request)
		for err == nil {
			var response *firestorepb.BatchGetDocumentsResponse
			if response, err = stream.Recv(); err != nil {
				break
			}
			if d := response.GetFound(); d != nil {
				original := Original{
					Path: strings.TrimPrefix(d.GetName(), root), Fields: d.GetFields(), UpdateTime: d.GetUpdateTime().AsTime(), Bytes: proto.Size(d),
				}
				if !yield(original, nil) {
					return
				}
			}
		}
		if !errors.Is(err, io.EOF) {
			yield(Original{}, err)
		}
	}
}
