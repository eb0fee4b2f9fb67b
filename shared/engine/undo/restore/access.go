package restore

import (
	"context"
	"fmt"

	"github.com/firesweep/firesweep/shared/objects"
)

// AccessPermissions are needed to give an object that comes back the access list that it had.
var AccessPermissions = []string{"storage.objects.getIamPolicy", "storage.objects.setIamPolicy"}

// mayCopyAccess reports whether the bucket's objects have access lists of their own that whoever undoes may copy. If they may have, and
// it is not so, it warns.
func (u *undoing) mayCopyAccess(ctx context.Context) (bool, error) {
	const private = "files come back with the bucket's default access, so that those that were public by a list of their own are private"
	name := u.Bucket.BucketName()
	attrs, err := u.Bucket.Attrs(ctx)
	switch {
	case objects.Denied(err):
		u.warn(fmt.Sprintf("whether files of %s have access lists cannot be read, which needs storage.buckets.get: if they do, %s", name, private))
		return false, nil
	case err != nil:
		return false, fmt.Errorf("read bucket %s: %w", name, err)
	case attrs.UniformBucketLevelAccess.Enabled:
		return false, nil
	}
	granted, err := u.Bucket.IAM().TestPermissions(ctx, AccessPermissions)
	if err != nil {
		return false, fmt.Errorf("look whether access lists of bucket %s may be copied: %w", name, err)
	}
	if len(granted) < len(AccessPermissions) {
		u.warn(fmt.Sprintf("uniform access is off in bucket %s, and you may not copy access lists, which needs %s and %s: %s", name,
			AccessPermissions[0], AccessPermissions[1], private))
		return false, nil
	}
	return true, nil
}

func (u *undoing) warn(text string) {
	u.telling.Lock()
	defer u.telling.Unlock()
	if u.Warn != nil {
		u.Warn(text)
	}
}
