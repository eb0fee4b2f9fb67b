// Package judged holds what Firestore and Cloud Storage say alike of something that was judged.
package judged

import "errors"

// ErrChanged says that something is no longer what was judged, so nothing was done to it.
var ErrChanged = errors.New("changed since it was judged")
