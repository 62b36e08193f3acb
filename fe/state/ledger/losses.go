package ledger

import raftlogv1 "shoal/proto/raftlog/v1"

// lossesWithinMs is how soon after one another the readers of a partition must
// be lost to count together: backends that are restarted now and then, while
// there is nothing to read, say nothing about what will come.
const lossesWithinMs = 10 * 60 * 1000

// lostReaders is how often a reader was lost in a row with its backend while the
// settled offset stayed the same: the record there may have ended it.
type lostReaders struct {
	at    int64 // the settled offset
	count uint32
	ms    int64 // when the last was lost
}

// Lose counts a reader of the partition whose backend died under it.
func (l *Ledger) Lose(atMs int64) {
	if l.losses.at != l.settled || atMs-l.losses.ms > lossesWithinMs {
		l.losses.count = 0
	}
	l.losses = lostReaders{at: l.settled, count: l.losses.count + 1, ms: atMs}
}

// lossesNow is how many readers were lost at the offset that is settled now.
func (l *Ledger) lossesNow() int {
	if l.losses.at != l.settled {
		return 0
	}
	return int(l.losses.count)
}

func (l lostReaders) record(r *raftlogv1.Ledger) {
	r.LostAt, r.Losses, r.LostMs = l.at, l.count, l.ms
}

func restoredLosses(r *raftlogv1.Ledger) lostReaders {
	return lostReaders{at: r.LostAt, count: r.Losses, ms: r.LostMs}
}
