// Package backends runs, on this machine and for one process, what the bundle needs of Google.
//
// What is real and what is imitated:
//
//   - Firestore is Google's own emulator, a Java program. It has queries, transactions and preconditions as production
//     has them; it wants no composite indexes and imposes no limits on rates.
//   - Cloud Storage is imitated in this process and in memory: objects with generations, metagenerations, metadata and
//     preconditions, holds, soft deletion, lists with everything that narrows or pages them. Every bucket exists. There are
//     no access control, versions, retention policies, copies or compositions; what is asked of these is answered with 501.
//   - Firebase Authentication is imitated for the calls that manage users. Nobody can sign in; what Google notes of that is set by
//     [AuthServer.Set]. Users are listed by id, which Google promises nowhere; a page's token is one that a page came with.
//   - Cloud Tasks is imitated: names, schedule times, deliveries with their headers, and retries. Every queue exists and
//     none has limits of its own; identity tokens are not signed.
//
// All listen on addresses that Environment tells, in the variables that Google's client libraries heed. Nothing outlives
// the process, however it ends: three backends are part of it, and the Java program is killed (see startProcess). Only one
// that test processes share ([Options].ShareFirestore) lives until the "go test" that runs them has ended. That rests on Unix:
// the package is for Linux and macOS.
package backends
