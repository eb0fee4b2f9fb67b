package objects

import (
	"context"
	"errors"
	"fmt"

	"cloud.google.com/go/storage"
)

// Get returns an object's attributes; found is false if there is no such object. It costs one class B operation.
func (r Reader) Get(ctx context.Context, name string) (o Object, found bool, err error) {
	a, err := r.c.bucket.Object(name).Attrs(ctx)
	switch {
	case errors.Is(err, storage.ErrObjectNotExist):
		return Object{}, false, nil
	case err != nil:
		return Object{}, false, fmt.Errorf("read object %s of bucket %s: %w", name, r.c.name, err)
	default:
		return objectOf(a), true, nil
	}
}

func objectOf(a *storage.ObjectAttrs) Object {
	return Object{Name: a.Name, Metadata: a.Metadata, Created: a.Created, Generation: a.Generation, Metageneration: a.Metageneration}
}
