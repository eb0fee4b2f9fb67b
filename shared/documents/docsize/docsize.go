// Package docsize says how large Firestore counts documents and their values.
package docsize

import (
	"fmt"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/protobuf/proto"
)

// Max is how large a document can be, in bytes as [Of] counts them.
const Max = 1 << 20

// Of returns the size of a document in bytes, as Firestore counts it (https://cloud.google.com/firestore/docs/storage-size)
// or more: where these rules leave something open, the larger figure counts.
func Of(path string, data map[string]any) int { return OfName(path) + OfValue(data) }

// OfName returns the size of a path in bytes. Its slashes stand for the byte that Firestore adds to each part.
func OfName(path string) int { return len(path) + 1 + 16 }

// OfValue returns the size in bytes, as Firestore counts it, of a value in the type that the client library reads.
func OfValue(value any) int {
	switch v := value.(type) {
	case nil, bool:
		return 1
	case *firestorepb.Value: // of a type that the client library does not know
		return proto.Size(v)
	case int64, float64, time.Time:
		return 8
	case interface{ GetLatitude() float64 }: // a geographical point
		return 16
	case string:
		return len(v) + 1
	case []byte:
		return len(v)
	case *firestore.DocumentRef:
		return OfName(v.Path) // includes the project and the database, which Firestore may not count
	case firestore.Vector64:
		return 8 * len(v)
	case []any:
		n := 0
		for _, item := range v {
			n += OfValue(item)
		}
		return n
	case map[string]any:
		n := 32
		for field, item := range v {
			n += len(field) + 1 + OfValue(item)
		}
		return n
	default:
		return 64 + len(fmt.Sprint(v)) // a type that a later version of Firestore may add
	}
}
