// Package standin stands in for Google's Firestore, Cloud Storage, Authentication and Cloud Tasks where a program is measured and
// not tested: it answers at next to no cost of its own, after as long as a [Link] says, about documents, objects and accounts
// that are made by their number and never held, so that a million of them cost no memory.
//
// What it assumes, and how strict it is:
//
//   - Documents and objects that are made lie in the order of their names, and each field that a query of a large collection
//     orders or bounds by ascends with them. A query that would need another order is refused and not answered wrongly.
//   - What is written is held, and seen by every later request. Nothing else writes: a transaction is refused at its commit if a document
//     that it read was written since, and locks nothing.
//   - Refused as Google refuses it: more than 30 disjunctions; more than 100 filters and orders in disjunctive normal form; a value of 1,500 bytes
//     or more in a condition; a BatchWrite of more than 500 writes or of one document twice; a request of more than 10 MiB; a page of a listing of more than
//     1000 objects is cut to that; startOffset is inclusive and endOffset exclusive; a name that is no name; a delete whose generation or
//     metageneration is another is answered 412, one of nothing 404.
//   - Authentication takes one deletion of many accounts a second and ten of one, of a second more at once, and answers 429 to more. Cloud Tasks
//     takes tasks under names that are new, and delivers none: whoever measures calls the function with them.
//   - Indexes are not asked for: the tests do that on the emulator. Contention, hot spots and how long writes take are not imitated,
//     but for what the link says.
package standin
