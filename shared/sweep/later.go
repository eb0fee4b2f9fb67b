package sweep

import "errors"

// ErrLater says that an action did what it could and that the rest is for a later run, which will find it by itself: it is not
// done, and no failure for which Cloud Scheduler would call again at once. The job counts why, and logs it.
var ErrLater = errors.New("left to a later run")
