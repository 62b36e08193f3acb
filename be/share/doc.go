// Package share is the share source: one member of a Kafka share group, and the
// share protocol (KIP-932) spoken directly.
//
// ShareGroupHeartbeat, ShareFetch and ShareAcknowledge travel as plain requests
// over the connections of a kgo client, and kgo decodes the batches. Its own
// share consumer would hide what a delivery ledger needs: topic ids, the ranges
// that were acquired and the gaps in them, and a poll that accepts nothing by
// itself. So here nothing is ever acknowledged unless the caller says so, and
// nothing that was acquired is dropped in silence.
//
// A Member has two goroutines and starts neither. Run, the caller's to start,
// heartbeats and follows the assignment. Everything else belongs to one owner:
// it calls Fetch, Acknowledge, QueueAcks and Close one at a time. The two meet
// in what the assignment is, under one mutex that nobody holds while waiting.
//
// For each leader of assigned partitions there is one session. Its invariants:
//
//   - Every request of a session, fetch or acknowledgement, carries the next
//     epoch. The broker refuses any other, so requests never overlap.
//   - A session lives and dies with its connection. An error on the way, or a
//     session that the broker does not know, ends it; what was acquired in it
//     is reported lost, and the next fetch opens another one.
//   - The session's partitions are exactly the assigned ones that this leader
//     leads. One that is no longer assigned is forgotten by the next fetch and
//     its acknowledgements travel apart, since naming it in a fetch would add
//     it again and bring records that nobody wants.
//
// What it does not do: it never accepts, releases or renews on its own, keeps no
// record of what the caller holds, and decides nothing about exactly-once. That
// is the ledger's.
package share
