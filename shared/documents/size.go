package documents

import (
	"fmt"
	"time"

	"cloud.google.com/go/firestore"
)

// MaxDocument is how large a document can be in bytes, as [Size] counts them.
const MaxDocument = 1 << 20

// Size returns how large Firestore counts a document (https://cloud.google.com/firestore/docs/storage-size), never less:
// what those rules leave open counts as the larger.
func Size(path string, data map[string]any) int { return nameSize(path) + ValueSize(data) }

// nameSize is that of a path, whose slashes stand for the one byte that ends each part.
func nameSize(path string) int { return len(path) + 1 + 16 }

// ValueSize returns how large Firestore counts a value as it was read.
func ValueSize(value any) int {
	switch v := value.(type) {
	case nil, bool:
		return 1
	case int64, float64, time.Time:
		return 8
	case interface{ GetLatitude() float64 }: // a geographical point
		return 16
	case string:
		return len(v) + 1
	case []byte:
		return len(v)
	case *firestore.DocumentRef:
		return nameSize(v.Path) // with the project and the database, which Firestore may not count
	case firestore.Vector64:
		return 8 * len(v)
	case []any:
		n := 0
		for _, item := range v {
			n += ValueSize(item)
		}
		return n
	case map[string]any:
		n := 32
		for field, item := range v {
			n += len(field) + 1 + ValueSize(item)
		}
		return n
	default:
		return 64 + len(fmt.Sprint(v)) // a type of later versions of Firestore
	}
}
