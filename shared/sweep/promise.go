package sweep

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

// PromiseFrom returns the instant from which what is promised to people counts: the run's now, or the wall clock's time
// when the run began where that is later. Whole microseconds in UTC, as Firestore keeps time.
func (p *Planner) PromiseFrom() time.Time { return promiseFrom(p.Now, p.run.report.StartedAt) }

// PromiseFrom returns the same instant as [Planner.PromiseFrom], for what writes the promise down.
func (w *Writers) PromiseFrom() time.Time { return promiseFrom(w.Now, w.Started) }
