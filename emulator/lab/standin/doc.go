// Package standin stands in for Google's Firestore and Cloud Storage where a program is measured, not tested, and puts a [Link]
// before them and before the local Authentication and Cloud Tasks of emulator/backends.
//
// The Firestore emulator takes milliseconds for what this does in microseconds, and it could not hold millions of documents. The
// local Cloud Storage keeps what clients may set: 1.1 kB for an object, 11 GB for ten million, and 28 ms for a page of 1,000,
// which the measured job reads in 7. So the objects here are computed from their number.
//
// What it assumes, and how strict it is:
//
//   - Firestore looks each query up in an index of its equalities and orders, as the real one does, and makes that index when it
//     is asked for it first. A transaction locks nothing: its commit is refused if a document that it read was written since.
//   - It refuses what Google refuses: more than 30 disjunctions; more than 100 filters and orders in disjunctive normal form; a
//     value of 1,500 bytes or more in a condition; a BatchWrite of more than 500 writes or with one document twice; a request of
//     more than 10 MiB; an invalid name. A delete whose generation or metageneration differs is answered 412, and one of an
//     object that does not exist 404. A page of a listing holds 1,000 objects at most; startOffset is inclusive and endOffset
//     exclusive.
//   - Authentication allows one deletion of many accounts a second and ten of one account, with a burst of one second, and
//     answers 429 to more. Cloud Tasks keeps tasks and delivers none: whoever measures calls the function.
//   - All times are assumed: an answer takes the link's time, whatever is asked. It imitates no contention, and of what Firestore
//     does when it is asked too fast only that lookups by names wait for their turn, if [Link.Lookups] says so.
package standin
