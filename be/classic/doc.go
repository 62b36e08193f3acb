// Package classic is the classic source: partitions that a task was given, each
// read from a position on by plain fetches. There is no consumer group and
// nothing is kept at the broker; where a task begins is the ledger's word.
//
// A Reader belongs to one goroutine and starts none. One fetch at a time is on
// its way, to one leader, and asked for only when nothing of the last one is
// left in hand. So what it holds in memory is one answer of bounded size, and
// of it the decoded records of one partition. What becomes of a fetch:
//
//   - Acquired is contiguous from the position on. An offset in it is a record,
//     or void: a fetch that began at or before it passed over it, and saw a
//     later offset below the last stable offset (the high watermark, if the job
//     reads uncommitted records). Where a log ends in nothing, package probe
//     has to prove it.
//   - The position moves when offsets are handed out, and only Release moves it
//     back, to the lowest offset released: everything from there on is read
//     again. So nothing is skipped, and nothing is held twice. Nobody else
//     reads the partition, therefore nothing is locked and Accept, Gap and
//     Renew have nothing to do.
//   - Each fetch names the topic by its id and goes to the leader at the epoch
//     that it was found with. Of a topic that was made anew under the same name
//     nothing is read: that is ErrNoTopic.
//   - A position outside of the log is never reset. What was deleted before it
//     was read is handed out as expired if the job allows for it; otherwise, and
//     where the log ends below the position, the partition stands still with
//     *OutOfRangeError until the task ends.
//   - A partition may be bounded to some offsets (Start.Only), as for a task that
//     repairs. The position then passes over all others, and the reader ends when
//     every partition has handed out what it should, or cannot go on.
//
// The partitions take turns, those that gave something last, so that a busy one
// starves no other. One that failed rests for a time that doubles up to two
// seconds, and its trouble is told with every fetch until it is over.
package classic
