package documents

import (
	"context"
	"errors"
	"io"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/firesweep/firesweep/shared/documents/wire"
)

// ErrTooMuch says that some documents have more bytes than should be read or kept at once.
var ErrTooMuch = errors.New("too many bytes at once")

type atMost struct{}

// AtMost returns a context in which a transaction gets [ErrTooMuch] in place of documents that have more bytes together. It
// never holds more of them than that.
func AtMost(ctx context.Context, bytes int) context.Context {
	return context.WithValue(ctx, atMost{}, bytes)
}

// bound makes a connection keep to [AtMost]. It receives all of an answer: see [Transaction.Stream].
func bound() []grpc.DialOption {
	return wire.DialOptions(func(ctx context.Context, _ string) wire.Request {
		most, _ := ctx.Value(atMost{}).(int)
		bytes := 0
		return wire.Request{Receive: func(answer any, err error) error {
			batch, is := answer.(*firestorepb.BatchGetDocumentsResponse)
			switch {
			case !is || most == 0:
			case errors.Is(err, io.EOF) && bytes > most:
				return ErrTooMuch
			case err == nil && batch.GetFound() != nil:
				if bytes += proto.Size(batch.GetFound()); bytes > most {
					batch.GetFound().Fields = nil
				}
			}
			return err
		}}
	})
}
