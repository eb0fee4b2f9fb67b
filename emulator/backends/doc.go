// Package backends runs the services of Google that the bundle needs, on this machine and for one process.
//
// What is real and what is imitated:
//
//   - Firestore is Google's own emulator, a Java program. Queries, transactions and preconditions work as in production. It needs
//     no composite indexes and has no limits of rate.
//   - Cloud Storage is imitated in this process and in memory: objects with generations, metagenerations, metadata and
//     preconditions, holds, soft deletion, versions, and lists with offsets and pages. Every bucket exists. It answers 501 to
//     other requests, such as those about access lists, retention policies, notifications and compositions.
//   - Firebase Authentication is imitated for the calls that manage users. Nobody can sign in; [AuthServer.Set] sets what Google
//     records of that. Users are listed by id, an order that Google does not promise. A page's token must come from a page.
//   - Cloud Tasks is imitated: names, schedule times, deliveries with their headers, and retries. Every queue exists and none
//     has limits of its own. No identity token is sent: Cloud Run checks it, and no function does.
//
// [Backends.Environment] returns their addresses, in the variables that Google's client libraries read. Nothing outlives the
// process by more than a second, however it ends: three backends are part of it, and the Java program is killed (see
// emulator/process). Only an emulator that test processes share ([Options].ShareFirestore) lives until the "go test" that runs
// them has ended. This depends on Unix: the package works on Linux and macOS.
package backends
