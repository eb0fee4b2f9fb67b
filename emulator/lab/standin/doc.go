// Package standin stands in for Google's Firestore, Cloud Storage, Authentication and Cloud Tasks where a program is measured, not
// tested. It costs next to nothing itself, and it answers after as long as a [Link] says. Its documents, objects and accounts are
// computed from their number and never stored, so a million of them cost no memory.
//
// What it assumes, and how strict it is:
//
//   - Generated documents and objects lie in the order of their names. Each field by which a query of a large collection orders or
//     bounds ascends with them. A query that would need another order is refused, not answered wrongly.
//   - What is written is stored, and every later request sees it. A transaction locks nothing: its commit is refused if a document
//     that it read was written since.
//   - It refuses what Google refuses: more than 30 disjunctions; more than 100 filters and orders in disjunctive normal form; a value
//     of 1,500 bytes or more in a condition; a BatchWrite of more than 500 writes or with one document twice; a request of more than
//     10 MiB; an invalid name. A delete whose generation or metageneration differs is answered 412, and one of an object that does
//     not exist 404. A page of a listing holds 1,000 objects at most; startOffset is inclusive and endOffset exclusive.
//   - Authentication allows one deletion of many accounts a second and ten of one account, with a burst of one second, and answers
//     429 to more. Cloud Tasks accepts a task whose name is new, and delivers none: whoever measures calls the function.
//   - It needs no indexes: the tests on the emulator check those. All times are assumed: an answer takes the link's time, whatever is
//     asked. It imitates no contention, and of what Firestore does when it is asked too fast only that lookups by names wait for their
//     turn, if [Link.Lookups] says so.
package standin
