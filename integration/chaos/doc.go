// Package chaos breaks a whole cluster of real processes for minutes and counts
// its rows: three frontends, three backends and three brokers, while records
// come all the time and clients ask all the time.
//
// Each node has a network namespace of its own on a bridge, all of them within
// namespaces of the test binary, so that nothing of it is seen outside and
// nothing is left: nodes are cut off from each other by link addresses that
// nobody has, and disks are full because they are made so small. Where the
// system gives no namespaces, all nodes are on loopback, and the kinds of fault
// that need them are left out; the report says which it was.
//
// What happens when is drawn from a seed, in rounds of two minutes. Each round
// has its own topics and jobs, and ends in calm: then the tables must have what
// a plain consumer reads, each record once, and the files must agree with the
// ledgers. All the time no client may see fewer rows than any client has seen
// before, nor miss a table whose creation was answered.
package chaos
