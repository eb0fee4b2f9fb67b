// Package standin stands in for Google's Firestore where a program is measured, not tested, and puts a [Link] before it and
// before the local Cloud Storage, Authentication and Cloud Tasks of emulator/backends.
//
// The Firestore emulator takes milliseconds for what this does in microseconds, and it could not hold millions of documents. Ten
// million objects would take 11 GB, so the bucket computes them from their numbers.
//
// What it assumes, and how strict it is:
//
//   - Firestore looks each query up in an index of its equalities and orders, as the real one does, and makes that index when it
//     is asked for it first. A transaction locks nothing and is never refused: whoever is measured is alone.
//   - It refuses what Google refuses: more than 30 disjunctions; more than 100 filters and orders in disjunctive normal form; a
//     value of 1,500 bytes or more in a condition; a BatchWrite of more than 500 writes or with one document twice; a request of
//     more than 10 MiB; an invalid name.
//   - What no case asks for it does not know, and says so.
//   - Authentication refuses nobody who is too fast. Cloud Tasks keeps tasks and delivers none: whoever measures calls the
//     function.
//   - All times are assumed: an answer takes the link's time, whatever is asked. It imitates no contention, and of what Firestore
//     does when it is asked too fast only that lookups by names wait for their turn, if [Link.Lookups] says so.
package standin
