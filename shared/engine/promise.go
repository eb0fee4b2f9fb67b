package engine

import "time"

// promiseFrom returns the instant from which a promise to people counts, such as "in a week". A run's now can lie far
// back: a retry keeps its schedule time, and so does a run that somebody repeats by hand. A promise dated by it would
// already be half over when it is made.
func promiseFrom(now, started time.Time) time.Time {
	if started.After(now) {
		now = started
	}
	return now.UTC().Truncate(time.Microsecond)
}
